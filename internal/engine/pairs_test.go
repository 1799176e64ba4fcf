package engine

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
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

func shopPolicyFor(t testing.TB, d dialect.Dialect, edits ...string) *policy.Policy {
	t.Helper()
	text := strings.ReplaceAll(shopPolicy, "VERIFIER", verifier)
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

// shopTables make the tables; shopRows fill them: customers with few orders and one with many, suppliers of many lines and of few, rows without a unit, and values outside what is declared.
const shopTables = `CREATE TABLE nation (n_nationkey int NOT NULL PRIMARY KEY, n_name varchar(20) NOT NULL);
CREATE TABLE customer (c_custkey int NOT NULL PRIMARY KEY, c_nationkey int, c_mktsegment varchar(10));
CREATE TABLE supplier (s_suppkey int NOT NULL PRIMARY KEY, s_nationkey int);
CREATE TABLE partsupp (ps_partkey int NOT NULL, ps_suppkey int NOT NULL, ps_availqty int, PRIMARY KEY (ps_partkey, ps_suppkey), FOREIGN KEY (ps_suppkey) REFERENCES supplier (s_suppkey));
CREATE TABLE orders (o_orderkey int NOT NULL PRIMARY KEY, o_custkey int, o_orderstatus varchar(1), FOREIGN KEY (o_custkey) REFERENCES customer (c_custkey));
CREATE TABLE lineitem (l_orderkey int NOT NULL, l_linenumber int NOT NULL, l_partkey int, l_suppkey int, l_quantity int, l_price numeric(12,2), l_tax numeric(4,2), l_weight double precision, l_shipmode varchar(10), PRIMARY KEY (l_orderkey, l_linenumber), FOREIGN KEY (l_orderkey) REFERENCES orders (o_orderkey), FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp (ps_partkey, ps_suppkey));
CREATE TABLE remark (r_orderkey int NOT NULL, r_linenumber int NOT NULL, r_stars int, FOREIGN KEY (r_orderkey, r_linenumber) REFERENCES lineitem (l_orderkey, l_linenumber))`

func shopRows() []string {
	rng := rand.New(rand.NewPCG(10, 1))
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

// shop is a database, and a unit of one kind that it lacks: "customer 1", "supplier 2". In one that is spelled customers and suppliers have keys of which one has several forms.
type shop string

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

func (s shop) statements() []string {
	name, spelled := strings.CutPrefix(string(s), string(spelledShop))
	tables := shopTables
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

func (s shop) open(t testing.TB, d dialect.Dialect) backend.Backend {
	t.Helper()
	opening.Lock()
	defer opening.Unlock()
	key := d.String() + " shop " + string(s)
	if b, ok := opened[key]; ok {
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
		if err = sharedServer(t).CreateDB(name); err == nil {
			if err = sharedServer(t).Exec(name, strings.Join(s.statements(), ";\n")); err == nil {
				b, err = postgres.Open(context.Background(), sharedServer(t).URL(name), postgres.Options{PoolSize: 3})
			}
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	opened[key] = b
	return b
}

func shopSession(t testing.TB, s shop, d dialect.Dialect, edits ...string) *session.Session {
	t.Helper()
	return newSession(engineOn(t, shopPolicyFor(t, d, edits...), s.open(t, d)), t, "ann")
}

var (
	allShop     = shop("all")
	spelledShop = shop("spelled")
	lessShop    = []shop{"customer 1", "customer 2", "customer 17", "supplier 1", "supplier 2", "supplier 8"}
)

// byTwoKeys has groups of which a supplier may be in all, and a customer in those of a segment.
const byTwoKeys = "SELECT l_shipmode, c_mktsegment, count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey GROUP BY 1, 2"

// shopStatements are over rows of two units.
var shopStatements = []string{
	"SELECT count(*) FROM lineitem",
	"SELECT count(*), sum(l_quantity), sum(l_price), avg(l_quantity) FROM lineitem l JOIN orders o ON o.o_orderkey = l.l_orderkey WHERE o_orderstatus <> 'P'",
	"SELECT l_shipmode, count(*), sum(greatest(l_tax, 0)) FROM lineitem GROUP BY l_shipmode",
	"SELECT n_name, sum(l_price * (1 - 0.5)) FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey JOIN nation ON s_nationkey = n_nationkey GROUP BY n_name",
	"SELECT c_mktsegment, count(l_quantity) FILTER (WHERE l_tax > 0) FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey GROUP BY c_mktsegment",
	"SELECT count(*) FROM customer JOIN supplier ON c_nationkey = s_nationkey",
	"SELECT count(*), sum(r_stars), avg(ps_availqty) FROM remark JOIN lineitem ON r_orderkey = l_orderkey AND r_linenumber = l_linenumber JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey",
	"SELECT sum(l_weight) FROM lineitem WHERE l_weight BETWEEN 0 AND 1",
	byTwoKeys,
}

// shopGraphs are the flows' graphs of a printed statement's rows: by group and measure.
func shopGraphs(t testing.TB, b backend.Backend, st *sqlgen.Statement) map[string]*flow.Graph {
	t.Helper()
	pairs := map[string]*flow.Pairs{}
	number := [2]map[string]int32{{}, {}}
	rows, err := (uncovered{b}).Query(context.Background(), st)
	if err != nil {
		t.Fatalf("%v\n%s", err, st.SQL)
	}
	for _, row := range rows {
		var key string
		var unit [2]int32
		for i, c := range st.Columns {
			switch c.Role {
			case sqlgen.RoleKey:
				key += fmt.Sprintf("%v|", row[i])
			case sqlgen.RoleUnit:
				of, text := number[c.Index], fmt.Sprint(row[i])
				if row[i] == nil {
					t.Fatal("a unit is NULL")
				}
				if _, ok := of[text]; !ok {
					of[text] = int32(len(of))
				}
				unit[c.Index] = of[text]
			}
		}
		for i, c := range st.Columns {
			if c.Role == sqlgen.RoleMeasure {
				k := fmt.Sprintf("%d %s", c.Index, key)
				if pairs[k] == nil {
					pairs[k] = &flow.Pairs{}
				}
				if err := pairs[k].Add(unit[0], unit[1], row[i].(int64)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	out := map[string]*flow.Graph{}
	for k, p := range pairs {
		g, err := p.Graphs()
		if err != nil {
			t.Fatal(err)
		}
		out[k] = g[0]
	}
	return out
}

// pairsSeen is what a statement's flows did without a unit.
type pairsSeen struct {
	moved, flowed int    // flows that a unit changes; and by less than the sums
	groups        uint64 // that a unit changes, at most
}

// pairsHold holds a statement's flows with all units against those without one: each group's at each cap is less by 0 to that cap, in at most as many groups as are claimed, and the scores that caps are chosen by move within their ends.
func pairsHold(a *sensitivity.Analysis, whole, less map[string]*flow.Graph, seen *pairsSeen) error {
	for k := range less {
		if whole[k] == nil {
			return fmt.Errorf("group %s appears", k)
		}
	}
	for i, m := range a.Measures {
		var with, out []*flow.Graph
		changed := uint64(0)
		for k, g := range whole {
			if !strings.HasPrefix(k, fmt.Sprintf("%d ", i)) {
				continue
			}
			h := less[k]
			if h == nil {
				h = &flow.Graph{}
			}
			with, out = append(with, g), append(out, h)
			if g.Total() != h.Total() {
				changed++
			}
			for _, edge := range m.Bound.Edges {
				a, b := g.Value(int64(edge)), h.Value(int64(edge))
				if a < b || a > b+int64(edge) {
					return fmt.Errorf("group %s at cap %d: %d, and %d without", k, edge, a, b)
				}
				if a > b {
					seen.moved++
				}
				if g.Total() > b+int64(edge) { // the sums themselves would not do
					seen.flowed++
				}
			}
		}
		if seen.groups = max(seen.groups, changed); changed > a.Limit.PerUnit {
			return fmt.Errorf("%d groups change, claimed are %d", changed, a.Limit.PerUnit)
		}
		x, err := flow.Scores(with, m.Bound.Edges, a.Limit.PerUnit, math.MaxInt64)
		if err != nil {
			return err
		}
		y, err := flow.Scores(out, m.Bound.Edges, a.Limit.PerUnit, math.MaxInt64)
		if err != nil {
			return err
		}
		for e := range x {
			if x[e]-y[e] < -flow.Down || x[e]-y[e] > flow.Up {
				return fmt.Errorf("the score of cap %d moves by %d", m.Bound.Edges[e], x[e]-y[e])
			}
		}
	}
	return nil
}

// printedPairs analyses and prints a statement over rows of two units.
func printedPairs(t testing.TB, s *session.Session, text string) (*sensitivity.Analysis, *sqlgen.Statement) {
	t.Helper()
	p, err := prepare(s, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	st, err := sqlgen.Private(p.analysis(), s.Engine.Dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	return p.analysis(), st
}

// TestPairsOfNeighbours: without all rows of one unit of either kind, flows and scores change by what is claimed (pairsHold), in every statement; and a claim of the groups of one key alone is too small for two.
func TestPairsOfNeighbours(t *testing.T) {
	for _, d := range dialects {
		s := shopSession(t, allShop, d)
		var all pairsSeen
		for _, text := range shopStatements {
			a, st := printedPairs(t, s, text)
			whole := shopGraphs(t, allShop.open(t, d), st)
			var seen pairsSeen
			for n, gone := range lessShop {
				if d == funcs.Postgres && n%3 != 0 { // one of each kind
					continue
				}
				if err := pairsHold(a, whole, shopGraphs(t, gone.open(t, d), st), &seen); err != nil {
					t.Errorf("%s %s without %s: %v", d, text, gone, err)
				}
			}
			if text == byTwoKeys && seen.groups <= 3 {
				t.Errorf("%s %s: a unit is in %d groups, no more than one key has", d, text, seen.groups)
			}
			all.moved, all.flowed = all.moved+seen.moved, all.flowed+seen.flowed
		}
		if all.moved < 100 || all.flowed < 100 {
			t.Errorf("%s: flows move %d times, and sums by more than the cap %d times", d, all.moved, all.flowed)
		}
	}
}

// TestPairsOfSpellings: a unit whose rows spell it in several ways is one node of its flow, and NaN is nobody. A print that leaves units as they are spelled is found.
func TestPairsOfSpellings(t *testing.T) {
	const text = "SELECT count(*) FROM lineitem"
	s := shopSession(t, spelledShop, funcs.Postgres)
	a, st := printedPairs(t, s, text)
	for _, gone := range []shop{"customer 1", "supplier 1"} {
		less := shop(string(spelledShop) + " " + string(gone))
		holds := func(st *sqlgen.Statement) error {
			return pairsHold(a, shopGraphs(t, spelledShop.open(t, funcs.Postgres), st), shopGraphs(t, less.open(t, funcs.Postgres), st), &pairsSeen{})
		}
		if err := holds(st); err != nil {
			t.Errorf("without %s: %v", gone, err)
		}
		careless := mangled(t, st, func(sql string) string {
			return regexp.MustCompile(`CAST\(([^ ]+) AS pg_catalog\.text\) COLLATE pg_catalog\."C" AS "u1"`).ReplaceAllString(sql, `$1 AS "u1"`)
		})
		if err := holds(careless); gone == "customer 1" && err == nil {
			t.Error("units that are left as they are spelled are not found")
		}
	}
	if rows, err := try(s, text); err != nil || len(rows) != 1 {
		t.Errorf("%v, %v", rows, err)
	}
}

// richShop is a policy under which noise is next to nothing.
var richShop = []string{"query:  {price: 0.5}", "query:  {price: 900}", "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 10000, delta: 1e-6}", "max_query_price: 5", "max_query_price: 5000"}

// shopOracle are the statements' values as they are without clamps: PostgreSQL's own, over rows of both units with what is declared in place of what is stored.
var shopOracle = map[string]string{
	shopStatements[0]: "SELECT count(*) FROM public.lineitem JOIN public.orders ON l_orderkey = o_orderkey WHERE o_custkey IS NOT NULL AND l_suppkey IS NOT NULL",
	shopStatements[1]: `SELECT count(*), sum(q), sum(p), avg(q) FROM (SELECT greatest(1, least(50, l_quantity)) + 0 * l_quantity AS q, greatest(0, least(1000, l_price)) + 0 * l_price AS p
		FROM public.lineitem JOIN public.orders ON l_orderkey = o_orderkey WHERE o_custkey IS NOT NULL AND l_suppkey IS NOT NULL AND o_orderstatus <> 'P') t`,
	shopStatements[2]: `SELECT l_shipmode, count(*), sum(greatest(0, least(1, l_tax))) FROM public.lineitem JOIN public.orders ON l_orderkey = o_orderkey WHERE o_custkey IS NOT NULL AND l_suppkey IS NOT NULL AND l_shipmode IN ('AIR', 'RAIL', 'SHIP') GROUP BY 1 ORDER BY 1`,
	shopStatements[5]: "SELECT count(*) FROM public.customer JOIN public.supplier ON c_nationkey = s_nationkey",
}

// TestPairsOracle: what the print adds up to is what the database says, exactly; with next to no noise the answers are those too, but for what a cap cuts.
func TestPairsOracle(t *testing.T) {
	for _, d := range dialects {
		s := shopSession(t, allShop, d, richShop...)
		for text, exact := range shopOracle {
			got, err := try(s, text)
			if err != nil {
				t.Fatalf("%s %s: %v", d, text, err)
			}
			oracle := &sqlgen.Statement{}
			var names, values []string
			for i := range got[0] {
				names, values = append(names, fmt.Sprintf("c%d", i)), append(values, fmt.Sprintf("CAST(c%d AS pg_catalog.text)", i))
				oracle.Columns = append(oracle.Columns, sqlgen.Column{Role: sqlgen.RoleOutput, Index: i, Type: sqltype.Text})
			}
			oracle.SQL = fmt.Sprintf("SELECT %s FROM (%s) AS t (%s) ORDER BY 1", strings.Join(values, ", "), exact, strings.Join(names, ", "))
			want, err := (uncovered{allShop.open(t, funcs.Postgres)}).Query(context.Background(), oracle)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(got, func(a, b []sqltype.Value) int { return strings.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0])) })
			if len(got) != len(want) {
				t.Fatalf("%s %s: %v, PostgreSQL %v", d, text, got, want)
			}
			addsUp(t, s, d, text, want)
			for i, row := range want {
				for k, v := range row {
					a, b := fmt.Sprint(got[i][k]), fmt.Sprint(v)
					var x, y float64
					if _, err := fmt.Sscan(b, &y); err != nil {
						if a != b {
							t.Errorf("%s %s: key %s, PostgreSQL %s", d, text, a, b)
						}
						continue
					}
					if _, err := fmt.Sscan(a, &x); err != nil || math.Abs(x-y) > 0.15*math.Abs(y)+2 { // a cap may cut of a few units what is no 21st of one
						t.Errorf("%s %s: %s, PostgreSQL %s", d, text, a, b)
					}
				}
			}
		}
	}
}

// addsUp holds the sums of a print's weights against counts and sums of the same rows, in the order of groups.
func addsUp(t *testing.T, s *session.Session, d dialect.Dialect, text string, want [][]sqltype.Value) {
	t.Helper()
	p, err := prepare(s, text)
	if err != nil {
		t.Fatal(err)
	}
	st, err := sqlgen.Private(p.analysis(), s.Engine.Dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	graphs := shopGraphs(t, allShop.open(t, d), st)
	for k, f := range p.analysis().Formulas {
		at := f.Sum
		switch f.Kind {
		case sensitivity.IsCount:
			at = f.Count
		case sensitivity.IsSum:
		default:
			continue
		}
		for _, row := range want {
			key := ""
			for i := range p.analysis().Keys {
				key += fmt.Sprint(row[i], "|")
			}
			g := graphs[fmt.Sprintf("%d %s", at, key)]
			if total := p.analysis().Measures[at].Grid.Mul(decimal.NewFromInt(g.Total())); total.String() != decimal.RequireFromString(row[len(p.analysis().Keys)+k].(string)).String() {
				t.Errorf("%s %s: the weights of %s add up to %s, PostgreSQL says %v", d, text, key, total, row)
			}
		}
	}
}
