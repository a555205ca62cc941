package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"ceiling.dev/targets/internal/contract"
)

// mount serves the routes of parts.
func mount(mux *http.ServeMux, routes []contract.Route) {
	for _, route := range routes {
		mux.HandleFunc(route.Method+" "+route.Path, serve(route))
	}
}

func serve(route contract.Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, contract.BodyLimitBytes))
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			refuseBody(w)
			return
		}
		if err != nil {
			http.Error(w, "Bad Request", http.StatusBadRequest)
			return
		}
		answer := route.Handle(contract.Call{
			Name:  strings.TrimPrefix(r.URL.Path, route.Path),
			Query: func(name string) string { return r.URL.Query().Get(name) },
			Body:  body,
		})
		if answer.HandOver != nil && r.Method != http.MethodHead {
			handOver(w, answer)
			return
		}
		if answer.Stream != nil {
			stream(w, r, answer)
			return
		}
		header := w.Header()
		header["Content-Type"] = []string{answer.Type}
		header["Content-Length"] = []string{strconv.Itoa(len(answer.Body))}
		w.WriteHeader(answer.Status)
		_, _ = w.Write(answer.Body)
	}
}

// handOver passes the connection to another process, which responds, and closes it here.
func handOver(w http.ResponseWriter, answer contract.Response) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	answer.HandOver(conn)
}

// stream leaves the framing to net/http, which sends what was written at each flush. net/http keeps
// reading from the connection, and ends the context of the request when the client disconnects.
func stream(w http.ResponseWriter, r *http.Request, answer contract.Response) {
	defer answer.Stream.Leave()
	header := w.Header()
	header["Content-Type"] = []string{answer.Type}
	header["Cache-Control"] = []string{contract.CacheStream}
	w.WriteHeader(answer.Status)
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	defer context.AfterFunc(r.Context(), answer.Stream.Leave)()
	var piece []byte
	for more := true; more; {
		// The first flush sends the head alone.
		if control.Flush() != nil {
			return
		}
		if piece, more = answer.Stream.Next(piece[:0]); more {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
}
