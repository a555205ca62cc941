// Command main serves with net/http, HTTP/1.1 and HTTP/2 without TLS; each request sleeps while it
// holds a semaphore or a mutex. STREAMS limits the streams of an HTTP/2 connection.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	milliseconds, _ := strconv.ParseFloat(os.Getenv("SLEEP_MS"), 64)
	slots, _ := strconv.Atoi(os.Getenv("SLOTS"))
	sleep := time.Duration(milliseconds * float64(time.Millisecond))
	semaphore := make(chan struct{}, slots)
	var mutex sync.Mutex
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if os.Getenv("APP") == "mutex" {
			mutex.Lock()
			time.Sleep(sleep)
			mutex.Unlock()
		} else {
			semaphore <- struct{}{}
			time.Sleep(sleep)
			<-semaphore
		}
		fmt.Fprintln(w, "slept")
	})
	streams, _ := strconv.Atoi(os.Getenv("STREAMS"))
	server := http.Server{
		Addr:      ":" + os.Getenv("PORT"),
		Protocols: new(http.Protocols),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: streams},
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	fmt.Println(server.ListenAndServe())
}
