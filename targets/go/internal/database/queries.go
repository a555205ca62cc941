package database

import (
	"context"
	"math/rand/v2"
	"strconv"

	"github.com/jackc/pgx/v5"

	"ceiling.dev/targets/internal/contract"
)

// The statements that each connection has prepared, by name.
var statements = map[string]string{
	"read": "SELECT body FROM ceiling_products WHERE id = $1",
	"scan": `
SELECT json_agg(found)::text FROM (
	SELECT category, count(*) AS products, avg(price) AS mean, min(price), max(price)
	FROM ceiling_products GROUP BY category ORDER BY category) AS found`,
	"write":  "INSERT INTO ceiling_orders (body) VALUES ($1) RETURNING id",
	"update": "UPDATE ceiling_stock SET sold = sold + 1 WHERE id = $1 RETURNING sold",
	// The order ensures that the first body gets the first id.
	"group": `
INSERT INTO ceiling_orders (body)
SELECT body FROM unnest($1::bytea[]) WITH ORDINALITY AS order_of (body, place) ORDER BY place
RETURNING id`,
}

func prepareStatements(ctx context.Context, conn *pgx.Conn) error {
	for name, text := range statements {
		if _, err := conn.Prepare(ctx, name, text); err != nil {
			return err
		}
	}
	return nil
}

// readAlone has a connection of its own while it waits, as in most programs with a pool.
func (d *Database) readAlone(contract.Call) contract.Response {
	return d.one("read", rand.IntN(rowCount)+1)
}

// scan has no index that would help: the database reads the whole table.
func (d *Database) scan(contract.Call) contract.Response { return d.one("scan") }

func (d *Database) one(statement string, arguments ...any) contract.Response {
	var body []byte
	row := d.pool.QueryRow(context.Background(), statement, arguments...)
	if err := row.Scan(&body); err != nil {
		return unavailable(err)
	}
	return contract.Good(body)
}

// write is one transaction of one row. The commit waits for the disk, unless --sync off.
func (d *Database) write(call contract.Call) contract.Response {
	var id int64
	row := d.pool.QueryRow(context.Background(), "write", notNull(call.Body))
	if err := row.Scan(&id); err != nil {
		return unavailable(err)
	}
	return written(id)
}

// notNull is for a request without a body, whose nil would be NULL.
func notNull(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}

func written(id int64) contract.Response {
	return contract.Good(append(strconv.AppendInt([]byte(`{"id":`), id, 10), '}'))
}
