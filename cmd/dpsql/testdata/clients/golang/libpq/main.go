// lib/pq under database/sql: Ping's empty query, parameters, prepared statements, notices, cancel by context.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/lib/pq"
)

func main() {
	base, err := pq.NewConnector(fmt.Sprintf("postgres://analyst:demo@%s/demo?sslmode=disable&options=-c%%20dpsql.notices=brief", os.Args[1]))
	check(err)
	noticed := false
	db := sql.OpenDB(pq.ConnectorWithNoticeHandler(base, func(n *pq.Error) { noticed = noticed || strings.Contains(n.Message, "price") }))
	ctx := context.Background()
	check(db.PingContext(ctx))
	rows, err := db.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1", "public")
	check(err)
	var tables []string
	for rows.Next() {
		var t string
		check(rows.Scan(&t))
		tables = append(tables, t)
	}
	check(rows.Err())
	fmt.Println("tables:", strings.Join(tables, ", "))
	var n, again int64
	check(db.QueryRowContext(ctx, "SELECT count(*) FROM encounters WHERE medications >= $1", 21).Scan(&n))
	fmt.Printf("count: ~%d\na notice tells the price: %v\n", n, noticed)
	st, err := db.PrepareContext(ctx, "SELECT count(*) FROM encounters WHERE medications >= $1")
	check(err)
	check(st.QueryRowContext(ctx, 21).Scan(&again))
	fmt.Println("prepared, the same answer:", n == again)
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	check(err)
	groups, err := tx.QueryContext(ctx, "SELECT readmitted, count(*), avg(medications) FROM encounters GROUP BY 1 ORDER BY 1")
	check(err)
	for groups.Next() {
		var key string
		var mean float64
		check(groups.Scan(&key, &n, &mean))
		fmt.Printf("group: %s ~%d ~%.1f\n", key, n, mean)
	}
	check(groups.Err())
	check(tx.Commit())
	for _, q := range []string{"SELECT * FROM patients", "SELECT nothing FROM patients"} {
		_, err := db.ExecContext(ctx, q)
		var e *pq.Error
		fmt.Println(q+":", errors.As(err, &e), e.Code, e.Message)
	}
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	_, err = db.ExecContext(short, "SELECT pg_sleep(10)")
	var e *pq.Error
	fmt.Println("context's end:", errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) && e.Code == "57014")
	check(db.PingContext(ctx))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
