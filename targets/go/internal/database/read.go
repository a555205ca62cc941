package database

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"ceiling.dev/targets/internal/contract"
)

// reads looks rows up by their keys. Each request is one execution of a statement, but requests
// that arrive together share a trip and a transaction: with one trip per request, both sides spend
// most of their time in system calls and wake-ups. A transaction for each lookup of a group was
// tried: the database then sends each response separately, and the rate was lower by more than a
// fifth.
type reads struct {
	pool *pgxpool.Pool
	// alone repeats the lookup of a request whose group has failed.
	alone func(id int) contract.Response
	gathering[lookup]
	// turns bounds the groups in flight to half of GOMAXPROCS, rounded up: one process of the
	// database answers more lookups than two processors serve requests, so more groups would only
	// be smaller. Each has a connection, so this also bounds the connections in use.
	turns chan struct{}
	// trips to the database, each a transaction; the lookups in them; and the lookups that were
	// repeated alone.
	trips, lookups, repeated atomic.Uint64
}

func newReads(pool *pgxpool.Pool, alone func(id int) contract.Response) *reads {
	turns := min((runtime.GOMAXPROCS(0)+1)/2, int(pool.Config().MaxConns))
	return &reads{pool: pool, alone: alone, turns: make(chan struct{}, turns)}
}

// lookup is a request whose handler waits.
type lookup struct {
	id int
	// answer gets nil when another lookup of the group has failed and this one was skipped.
	answer chan<- *contract.Response
}

// read draws a row at random. The index and the table are a few megabytes, so they stay in the
// memory of the database.
func (r *reads) read(contract.Call) contract.Response {
	answer := make(chan *contract.Response, 1)
	id := rand.IntN(rowCount) + 1
	if r.join(lookup{id, answer}) {
		r.lead()
	}
	if got := <-answer; got != nil {
		return *got
	}
	r.repeated.Add(1)
	return r.alone(id)
}

func (r *reads) lead() {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	conn, err := r.pool.Acquire(context.Background())
	if err == nil {
		defer conn.Release()
		// Lets requests join that have arrived and wait for a processor.
		runtime.Gosched()
	}
	group := r.leave()
	r.trips.Add(1)
	r.lookups.Add(uint64(len(group)))
	answered := 0
	if err == nil {
		answered, err = ask(conn.Conn(), group)
	}
	if err == nil {
		return
	}
	// With a PgError the database refused a statement and skipped those after it; any other error
	// is one of the connection and fails all.
	_, refused := errors.AsType[*pgconn.PgError](err)
	for i, lookup := range group[answered:] {
		if refused && i > 0 {
			lookup.answer <- nil
		} else {
			lookup.answer <- new(unavailable(err))
		}
	}
}

var binaryFormat = []int16{pgx.BinaryFormatCode}

// ask answers as many of a group as it can, in order; the next one is the one that failed. The
// group has a single sync (end of transaction), because the database flushes its output at each.
func ask(conn *pgx.Conn, group []lookup) (answered int, err error) {
	// The statement is already prepared, so this makes no trip. Its description saves asking for
	// the columns of each result.
	statement, err := conn.Prepare(context.Background(), "read", statements["read"])
	if err != nil {
		return 0, err
	}
	pipeline := conn.PgConn().StartPipeline(context.Background())
	defer func() { err = errors.Join(err, pipeline.Close()) }()
	for _, lookup := range group {
		id := binary.BigEndian.AppendUint32(nil, uint32(lookup.id))
		pipeline.SendQueryStatement(statement, [][]byte{id}, binaryFormat, binaryFormat)
	}
	if err := pipeline.Sync(); err != nil {
		return 0, err
	}
	for _, lookup := range group {
		body, err := next(pipeline)
		if err != nil {
			return answered, err
		}
		lookup.answer <- new(contract.Good(body))
		answered++
	}
	return answered, nil
}

// next reads one row.
func next(pipeline *pgconn.Pipeline) (body []byte, err error) {
	results, err := pipeline.GetResults()
	if err != nil {
		return nil, err
	}
	rows, ok := results.(*pgconn.ResultReader)
	if !ok {
		return nil, errors.New("no rows where rows were expected")
	}
	for rows.NextRow() {
		body = slices.Clone(rows.Values()[0])
	}
	if _, err = rows.Close(); err == nil && body == nil {
		err = pgx.ErrNoRows
	}
	return body, err
}
