package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/jackc/pgx/v5"
)

// workMem is for PostgreSQL's hash tables over people: with the 4 MB that it has of itself they go to disk at 150,000 customers.
const workMem = "64MB"

// bench is one run.
type bench struct {
	data, cache, docs string
	draws             int
	fixed             bool
	only              *regexp.Regexp
	pg                *pgtest.Server
	loaded            map[string]bool
	verifier          string
	random            *baseline.Random
	begin             time.Time
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.0fs  %s\n", time.Since(b.begin).Seconds(), fmt.Sprintf(format, args...))
}

// raw asks PostgreSQL past the proxy; values come as text.
func (b *bench) raw(db, sql string) (out [][]string, err error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, b.pg.URL(db))
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, "SET work_mem = '"+workMem+"'"); err != nil {
		return nil, err
	}
	results, err := c.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, sql)
	}
	for _, row := range results[len(results)-1].Rows {
		text := make([]string, len(row))
		for i, v := range row {
			text[i] = string(v)
		}
		out = append(out, text)
	}
	return out, nil
}
