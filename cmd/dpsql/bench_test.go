package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// benchServer is `dpsql serve` before a real PostgreSQL.
func benchServer(b *testing.B, kind, where, policyText string) *serving {
	b.Helper()
	verifier, err := policy.MakeVerifier("demo", policy.DefaultIterations)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, policyText, kind, where, verifier), 0o600); err != nil {
		b.Fatal(err)
	}
	s := serveDir(b, path)
	b.Cleanup(s.kill)
	return s
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// timed runs f n times and gives the median.
func timed(b *testing.B, n int, f func(i int) error) time.Duration {
	b.Helper()
	out := make([]time.Duration, n)
	for i := range out {
		start := time.Now()
		if err := f(i); err != nil {
			b.Fatal(err)
		}
		out[i] = time.Since(start)
	}
	return median(out)
}

// syncs is the median of two 4 KiB appends, each with its fsync, on the file system that the ledger is on.
func syncs(b *testing.B, dir string, n int) time.Duration {
	f, err := os.CreateTemp(dir, "sync")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	return timed(b, n, func(int) error {
		for range 2 {
			if _, err := f.Write(page); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
		}
		return nil
	})
}

const demoBenchPolicy = `
dataset: demo
backend: {%s: %q}
unit: patients.patient_id
tables:
  patients: {columns: {patient_id: {}}}
  encounters:
    unit: patient_id -> patients.patient_id
    max_rows_per_unit: 10
    columns: {encounter_id: {}, patient_id: {}, days_in_hospital: {range: [1, 14]}}
budget: {epsilon: 10000, delta: 1e-6}
query: {price: 0.5}
analysts:
  analyst: {password: %q, may: [patients, encounters]}
`

// BenchmarkPointQuestion: one client, TLS off, a point question through dpsql against the same over a direct connection. Each
// private one is a new statement, so each is charged: two transactions in the ledger.
func BenchmarkPointQuestion(b *testing.B) { pointQuestion(b, false) }

// BenchmarkPointQuestionBusy is the same while others write: then each statement's snapshot is another one, and the schema is digested anew.
func BenchmarkPointQuestionBusy(b *testing.B) { pointQuestion(b, true) }

func pointQuestion(b *testing.B, busy bool) {
	pg := pgtest.Start(b)
	if err := pg.LoadDemo("demo"); err != nil {
		b.Fatal(err)
	}
	s := benchServer(b, "postgres", pg.ReaderURL("demo"), demoBenchPolicy)
	direct, private := connect(b, pg.ReaderURL("demo")), connect(b, s.url("analyst"))
	ctx := context.Background()
	var n int64
	ask := func(c *pgx.Conn, first int) func(int) error {
		return func(i int) error {
			return c.QueryRow(ctx, "SELECT count(*) FROM encounters WHERE encounter_id = $1", first+i).Scan(&n)
		}
	}
	timed(b, 200, ask(direct, 1))
	timed(b, 200, ask(private, 50_000))
	if busy {
		defer writer(b, pg.URL("demo"))()
	}
	b.ResetTimer()
	rounds := max(b.N, 300)
	raw := timed(b, rounds, ask(direct, 1))
	through := timed(b, rounds, ask(private, 1))
	again := timed(b, rounds, ask(private, 1)) // answered from stored releases
	fsync := syncs(b, b.TempDir(), rounds)
	b.ReportMetric(raw.Seconds()*1e3, "ms-direct")
	b.ReportMetric(through.Seconds()*1e3, "ms-private")
	b.ReportMetric(again.Seconds()*1e3, "ms-repeat")
	b.ReportMetric(fsync.Seconds()*1e3, "ms-2fsync")
	b.ReportMetric((through-raw-fsync).Seconds()*1e3, "ms-added-beyond-2fsync")
}

// writer commits transactions, about one a millisecond, until it is stopped.
func writer(b *testing.B, url string) (stop func()) {
	conn := connect(b, url)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, _ = conn.Exec(context.Background(), "SELECT pg_current_xact_id()")
			time.Sleep(time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

const tpchPolicy = `
dataset: demo
backend: {%s: %q}
unit: customer.c_custkey
tables:
  customer: {columns: {c_custkey: {}, c_nationkey: {}, c_mktsegment: {}}}
  orders:
    unit: o_custkey -> customer.c_custkey
    max_rows_per_unit: 50
    columns: {o_orderkey: {}, o_custkey: {}, o_orderdate: {}}
  lineitem:
    unit: l_orderkey -> orders.o_orderkey
    max_rows_per_unit: 200
    columns:
      l_orderkey: {}
      l_suppkey: {}
      l_quantity: {range: [0, 50]}
      l_extendedprice: {range: [0, 120000]}
      l_discount: {range: [0, 0.1]}
      l_tax: {range: [0, 0.08]}
      l_returnflag: {values: [A, N, R]}
      l_linestatus: {values: [O, F]}
      l_shipdate: {}
  supplier: {public: true}
  nation: {public: true}
  region: {public: true}
budget: {epsilon: 10000, delta: 1e-6}
query: {price: 1, max_groups: 6}
analysts:
  analyst: {password: %q, may: [customer, orders, lineitem]}
`

var tpchQuestions = []struct{ name, sql string }{
	{"Q1", `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
  sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
  avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
  FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' AND l_quantity < %d GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus`},
	{"Q5", `SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
  FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey
  JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey
  WHERE r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' AND l_quantity < %d GROUP BY n_name ORDER BY revenue DESC`},
	{"Q6", `SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
  WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < %d`},
}

// tpchDir is ../shared/data/tpch-sf0.1, or the folder in DPSQL_TPCH; "" if there is none.
func tpchDir(b *testing.B) string {
	dir := os.Getenv("DPSQL_TPCH")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data", "tpch-sf0.1")
	}
	if _, err := os.Stat(dir); err != nil {
		b.Logf("no TPC-H data: %v", err)
		return ""
	}
	return dir
}

// benchTPCH compares each question over two ways of asking. Every private one is a new statement, so each is charged.
func benchTPCH(b *testing.B, raw, private func(sql string) error) {
	at := func(ask func(string) error, sql string, first int) func(int) error {
		return func(i int) error { return ask(fmt.Sprintf(sql, first+i)) }
	}
	for _, q := range tpchQuestions {
		b.Run(q.name, func(b *testing.B) {
			rounds := max(min(b.N, 9), 3)
			timed(b, 1, at(raw, q.sql, 1000))
			timed(b, 1, at(private, q.sql, 2000+b.N))
			r := timed(b, rounds, at(raw, q.sql, 3000))
			p := timed(b, rounds, at(private, q.sql, 4000+b.N*100))
			b.ReportMetric(r.Seconds()*1e3, "ms-raw")
			b.ReportMetric(p.Seconds()*1e3, "ms-private")
			b.ReportMetric(p.Seconds()/r.Seconds(), "private/raw")
		})
	}
}

func asker(c *pgx.Conn) func(string) error {
	return func(sql string) error {
		_, err := c.Exec(context.Background(), sql)
		return err
	}
}

// BenchmarkTPCH: TPC-H SF 0.1, private against raw, the customer as unit. Derived from TPC-H, not comparable to published TPC-H
// results.
func BenchmarkTPCHPostgres(b *testing.B) {
	dir := tpchDir(b)
	if dir == "" {
		return
	}
	pg := pgtest.Start(b)
	if err := pg.LoadTPCH("tpch", dir); err != nil {
		b.Fatal(err)
	}
	s := benchServer(b, "postgres", pg.ReaderURL("tpch"), tpchPolicy)
	benchTPCH(b, asker(connect(b, pg.ReaderURL("tpch"))), asker(connect(b, s.url("analyst"))))
}

// BenchmarkTPCHDuckDB is the same on a DuckDB file, raw being the embedded library with its own settings and as many threads.
func BenchmarkTPCHDuckDB(b *testing.B) {
	dir := tpchDir(b)
	if dir == "" {
		return
	}
	path := filepath.Join(b.TempDir(), "tpch.duckdb")
	db, err := sql.Open("duckdb", path)
	if err != nil {
		b.Fatal(err)
	}
	keys := map[string]string{"region": "r_regionkey", "nation": "n_nationkey", "supplier": "s_suppkey", "customer": "c_custkey", "orders": "o_orderkey", "lineitem": ""}
	for _, t := range []string{"region", "nation", "supplier", "customer", "orders", "lineitem"} {
		file := filepath.Join(dir, t+".csv.gz")
		types := ""
		if t == "lineitem" {
			types = ", types = {'l_quantity': 'DECIMAL(15,2)', 'l_extendedprice': 'DECIMAL(15,2)', 'l_discount': 'DECIMAL(15,2)', 'l_tax': 'DECIMAL(15,2)'}"
		}
		if _, err := db.Exec(fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM read_csv('%s'%s)", t, file, types)); err != nil {
			b.Fatal(err)
		}
		if k := keys[t]; k != "" {
			if _, err := db.Exec(fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s)", t, k)); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, c := range []string{"l_quantity", "l_extendedprice", "l_discount", "l_tax"} { // so that averages share the count of rows
		if _, err := db.Exec("ALTER TABLE lineitem ALTER COLUMN " + c + " SET NOT NULL"); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	s := benchServer(b, "duckdb", path, tpchPolicy)
	if db, err = sql.Open("duckdb", path+"?access_mode=READ_ONLY"); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	raw := func(q string) error {
		rows, err := db.Query(q)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return rows.Close()
	}
	benchTPCH(b, raw, asker(connect(b, s.url("analyst"))))
}
