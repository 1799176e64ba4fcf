// pgx: options at the start, protocol 3.2, statements cached and described, a batch, COPY, cancel by context with a request on a second connection.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

func main() {
	config, err := pgx.ParseConfig(fmt.Sprintf("postgres://analyst:demo@%s/demo?sslmode=disable&max_protocol_version=latest&options=-c%%20dpsql.notices%%3Dbrief%%20-c%%20dpsql.expected_size%%3D5000%%20-c%%20statement_timeout%%3D30s", os.Args[1]))
	check(err)
	noticed := false
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { noticed = noticed || strings.Contains(n.Message, "price") }
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Minute}
	}
	ctx := context.Background()
	c, err := pgx.ConnectConfig(ctx, config)
	check(err)
	fmt.Println("key of cancels:", len(c.PgConn().SecretKey()), "bytes")
	for _, name := range []string{"dpsql.expected_size", "statement_timeout"} {
		var v string
		check(c.QueryRow(ctx, "SHOW "+name).Scan(&v))
		fmt.Println("by options:", name, v)
	}
	var n, again int64
	check(c.QueryRow(ctx, "SELECT count(*) FROM encounters WHERE medications >= $1", 23).Scan(&n))
	fmt.Printf("count: ~%d\na notice tells the price: %v\n", n, noticed)
	var b pgx.Batch
	b.Queue("SELECT count(*) FROM encounters WHERE medications >= $1", 23).QueryRow(func(r pgx.Row) error { return r.Scan(&again) })
	b.Queue("SELECT readmitted, count(*), avg(medications) FROM encounters GROUP BY 1 ORDER BY 1").Query(func(rows pgx.Rows) error {
		var key string
		var count int64
		var mean float64
		_, err := pgx.ForEachRow(rows, []any{&key, &count, &mean}, func() error {
			fmt.Printf("group: %s ~%d ~%.1f\n", key, count, mean)
			return nil
		})
		return err
	})
	check(c.SendBatch(ctx, &b).Close())
	fmt.Println("in a batch, the same answer:", n == again)
	var out bytes.Buffer
	tag, err := c.PgConn().CopyTo(ctx, &out, "COPY (SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1) TO STDOUT WITH (FORMAT csv, HEADER)")
	check(err)
	line, _, _ := strings.Cut(out.String(), "\n")
	fmt.Println("copy:", tag, line)
	_, err = c.Exec(ctx, "SELECT * FROM patients")
	var e *pgconn.PgError
	fmt.Println("rows:", errors.As(err, &e), e.Code, e.Message)
	short, stop := context.WithTimeout(ctx, 500*time.Millisecond)
	defer stop()
	_, err = c.Exec(short, "SELECT pg_sleep(20)")
	fmt.Println("context's end:", errors.As(err, &e), e.Code, "- the connection goes on:", c.Ping(ctx) == nil)
	check(c.Close(ctx))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
