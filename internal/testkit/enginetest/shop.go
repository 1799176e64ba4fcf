package enginetest

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// shopPolicy is TPC-H's tables in small, whose rows belong to customers, suppliers, or one of each. It has their columns under other names, and a remark for some lines.
const shopPolicy = `
dataset: shop
backend: BACKEND
units: [customer.c_custkey, supplier.s_suppkey]
population: 40
tables:
  nation: {public: true}
  customer: {columns: {c_custkey: {}, c_nationkey: {values: {from: nation.n_nationkey}}, c_mktsegment: {values: [AUTO, HOME, null]}}}
  supplier: {columns: {s_suppkey: {}, s_nationkey: {values: {from: nation.n_nationkey}}}}
  partsupp: {unit: ps_suppkey -> supplier.s_suppkey, columns: {ps_partkey: {}, ps_suppkey: {}, ps_availqty: {range: [0, 100]}}}
  orders: {unit: o_custkey -> customer.c_custkey, columns: {o_orderkey: {}, o_custkey: {}, o_orderstatus: {values: [F, O, P]}}}
  lineitem:
    unit: l_orderkey -> orders.o_orderkey
    also_unit: "(l_partkey, l_suppkey) -> partsupp.(ps_partkey, ps_suppkey)"
    columns: {l_orderkey: {}, l_linenumber: {}, l_partkey: {}, l_suppkey: {}, l_quantity: {range: [1, 50]}, l_price: {range: [0, 1000]}, l_tax: {range: [-1, 1]}, l_weight: {}, l_shipmode: {values: [AIR, RAIL, SHIP]}}
  remark: {unit: "(r_orderkey, r_linenumber) -> lineitem.(l_orderkey, l_linenumber)", columns: {r_orderkey: {}, r_linenumber: {}, r_stars: {range: [0, 5]}}}
budget: {epsilon: 20, delta: 1e-6}
query:  {price: 0.5}
statement_timeout: 20s
analysts:
  ann: {password: VERIFIER, may: [nation, customer, supplier, partsupp, orders, lineitem, remark], max_query_price: 5}
`

// ShopPolicyFor is the shop's policy for a backend.
func ShopPolicyFor(t testing.TB, d dialect.Dialect, edits ...string) *policy.Policy {
	t.Helper()
	text := strings.ReplaceAll(shopPolicy, "VERIFIER", Verifier)
	uri := map[dialect.Dialect]string{funcs.DuckDB: "{duckdb: shop.duckdb}", funcs.Postgres: `{postgres: "postgres://reader@127.0.0.1/shop"}`}[d]
	text = strings.ReplaceAll(text, "BACKEND", uri)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("the policy has no %q", edits[i])
		}
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	p, err := policy.Parse("shop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ShopTables make the tables; shopRows fill them: customers with few orders and one with many, suppliers of many lines and of few, rows without a unit, and values outside what is declared.
const ShopTables = `CREATE TABLE nation (n_nationkey int NOT NULL PRIMARY KEY, n_name varchar(20) NOT NULL);
CREATE TABLE customer (c_custkey int NOT NULL PRIMARY KEY, c_nationkey int, c_mktsegment varchar(10));
CREATE TABLE supplier (s_suppkey int NOT NULL PRIMARY KEY, s_nationkey int);
CREATE TABLE partsupp (ps_partkey int NOT NULL, ps_suppkey int NOT NULL, ps_availqty int, PRIMARY KEY (ps_partkey, ps_suppkey), FOREIGN KEY (ps_suppkey) REFERENCES supplier (s_suppkey));
CREATE TABLE orders (o_orderkey int NOT NULL PRIMARY KEY, o_custkey int, o_orderstatus varchar(1), FOREIGN KEY (o_custkey) REFERENCES customer (c_custkey));
CREATE TABLE lineitem (l_orderkey int NOT NULL, l_linenumber int NOT NULL, l_partkey int, l_suppkey int, l_quantity int, l_price numeric(12,2), l_tax numeric(4,2), l_weight double precision, l_shipmode varchar(10), PRIMARY KEY (l_orderkey, l_linenumber), FOREIGN KEY (l_orderkey) REFERENCES orders (o_orderkey), FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp (ps_partkey, ps_suppkey));
CREATE TABLE remark (r_orderkey int NOT NULL, r_linenumber int NOT NULL, r_stars int, FOREIGN KEY (r_orderkey, r_linenumber) REFERENCES lineitem (l_orderkey, l_linenumber))`

func shopRows() []string {
	rng := rand.New(rand.NewPCG(10, 1)) //nolint:gosec // invented data, the same each time
	rows := map[string][]string{}
	add := func(table, format string, args ...any) {
		rows[table] = append(rows[table], "("+fmt.Sprintf(format, args...)+")")
	}
	maybe := func(odds int, text string) string {
		if rng.IntN(odds) == 0 {
			return "NULL"
		}
		return text
	}
	for i, n := range []string{"FRANCE", "GERMANY", "JAPAN"} {
		add("nation", "%d, '%s'", i+1, n)
	}
	for c := 1; c <= 30; c++ {
		add("customer", "%d, %s, %s", c, maybe(10, fmt.Sprint(1+rng.IntN(4))), maybe(5, []string{"'AUTO'", "'HOME'", "'OTHER'"}[rng.IntN(3)]))
	}
	for s := 1; s <= 8; s++ {
		add("supplier", "%d, %d", s, 1+rng.IntN(3))
		for p := 1; p <= 4; p++ {
			add("partsupp", "%d, %d, %d", p, s, rng.IntN(150))
		}
	}
	for o := 1; o <= 120; o++ {
		owner := 1 + rng.IntN(30)
		if o%4 == 0 {
			owner = 1 // who has many
		}
		add("orders", "%d, %s, '%s'", o, maybe(25, fmt.Sprint(owner)), []string{"F", "O", "P"}[rng.IntN(3)])
		for l := 1; l <= 1+rng.IntN(6); l++ {
			s := 1 + rng.IntN(8)
			if rng.IntN(3) > 0 {
				s = 1 + rng.IntN(2)
			}
			add("lineitem", "%d, %d, %d, %s, %s, %s, %.2f, %g, %s", o, l, 1+rng.IntN(4), maybe(30, fmt.Sprint(s)), maybe(20, fmt.Sprint(rng.IntN(70)-3)), maybe(20, fmt.Sprintf("%.2f", rng.Float64()*1300-100)),
				rng.Float64()*4-2, rng.Float64(), maybe(15, []string{"'AIR'", "'RAIL'", "'SHIP'", "'TRUCK'"}[rng.IntN(4)]))
			for range rng.IntN(3) {
				add("remark", "%d, %d, %s", o, l, maybe(9, fmt.Sprint(rng.IntN(8)-1)))
			}
		}
	}
	var out []string
	for _, table := range []string{"nation", "customer", "supplier", "partsupp", "orders", "lineitem", "remark"} {
		out = append(out, "INSERT INTO "+table+" VALUES "+strings.Join(rows[table], ", "))
	}
	return out
}

// Shop is a database, and a unit of one kind that it lacks: "customer 1", "supplier 2". In one that is spelled customers and suppliers have keys of which one has several forms.
type Shop string

const (
	goneLines   = "DELETE FROM remark WHERE EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = r_orderkey AND l_linenumber = r_linenumber AND %s)"
	ofCustomer  = "l_orderkey IN (SELECT o_orderkey FROM orders WHERE o_custkey = '%d')"
	goneOfLines = "DELETE FROM lineitem WHERE %s"
)

// shopSpellings are of keys that are char without a length, and numeric.
var shopSpellings = []string{
	"UPDATE orders SET o_custkey = o_custkey || repeat(' ', o_orderkey % 5)",
	"UPDATE lineitem SET l_suppkey = round(l_suppkey, (l_orderkey + l_linenumber) % 4)",
	"INSERT INTO supplier VALUES ('NaN', 1)",
	"INSERT INTO partsupp VALUES (1, 'NaN', 1)",
	"UPDATE lineitem SET l_partkey = 1, l_suppkey = 'NaN' WHERE l_linenumber = 6",
}

func (s Shop) statements() []string {
	name, spelled := strings.CutPrefix(string(s), string(SpelledShop))
	tables := ShopTables
	if spelled {
		tables = regexp.MustCompile(`([co]_custkey) int`).ReplaceAllString(tables, "$1 bpchar")
		tables = regexp.MustCompile(`((s|ps|l)_suppkey) int`).ReplaceAllString(tables, "$1 numeric")
	}
	out := append(strings.Split(tables, ";\n"), shopRows()...)
	if spelled {
		out = append(out, shopSpellings...)
	}
	kind, key, lacks := strings.Cut(strings.TrimSpace(name), " ")
	var n int
	if lacks {
		_, _ = fmt.Sscan(key, &n)
	}
	switch kind {
	case "customer":
		of := fmt.Sprintf(ofCustomer, n)
		out = append(out, fmt.Sprintf(goneLines, of), fmt.Sprintf(goneOfLines, of), fmt.Sprintf("DELETE FROM orders WHERE o_custkey = '%d'", n), fmt.Sprintf("DELETE FROM customer WHERE c_custkey = '%d'", n))
	case "supplier":
		of := fmt.Sprintf("l_suppkey = %d", n)
		out = append(out, fmt.Sprintf(goneLines, of), fmt.Sprintf(goneOfLines, of), fmt.Sprintf("DELETE FROM partsupp WHERE ps_suppkey = %d", n), fmt.Sprintf("DELETE FROM supplier WHERE s_suppkey = %d", n))
	}
	return out
}

// Open opens the shop in a backend.
func (s Shop) Open(t testing.TB, d dialect.Dialect) backend.Backend {
	t.Helper()
	opening.Lock()
	defer opening.Unlock()
	key := d.String() + " shop " + string(s)
	if b, ok := Opened[key]; ok {
		return b
	}
	var b backend.Backend
	var err error
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
			for _, st := range s.statements() {
				if _, err := conn.ExecContext(ctx, st); err != nil {
					return fmt.Errorf("%w\n%s", err, st)
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
	} else {
		name := "shop_" + strings.ReplaceAll(string(s), " ", "_")
		if err = SharedServer(t).CreateDB(name); err == nil {
			if err = SharedServer(t).Exec(name, strings.Join(s.statements(), ";\n")); err == nil {
				b, err = postgres.Open(context.Background(), SharedServer(t).URL(name), postgres.Options{PoolSize: 3})
			}
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	Opened[key] = b
	return b
}

// ShopSession is a session of ann before a shop, on an empty ledger.
func ShopSession(t testing.TB, s Shop, d dialect.Dialect, edits ...string) *session.Session {
	t.Helper()
	return NewSession(EngineOn(t, ShopPolicyFor(t, d, edits...), s.Open(t, d)), t, "ann")
}

// The shop, one that spells its keys otherwise, and those that lack a unit.
var (
	AllShop     = Shop("all")
	SpelledShop = Shop("spelled")
	LessShop    = []Shop{"customer 1", "customer 2", "customer 17", "supplier 1", "supplier 2", "supplier 8"}
)

// ByTwoKeys has groups of which a supplier may be in all, and a customer in those of a segment.
const ByTwoKeys = "SELECT l_shipmode, c_mktsegment, count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey GROUP BY 1, 2"

// ShopStatements are over rows of two units.
var ShopStatements = []string{
	"SELECT count(*) FROM lineitem",
	"SELECT count(*), sum(l_quantity), sum(l_price), avg(l_quantity) FROM lineitem l JOIN orders o ON o.o_orderkey = l.l_orderkey WHERE o_orderstatus <> 'P'",
	"SELECT l_shipmode, count(*), sum(greatest(l_tax, 0)) FROM lineitem GROUP BY l_shipmode",
	"SELECT n_name, sum(l_price * (1 - 0.5)) FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey JOIN nation ON s_nationkey = n_nationkey GROUP BY n_name",
	"SELECT c_mktsegment, count(l_quantity) FILTER (WHERE l_tax > 0) FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey GROUP BY c_mktsegment",
	"SELECT count(*) FROM customer JOIN supplier ON c_nationkey = s_nationkey",
	"SELECT count(*), sum(r_stars), avg(ps_availqty) FROM remark JOIN lineitem ON r_orderkey = l_orderkey AND r_linenumber = l_linenumber JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey",
	"SELECT sum(l_weight) FROM lineitem WHERE l_weight BETWEEN 0 AND 1",
	ByTwoKeys,
}
