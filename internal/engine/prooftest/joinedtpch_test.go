package prooftest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// smallTPCH is a twentieth of TPC-H's customers of scale 0.01 with their orders, in columns that the tests read; no more of its tables' rows than that are loaded.
var smallTPCH = []struct{ table, columns, list, rows string }{
	{"customer", "c_custkey int NOT NULL PRIMARY KEY, c_nationkey int NOT NULL, c_mktsegment varchar(10) NOT NULL", "c_custkey, c_nationkey, c_mktsegment", "c_custkey % 20 = 1"},
	{"supplier", "s_suppkey int NOT NULL PRIMARY KEY, s_nationkey int NOT NULL", "s_suppkey, s_nationkey", "true"},
	{"part", "p_partkey int NOT NULL PRIMARY KEY, p_size int NOT NULL", "p_partkey, p_size", "true"},
	{"orders", "o_orderkey int NOT NULL PRIMARY KEY, o_custkey int NOT NULL REFERENCES customer (c_custkey), o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority varchar(15) NOT NULL",
		"o_orderkey, o_custkey, o_totalprice, o_orderdate, o_orderpriority", "o_custkey % 20 = 1"},
	{"lineitem", "l_orderkey int NOT NULL REFERENCES orders (o_orderkey), l_partkey int NOT NULL, l_suppkey int NOT NULL REFERENCES supplier (s_suppkey), l_linenumber int NOT NULL, l_quantity numeric(15,2) NOT NULL, l_shipmode varchar(10) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber)",
		"l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_shipmode", "l_orderkey IN (SELECT o_orderkey FROM orders)"},
}

const tpchFolder = "../../../../shared/data/tpch-sf0.01"

// openTPCH opens it, made once a backend, where the shared folder is.
func openTPCH(t testing.TB, d dialect.Dialect) (b backend.Backend) {
	t.Helper()
	if b, ok := enginetest.Opened[d.String()+"small_tpch"]; ok {
		return b
	}
	if _, err := os.Stat(tpchFolder); errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no TPC-H")
	}
	var err error
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(context.Background(), func(ctx context.Context, c *sql.Conn) error {
			for _, x := range smallTPCH {
				path, err := filepath.Abs(filepath.Join(tpchFolder, x.table+".csv.gz"))
				if err != nil {
					return err
				}
				for _, do := range []string{fmt.Sprintf("CREATE TABLE %s (%s)", x.table, x.columns), fmt.Sprintf("INSERT INTO %s SELECT %s FROM read_csv('%s', header = true) WHERE %s", x.table, x.list, path, x.rows)} {
					if _, err := c.ExecContext(ctx, do); err != nil {
						return fmt.Errorf("%w\n%s", err, do)
					}
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
	} else if err = enginetest.SharedServer(t).CreateDB("small_tpch"); err == nil {
		for _, x := range smallTPCH {
			columns := map[string]string{ // of the file
				"customer": "c_custkey int, c_name text, c_address text, c_nationkey int, c_phone text, c_acctbal text, c_mktsegment text, c_comment text",
				"supplier": "s_suppkey int, s_name text, s_address text, s_nationkey int, s_phone text, s_acctbal text, s_comment text",
				"part":     "p_partkey int, p_name text, p_mfgr text, p_brand text, p_type text, p_size int, p_container text, p_retailprice text, p_comment text",
				"orders":   "o_orderkey int, o_custkey int, o_orderstatus text, o_totalprice numeric, o_orderdate date, o_orderpriority text, o_clerk text, o_shippriority text, o_comment text",
				"lineitem": "l_orderkey int, l_partkey int, l_suppkey int, l_linenumber int, l_quantity numeric, l_extendedprice text, l_discount text, l_tax text, l_returnflag text, l_linestatus text, l_shipdate text, l_commitdate text, l_receiptdate text, l_shipinstruct text, l_shipmode text, l_comment text",
			}[x.table]
			if err = enginetest.SharedServer(t).Exec("small_tpch", fmt.Sprintf("CREATE UNLOGGED TABLE whole (%s); CREATE TABLE %s (%s)", columns, x.table, x.columns)); err == nil {
				if err = enginetest.SharedServer(t).CopyFile("small_tpch", "whole", filepath.Join(tpchFolder, x.table+".csv.gz")); err == nil {
					err = enginetest.SharedServer(t).Exec("small_tpch", fmt.Sprintf("INSERT INTO %s SELECT %s FROM whole WHERE %s; DROP TABLE whole; ANALYZE %s", x.table, x.list, x.rows, x.table))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		b, err = postgres.Open(context.Background(), enginetest.SharedServer(t).URL("small_tpch"), postgres.Options{PoolSize: 2})
	}
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Opened[d.String()+"small_tpch"] = b
	return b
}

const twoKindsPolicy = `
dataset: tpch
backend: BACKEND
units: [customer.c_custkey, supplier.s_suppkey]
population: 100
tables:
  customer: {columns: {c_custkey: {}, c_nationkey: {range: [0, 24]}}}
  supplier: {columns: {s_suppkey: {}, s_nationkey: {range: [0, 24]}}}
  part:     {public: true}
  orders:   {unit: o_custkey -> customer.c_custkey, columns: {o_orderkey: {}, o_custkey: {}, o_orderpriority: {}}}
  lineitem:
    unit: l_orderkey -> orders.o_orderkey
    also_unit: l_suppkey -> supplier.s_suppkey
    columns: {l_orderkey: {}, l_partkey: {}, l_suppkey: {}, l_quantity: {range: [1, 50]}, l_shipmode: {values: [AIR, MAIL, RAIL, SHIP, TRUCK, FOB, REG AIR]}}
budget: {epsilon: 20, delta: 1e-6}
query:  {price: 0.5}
analysts: {ann: {password: VERIFIER, may: [customer, supplier, part, orders, lineitem]}}
`

// TestPairsTPCHNeighbours: over TPC-H the customer with most lines goes, and the supplier with most: each group's flow is less by 0 to the cap at each cap, as many groups change as are claimed, and the scores move within their ends. The sums themselves change by more than caps.
func TestPairsTPCHNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		db := openTPCH(t, d)
		s := enginetest.NewSession(enginetest.EngineOn(t, replaced(t, d, twoKindsPolicy), db), t, "ann")
		schema := map[dialect.Dialect]string{funcs.DuckDB: "main", funcs.Postgres: "public"}[d]
		most := func(column string) []int64 {
			return []int64{one(t, db, strings.ReplaceAll(fmt.Sprintf("SELECT %s FROM SCHEMA.lineitem JOIN SCHEMA.orders ON l_orderkey = o_orderkey GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1", column), "SCHEMA", schema)).Int64()}
		}
		customers, suppliers := joinedSite{tables: []string{"customer.c_custkey", "orders.o_custkey"}}, joinedSite{tables: []string{"supplier.s_suppkey", "lineitem.l_suppkey"}}
		flowed := map[string]bool{}
		for _, text := range []string{
			"select count(*), sum(l_quantity) from lineitem",
			"select l_shipmode, count(*), avg(l_quantity) from lineitem join orders on o_orderkey = l_orderkey join part on p_partkey = l_partkey where p_size > 10 group by 1",
			"select c_nationkey, count(*) from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey join supplier on s_suppkey = l_suppkey and s_nationkey = c_nationkey group by 1",
		} {
			a, st := printedPairs(t, s, text)
			whole := shopGraphs(t, db, st)
			for kind, gone := range map[string]*sqlgen.Statement{"customer": customers.lackingUnits(st, most("o_custkey")), "supplier": suppliers.lackingUnits(st, most("l_suppkey"))} {
				less := shopGraphs(t, db, gone)
				seen := pairsSeen{}
				if err := pairsHold(a, whole, less, &seen); err != nil {
					t.Errorf("%s: %s without the heaviest %s: %v", d, text, kind, err)
				}
				for k, g := range whole {
					if h := less[k]; h != nil && g.Total()-h.Total() > 20 && seen.moved > 0 { // with 20 among the caps
						flowed[kind] = true
					}
				}
			}
		}
		if len(flowed) != 2 {
			t.Errorf("%s: sums change by more than a cap without %v alone: the data is too tame", d, flowed)
		}
	}
}
