package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestNegativeCounts: a count among nobody is noise. Shown as a count it is never negative; in expressions, intervals, HAVING and
// sums it stays as it was released, and its interval reaches 0. Of 60 such counts none is negative with probability below 1e-9 (each is not with less than 0.6).
func TestNegativeCounts(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	negative := 0
	for i := range 20 {
		from := fmt.Sprintf("from encounters where days + 0 > %d group by 1", 100+i)
		_, a := enginetest.Ask(t, s, "select readmitted, count(*), count(*) + 0, dp_low(count(*)), dp_error(count(*)), count(*) * 1.0 "+from+" order by 1")
		if len(a.Rows) != 3 {
			t.Fatalf("%d groups", len(a.Rows))
		}
		below := 0
		for _, r := range a.Rows {
			shown, kept := r[1].(int64), r[2].(int64)
			if shown != max(0, kept) || r[4].(float64) != float64(max(kept-int64(r[3].(float64)), -kept)) || !r[5].(decimal.Decimal).Equal(decimal.NewFromInt(kept)) {
				t.Errorf("%v", r)
			}
			if kept < 0 {
				below++
			}
		}
		negative += below
		if n := enginetest.Charged(t, s.Engine, func() {
			if _, a := enginetest.Ask(t, s, "select readmitted, count(*) "+from+" having count(*) < 0"); len(a.Rows) != below {
				t.Errorf("%d groups have a negative count, HAVING finds %d", below, len(a.Rows))
			}
		}); n != 0 {
			t.Errorf("%d charges", n)
		}
	}
	if negative == 0 {
		t.Error("no count is negative: they are clamped too early")
	}
}

// TestCountsPassedOn: a count that a derived table, a join, COALESCE, CASE, a cast, a set operation or a subquery passes on is shown as it is itself, never below 0; what is computed from it, and sums, keep the released number. Noise is fixed: of 3 groups of nobody some has a negative count.
func TestCountsPassedOn(t *testing.T) {
	s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,"), 5)
	const inner = "(select readmitted, count(*) as n from encounters where days + 0 > 100 group by 1) e"
	number := func(v sqltype.Value) float64 { return enginetest.AsFloat(t, v) }
	negative, sum, least := 0, 0.0, math.Inf(1)
	for _, r := range enginetest.MustTry(t, s, "select n, coalesce(n, 0), case when n is null then 0 else n end, greatest(n, n), n::int, n::numeric(10, 2), n::float8, n + 0, n - 1 from "+inner+" right join (values ('NO'), ('<30'), ('>30'), ('x')) v (r) on r = readmitted") {
		if r[0] == nil { // no group has it
			continue
		}
		kept := number(r[7])
		for at, v := range r[:7] {
			if number(v) != max(0, kept) {
				t.Errorf("column %d: %v, released as %v", at, v, kept)
			}
		}
		if number(r[8]) != kept-1 {
			t.Errorf("%v", r)
		}
		if kept < 0 {
			negative++
		}
		sum, least = sum+kept, min(least, kept)
	}
	if negative == 0 {
		t.Fatal("no count is negative")
	}
	for _, c := range []struct {
		sql  string
		want float64
	}{
		{"select min(n) from " + inner, 0},
		{"select sum(n) from " + inner, sum},
		{"select -max(-n) from " + inner, least},
		{"select min(n - 0) from " + inner, least},
		{"select min(m) from (select coalesce(n, -5) as m from " + inner + ") as f", least},
	} {
		if got := number(enginetest.MustTry(t, s, c.sql)[0][0]); got != c.want {
			t.Errorf("%s: %g, want %g", c.sql, got, c.want)
		}
	}
	for _, sql := range []string{"select readmitted, n from " + inner + " union all values ('x', 0)", "select readmitted, n from " + inner + " union select readmitted, n from " + inner + " where n < 1000", "select r, (select n from " + inner + " where readmitted = r) from (values ('NO'), ('<30'), ('>30')) v (r)"} {
		for _, r := range enginetest.MustTry(t, s, sql) {
			if number(r[1]) < 0 {
				t.Errorf("%s: %v", sql, r)
			}
		}
	}
}

// TestAverageOfOneValue: an average over a range of one value is that value where the rows are told from none, whatever dpsql.on_low_count says, and NULL where they are not, as over no rows. 5% off with a probability below 1e-9: there are 16 rows or more at an error below 1.
func TestAverageOfOneValue(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,", "max_query_price: 5", "max_query_price: 50")
	enginetest.Set(t, s, "dpsql.price", "40")
	for _, low := range []string{"keep", "null", "drop"} {
		enginetest.Set(t, s, "dpsql.on_low_count", low)
		for sql, want := range map[string]any{
			"select avg(days) from encounters where days between 12 and 12":      "12.0",
			"select avg(days) from encounters where days = 12":                   "12.0",
			"select avg(case when days > 1 then 2.5 end) from encounters":        "2.5",
			"select avg(days) from encounters where days = 12 and days + 0 > 12": nil,
		} {
			r := enginetest.MustTry(t, s, sql)[0]
			if v := r[0]; want == nil && v != nil || want != nil && (v == nil || fmt.Sprintf("%.1f", enginetest.AsFloat(t, v)) != want) {
				t.Errorf("%s: %s: %v", low, sql, v)
			}
		}
	}
}

// TestNobody: counts and sums over no rows are numbers, never NULL; averages whose interval is their whole range are NULL, with a warning, and their intervals too. Public groups are all there.
func TestNobody(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	enginetest.Set(t, s, "dpsql.notices", "brief")
	nulls := 0
	for i := range 10 {
		where := fmt.Sprintf(" from encounters where days + 0 > %d", 200+i)
		_, a := enginetest.Ask(t, s, "select count(*), count(medications), sum(days), avg(days), sum(cost), avg(score), avg(cost)"+where)
		if row := a.Rows[0]; len(a.Rows) != 1 || row[0] == nil || row[1] == nil || row[2] == nil || row[4] == nil {
			t.Fatalf("%v", a.Rows)
		}
		for at, ends := range map[int][2]float64{3: {1, 14}, 5: {-1, 1}, 6: {0, 500}} {
			if v := a.Rows[0][at]; v == nil {
				nulls++
			} else if x := enginetest.AsFloat(t, v); x < ends[0] || x > ends[1] {
				t.Errorf("an average is %g", x)
			}
		}
		if told := strings.Join(a.Warnings, "\n"); slices.Contains(a.Rows[0], nil) && !strings.Contains(told, "avg is NULL, as there are too few rows after noise, so its interval would be the whole range and is NULL too") {
			t.Errorf("%q", told)
		}
		_, a = enginetest.Ask(t, s, "select avg(days), dp_error(avg(days)), dp_low(avg(days)), dp_high(avg(days))"+where)
		for _, v := range a.Rows[0] {
			if (v == nil) != (a.Rows[0][0] == nil) {
				t.Errorf("%v", a.Rows)
			}
		}
		if strings.Contains(a.Notice, "avg NULL") != (a.Rows[0][0] == nil) {
			t.Errorf("%v: %s", a.Rows, a.Notice)
		}
		_, a = enginetest.Ask(t, s, "select readmitted, kind_id, count(*), avg(days)"+where+" group by 1, 2")
		if len(a.Rows) != 12 {
			t.Errorf("%d public groups", len(a.Rows))
		}
		if _, a = enginetest.Ask(t, s, "select diag, count(*)"+where+" group by 1"); len(a.Rows) != 0 {
			t.Errorf("unknown groups of nobody: %v", a.Rows)
		}
	}
	if nulls < 20 {
		t.Errorf("%d averages of nobody are NULL", nulls)
	}
}

// TestRareGroups: a group of one or two persons is never shown (a chance of 1e-14 a statement and person), groups of many are; each
// shown key is one of the data's.
func TestRareGroups(t *testing.T) {
	p := enginetest.ClinicPolicyFor(t, funcs.DuckDB, "epsilon: 20,", "epsilon: 10000,")
	p.Query.Delta = 1e-14
	s := enginetest.NewSession(enginetest.EngineOn(t, p, enginetest.Tame.Open(t, funcs.DuckDB)), t, "ann")
	enginetest.Set(t, s, "dpsql.max_groups", "1")
	for range 20 {
		if _, a := enginetest.Ask(t, s, "select account, count(*) from patients group by 1"); len(a.Rows) > 0 {
			t.Fatalf("a rare group is shown: %v", a.Rows)
		}
		enginetest.Set(t, s, "dpsql.price", fmt.Sprint(s.Now.Epsilon*1.1)) // a fresh release
	}
	// Noise beyond the threshold T is as rare as delta: a group of more than 2T persons is kept.
	d := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst")
	const races = "select race, count(distinct patient_id) from patients group by race"
	pr, a := enginetest.Ask(t, d, races)
	mp, err := enginetest.PriceOf(d, pr.Analysis())
	if err != nil {
		t.Fatal(err)
	}
	shown := keysOf(pr, a)
	for key, v := range enginetest.Totals(t, pr) {
		if n := v[0].Uint64(); n > 2*mp.Selections[0].Threshold && !strings.Contains(shown, strings.ReplaceAll(key, "NULL", "<nil>")) {
			t.Errorf("%s, of %d patients, is not among %s", key, n, shown)
		}
	}
}

// TestGroupsAlone: GROUP BY without aggregates: public groups are free, unknown ones cost a selection and nothing else.
func TestGroupsAlone(t *testing.T) {
	s := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst")
	if n := enginetest.Charged(t, s.Engine, func() {
		if _, a := enginetest.Ask(t, s, "select readmitted from encounters group by 1"); len(a.Rows) != 3 {
			t.Errorf("%v", a.Rows)
		}
	}); n != 0 {
		t.Errorf("%d charges", n)
	}
	if n := enginetest.Charged(t, s.Engine, func() {
		if _, a := enginetest.Ask(t, s, "select race from patients group by race order by race"); len(a.Rows) < 5 {
			t.Errorf("%v", a.Rows)
		}
	}); n != 1 {
		t.Errorf("%d charges", n)
	}
	if ev := enginetest.Charges(t, s.Engine)[0].Events; len(ev) != 1 || ev[0].Name() != "gaussian_selection" {
		t.Errorf("%v", ev)
	}
}

// TestAverageSpelling: an average has the digits and the scale of PostgreSQL's division of sum by count, for any released numbers.
func TestAverageSpelling(t *testing.T) {
	ctx := context.Background()
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres, "account:    {range: [-1000, 1000]}", "account:    {range: [-1000000, 1000000]}")
	conn, err := pgconn.Connect(ctx, enginetest.SharedServer(t).URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	db := &neighbour.Postgres{Conn: conn}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		sql   string
		scale int32
	}{{"select avg(account), count(account) from patients", 2}, {"select avg(days), count(days) from encounters", 0}} {
		p, err := enginetest.Prepare(s, c.sql)
		if err != nil {
			t.Fatal(err)
		}
		r := enginetest.Unnoised(t, p)
		f := p.Analysis().Formulas[0]
		m := p.Analysis().Measures[f.Sum]
		r.Groups = nil
		var list []string
		for i := range 2000 {
			count := 1 + rnd.Int64N([]int64{10, 1000, 30000, 1e6, 1e9}[i%5])
			sum := count*m.RowLo + rnd.Int64N(count*(m.RowHi-m.RowLo)/[]int64{1, 10, 1000, 1000000}[i/5%4]+1) // of x, in steps
			if i%50 == 0 {
				sum = 0
			}
			sum = min(max(sum, count*m.RowLo), count*m.RowHi)
			v := make([]*big.Int, len(p.Analysis().Measures))
			for j := range v {
				v[j] = big.NewInt(count)
			}
			v[f.Sum] = big.NewInt(2*sum - count*(m.RowLo+m.RowHi))
			r.Groups = append(r.Groups, release.Group{Values: v})
			list = append(list, fmt.Sprintf("(%d, %s / %d::numeric)", i, decimal.New(sum, -c.scale).StringFixed(c.scale)+"::numeric", count))
		}
		rel, err := finish.Shown(context.Background(), p.Analysis(), r, 0, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := db.Text(ctx, "select q from (values "+strings.Join(list, ", ")+") v(i, q) order by i", []sqltype.Type{sqltype.Numeric})
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i := range want {
			if g, w := enginetest.Spelled(rel.Rows[i][0], sqltype.Numeric), enginetest.Spelled(want[i][0], sqltype.Numeric); g != w {
				if wrong++; wrong < 5 {
					t.Errorf("%s: %s is %s, PostgreSQL has %s", c.sql, list[i], g, w)
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d averages are spelled otherwise", c.sql, wrong, len(want))
		}
	}
}
