package finish

import (
	"context"
	"math"
	"math/big"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

func ints(v ...int64) []*big.Int {
	var out []*big.Int
	for _, x := range v {
		out = append(out, big.NewInt(x))
	}
	return out
}

// pairOf is the analysis of count(x), avg(x), sum(x) over a centred pair: measure 0 is the count, 1 the centred sum.
func pairOf(grid string, lo, hi int64, avg sqltype.Type) *sensitivity.Analysis {
	a := &sensitivity.Analysis{Agg: &plan.Aggregate{}}
	a.Measures = []sensitivity.Measure{{Kind: sensitivity.CountValues},
		{Kind: sensitivity.CentredSum, ValueRange: sensitivity.ValueRange{Grid: decimal.RequireFromString(grid), RowLo: lo, RowHi: hi, RangeLo: decimal.RequireFromString(grid).Mul(decimal.NewFromInt(lo)), RangeHi: decimal.RequireFromString(grid).Mul(decimal.NewFromInt(hi))}}}
	sum := sqltype.Numeric
	if avg == sqltype.Float8 {
		sum = sqltype.Float8
	}
	for i, f := range []struct {
		kind sensitivity.FormulaKind
		typ  sqltype.Type
	}{{sensitivity.IsCount, sqltype.Int8}, {sensitivity.IsAvg, avg}, {sensitivity.IsSumFromPair, sum}} {
		id := plan.ColID(i + 1)
		a.Agg.Aggs = append(a.Agg.Aggs, plan.AggItem{ID: id, Type: f.typ})
		a.Formulas = append(a.Formulas, sensitivity.Formula{Agg: id, Kind: f.kind, Count: 0, Sum: 1})
	}
	return a
}

// TestFormulas: each aggregate from its noisy integers, as design section 7 says.
func TestFormulas(t *testing.T) {
	days := pairOf("1", 1, 14, sqltype.Numeric)
	cost := pairOf("0.01", -50, 50000, sqltype.Numeric)
	score := pairOf("0.0000019073486328125", -524288, 524288, sqltype.Float8) // 2^-19
	for _, c := range []struct {
		what        string
		a           *sensitivity.Analysis
		count, sum  int64
		n, avg, all string
	}{
		{"the middle", days, 10, 0, "10", "7.5000000000000000", "75"},
		{"above it", days, 4, 6, "4", "8.2500000000000000", "33"},
		{"a half in the sum rounds away from zero", days, 3, 2, "3", "7.8333333333333333", "24"},
		{"clamped above", days, 2, 1000, "2", "14.0000000000000000", "515"},
		{"clamped below", days, 2, -1000, "2", "1.00000000000000000000", "-485"},
		{"nobody", days, 0, 55, "0", "7.5000000000000000", "28"},
		{"fewer than nobody", days, -3, 55, "-3", "7.5000000000000000", "5"},
		{"a grid of cents", cost, 2, 1, "2", "249.7525000000000000", "499.51"},
		{"cents, negative", cost, 3, -149852, "3", "-0.00333333333333333333", "-0.01"},
		{"floats", score, 4, 1 << 20, "4", "0.25", "1"},
	} {
		for i, want := range []string{c.n, c.avg, c.all} {
			v, err := value(c.a, i, ints(c.count, c.sum), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := sqltype.FormatText(v, c.a.Agg.Aggs[i].Type); got != want {
				t.Errorf("%s: formula %d gives %s, not %s", c.what, i, got, want)
			}
		}
	}
}

// TestBigintIsTheLimit: an integer beyond bigint is the nearest one, on both sides.
func TestBigintIsTheLimit(t *testing.T) {
	a := &sensitivity.Analysis{Agg: &plan.Aggregate{Aggs: []plan.AggItem{{ID: 1, Type: sqltype.Int8}}},
		Measures: []sensitivity.Measure{{Kind: sensitivity.SumValues, ValueRange: sensitivity.ValueRange{Grid: decimal.NewFromInt(1)}}}, Formulas: []sensitivity.Formula{{Agg: 1, Kind: sensitivity.IsSum, Sum: 0}}}
	for sign, want := range map[int64]int64{1: math.MaxInt64, -1: math.MinInt64} {
		v, err := value(a, 0, []*big.Int{new(big.Int).Lsh(big.NewInt(sign), 70)}, nil, nil)
		if err != nil || v != want {
			t.Errorf("%v, %v", v, err)
		}
	}
}

// TestOneRounding: round is the nearest decimal, halves away from zero, in one step: what rounds up only at the next digit stays.
func TestOneRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.Int64().Draw(t, "n"), rapid.Int64Range(1, 1<<40).Draw(t, "d")
		scale := rapid.Int32Range(0, 30).Draw(t, "scale")
		x := big.NewRat(n, d)
		got := round(x, scale)
		half := new(big.Rat).Quo(big.NewRat(1, 2), new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		off := new(big.Rat).Sub(got.Rat(), x)
		if c := off.Abs(off).Cmp(half); c > 0 || c == 0 && got.Abs().Rat().Cmp(new(big.Rat).Abs(x)) < 0 {
			t.Fatalf("%s at scale %d is %s", x, scale, got)
		}
		if got.Exponent() != -scale {
			t.Fatalf("scale %d, not %d", -got.Exponent(), scale)
		}
	})
}

func laplaceOf(scale uint64) dp.Event {
	return dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: scale, Den: 1}}
}

func gaussianOf(scale uint64) dp.Event {
	return dp.Gaussian{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: scale, Den: 1}}
}

func runOf(events ...dp.Event) *price.Run {
	return &price.Run{Measures: events}
}

// TestErrorFormulas: the half widths of design section 9, from public parameters; for averages from released values too.
func TestErrorFormulas(t *testing.T) {
	a := pairOf("0.5", 0, 20, sqltype.Numeric) // x in [0, 10], half steps: one step of the centred sum is a quarter
	e, err := NewErrors(a, runOf(gaussianOf(100), gaussianOf(300)))
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s: %g, not %g", what, got, want)
		}
	}
	same("count", e.Expected(0, math.NaN()), 196)
	if z, about := e.Expected(2, math.NaN()), 1.96*math.Sqrt(500*500+75*75); z < about || z > about*1.001 {
		t.Errorf("sum of a pair: %g, about 1.96 sqrt((5 100)^2 + (300/4)^2) = %g", z, about)
	}
	// avg = 5 + r/4: the larger end of |8000 - 10000 r| <= root of (588 + 1)^2 + r^2 (196 + 1)^2, which is nearly the delta rule's
	_, w := e.Value(1, ints(10000, 8000))
	same("avg", w, (fieller(8000, 589, 10000, 197, 0)-0.8)/4)
	if delta := 1.96 / 10000 * math.Sqrt(75*75+0.2*0.2*100*100); w < delta || w > 1.02*delta {
		t.Errorf("avg: %g, by the delta rule %g", w, delta)
	}
	for _, c := range []int64{197, 0, -5} {
		if v, w := e.Value(1, ints(c, 1)); w != math.Max(v, 10-v) {
			t.Errorf("avg among %d: %g from %g, not the range", c, w, v)
		}
	}
	if _, w := e.Value(1, ints(300, 0)); w >= 5 {
		t.Errorf("avg among three deviations: %g", w)
	}
	if v, _ := e.Value(1, ints(200, 1_000_000)); v != 10 {
		t.Errorf("the interval's middle is %g, outside the range", v)
	}
	if v, w := e.Value(0, ints(-7, 0)); v != -7 || w != 196 {
		t.Errorf("a count's interval is clamped: %g, %g", v, w)
	}
	if x := e.Expected(1, math.NaN()); !math.IsNaN(x) {
		t.Errorf("an average among an unknown number has error %g", x)
	}
	e, err = NewErrors(a, runOf(laplaceOf(100), laplaceOf(300)))
	if err != nil {
		t.Fatal(err)
	}
	if z, about := e.Expected(2, math.NaN()), twoLaplace(500, 75); math.Abs(z-about) > 0.001*about || z != math.Trunc(4*z)/4 {
		t.Errorf("a Laplace pair: %g, of continuous laws it is %g", z, about)
	}
}

// TestUnitsError: a number of units that the selection gave has the selection's error.
func TestUnitsError(t *testing.T) {
	a := &sensitivity.Analysis{Agg: &plan.Aggregate{}, Measures: []sensitivity.Measure{{Kind: sensitivity.Units}},
		Formulas: []sensitivity.Formula{{Agg: 1, Kind: sensitivity.IsCount}}}
	p := &price.Run{Measures: []dp.Event{nil}, Selection: &dp.Selection{Groups: 4, Scale: dp.Scale{Num: 10, Den: 1}, Threshold: 250, Delta: 1e-9}}
	e, err := NewErrors(a, p)
	if err != nil || e.Expected(0, math.NaN()) != 30 { // 10 ln 20 = 29.96
		t.Errorf("%v, %v", e, err)
	}
}

// TestShown: keys, aggregates and errors stand in the aggregate's order, one row a group. An average among no rows is NULL, and so is its error.
func TestShown(t *testing.T) {
	a := pairOf("1", 0, 10, sqltype.Numeric)
	a.Agg.Errors = []plan.ErrorItem{{ID: 11, Kind: plan.ErrorHalfWidth, Of: 1}, {ID: 12, Kind: plan.ErrorLow, Of: 1}, {ID: 13, Kind: plan.ErrorHigh, Of: 2}}
	r := &release.Release{Run: runOf(gaussianOf(100), gaussianOf(100)), Groups: []release.Group{
		{Keys: []sqltype.Value{"a"}, Values: ints(-5, 0)}, {Keys: []sqltype.Value{nil}, Values: ints(10000, 0)}}}
	rel, err := Shown(context.Background(), a, r, 0, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := rel.Rows[0], rel.Rows[1]
	if len(first) != 7 || first[0] != "a" || first[1] != int64(-5) || first[4] != 196.0 || first[5] != -201.0 || first[2] != nil || first[6] != nil {
		t.Errorf("%v", first)
	}
	if second[0] != nil || second[1] != int64(10000) || math.Abs(second[6].(float64)-5-0.00985) > 1e-5 {
		t.Errorf("%v", second)
	}
	a.Agg.Errors[0].Of = 99
	if _, err := Shown(context.Background(), a, r, 0, 1, nil); err == nil {
		t.Error("an error of no aggregate is given")
	}
}

// TestAverageInRange: an average of a float whose range does not lie on its grid is within the range, not the grid's.
func TestAverageInRange(t *testing.T) {
	a := pairOf("0.25", 0, 5, sqltype.Float8)
	a.Measures[1].RangeHi = decimal.RequireFromString("1.1")
	v, err := value(a, 1, ints(10, 100), nil, nil)
	if err != nil || v != 1.1 {
		t.Errorf("%v, %v", v, err)
	}
}

// TestAverageOfFlowsInRange: the sum and the count of rows of two units are cut by flows of their own; their ratio is held to the declared range, however far apart the caps are.
func TestAverageOfFlowsInRange(t *testing.T) {
	a := pairOf("0.01", 100, 5000, sqltype.Numeric)
	a.Pairs, a.Measures[1].Kind, a.Formulas[1].Kind = &sensitivity.Pairs{}, sensitivity.SumValues, sensitivity.IsRatio
	for _, c := range []struct {
		count, sum int64
		want       string
	}{{10, 25000, "25"}, {3, 99999999, "50"}, {1000, 2, "1"}, {1000, -900000, "1"}, {-3, 25000, "1"}} {
		v, err := value(a, 1, ints(c.count, c.sum), nil, nil)
		if d, ok := v.(decimal.Decimal); err != nil || !ok || !d.Equal(decimal.RequireFromString(c.want)) {
			t.Errorf("%+v: %v, %v", c, v, err)
		}
	}
}
