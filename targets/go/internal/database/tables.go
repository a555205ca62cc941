package database

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ceiling.dev/targets/internal/contract"
)

const (
	// rowCount is that of pgbench at scale 1, so that the two can be compared.
	rowCount = 100_000
	// rowsSeed is fixed: the table outlives a target, and must not depend on which target made it.
	rowsSeed = 1
	// tablesLock keeps workers that start at once from making the tables twice.
	tablesLock = 0x6365696c
)

// row is a product without its long texts, as in the table of a shop: a page of the database holds
// one to two dozen rows, as with pgbench.
type row struct {
	Name     string  `json:"name"`
	Brand    string  `json:"brand"`
	Category string  `json:"category"`
	Price    float64 `json:"price"`
	Rating   float64 `json:"rating"`
	Reviews  int     `json:"reviews"`
}

const tables = `
CREATE TABLE IF NOT EXISTS ceiling_products (
	id int PRIMARY KEY, category text NOT NULL, price float8 NOT NULL, body text NOT NULL);
CREATE TABLE IF NOT EXISTS ceiling_orders (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL);
CREATE TABLE IF NOT EXISTS ceiling_stock (
	id int PRIMARY KEY, sold bigint NOT NULL) WITH (fillfactor = 10)`

// stockUp keeps the counts of existing rows.
const stockUp = `
INSERT INTO ceiling_stock SELECT id, 0 FROM generate_series(1, $1::int) AS id
ON CONFLICT DO NOTHING`

// fill repeats the products of the pool until there are enough rows.
const fill = `
INSERT INTO ceiling_products
SELECT id, category, price, body
FROM generate_series(1, $1::int) AS id
JOIN unnest($2::text[], $3::float8[], $4::text[]) WITH ORDINALITY
	AS product (category, price, body, place) ON place = 1 + id % cardinality($2::text[])`

// makeTables creates missing tables and keeps existing ones.
func makeTables(ctx context.Context, conn *pgx.Conn) error {
	made := false
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", tablesLock); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, tables); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, stockUp, stockMax); err != nil {
			return err
		}
		var count int
		query := "SELECT count(*) FROM ceiling_products"
		if err := tx.QueryRow(ctx, query).Scan(&count); err != nil {
			return err
		}
		switch count {
		case rowCount:
			return nil
		case 0:
			made = true
			return insertRows(ctx, tx)
		default:
			return fmt.Errorf("ceiling_products has %d rows, want %d; drop it", count, rowCount)
		}
	})
	if err != nil || !made {
		return err
	}
	// Otherwise autovacuum may do it during a measurement.
	_, err = conn.Exec(ctx, "VACUUM (FREEZE, ANALYZE) ceiling_products")
	return err
}

func insertRows(ctx context.Context, tx pgx.Tx) error {
	catalog, err := contract.NewCatalog(rowsSeed)
	if err != nil {
		return err
	}
	var categories, bodies []string
	var prices []float64
	for _, product := range catalog.Products {
		body, err := json.Marshal(row{
			product.Name, product.Brand, product.Category, product.Price, product.Rating,
			product.Reviews,
		})
		if err != nil {
			return fmt.Errorf("serialise a row: %w", err)
		}
		categories = append(categories, product.Category)
		prices = append(prices, product.Price)
		bodies = append(bodies, string(body))
	}
	_, err = tx.Exec(ctx, fill, rowCount, categories, prices, bodies)
	return err
}
