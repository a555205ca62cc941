package database

import (
	"context"
	"math/rand/v2"
	"strconv"

	"ceiling.dev/targets/internal/contract"
)

// stockMax is the number of rows in the table.
const stockMax = 1000

// update adds one to a row. A request that arrives while another one adds to the same row waits for
// its commit, and so for its flush: with one row all commits happen one after the other, whatever
// the pool.
func (d *Database) update(contract.Call) contract.Response {
	var sold int64
	id := rand.IntN(d.stock) + 1
	row := d.pool.QueryRow(context.Background(), "update", id)
	if err := row.Scan(&sold); err != nil {
		return unavailable(err)
	}
	return contract.Good(append(strconv.AppendInt([]byte(`{"sold":`), sold, 10), '}'))
}
