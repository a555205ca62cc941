package database

import (
	"context"
	"math/rand/v2"
	"strconv"

	"ceiling.dev/targets/internal/contract"
)

// stockMax is how many rows there are to add to.
const stockMax = 1000

// update adds one to a row. Who comes while another adds to the same row waits for its commit, and
// so for its flush: on one row the commits of all requests are one after the other, whatever the
// pool.
func (d *Database) update(contract.Call) contract.Response {
	var sold int64
	id := rand.IntN(d.stock) + 1
	row := d.pool.QueryRow(context.Background(), "update", id)
	if err := row.Scan(&sold); err != nil {
		return unavailable(err)
	}
	return contract.Good(append(strconv.AppendInt([]byte(`{"sold":`), sold, 10), '}'))
}
