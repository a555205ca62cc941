package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"ceiling.dev/targets/internal/contract"
)

type routes struct{ catalog *contract.Catalog }

// newMux leaves HEAD, 404 and 405 to the pattern rules of http.ServeMux.
func newMux(r routes, more []contract.Route) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+contract.PathSimple, r.simple)
	mux.HandleFunc("GET "+contract.PathRead, r.read)
	mux.HandleFunc("GET "+contract.PathReadLocked, r.readLocked)
	mux.HandleFunc("GET "+contract.PathReadTable, r.readTable)
	mux.HandleFunc("GET "+contract.PathReadGz, r.readGz)
	mux.HandleFunc("GET "+contract.PathList, r.list)
	mux.HandleFunc("GET "+contract.PathCompute, r.compute)
	mux.HandleFunc("GET "+contract.PathHealthz, r.healthz)
	mux.HandleFunc("POST "+contract.PathEcho, r.echo)
	mount(mux, more)
	return mux
}

// Header values shared by all responses. Header.Set would make a new slice each time; these are
// assigned directly and net/http only reads them.
var (
	typeJSON     = []string{contract.TypeJSON}
	typeText     = []string{contract.TypeText}
	encodingGzip = []string{contract.EncodingGzip}
	varyEncoding = []string{contract.VaryEncoding}

	simple  = contract.NewBody(contract.BodySimple)
	healthz = contract.NewBody(contract.BodyHealthz)
)

func (routes) simple(w http.ResponseWriter, _ *http.Request) { send(w, typeJSON, &simple) }

func (routes) healthz(w http.ResponseWriter, _ *http.Request) { send(w, typeText, &healthz) }

func (r routes) read(w http.ResponseWriter, _ *http.Request) {
	send(w, typeJSON, r.catalog.Read())
}

func (r routes) readLocked(w http.ResponseWriter, _ *http.Request) {
	send(w, typeJSON, r.catalog.ReadLocked())
}

func (r routes) readTable(w http.ResponseWriter, _ *http.Request) {
	send(w, typeJSON, r.catalog.ReadTable())
}

func (r routes) readGz(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header["Content-Encoding"] = encodingGzip
	header["Vary"] = varyEncoding
	send(w, typeJSON, r.catalog.ReadGz())
}

// listBuffers hold whole batches. Written piece by piece, a batch would cost one system call per
// product, and the route would measure that.
var listBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (r routes) list(w http.ResponseWriter, _ *http.Request) {
	batch := r.catalog.List()
	buffer := listBuffers.Get().(*bytes.Buffer)
	defer listBuffers.Put(buffer)
	buffer.Reset()
	for piece := range batch.Pieces() {
		buffer.Write(piece)
	}
	sendOnce(w, typeJSON, buffer.Bytes())
}

func (r routes) compute(w http.ResponseWriter, _ *http.Request) {
	body, err := r.catalog.Compute()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	sendOnce(w, typeJSON, body)
}

func (routes) echo(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > contract.BodyLimitBytes {
		// Refuse before reading the body, as the other targets do.
		refuseBody(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, contract.BodyLimitBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		refuseBody(w)
		return
	}
	if err != nil {
		http.Error(w, "Bad Request", http.StatusBadRequest)
		return
	}
	contentType := r.Header["Content-Type"]
	if len(contentType) == 0 {
		contentType = []string{contract.TypeBinary}
	}
	sendOnce(w, contentType, body)
}

func refuseBody(w http.ResponseWriter) {
	http.Error(w, "Request Entity Too Large", http.StatusRequestEntityTooLarge)
}

// send states the length, because net/http chunks a body of unknown length above 2 KB. A failed
// write means that the client has gone, which net/http detects itself.
func send(w http.ResponseWriter, contentType []string, body *contract.Body) {
	header := w.Header()
	header["Content-Type"] = contentType
	header["Content-Length"] = body.Length
	_, _ = w.Write(body.Bytes)
}

func sendOnce(w http.ResponseWriter, contentType []string, content []byte) {
	body := contract.Body{Bytes: content, Length: []string{strconv.Itoa(len(content))}}
	send(w, contentType, &body)
}
