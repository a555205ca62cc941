package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ceiling.dev/targets/internal/contract"
)

const (
	// forwardQueue is how many likes can wait for the sender.
	forwardQueue = 512
	// forwardLimit is the timeout of one POST.
	forwardLimit = time.Second
)

// forward takes likes in one process for the hub of another. One sender makes one POST per like and
// waits for the response, as a program does that was split in two. Subscribers belong to the other
// process: their connections are passed on as descriptors, and no event passes through this
// process.
type forward struct {
	url    string
	client http.Client
	queue  chan like
	// likes of each post, by name, *atomic.Uint64.
	likes sync.Map
	// door is the connection over which subscribers are passed to the other process.
	door   *net.UnixConn
	counts forwardCounts
}

// like is what a POST carries: the post, and when the like was accepted.
type like struct {
	name string
	atNs int64
}

type forwardCounts struct {
	likes, forwarded, dropped, failed, handedOver atomic.Uint64
}

// ForwardStats is the response of /hub/stats in a process that forwards. When nothing waits, likes
// are forwarded, dropped and failed together.
type ForwardStats struct {
	Hub   string `json:"hub"`
	Likes uint64 `json:"likes"`
	// Forwarded were accepted by the other process.
	Forwarded uint64 `json:"forwarded"`
	// Dropped met a full queue of the sender.
	Dropped uint64 `json:"forward_dropped"`
	// Failed were refused by the other process, or got no response in time.
	Failed uint64 `json:"forward_failed"`
	// HandedOver are connections of subscribers.
	HandedOver uint64 `json:"handed_over"`
}

func (f *forward) stats() ForwardStats {
	return ForwardStats{
		Hub: "forward", Likes: f.counts.likes.Load(), Forwarded: f.counts.forwarded.Load(),
		Dropped: f.counts.dropped.Load(), Failed: f.counts.failed.Load(),
		HandedOver: f.counts.handedOver.Load(),
	}
}

func (f *forward) counters() map[string]uint64 {
	stats := f.stats()
	return map[string]uint64{
		"likes": stats.Likes, "forwarded": stats.Forwarded, "forward_dropped": stats.Dropped,
		"forward_failed": stats.Failed, "handed_over": stats.HandedOver,
	}
}

func (f *forward) setURL(_ *contract.Options, value string) error {
	parsed, err := url.Parse(value)
	if err != nil || parsed.Scheme != "http" || parsed.Host == "" || parsed.RawQuery != "" {
		return errUnfit
	}
	f.url = strings.TrimSuffix(value, "/")
	return nil
}

// open finds the other hub and its door, and starts the sender.
func (f *forward) open(ctx context.Context, closed <-chan struct{}) ([]contract.Route, error) {
	f.client = http.Client{Timeout: forwardLimit, Transport: &http.Transport{}}
	if err := f.findDoor(ctx); err != nil {
		return nil, fmt.Errorf("--hub-forward: %w; \"bin/target-fasthttp --hub one --hub-adopt "+
			"--port 8084\" is a hub that takes what this one forwards", err)
	}
	f.queue = make(chan like, forwardQueue)
	go f.send(closed)
	return []contract.Route{
		{Method: http.MethodPost, Path: PathLike, Handle: f.handleLike},
		{Method: http.MethodGet, Path: PathEvents, Handle: f.handleEvents},
		{Method: http.MethodGet, Path: PathStats, Handle: func(contract.Call) contract.Response {
			return inJSON(f.stats())
		}},
	}, nil
}

func (f *forward) findDoor(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+PathStats, nil)
	if err != nil {
		return err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var other Stats
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is %s", f.url+PathStats, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&other); err != nil {
		return err
	}
	if other.Door == "" {
		return fmt.Errorf("the hub at %s takes no subscribers over", f.url)
	}
	address := &net.UnixAddr{Name: other.Door, Net: "unixpacket"}
	f.door, err = net.DialUnix(address.Net, nil, address)
	return err
}

// handleLike never waits for the other process.
func (f *forward) handleLike(call contract.Call) contract.Response {
	if !isName(call.Name) {
		return contract.Failed(http.StatusBadRequest, errName)
	}
	found, ok := f.likes.Load(call.Name)
	if !ok {
		found, _ = f.likes.LoadOrStore(strings.Clone(call.Name), new(atomic.Uint64))
	}
	likes := found.(*atomic.Uint64).Add(1)
	f.counts.likes.Add(1)
	select {
	case f.queue <- like{strings.Clone(call.Name), time.Now().UnixNano()}:
	default:
		f.counts.dropped.Add(1)
	}
	return contract.Good(fmt.Appendf(nil, `{"likes":%d}`, likes))
}

// send is the one sender.
func (f *forward) send(closed <-chan struct{}) {
	for {
		select {
		case like := <-f.queue:
			if err := f.post(like); err != nil {
				f.counts.failed.Add(1)
			} else {
				f.counts.forwarded.Add(1)
			}
		case <-closed:
			return
		}
	}
}

func (f *forward) post(like like) error {
	at := strings.NewReader(strconv.FormatInt(like.atNs, 10))
	response, err := f.client.Post(f.url+PathLike+like.name, contract.TypeText, at)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// handleEvents passes the connection on, with the name of the post.
func (f *forward) handleEvents(call contract.Call) contract.Response {
	if !isName(call.Name) {
		return contract.Failed(http.StatusBadRequest, errName)
	}
	name := strings.Clone(call.Name)
	return contract.Response{
		Status: http.StatusOK, Type: contract.TypeEvents,
		HandOver: func(conn net.Conn) {
			if err := handOver(f.door, name, conn); err != nil {
				refuse(conn, contract.Failed(http.StatusServiceUnavailable, err))
				return
			}
			f.counts.handedOver.Add(1)
		},
	}
}

// handOver sends a descriptor of the connection through a door. The caller closes ours; the
// connection stays open in the other process.
func handOver(door *net.UnixConn, name string, conn net.Conn) error {
	socket, ok := contract.Tracked(conn).Conn.(syscall.Conn)
	if !ok {
		return fmt.Errorf("a %T has no descriptor", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Control(func(fd uintptr) {
		_, _, failure = door.WriteMsgUnix([]byte(name), unix.UnixRights(int(fd)), nil)
	})
	return errors.Join(err, failure)
}

// refuse responds on a hijacked connection.
func refuse(conn net.Conn, answer contract.Response) {
	fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n"+
		"Connection: close\r\n\r\n%s", answer.Status, http.StatusText(answer.Status), answer.Type,
		len(answer.Body), answer.Body)
}
