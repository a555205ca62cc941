package targets_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/hub"
)

// BenchmarkHub measures what a delivered event costs the server, from its last line: the CPU time
// of the whole process per event sent to a subscriber, likes included. Ten posts, a thousand
// subscribers, likes one after the other on four connections.
//
//	go test . -run '^$' -bench Hub -benchtime 5s
func BenchmarkHub(b *testing.B) {
	for _, target := range []string{"nethttp", "fasthttp", "fiber"} {
		for _, kind := range hubKinds {
			args := kind
			if kind[1] == "aggregated" {
				args = []string{"--hub", "aggregated"}
			}
			b.Run(target+" "+kind[1], func(b *testing.B) {
				process := start(b, variant{target: target, args: args, workers: 1})
				address := process.listening.Addr
				for i := range 1000 {
					conn, err := net.Dial("tcp", address)
					check(b, err)
					defer conn.Close()
					_, err = io.WriteString(conn, request("GET "+hub.PathEvents, i))
					check(b, err)
					go io.Copy(io.Discard, conn)
				}
				b.ResetTimer()
				begin := time.Now()
				likeFor(b, address, b.N)
				seconds := time.Since(begin).Seconds()
				process.signalGroup(syscall.SIGTERM)
				stopped, _ := process.end(b)
				counted := stopped.Parts["hub"]
				sent, dropped := float64(counted["sent"]), float64(counted["dropped"])
				b.ReportMetric(float64(stopped.CPUUserNs+stopped.CPUSystemNs)/sent, "cpu-ns/event")
				b.ReportMetric(sent/seconds, "events/s")
				b.ReportMetric(100*sent/(sent+dropped), "%delivered")
			})
		}
	}
}

func request(line string, post int) string {
	return line + string(rune('a'+post%10)) + " HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
}

// likeFor sends likes on four connections, each after the response to the last.
func likeFor(b *testing.B, address string, likes int) {
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			answer := make([]byte, 4096)
			for i := worker; i < likes; i += 4 {
				_, err := io.WriteString(conn, request("POST "+hub.PathLike, i))
				for end := ""; err == nil && !strings.HasSuffix(end, "}"); {
					var got int
					got, err = conn.Read(answer)
					end = string(answer[:got])
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
