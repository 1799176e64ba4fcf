package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestPopulationOfKinds: a statement over rows of two kinds is priced by the lesser population, as if the policy had said that number alone, and one whose cap of groups is chosen by none; what a group holds of rows of two people goes by the larger.
func TestPopulationOfKinds(t *testing.T) {
	rich := []string{"budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 20, delta: 1e-9}"} // no delta is too large for so many
	of := func(population, text string) (string, float64) {
		t.Helper()
		s := enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB, append(rich, "population: 40", "population: "+population)...)
		enginetest.Set(t, s, "dpsql.max_groups", "auto")
		p, err := enginetest.Prepare(s, text)
		if err != nil {
			t.Fatal(err)
		}
		mp, err := p.Staged().Stages[0].Price()
		if err != nil {
			t.Fatal(err)
		}
		if len(mp.Choices) == 0 {
			t.Fatalf("%s chooses nothing", text)
		}
		return fmt.Sprintf("%+v %+v", mp.Choices, mp.Measures), p.Session.DeclaredRows(p.Analysis())
	}
	each := "{customer: 150000, supplier.s_suppkey: 200}"
	for text, by := range map[string][2]string{ // priced by, and its rows
		"SELECT o_orderkey / 2, count(*) FROM orders GROUP BY 1": {"150000", "150000"},
		"SELECT ps_partkey, count(*) FROM partsupp GROUP BY 1":   {"200", "200"},
		"SELECT count(*) FROM lineitem":                          {"200", "150000"},
	} {
		got, rows := of(each, text)
		if want, _ := of(by[0], text); got != want {
			t.Errorf("%s is priced as %s, it is\n%s", text, want, got)
		}
		if other, _ := of(map[string]string{"200": "150000", "150000": "200"}[by[0]], text); (got == other) != strings.Contains(text, "GROUP BY") { // a cap of groups goes by the people that there are
			t.Errorf("%s: priced as\n%s\nof the other population as\n%s", text, got, other)
		}
		if fmt.Sprint(int(rows)) != by[1] {
			t.Errorf("%s has %g rows, not %s", text, rows, by[1])
		}
	}
}

// TestReachTold: EXPLAIN tells, from the population and the price alone, above which cap of a flow none is likely to be found; of many people it tells nothing. A larger price reaches further.
func TestReachTold(t *testing.T) {
	tells := regexp.MustCompile(`With so few people one above about ([0-9.e+]+) is hardly found`)
	reach := func(population, epsilon, sql string) float64 {
		t.Helper()
		s := enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB, "population: 40", "population: "+population)
		enginetest.Set(t, s, "dpsql.price", epsilon)
		m := tells.FindStringSubmatch(enginetest.Explained(t, s, sql))
		if m == nil {
			return math.Inf(1)
		}
		x, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	const rows, sum = "SELECT count(*) FROM lineitem", "SELECT sum(l_price) FROM lineitem"
	few, more, dear := reach("{customer: 5000, supplier: 20}", "0.5", rows), reach("{customer: 5000, supplier: 60}", "0.5", rows), reach("{customer: 5000, supplier: 20}", "1.5", rows)
	if !(few > 50 && few < 1000 && more > 10*few && dear > 10*few) {
		t.Errorf("caps up to %g are found, of more people %g, at a larger price %g", few, more, dear)
	}
	if got := reach("{customer: 20, supplier: 5000}", "0.5", rows); got != few {
		t.Errorf("of few customers %g", got)
	}
	if in := reach("{customer: 5000, supplier: 20}", "0.5", sum); !(in > 5*few && in < 5.2*few) { // the first cap is 5.12, the first power of 2 of cents above a 256th of 1000.00
		t.Errorf("of sums %g, of rows %g", in, few)
	}
	if got := reach("{customer: 5000, supplier: 5000}", "0.5", rows); !math.IsInf(got, 1) {
		t.Errorf("of many people %g", got)
	}
	if got := reach("{customer: 5000, supplier: 20}", "0.5", "SELECT count(*) FROM orders"); !math.IsInf(got, 1) {
		t.Errorf("of rows of one kind %g", got)
	}
}

// TestRehearsePairs: an owner of rows of two people is told by a rehearsal what an analyst is charged then, on PostgreSQL: releases that others follow from, top-ups, what is asked anew, statements of one kind beside; and what is refused, as the server refuses it.
func TestRehearsePairs(t *testing.T) {
	edits := []string{"budget: {epsilon: 20,", "budget: {epsilon: 1000,", "population: 40", "population: {customer: 30, supplier: 8}"}
	s := enginetest.ShopSession(t, enginetest.AllShop, funcs.Postgres, edits...)
	p, b := enginetest.ShopPolicyFor(t, funcs.Postgres, edits...), enginetest.AllShop.Open(t, funcs.Postgres)
	free, computed := rehearsedAsAsked(t, p, b, s, []string{
		"SELECT l_shipmode, count(*), sum(l_quantity), avg(l_quantity) FROM lineitem GROUP BY l_shipmode",
		"SELECT l_shipmode, count(*) FROM lineitem GROUP BY l_shipmode HAVING count(*) > 3 ORDER BY 2", // fewer columns
		"SELECT count(*) FROM lineitem WHERE l_shipmode = 'AIR'",                                       // one group
		"SELECT sum(n) FROM (SELECT l_shipmode, count(*) AS n FROM lineitem GROUP BY l_shipmode) t",
		"SELECT count(*) FROM lineitem",
		"SELECT count(*) FROM orders",   // of customers alone
		"SELECT count(*) FROM partsupp", // of suppliers
		"SELECT count(*) FROM customer JOIN supplier ON c_nationkey = s_nationkey",
		"SET dpsql.price = 2",
		"SELECT count(*) FROM lineitem", // topped up
		"SELECT count(*) FROM lineitem", // free
		"SET dpsql.fresh = on",
		"SELECT count(*) FROM lineitem",
		"SET dpsql.fresh = off",
		"SET dpsql.bounding = flow",
		"SELECT count(*) FROM lineitem",                                          // the same release
		"SELECT (SELECT count(*) FROM lineitem) - (SELECT count(*) FROM orders)", // in one snapshot
		"SELECT (SELECT count(*) FROM orders) - (SELECT count(*) FROM lineitem)",
	})
	if !slices.Equal(free, []bool{false, true, true, true, false, false, false, false, false, true, false, true, false, true}) ||
		!slices.Equal(computed, []bool{false, true, true, true, false, false, false, false, false, false, false, false, false, false}) {
		t.Errorf("free %v, computed %v", free, computed)
	}
	r, err := engine.OpenRehearsal(context.Background(), server.Options{Policy: p, Backend: b})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, sql := range []string{"SELECT median(l_quantity) FROM lineitem", "SELECT sum(l_tax) FROM lineitem", "SELECT l_shipmode, count(*) FROM lineitem GROUP BY l_linenumber, l_shipmode", "SELECT * FROM lineitem"} {
		got, err := r.Play(context.Background(), "ann", sql)
		_, want := enginetest.Prepare(s, sql)
		if err != nil || want == nil || len(got) != 1 || fmt.Sprint(got[0].Err) != fmt.Sprint(want) {
			t.Errorf("%s: rehearsed %+v, %v; refused: %v", sql, got, err, want)
		}
	}
}

// TestPreviewPairs: rows of two people are previewed as any: made-up lines join with made-up people of either kind by both ways, nothing is charged; where they are refused, what the hint says is answered.
func TestPreviewPairs(t *testing.T) {
	raw := map[string]int{ // rows that are made up
		"SELECT * FROM lineitem LIMIT 3": 3, "SELECT l_tax, l_shipmode FROM lineitem WHERE l_tax < 0 LIMIT 2": 2, "SELECT * FROM remark LIMIT 4": 4,
		"SELECT l_orderkey, c_custkey, s_suppkey FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON c_custkey = o_custkey JOIN supplier ON l_suppkey = s_suppkey LIMIT 5": 5,
		"SELECT r_stars, l_suppkey FROM remark JOIN lineitem ON r_orderkey = l_orderkey AND r_linenumber = l_linenumber LIMIT 5":                                                             5,
	}
	for _, how := range []string{policy.PreviewNone, policy.PreviewSchema, policy.PreviewMock} {
		s := enginetest.ShopSession(t, enginetest.AllShop, funcs.Postgres, "statement_timeout: 20s", "statement_timeout: 20s\npreview: "+how)
		for sql, n := range raw {
			if how == policy.PreviewNone {
				_, err := enginetest.Prepare(s, sql)
				var e *sqlerr.Error
				if !errors.As(err, &e) || e.ID != sqlerr.RawRows.ID {
					t.Fatalf("%s: %v", sql, err)
				}
				_, instead, _ := strings.Cut(e.Hint, "for example: ")
				if _, err := enginetest.Prepare(s, instead); err != nil || !strings.HasPrefix(instead, "SELECT ") {
					t.Errorf("%s: %s: %v", sql, e.Hint, err)
				}
				continue
			}
			if how == policy.PreviewSchema {
				n = 0
			}
			if _, a := enginetest.Ask(t, s, sql); len(a.Rows) != n || !a.MadeUp {
				t.Errorf("%s: %s: %d rows: %s", how, sql, len(a.Rows), a.Notice)
			}
		}
		if enginetest.PaidFor(t, s) > 0 {
			t.Errorf("%s: charged", how)
		}
	}
}
