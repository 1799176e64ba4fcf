package prooftest

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestMomentOracle is TestOracle of variances, correlations and regressions.
func TestMomentOracle(t *testing.T) {
	enginetest.SameAsTexts(t, []dialect.Dialect{funcs.Postgres}, slices.Concat(neighbour.Moments, neighbour.Decisions, []string{
		"select readmitted, kind_id, var_samp(days), stddev(cost), corr(days, cost), covar_samp(days, cost), regr_slope(days, cost), var_pop(days), regr_r2(cost, days), regr_count(days, cost) from encounters where patient_id = 1 group by 1, 2"})...)
}

// TestMomentNeighbours is TestNeighbours of variances, correlations and regressions.
func TestMomentNeighbours(t *testing.T) {
	keepClaims(t, enginetest.Dialects, slices.Concat(neighbour.Moments, neighbour.Decisions)...)
}

// TestMomentsBeside: statistics of a wide range beside one another and beside averages are PostgreSQL's with hardly any noise, whichever argument comes first, may be NULL or has a FILTER that keeps all: each is computed about the centre that its sums were measured about.
func TestMomentsBeside(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, generous...)
		enginetest.Set(t, s, "dpsql.bounding", "auto")
		for _, of := range []string{
			"corr(days, cost), var_pop(cost), stddev(cost)", "covar_pop(days, cost), covar_pop(cost, days)", "regr_slope(cost, days), covar_samp(days, cost)", "regr_sxx(cost, days), regr_syy(cost, days), regr_avgx(cost, days), avg(cost)",
			"avg(cost), stddev(cost) filter (where true)", "avg(cost) filter (where true), var_pop(cost)", "avg(days), var_pop(days) filter (where true), sum(days)", "sum(cost), stddev(cost), avg(cost) filter (where 1 = 1)",
		} {
			sql := "select " + of + " from encounters"
			want := enginetest.PrintedRows(t, enginetest.Tame.Open(t, funcs.Postgres), plainly(t, s, sql))
			for k, v := range enginetest.MustTry(t, s, sql)[0] {
				if v == nil {
					t.Fatalf("%s: %s: column %d is NULL", d, sql, k)
				}
				if x, y := asNumber(t, v), asNumber(t, want[0][k]); math.Abs(x-y) > 0.02+0.03*math.Abs(y) {
					t.Errorf("%s: %s: column %d is %v, PostgreSQL's %v", d, sql, k, x, y)
				}
			}
		}
	}
}

// TestMomentErrors: the statistics of 4,000 rows, with the noise of their price, are within their dp_error of those rows' own with probability 0.95 or about. Of 1,000 draws fewer than 890 are within it with probability below 1e-9. Released moments of few rows give no value.
func TestMomentErrors(t *testing.T) {
	ctx := context.Background()
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres)
	enginetest.Set(t, s, "dpsql.price", "1")
	stats := []string{"var_pop(days)", "stddev_samp(days)", "covar_samp(medications, days)", "corr(medications, days)", "regr_r2(medications, days)", "regr_slope(medications, days)",
		"regr_intercept(medications, days)", "regr_sxx(medications, days)", "regr_sxy(medications, days)", "regr_avgy(medications, days)"}
	for _, mechanism := range []string{"laplace", "gaussian"} {
		enginetest.Set(t, s, "dpsql.mechanism", mechanism)
		for _, stat := range stats {
			p, err := enginetest.Prepare(s, fmt.Sprintf("select %s, dp_error(%s) from encounters", stat, stat))
			if err != nil {
				t.Fatal(err)
			}
			mp, err := p.Price()
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(11, 7))
			exact := momentTotals(p.Analysis(), 4000, func() (x, y int64) {
				x = 1 + rnd.Int64N(14)
				return x, max(0, min(100, 4*x+rnd.Int64N(30)))
			})
			answer := func(v []*big.Int) (value, width sqltype.Value) {
				rel, err := finish.Shown(ctx, p.Analysis(), &release.Release{Plan: mp, Run: mp.Run(), Groups: []release.Group{{Values: v}}}, 0, 1, nil)
				if err != nil {
					t.Fatal(err)
				}
				return rel.Rows[0][0], rel.Rows[0][1]
			}
			hold := func(exact []*big.Int) (truth sqltype.Value, within int, widths float64) {
				truth, _ = answer(exact)
				for range 1000 {
					v := make([]*big.Int, len(exact))
					for i, ev := range mp.Run().Measures {
						law, err := dp.LawOf(ev)
						if err != nil {
							t.Fatal(err)
						}
						n := rnd.NormFloat64()
						if mechanism == "laplace" {
							n = rnd.ExpFloat64() - rnd.ExpFloat64()
						}
						v[i] = new(big.Int).Add(exact[i], big.NewInt(int64(math.Round(n*law.Scale.Float()))))
					}
					value, width := answer(v)
					if math.Abs(enginetest.AsFloat(t, value)-enginetest.AsFloat(t, truth)) <= width.(float64) {
						within++
					}
					widths += width.(float64) / 1000
				}
				t.Logf("%s, %s: %v +- %.3g, %d", mechanism, stat, truth, widths, within)
				return truth, within, widths
			}
			truth, within, widths := hold(exact)
			if within < 890 || within > 990 {
				t.Errorf("%s, %s: %d of 1000 values of %v are within about %g", mechanism, stat, within, truth, widths)
			}
			if strings.HasPrefix(stat, "var_") || strings.HasPrefix(stat, "stddev_") { // the noise of the mean counts too where rows are few and equal
				equal := momentTotals(p.Analysis(), 400, func() (x, y int64) { return 2, 8 })
				if truth, within, widths := hold(equal); within < 930 { // the draws are those of a fixed seed
					t.Errorf("%s, %s of few: %d of 1000 values of %v are within about %g", mechanism, stat, within, truth, widths)
				}
			}
			few := make([]*big.Int, len(exact))
			for i := range few {
				few[i] = new(big.Int)
			}
			if value, width := answer(few); stat[:8] != "regr_avg" && (value != nil || width != nil) {
				t.Errorf("%s of 0 rows: %v +- %v", stat, value, width)
			}
			for i := range few {
				few[i].SetInt64(5)
			}
			if value, width := answer(few); stat[:8] != "regr_avg" && (value != nil || width != nil) {
				t.Errorf("%s of 5 rows: %v +- %v", stat, value, width)
			}
		}
	}
}

// TestMomentEnds: the ends of a statistic's interval are values that it can have. Among few rows it is NULL if its interval is all of a range, or noise does not tell what it divides by from 0; among more of them it has a value.
func TestMomentEnds(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres)
	enginetest.Set(t, s, "dpsql.price", "1")
	for stat, ends := range map[string][2]float64{"stddev(days)": {0, math.Inf(1)}, "var_pop(days)": {0, math.Inf(1)}, "corr(medications, days)": {-1, 1}, "regr_r2(medications, days)": {0, 1}, "regr_slope(medications, days)": {math.Inf(-1), math.Inf(1)}, "regr_intercept(medications, days)": {math.Inf(-1), math.Inf(1)}} {
		p, err := enginetest.Prepare(s, fmt.Sprintf("select %s, dp_low(%[1]s), dp_high(%[1]s) from encounters", stat))
		if err != nil {
			t.Fatal(err)
		}
		mp, err := p.Price()
		if err != nil {
			t.Fatal(err)
		}
		for _, slope := range []int64{0, 4} {
			for _, rows := range []int{800, 400_000} {
				i := int64(0)
				v := momentTotals(p.Analysis(), rows, func() (x, y int64) {
					i = i%4 + 1
					return 6 + i%2, 40 + slope*(i%2) + i/4
				})
				rel, err := finish.Shown(context.Background(), p.Analysis(), &release.Release{Plan: mp, Run: mp.Run(), Groups: []release.Group{{Values: v}}}, 0, 1, nil)
				if err != nil {
					t.Fatal(err)
				}
				r := rel.Rows[0]
				if divides := strings.HasPrefix(stat, "regr"); rows == 800 && (divides || !math.IsInf(ends[1], 1)) {
					if r[0] != nil || r[1] != nil || r[2] != nil {
						t.Errorf("%s of few: %v", stat, r)
					}
					continue
				}
				if low, ok := r[1].(float64); !ok || low < ends[0] || r[2].(float64) > ends[1] || enginetest.AsFloat(t, r[0]) < low {
					t.Errorf("%s of %d rows: %v", stat, rows, r)
				}
			}
		}
	}
}

// momentTotals are the measures' of n rows of (days, medications), each a unit's only one.
func momentTotals(a *sensitivity.Analysis, n int, row func() (x, y int64)) []*big.Int {
	out := make([]*big.Int, len(a.Measures))
	for i := range out {
		out[i] = new(big.Int)
	}
	for range n {
		x, y := row()
		at := func(m sensitivity.Measure) int64 { // by its range: of days or of medications
			v := y
			if m.RowHi == 14 {
				v = x
			}
			return 2*v - m.RowLo - m.RowHi
		}
		for i, m := range a.Measures {
			v := int64(1)
			switch p := m.Product; {
			case p != nil:
				v = 2*((at(p.X)*at(p.Y)+p.Offset+p.Up())>>p.Cut) - m.RowHi
			case m.Kind == sensitivity.CentredSum:
				v = at(m)
			}
			out[i].Add(out[i], big.NewInt(v))
		}
	}
	return out
}

// TestDecisions: over a column without a false row, or without a true one, BOOL_AND and BOOL_OR are right with probability 0.975; of 400 answers more than 40 wrong ones have
// probability below 1e-9. Where twice the quantile of people decide, they are as right.
func TestDecisions(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres)
	enginetest.Set(t, s, "dpsql.price", "1")
	p, err := enginetest.Prepare(s, "select bool_and(days > 0), bool_or(days > 0) from encounters")
	if err != nil {
		t.Fatal(err)
	}
	mp, err := p.Price()
	if err != nil {
		t.Fatal(err)
	}
	law, err := dp.LawOf(mp.Run().Measures[0])
	if err != nil {
		t.Fatal(err)
	}
	e, err := finish.NewErrors(p.Analysis(), mp.Run())
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(5, 3))
	for name, people := range map[string]float64{"nobody": 0, "twice the quantile": 2 * e.Measure(0)} {
		wrong := 0
		for range 200 {
			v := make([]*big.Int, 2)
			for i := range v {
				v[i] = big.NewInt(int64(math.Round(people + (rnd.ExpFloat64()-rnd.ExpFloat64())*law.Scale.Float())))
			}
			rel, err := finish.Shown(context.Background(), p.Analysis(), &release.Release{Plan: mp, Run: mp.Run(), Groups: []release.Group{{Values: v}}}, 0, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []bool{people == 0, people > 0} {
				if rel.Rows[0][i] != want {
					wrong++
				}
			}
		}
		if wrong > 40 {
			t.Errorf("%s: %d of 400 answers are wrong", name, wrong)
		}
	}
}
