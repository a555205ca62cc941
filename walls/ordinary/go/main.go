// Command main serves with net/http; each request sleeps while it holds a semaphore or a mutex.
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
	fmt.Println(http.ListenAndServe(":"+os.Getenv("PORT"), nil))
}
