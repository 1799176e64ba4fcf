package finish

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// toppedUp is a release of one measure that was topped up as often as price allows from the first one, a quarter each time.
func toppedUp(t testing.TB, laplace bool, first, epsilon float64, fine uint64) (*price.Run, []release.Top) {
	t.Helper()
	at := func(epsilon float64) dp.Event {
		s := dp.Sensitivity{PerGroup: 4, Groups: 1}
		scale := dp.Scale{Num: uint64(math.Ceil(float64(4*fine) / epsilon * (1 << 10))), Den: 1 << 10}
		if laplace {
			return dp.Laplace{Sensitivity: s, Scale: scale}
		}
		return dp.Gaussian{Sensitivity: s, Scale: scale}
	}
	p := runOf(at(first))
	variance, err := p.VarianceInSteps(0, fine)
	if err != nil {
		t.Fatal(err)
	}
	var tops []release.Top
	for e := first; e*1.25 <= epsilon; e *= 1.25 {
		more := e / 4
		if !laplace {
			more = 0.75 * e // the root of 1.25^2 - 1
		}
		top := release.Top{Plan: &price.Quote{Measures: []dp.Event{at(more)}, UnitsFromSelection: -1}}
		fresh, err := top.Plan.Run().VarianceInSteps(0, fine)
		if err != nil {
			t.Fatal(err)
		}
		was, now, err := price.MeanWeights(variance, fresh)
		if err != nil {
			t.Fatal(err)
		}
		top.Weights = [][2]int64{{was, now}}
		tops = append(tops, top)
		w, n, round := top.Share(0)
		variance = w*w*variance + n*n*fresh + 2*round*price.MeanRounding
	}
	return p, tops
}

// TestToppedUpWidths: the value of a release that was topped up many times is within its width with probability 0.95, as drawn with all roundings; the
// width is no more than 5% wider than need be, roundings aside, and at most one step more than the first release's.
func TestToppedUpWidths(t *testing.T) {
	const draws = 20_000
	rnd := rand.New(rand.NewPCG(3, 5))
	exp := func(b float64) float64 { return math.Floor(b * rnd.ExpFloat64()) }
	noise := func(ev dp.Event) float64 {
		if l, ok := ev.(dp.Laplace); ok {
			return exp(l.Scale.Float()) - exp(l.Scale.Float())
		}
		return math.Round(rnd.NormFloat64() * ev.(dp.Gaussian).Scale.Float())
	}
	steps := func(x float64, fine uint64) float64 { return math.Round(x / float64(fine)) }
	for _, c := range []struct {
		laplace bool
		first   float64
		fine    uint64
	}{{true, 0.0005, 1}, {true, 0.1, 1}, {true, 0.1, 8}, {false, 0.002, 1}, {false, 0.1, 8}} {
		p, tops := toppedUp(t, c.laplace, c.first, 1, c.fine)
		for _, tops := range [][]release.Top{tops[:1], tops[:2], tops} {
			first, err := mixtureOf(p, nil, 0, c.fine)
			if err != nil {
				t.Fatal(err)
			}
			m, err := mixtureOf(p, tops, 0, c.fine)
			if err != nil {
				t.Fatal(err)
			}
			width := m.quantile(context.Background(), usualMiss)
			if was := first.quantile(context.Background(), usualMiss); width > was+1 {
				t.Errorf("%+v: a width of %g was %g", c, width, was)
			}
			sizes := make([]float64, draws)
			squares := 0.0
			for i := range sizes {
				x := noise(p.Measures[0])
				if c.fine > 1 {
					x = steps(x, c.fine)
				}
				for _, top := range tops {
					was, now, _ := top.Share(0)
					fresh := noise(top.Plan.Measures[0])
					if c.fine > 1 {
						fresh = steps(fresh, c.fine)
					}
					x = math.Round(was*x + now*fresh)
				}
				sizes[i] = math.Abs(x)
				squares += x * x
			}
			slices.Sort(sizes)
			out := draws - sort.SearchFloat64s(sizes, width+0.5)
			if most := 0.05*draws + 6*math.Sqrt(0.05*0.95*draws); float64(out) > most {
				t.Errorf("%+v, %d top-ups: %d of %d values are beyond %g", c, len(tops), out, draws, width)
			}
			if need := sizes[int(0.945*draws)]; width > 1.05*need+m.rounding+1 {
				t.Errorf("%+v, %d top-ups: a width of %g, %g would do", c, len(tops), width, need)
			}
			if got := squares / draws; math.Abs(got/m.variance-1) > 0.1 {
				t.Errorf("%+v, %d top-ups: a variance of %g is told, it is %g", c, len(tops), m.variance, got)
			}
		}
	}
}

// TestWidthsEnd: the width of what was topped up is not worked out for a statement that has ended.
func TestWidthsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p, tops := toppedUp(t, true, 0.1, 1, 1)
	r := &release.Release{Run: p, Tops: tops, Groups: []release.Group{{Values: []*big.Int{big.NewInt(7)}}}}
	a := &sensitivity.Analysis{Measures: []sensitivity.Measure{{Kind: sensitivity.CountRows, Contribution: sensitivity.Contribution{PerGroup: 4}}}, Formulas: []sensitivity.Formula{{Kind: sensitivity.IsCount, Agg: 1}}, People: -1,
		Agg: &plan.Aggregate{Aggs: []plan.AggItem{{ID: 1, Fn: plan.CountRows, Type: sqltype.Int8}}, Errors: []plan.ErrorItem{{ID: 2, Of: 1}}}}
	if rel, err := Shown(ctx, a, r, 0, 1, nil); err != nil || len(rel.Rows) != 1 || rel.Rows[0][1].(float64) < 4 {
		t.Fatalf("%+v, %v", rel, err)
	}
	cancel()
	if rel, err := Shown(ctx, a, r, 0, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", rel, err)
	}
	e, err := Of(ctx, a, r)
	if err != nil || !math.IsNaN(e.Measure(0)) || !math.IsNaN(e.Expected(0, 1)) {
		t.Errorf("%+v, %v", e, err)
	}
}
