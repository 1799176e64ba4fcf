package prooftest

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// shopGraphs are the flows' graphs of a printed statement's rows: by group and measure.
func shopGraphs(t testing.TB, b backend.Backend, st *sqlgen.Statement) map[string]*flow.Graph {
	t.Helper()
	pairs := map[string]*flow.Pairs{}
	number := [2]map[string]int32{{}, {}}
	rows, err := (enginetest.Uncovered{Backend: b}).Query(context.Background(), st)
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
	p, err := enginetest.Prepare(s, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	return p.Analysis(), st
}

// TestPairsOfNeighbours: without all rows of one unit of either kind, flows and scores change by what is claimed (pairsHold), in every statement; and a claim of the groups of one key alone is too small for two.
func TestPairsOfNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ShopSession(t, enginetest.AllShop, d)
		var all pairsSeen
		for _, text := range enginetest.ShopStatements {
			a, st := printedPairs(t, s, text)
			whole := shopGraphs(t, enginetest.AllShop.Open(t, d), st)
			var seen pairsSeen
			for n, gone := range enginetest.LessShop {
				if d == funcs.Postgres && n%3 != 0 { // one of each kind
					continue
				}
				if err := pairsHold(a, whole, shopGraphs(t, gone.Open(t, d), st), &seen); err != nil {
					t.Errorf("%s %s without %s: %v", d, text, gone, err)
				}
			}
			if text == enginetest.ByTwoKeys && seen.groups <= 3 {
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
	s := enginetest.ShopSession(t, enginetest.SpelledShop, funcs.Postgres)
	a, st := printedPairs(t, s, text)
	for _, gone := range []enginetest.Shop{"customer 1", "supplier 1"} {
		less := enginetest.Shop(string(enginetest.SpelledShop) + " " + string(gone))
		holds := func(st *sqlgen.Statement) error {
			return pairsHold(a, shopGraphs(t, enginetest.SpelledShop.Open(t, funcs.Postgres), st), shopGraphs(t, less.Open(t, funcs.Postgres), st), &pairsSeen{})
		}
		if err := holds(st); err != nil {
			t.Errorf("without %s: %v", gone, err)
		}
		careless := enginetest.Mangled(t, st, func(sql string) string {
			return regexp.MustCompile(`CAST\(([^ ]+) AS pg_catalog\.text\) COLLATE pg_catalog\."C" AS "u1"`).ReplaceAllString(sql, `$1 AS "u1"`)
		})
		if err := holds(careless); gone == "customer 1" && err == nil {
			t.Error("units that are left as they are spelled are not found")
		}
	}
	if rows, err := enginetest.Try(s, text); err != nil || len(rows) != 1 {
		t.Errorf("%v, %v", rows, err)
	}
}

// richShop is a policy under which noise is next to nothing.
var richShop = []string{"query:  {price: 0.5}", "query:  {price: 900}", "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 10000, delta: 1e-6}", "max_query_price: 5", "max_query_price: 5000"}

// shopOracle are the statements' values as they are without clamps: PostgreSQL's own, over rows of both units with what is declared in place of what is stored.
var shopOracle = map[string]string{
	enginetest.ShopStatements[0]: "SELECT count(*) FROM public.lineitem JOIN public.orders ON l_orderkey = o_orderkey WHERE o_custkey IS NOT NULL AND l_suppkey IS NOT NULL",
	enginetest.ShopStatements[1]: `SELECT count(*), sum(q), sum(p), avg(q) FROM (SELECT greatest(1, least(50, l_quantity)) + 0 * l_quantity AS q, greatest(0, least(1000, l_price)) + 0 * l_price AS p
		FROM public.lineitem JOIN public.orders ON l_orderkey = o_orderkey WHERE o_custkey IS NOT NULL AND l_suppkey IS NOT NULL AND o_orderstatus <> 'P') t`,
	enginetest.ShopStatements[2]: `SELECT l_shipmode, count(*), sum(greatest(0, least(1, l_tax))) FROM public.lineitem JOIN public.orders ON l_orderkey = o_orderkey WHERE o_custkey IS NOT NULL AND l_suppkey IS NOT NULL AND l_shipmode IN ('AIR', 'RAIL', 'SHIP') GROUP BY 1 ORDER BY 1`,
	enginetest.ShopStatements[5]: "SELECT count(*) FROM public.customer JOIN public.supplier ON c_nationkey = s_nationkey",
}

// TestPairsOracle: what the print adds up to is what the database says, exactly; with next to no noise the answers are those too, but for what a cap cuts.
func TestPairsOracle(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ShopSession(t, enginetest.AllShop, d, richShop...)
		for text, exact := range shopOracle {
			got, err := enginetest.Try(s, text)
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
			want, err := (enginetest.Uncovered{Backend: enginetest.AllShop.Open(t, funcs.Postgres)}).Query(context.Background(), oracle)
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
	p, err := enginetest.Prepare(s, text)
	if err != nil {
		t.Fatal(err)
	}
	st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	graphs := shopGraphs(t, enginetest.AllShop.Open(t, d), st)
	for k, f := range p.Analysis().Formulas {
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
			for i := range p.Analysis().Keys {
				key += fmt.Sprint(row[i], "|")
			}
			g := graphs[fmt.Sprintf("%d %s", at, key)]
			if total := p.Analysis().Measures[at].Grid.Mul(decimal.NewFromInt(g.Total())); total.String() != decimal.RequireFromString(row[len(p.Analysis().Keys)+k].(string)).String() {
				t.Errorf("%s %s: the weights of %s add up to %s, PostgreSQL says %v", d, text, key, total, row)
			}
		}
	}
}
