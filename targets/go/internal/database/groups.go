package database

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ceiling.dev/targets/internal/contract"
)

// groups commits the rows of many requests in one transaction. It never waits for more of them:
// while one group is being committed, the next one gathers.
type groups struct {
	pool *pgxpool.Pool
	gathering[order]
	// turn is held by the group that is being committed.
	turn sync.Mutex
	// committed groups, and the rows that were in them.
	committed, rows atomic.Uint64
}

// order is a request whose handler waits.
type order struct {
	body   []byte
	answer chan<- contract.Response
}

func (g *groups) write(call contract.Call) contract.Response {
	answer := make(chan contract.Response, 1)
	if g.join(order{notNull(call.Body), answer}) {
		g.lead()
	}
	return <-answer
}

func (g *groups) lead() {
	g.turn.Lock()
	defer g.turn.Unlock()
	group := g.leave()
	ids, err := g.commit(group)
	for i, order := range group {
		if err != nil {
			order.answer <- unavailable(err)
		} else {
			order.answer <- written(ids[i])
		}
	}
}

// commit is one statement and so one transaction, which has ended when its rows have been read.
func (g *groups) commit(group []order) ([]int64, error) {
	bodies := make([][]byte, len(group))
	for i, order := range group {
		bodies[i] = order.body
	}
	rows, err := g.pool.Query(context.Background(), "group", bodies)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	if len(ids) != len(group) {
		return nil, fmt.Errorf("%d rows were written of %d", len(ids), len(group))
	}
	g.committed.Add(1)
	g.rows.Add(uint64(len(ids)))
	return ids, nil
}
