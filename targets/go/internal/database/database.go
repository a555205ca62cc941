// Package database is the part of the spectrum that waits for PostgreSQL: one row by its key, a
// scan of a table, and writes that are acknowledged when they are on disk, alone or in groups.
package database

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"ceiling.dev/targets/internal/contract"
)

const (
	poolDefault = 16
	poolMax     = 1000
	// openLimit is how long the target waits for the database before it gives up.
	openLimit = 10 * time.Second
	// closeLimit is how long the target waits for its queries when it stops.
	closeLimit = time.Second
)

// Database is the part. Without --db it is off.
type Database struct {
	config *pgxpool.Config
	size   int
	sync   contract.Switch
	pool   *pgxpool.Pool
	// lookup says how the database finds a row: one of lookups.
	lookup string
	// fsync, commits, buffers and plans are settings that the database reports: whether it waits
	// for its disk at all, whether our commits do, how much it holds in its buffer pool, and
	// whether it plans each request anew.
	fsync, commits, buffers, plans string
	// found is how it finds a row: Index Scan or Seq Scan.
	found string
	// opened is the state of the pool before the first request.
	opened *pgxpool.Stat
	reads  *reads
	groups *groups
	// stock is the number of rows that /db/update adds to.
	stock int
	// hasReplica is set by --replica.
	hasReplica bool
	replica    *replica
}

// lookups are the settings with which the database finds a row: by the index and with a plan that
// it has; by the index and with a plan of its own for each request; by reading the whole table.
var lookups = map[string]map[string]string{
	"index": nil,
	"plan":  {"plan_cache_mode": "force_custom_plan"},
	"table": {"enable_indexscan": "off", "enable_indexonlyscan": "off", "enable_bitmapscan": "off"},
}

// New is a database that no flag has set up yet.
func New() *Database {
	return &Database{size: poolDefault, sync: contract.On, stock: stockMax, lookup: "index"}
}

// Flags say where the database is and how it is used.
func (d *Database) Flags() []contract.Flag {
	const address = "--db postgres://user@127.0.0.1:5432/shop"
	return []contract.Flag{
		{
			Name: "db", Takes: "a URL of PostgreSQL or the path of its socket", Example: address,
			Help: "serve /db/ from this database (default off)", Set: d.setAddress,
		},
		{
			Name: "pool", Takes: "a number from 1 to 1000", Example: address + " --pool 16",
			Help: "connections to the database, for each worker (default 16)",
			Set:  contract.Number(&d.size, 1, poolMax),
		},
		{
			Name: "sync", Takes: "on or off", Example: address + " --sync off",
			Help: "respond to writes when they are on disk (default on)",
			Set:  contract.Position(&d.sync),
		},
		{
			Name: "stock", Takes: "a number from 1 to 1000", Example: address + " --stock 1",
			Help: "rows that /db/update adds to (default 1000)",
			Set:  contract.Number(&d.stock, 1, stockMax),
		},
		{
			Name: "lookup", Takes: "index, plan or table", Example: address + " --lookup table",
			Help: "find rows by an index, with a plan for each request, or without index " +
				"(default index)",
			Set: d.setLookup,
		},
		{
			Name: "replica", Example: address + " --replica",
			Help: "serve /db/write-read: --db names a primary and its replica (default off)",
			Set: func(*contract.Options, string) error {
				d.hasReplica = true
				return nil
			},
		},
	}
}

// setAddress accepts what pgx accepts, and the path of a socket, whose name ends in the port.
func (d *Database) setAddress(_ *contract.Options, value string) (err error) {
	if strings.HasPrefix(value, "/") {
		folder, name := filepath.Split(value)
		value = fmt.Sprintf("host='%s' port='%s'", folder, strings.TrimPrefix(name, ".s.PGSQL."))
	}
	if value == "" {
		return errors.New("empty")
	}
	d.config, err = pgxpool.ParseConfig(value)
	return err
}

func (d *Database) setLookup(_ *contract.Options, value string) error {
	if _, known := lookups[value]; !known {
		return errors.New("unknown")
	}
	d.lookup = value
	return nil
}

// Open makes the tables if they are absent and opens all connections, so that none is opened, and
// paid for, by a request.
func (d *Database) Open(ctx context.Context) ([]contract.Route, error) {
	if d.config == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	d.configure()
	var err error
	if d.pool, err = pgxpool.NewWithConfig(ctx, d.config); err != nil {
		return nil, d.explain(err)
	}
	if err := d.prepare(ctx); err != nil {
		d.Close()
		return nil, d.explain(err)
	}
	if d.hasReplica {
		if err := d.openReplica(ctx); err != nil {
			d.Close()
			return nil, d.explain(fmt.Errorf("replica: %w", err))
		}
	}
	d.groups = &groups{pool: d.pool}
	d.reads = newReads(d.pool, func(id int) contract.Response { return d.one("read", id) })
	routes := []contract.Route{
		{Method: http.MethodGet, Path: "/db/read", Handle: d.reads.read},
		{Method: http.MethodGet, Path: "/db/read-alone", Handle: d.readAlone},
		{Method: http.MethodGet, Path: "/db/scan", Handle: d.scan},
		{Method: http.MethodPost, Path: "/db/write", Handle: d.write},
		{Method: http.MethodPost, Path: "/db/write-batch", Handle: d.groups.write},
		{Method: http.MethodPost, Path: "/db/update", Handle: d.update},
		{Method: http.MethodGet, Path: "/db/stats", Handle: d.stats},
	}
	if d.replica != nil {
		routes = append(routes, contract.Route{
			Method: http.MethodPost, Path: "/db/write-read", Handle: d.writeRead,
		})
	}
	return routes, nil
}

func (d *Database) configure() {
	d.config.MinConns, d.config.MaxConns = int32(d.size), int32(d.size)
	// Replacing connections by age would make some requests slow.
	d.config.MaxConnLifetime, d.config.MaxConnIdleTime = 0, 0
	parameters := d.config.ConnConfig.RuntimeParams
	parameters["application_name"] = "ceiling-target"
	parameters["synchronous_commit"] = string(d.sync)
	// No request hangs forever, and one request is the work of one process of the database.
	parameters["statement_timeout"] = "10s"
	parameters["max_parallel_workers_per_gather"] = "0"
	maps.Copy(parameters, lookups[d.lookup])
	d.config.AfterConnect = prepareStatements
	if d.hasReplica {
		// Connect to the host that accepts writes.
		d.config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
}

func (d *Database) prepare(ctx context.Context) error {
	// Not from the pool: preparing the statements of its connections needs the tables.
	conn, err := pgx.ConnectConfig(ctx, d.config.ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := makeTables(ctx, conn); err != nil {
		return err
	}
	held := make([]*pgxpool.Conn, 0, d.size)
	defer func() {
		for _, conn := range held {
			conn.Release()
		}
	}()
	for range d.size {
		conn, err := d.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		held = append(held, conn)
	}
	d.opened = d.pool.Stat()
	settings := `SELECT current_setting('fsync'), current_setting('synchronous_commit'),
		current_setting('shared_buffers'), current_setting('plan_cache_mode')`
	err = held[0].QueryRow(ctx, settings).Scan(&d.fsync, &d.commits, &d.buffers, &d.plans)
	if err != nil {
		return err
	}
	var plans []struct {
		Plan struct {
			Node string `json:"Node Type"`
		}
	}
	err = held[0].QueryRow(ctx, "EXPLAIN (FORMAT JSON) EXECUTE read(1)").Scan(&plans)
	if err == nil && len(plans) == 1 {
		d.found = plans[0].Plan.Node
	}
	return err
}

// explain says what is missing and how to get it.
func (d *Database) explain(err error) error {
	return fmt.Errorf("--db: %s; \"make services\" installs PostgreSQL and "+
		"\"scripts/postgres start DIR\" starts one and prints its URL", contract.OneLine(err))
}

// Close closes the connections. Hanging ones are left: the process ends next.
func (d *Database) Close() {
	if d.pool == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		d.pool.Close()
		if d.replica != nil {
			d.replica.pool.Close()
		}
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeLimit):
	}
}

// stats reports the work of the database and its pool since the start of the target. A request that
// finds no idle connection waits for one. read_connections is the most that /db/read uses, whatever
// the size of the pool.
func (d *Database) stats(contract.Call) contract.Response {
	pool := d.pool.Stat()
	waited := pool.EmptyAcquireWaitTime() - d.opened.EmptyAcquireWaitTime()
	figures := map[string]any{
		"fsync":              d.fsync,
		"synchronous_commit": d.commits,
		"shared_buffers":     d.buffers,
		"plan_cache_mode":    d.plans,
		"lookup":             d.lookup,
		"lookup_plan":        d.found,
		"connections":        pool.TotalConns(),
		"connections_busy":   pool.AcquiredConns(),
		"waits":              pool.EmptyAcquireCount() - d.opened.EmptyAcquireCount(),
		"wait_seconds":       waited.Seconds(),
		"read_connections":   cap(d.reads.turns),
		"trips":              d.reads.trips.Load(),
		"lookups":            d.reads.lookups.Load(),
		"repeated":           d.reads.repeated.Load(),
		"groups":             d.groups.committed.Load(),
		"group_rows":         d.groups.rows.Load(),
	}
	if replica := d.replica; replica != nil {
		figures["replica_reads"] = replica.reads.Load()
		figures["replica_stale"] = replica.stale.Load()
		figures["replica_lag_seconds"] = time.Duration(replica.lag.Load()).Seconds()
	}
	body, err := json.Marshal(figures)
	if err != nil {
		return contract.Failed(http.StatusInternalServerError, err)
	}
	return contract.Good(body)
}

// unavailable is the response when the database has failed.
func unavailable(err error) contract.Response {
	return contract.Failed(http.StatusServiceUnavailable, fmt.Errorf("database: %w", err))
}
