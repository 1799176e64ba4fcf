package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/jackc/pgx/v5"
)

// bench is one run.
type bench struct {
	data  string
	draws int
	cells bool
	pg    *pgtest.Server
	begin time.Time
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.0fs  %s\n", time.Since(b.begin).Seconds(), fmt.Sprintf(format, args...))
}

// raw asks PostgreSQL past the proxy; values come as text, NULL as nil.
func (b *bench) raw(ctx context.Context, db, sql string) (out [][]*string, err error) {
	c, err := pgx.Connect(ctx, b.pg.URL(db))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	results, err := c.PgConn().Exec(ctx, "SET work_mem = '256MB'; SET jit = off; "+sql).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, sql)
	}
	for _, row := range results[len(results)-1].Rows {
		texts := make([]*string, len(row))
		for i, v := range row {
			if v != nil {
				text := string(v)
				texts[i] = &text
			}
		}
		out = append(out, texts)
	}
	return out, nil
}
