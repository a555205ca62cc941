package database

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"ceiling.dev/targets/internal/contract"
)

const (
	// visibleLimit is how long a row may take to reach the replica.
	visibleLimit = 5 * time.Second
	// seen finds a row that was written elsewhere.
	seen = "SELECT count(*) FROM ceiling_orders WHERE id = $1"
)

// replica reads rows that were written at the primary. A replica applies commits some time after
// they were acknowledged, so a read there may not find what was just written.
type replica struct {
	pool *pgxpool.Pool
	// reads counts first reads after a write, stale those that did not find the row, and lag is the
	// sum over all rows of the time from acknowledgement until found, nanoseconds.
	reads, stale, lag atomic.Uint64
}

// openReplica connects to the host of the database that is a standby. The tables reach it by
// replication too.
func (d *Database) openReplica(ctx context.Context) error {
	config := d.config.Copy()
	config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsStandby
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		for {
			_, err := conn.Prepare(ctx, "seen", seen)
			if err == nil || ctx.Err() != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	d.replica = &replica{pool: pool}
	return pool.Ping(ctx)
}

// writeRead writes a row and then reads it at the replica until it is there.
func (d *Database) writeRead(call contract.Call) contract.Response {
	var id int64
	ctx, cancel := context.WithTimeout(context.Background(), visibleLimit)
	defer cancel()
	row := d.pool.QueryRow(ctx, "write", notNull(call.Body))
	if err := row.Scan(&id); err != nil {
		return unavailable(err)
	}
	acknowledged := time.Now()
	d.replica.reads.Add(1)
	for reads := 1; ; reads++ {
		var found int
		err := d.replica.pool.QueryRow(ctx, "seen", id).Scan(&found)
		if err != nil {
			return unavailable(fmt.Errorf("replica, after %d reads: %w", reads, err))
		}
		if found > 0 {
			lag := time.Since(acknowledged)
			d.replica.lag.Add(uint64(lag))
			body := fmt.Sprintf(`{"id":%d,"reads":%d,"lag_ns":%d}`, id, reads, lag.Nanoseconds())
			return contract.Good([]byte(body))
		}
		if reads == 1 {
			d.replica.stale.Add(1)
		}
	}
}
