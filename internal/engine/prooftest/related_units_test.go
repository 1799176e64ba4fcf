package prooftest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// answerAndCharges is what a statement answers, and how many charges that took.
func answerAndCharges(t testing.TB, s *session.Session, sql string, args ...sqltype.Value) (answer string, n int) {
	t.Helper()
	n = enginetest.Charged(t, s.Engine, func() {
		rows, err := enginetest.Try(s, sql, args...)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		answer = fmt.Sprint(rows)
	})
	return answer, n
}

// TestParametersAreFree: rows of several people are answered by the release of the same statement with constants in place of parameters, and the other way round, and by no other's; a condition on the answer is no part of it. At a higher price such a release is topped up.
func TestParametersAreFree(t *testing.T) {
	joined := func(word string) *session.Session {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append(enginetest.DeclaredKeys[:8:8], "budget: {epsilon: 20,", "budget: {epsilon: 200,")...)
		enginetest.Set(t, s, "dpsql.bounding", word)
		return s
	}
	const one, both = "select count(*) from encounters a join encounters b on a.diag = b.diag where a.cost > %s", "select count(*), sum(a.days) from encounters a join encounters b on a.diag = b.diag where a.days < b.days + %s"
	const having = "select a.readmitted, count(*) from encounters a join encounters b on a.diag = b.diag group by 1 having count(*) > %s"
	const long, many = "select case when a.days > %s then 'long' else 'short' end, count(*) from encounters a join encounters b on a.diag = b.diag group by 1", "select case when l_quantity > %s then 'many' else 'few' end, count(*) from lineitem group by 1"
	const lines, some = "select sum(l_quantity), count(*) filter (where l_linenumber * %[1]s < 2) from lineitem where l_quantity > %[1]s + 1", "select l_shipmode, count(*) from lineitem group by 1 having count(*) > %s"
	shop, elastic, truncate := enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB), joined("elastic"), joined("truncate")
	for i, c := range []struct {
		s    *session.Session
		text string
		more int // charges of a higher price: a top-up, or the whole
	}{
		{elastic, one, 1}, {elastic, both, 1}, {elastic, having, 1}, {elastic, long, 1},
		{truncate, one, 1}, {truncate, both, 1}, {truncate, having, 1}, {truncate, long, 1},
		{joined("weighted"), one, 1},
		{shop, lines, 1}, {shop, some, 1}, {shop, many, 1},
	} {
		param := sqltype.Value(decimal.NewFromInt(0))
		text := func(value string) string { return fmt.Sprintf(c.text, value) }
		switch c.text {
		case having, some, both, lines, long, many:
			param = int64(0)
		}
		first, n := answerAndCharges(t, c.s, text("0"))
		if n != 1 {
			t.Errorf("%d: %d charges", i, n)
		}
		if again, n := answerAndCharges(t, c.s, text("$1"), param); n != 0 || again != first {
			t.Errorf("%s by parameter: %s after %s, %d charges", text("0"), again, first, n)
		}
		other := sqltype.Value(decimal.NewFromInt(-3))
		want := 1
		if _, small := param.(int64); small {
			other = int64(-3)
		}
		if c.text == having || c.text == some {
			want = 0 // finishing alone
		}
		byParam, n := answerAndCharges(t, c.s, text("$1"), other)
		if n != want {
			t.Errorf("%s of another value: %d charges", c.text, n)
		}
		if again, n := answerAndCharges(t, c.s, text("-3")); n != 0 || again != byParam {
			t.Errorf("%s by constant: %s after %s, %d charges", text("-3"), again, byParam, n)
		}
		enginetest.Set(t, c.s, "dpsql.price", "1")
		before := renyiSpent(t, c.s)
		if _, n = answerAndCharges(t, c.s, text("$1"), param); n != c.more {
			t.Errorf("%s at a higher price: %d charges", c.text, n)
		}
		topped := renyiSpent(t, c.s) - before
		if _, n = answerAndCharges(t, c.s, text("0")); n != 0 {
			t.Errorf("%s, topped up: %d charges", c.text, n)
		}
		enginetest.Set(t, c.s, "dpsql.fresh", "on")
		before = renyiSpent(t, c.s)
		answerAndCharges(t, c.s, text("0"))
		if whole := renyiSpent(t, c.s) - before; topped >= 0.99*whole != (c.s.Now.Bounding == "elastic") {
			t.Errorf("%s at a higher price costs %g, anew %g", c.text, topped, whole)
		}
		enginetest.Set(t, c.s, "dpsql.fresh", "off")
		enginetest.Set(t, c.s, "dpsql.price", "0.5")
	}
}

// renyiSpent is the Renyi loss that an analyst has spent.
func renyiSpent(t testing.TB, s *session.Session) float64 {
	t.Helper()
	b, err := s.Balance()
	if err != nil {
		t.Fatal(err)
	}
	return b.Analyst.Spent.Renyi
}

// TestComputedJoined: of rows that are joined off the unit, bounded by declared frequencies, a release says fewer aggregates of the same joins, a sum beside its average, and some of its groups or sums of them, where a condition or a group changes nothing of which rows are kept: and what it says is what the question itself
// would have, before noise. What is kept by other conditions is asked anew, and so are distinct values of several groups.
func TestComputedJoined(t *testing.T) {
	for _, world := range []enginetest.Clinic{enginetest.Tame, enginetest.Wild} {
		s := enginetest.ClinicSession(t, world, funcs.DuckDB, enginetest.DeclaredKeys...)
		enginetest.Set(t, s, "dpsql.bounding", "truncate")
		const on = " from encounters a join encounters b on a.diag = b.diag"
		const towns = " from patients p join cities c on c.id = p.city_id join encounters e on e.kind_id = p.city_id join kinds k on k.id = e.kind_id"
		for _, c := range []struct {
			stored, asked string
			free          bool
		}{
			{"select avg(b.medications)" + on, "select sum(b.medications)" + on, true},
			{"select a.readmitted, avg(b.medications), count(*), sum(b.days)" + on + " group by 1", "select a.readmitted, sum(b.days)" + on + " group by 1", false}, // rows are kept in an order of the columns that are read
			{"select a.readmitted, avg(b.medications), count(*)" + on + " group by 1", "select a.readmitted, sum(b.medications)" + on + " group by 1", true},
			{"select k.label, count(*)" + towns + " group by 1", "select count(*)" + towns + " where k.label = 'Urgent'", true},
			{"select k.label, count(*)" + towns + " group by 1", "select count(*)" + towns, true},
			{"select k.label, count(distinct e.encounter_id)" + towns + " group by 1", "select count(distinct e.encounter_id)" + towns, false},
			{"select k.label, count(distinct e.encounter_id)" + towns + " group by 1", "select count(distinct e.encounter_id)" + towns + " where k.label = 'Urgent'", true},
			{"select a.readmitted, count(*)" + on + " group by 1", "select count(*)" + on + " where a.readmitted = 'NO'", false}, // before rows are kept
		} {
			was, err := enginetest.Prepare(s, c.stored)
			is, err2 := enginetest.Prepare(s, c.asked)
			if err != nil || err2 != nil {
				t.Fatalf("%s: %v\n%s: %v", c.stored, err, c.asked, err2)
			}
			from, to := was.Staged().ReuseCandidate(was.Staged().Stages[0], nil), is.Staged().ReuseCandidate(is.Staged().Stages[0], nil)
			if from == nil || to == nil {
				t.Fatalf("%s has no kin", c.stored)
			}
			old := beforeNoise(t, was)
			old.Shape = from.Shape()
			r, an := stage.ComputedFrom(to, old)
			if r != nil && !c.free && from.Family() != to.Family() {
				r = nil
			}
			if (r != nil) != c.free {
				t.Errorf("from\n%s\n%s\nis computed: %t", c.stored, c.asked, r != nil)
			}
			if r == nil {
				continue
			}
			is = is.WithAnalysis(an)
			if have, want := totalsText(an, r), totalsText(an, beforeNoise(t, is)); have != want {
				t.Errorf("%s: from\n%s\n%s\nis\n%s\nnot\n%s", world.Name, c.stored, c.asked, have, want)
			}
		}
	}
}

// TestComputedFlows: of rows of two people a release says fewer aggregates, and some of its groups: what the group by itself would have at the same cap. Sums of groups are other flows, and are asked anew.
func TestComputedFlows(t *testing.T) {
	s := enginetest.ShopSession(t, enginetest.AllShop, funcs.DuckDB)
	const air = "SELECT count(*) FROM lineitem WHERE l_shipmode = 'AIR'"
	graphs := func(sql string) (*enginetest.Prepared, *sqlgen.Statement) {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
		if err != nil {
			t.Fatal(err)
		}
		return p, st
	}
	p, st := graphs("SELECT l_shipmode, count(*) FROM lineitem GROUP BY 1")
	_, alone := graphs(air)
	of, by := shopGraphs(t, enginetest.AllShop.Open(t, funcs.DuckDB), st)["0 AIR|"], shopGraphs(t, enginetest.AllShop.Open(t, funcs.DuckDB), alone)["0 "]
	for _, edge := range p.Analysis().Measures[0].Bound.Edges {
		if x, y := of.Value(int64(edge)), by.Value(int64(edge)); x != y {
			t.Fatalf("at cap %d the group has %d, alone %d", edge, x, y)
		}
	}
	groups, n := answerAndCharges(t, s, "SELECT count(*), sum(l_quantity), avg(l_quantity) FROM (SELECT l_shipmode, l_quantity FROM lineitem) x GROUP BY l_shipmode HAVING l_shipmode = 'AIR'")
	if n != 1 {
		t.Fatalf("%d charges", n)
	}
	for sql, want := range map[string]int{
		"SELECT count(*), sum(l_quantity), avg(l_quantity) FROM lineitem WHERE l_shipmode = 'AIR'": 0,
		"SELECT l_shipmode, avg(l_quantity) FROM lineitem GROUP BY 1":                              0,
		"SELECT l_shipmode, sum(l_quantity) FROM lineitem WHERE l_shipmode <> 'SHIP' GROUP BY 1":   0,
		"SELECT count(*) FROM lineitem WHERE l_shipmode IN ('AIR', 'SHIP')":                        1,
		"SELECT count(*) FROM lineitem":                                                            1,
		"SELECT count(*) FROM lineitem WHERE l_shipmode = 'AIR' AND l_quantity > 3":                1,
	} {
		got, n := answerAndCharges(t, s, sql)
		if n != want {
			t.Errorf("%s: %d charges", sql, n)
		}
		if strings.HasSuffix(sql, "avg(l_quantity) FROM lineitem WHERE l_shipmode = 'AIR'") && got != groups {
			t.Errorf("%s: %s, the group had %s", sql, got, groups)
		}
	}
}
