package prooftest

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// TestPairsPlanted: a flow of neighbours changes by at most its cap, and by more than half of it, so a sensitivity of half a cap would be found; so is a print that does not hold the rows of one kind together.
func TestPairsPlanted(t *testing.T) {
	s := enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB)
	p, err := enginetest.Prepare(s, "SELECT count(*) FROM lineitem JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey")
	if err != nil {
		t.Fatal(err)
	}
	st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	unlinked := *st
	unlinked.SQL = regexp.MustCompile(`\("t\d+"\."(?:c_)?ps_suppkey" = "t\d+"\."(?:c_)?l_suppkey"\)`).ReplaceAllString(st.SQL, "TRUE")
	if unlinked.SQL == st.SQL {
		t.Fatalf("no equality of suppliers in %s", st.SQL)
	}
	// most says by how many caps a flow changes with a unit, at its worst.
	most := func(st *sqlgen.Statement) (worst float64) {
		whole := shopGraphs(t, enginetest.AllShop.Open(t, funcs.DuckDB), st)["0 "]
		for _, gone := range enginetest.LessShop {
			less := shopGraphs(t, gone.Open(t, funcs.DuckDB), st)["0 "]
			for _, edge := range p.Analysis().Measures[0].Bound.Edges {
				worst = max(worst, float64(whole.Value(int64(edge))-less.Value(int64(edge)))/float64(edge))
			}
		}
		return worst
	}
	if worst := most(st); worst > 1 || worst < 0.6 {
		t.Errorf("a flow changes by %g caps: a sensitivity of half a cap would not be found", worst)
	}
	if worst := most(&unlinked); worst <= 1 {
		t.Errorf("suppliers that are not held together are not found: %g caps", worst)
	}
}

// TestPairsAsked: an answer is stored, topped up and explained as any other; the word flow is taken, and others do the same.
func TestPairsAsked(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ShopSession(t, enginetest.AllShop, d)
		first, err := enginetest.Try(s, "SELECT count(*), dp_error(count(*)), sum(l_quantity) FROM lineitem")
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := first[0][1].(float64); !ok || e < 1 || e > 1e6 {
			t.Errorf("%s: the error is %v", d, first[0][1])
		}
		enginetest.Set(t, s, "dpsql.bounding", "flow")
		again, err := enginetest.Try(s, "SELECT sum(l_quantity), count(*) FROM lineitem")
		if err != nil || fmt.Sprint(again[0][1]) != fmt.Sprint(first[0][0]) || len(enginetest.Charges(t, s.Engine)) != 1 {
			t.Errorf("%s: %v after %v, %v, %d charges", d, again, first, err, len(enginetest.Charges(t, s.Engine)))
		}
		enginetest.Set(t, s, "dpsql.price", "2")
		topped, err := enginetest.Try(s, "SELECT sum(l_quantity), count(*) FROM lineitem")
		if err != nil || len(enginetest.Charges(t, s.Engine)) != 2 {
			t.Errorf("%s: a top-up: %v, %v, %d charges", d, topped, err, len(enginetest.Charges(t, s.Engine)))
		}
		rows, err := enginetest.Try(s, "EXPLAIN VERBOSE SELECT l_shipmode, avg(l_price) FROM lineitem GROUP BY 1")
		if text := fmt.Sprint(rows); err != nil || !strings.Contains(text, "a row belongs to one of each") || !strings.Contains(text, "as a flow in which") || !strings.Contains(text, "how much more flow there is") {
			t.Errorf("%s: %s, %v", d, text, err)
		}
		if got, err := enginetest.Try(s, "SELECT max(n), (SELECT count(*) FROM supplier) FROM (SELECT l_shipmode, count(*) AS n FROM lineitem WHERE l_quantity >= (SELECT avg(l_quantity) - 100 FROM lineitem) GROUP BY 1) t"); err != nil || len(got) != 1 {
			t.Errorf("%s: releases below another aggregate: %v, %v", d, got, err)
		}
		if got, err := enginetest.Try(s, "SELECT count(*) FROM orders"); err != nil || len(got) != 1 {
			t.Errorf("%s: one kind under flow: %v, %v", d, got, err)
		}
	}
}

// TestPairsRefused: what a flow does not answer is refused, before anything is charged, whatever the data holds.
func TestPairsRefused(t *testing.T) {
	for _, gone := range []enginetest.Shop{enginetest.AllShop, enginetest.LessShop[0]} {
		s := enginetest.ShopSession(t, gone, funcs.DuckDB)
		for text, words := range map[string]string{
			"SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey":                      "not joined on the privacy unit",
			"SELECT sum(l_tax) FROM lineitem":                                                                     "may be negative",
			"SELECT sum(l_weight) FROM lineitem":                                                                  "no declared range",
			"SELECT median(l_price) FROM lineitem":                                                                "units of two kinds",
			"SELECT l_partkey, count(*) FROM lineitem GROUP BY 1":                                                 "unknown groups",
			"SELECT count(DISTINCT l_orderkey) FROM lineitem":                                                     "units of two kinds",
			"SELECT count(*) FROM orders WHERE EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey)":     "units of two kinds",
			"SELECT count(*) FROM orders LEFT JOIN lineitem ON l_orderkey = o_orderkey":                           "units of two kinds",
			"SELECT avg(n) FROM (SELECT l_orderkey, count(*) AS n FROM lineitem GROUP BY 1) t":                    "units of two kinds",
			"SELECT * FROM lineitem":                                                                              "cannot be shown",
			"SELECT dp_top_k(l_shipmode, 2) FROM lineitem":                                                        "units of two kinds",
			"TRAIN DP MODEL m USING linear_regression TARGET l_price AS SELECT l_quantity, l_price FROM lineitem": "cannot be trained on",
			"TRAIN DP MODEL m USING linear_regression TARGET l_price AS SELECT l_quantity, l_price FROM lineitem JOIN orders ON l_orderkey = o_orderkey": "cannot be trained on",
		} {
			if _, err := enginetest.Try(s, text); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if n := len(enginetest.Charges(t, s.Engine)); n != 0 {
			t.Errorf("%d charges", n)
		}
	}
	s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.ShopPolicyFor(t, funcs.DuckDB, "query:  {price: 0.5}", "query:  {price: 0.5, min_people: 5}"), enginetest.AllShop.Open(t, funcs.DuckDB)), t, "ann")
	if _, err := enginetest.Try(s, "SELECT l_shipmode, count(*) FROM lineitem GROUP BY 1"); err == nil || !strings.Contains(err.Error(), "min_people") {
		t.Errorf("min_people: %v", err)
	}
	if _, err := enginetest.Try(s, "SELECT count(*) FROM lineitem"); err != nil {
		t.Errorf("min_people without groups: %v", err)
	}
}

// TestPairsMillions: six million pairs, as TPC-H's line items at scale factor 1 are, of 150,000 and 10,000 units are counted through the engine, and four million by 16 aggregates. DPSQL_LONG only: it says how long it took, how much was taken of limits.flow_memory, and how much memory the heap had.
func TestPairsMillions(t *testing.T) {
	if os.Getenv("DPSQL_LONG") == "" {
		t.Skip("DPSQL_LONG is not set")
	}
	b, err := duckdb.OpenMemory(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
		for _, st := range append(strings.Split(enginetest.ShopTables, ";\n")[:5:5],
			"CREATE TABLE lineitem (l_orderkey int NOT NULL, l_linenumber int NOT NULL, l_partkey int, l_suppkey int, l_quantity int, l_price numeric(12,2), l_tax numeric(4,2), l_weight double precision, l_shipmode varchar(10), PRIMARY KEY (l_orderkey, l_linenumber))",
			"CREATE TABLE remark (r_orderkey int NOT NULL, r_linenumber int NOT NULL, r_stars int)",
			"INSERT INTO customer SELECT i, 1, 'AUTO' FROM range(150000) AS r(i)", "INSERT INTO supplier SELECT i, 1 FROM range(10000) AS r(i)",
			"INSERT INTO orders SELECT i, (hash(i) % 150000)::int, 'F' FROM range(1500000) AS r(i)",
			"INSERT INTO lineitem SELECT i // 4, i % 4, 1, (hash(i + 7) % 10000)::int, 1 + i % 50, i % 1000, 0, 0, 'AIR' FROM range(6000000) AS r(i)",
		) {
			if _, err := conn.ExecContext(ctx, st); err != nil {
				return fmt.Errorf("%w\n%s", err, st)
			}
		}
		return nil
	}, duckdb.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.ShopPolicyFor(t, funcs.DuckDB, "population: 40", "population: 150000", "statement_timeout: 20s", "statement_timeout: 600s", "query:  {price: 0.5}", "query:  {price: 0.8}", "delta: 1e-6", "delta: 1e-7"), b), t, "ann")
	var most, now runtime.MemStats
	var taken atomic.Int64
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				if runtime.ReadMemStats(&now); now.HeapSys > most.HeapSys {
					most = now
				}
				if bytes, _ := s.Engine.Queues.Pairs.Held(); bytes > taken.Load() {
					taken.Store(bytes)
				}
			}
		}
	}()
	sixteen := "SELECT count(*)"
	for i := range 15 {
		sixteen += fmt.Sprintf(", count(*) FILTER (WHERE l_quantity > %d)", i+1)
	}
	for _, q := range []struct {
		text  string
		exact float64
	}{{"SELECT count(*) FROM lineitem", 6e6}, {"SELECT sum(l_quantity) FROM lineitem", 6e6 * 25.5}, {sixteen + " FROM lineitem WHERE l_orderkey < 1000000", 4e6}} {
		taken.Store(0)
		start := time.Now()
		rows, err := enginetest.Try(s, q.text)
		if err != nil {
			t.Fatal(err)
		}
		var got float64
		if _, err := fmt.Sscan(fmt.Sprint(rows[0][0]), &got); err != nil || math.Abs(got-q.exact) > q.exact/20 {
			t.Errorf("%s: %v, exactly %g", q.text, rows, q.exact)
		}
		t.Logf("%.45s: %v of %.0f in %v; up to %d MB were taken", q.text, rows[0][0], q.exact, time.Since(start), taken.Load()>>20)
	}
	close(done)
	<-ended
	t.Logf("the heap had up to %d MB", most.HeapSys>>20)
	if most.HeapSys > 1<<30 {
		t.Errorf("the heap had %d bytes", most.HeapSys)
	}
}
