// Command line simulates a path with a delay: it accepts connections, opens one to another address
// for each, and forwards every byte a fixed time after it arrived (--delay), in both directions. It
// is a program and not a network: it costs CPU time here, its round trip is never less than twice
// the delay, and it neither loses nor reorders anything.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	// pieceBytes is the most that is forwarded at once.
	pieceBytes = 64 << 10
	// piecesMax may be on the way in one direction of a connection, as in a full socket buffer.
	piecesMax = 64
)

// piece is what one read returned, and when it is due at the other end.
type piece struct {
	bytes []byte
	due   time.Time
}

func main() {
	to := flag.String("to", "", "where connections go: HOST:PORT")
	delay := flag.Duration("delay", time.Millisecond, "how long each way takes")
	flag.Parse()
	if _, _, err := net.SplitHostPort(*to); err != nil || *delay < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "line: takes --to HOST:PORT and --delay TIME, "+
			"for example line --to 127.0.0.1:5432 --delay 1ms")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "line:", err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"event": "listening", "addr": listener.Addr().String(), "delay_ns": delay.Nanoseconds(),
	})
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	go accept(listener, *to, *delay)
	<-ended
	fmt.Println(`{"event":"stopped"}`)
}

func accept(listener net.Listener, to string, delay time.Duration) {
	for {
		near, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "line:", err)
			continue
		}
		go connect(near.(*net.TCPConn), to, delay)
	}
}

// connect delays the start of a connection as its packets would be delayed.
func connect(near *net.TCPConn, to string, delay time.Duration) {
	defer near.Close()
	time.Sleep(delay)
	far, err := net.Dial("tcp", to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "line:", err)
		return
	}
	defer far.Close()
	done := make(chan struct{}, 2)
	for _, way := range [][2]*net.TCPConn{{near, far.(*net.TCPConn)}, {far.(*net.TCPConn), near}} {
		go func() {
			carry(way[0], way[1], delay)
			done <- struct{}{}
		}()
	}
	<-done
	<-done
}

// carry reads at once and writes each piece when it is due, so that pieces do not wait for each
// other. An end of file is delayed like a piece.
func carry(from, to *net.TCPConn, delay time.Duration) {
	pieces := make(chan piece, piecesMax)
	go func() {
		defer close(pieces)
		for {
			bytes := make([]byte, pieceBytes)
			count, err := from.Read(bytes)
			if count > 0 {
				pieces <- piece{bytes[:count], time.Now().Add(delay)}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					_ = to.Close()
				}
				return
			}
		}
	}()
	for piece := range pieces {
		time.Sleep(time.Until(piece.due))
		if _, err := to.Write(piece.bytes); err != nil {
			_ = from.Close()
			break
		}
	}
	for range pieces {
		// The receiver has gone.
	}
	time.Sleep(delay)
	_ = to.CloseWrite()
}
