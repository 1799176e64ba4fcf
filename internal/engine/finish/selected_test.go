package finish

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestShownGroupsCover: of groups that are shown, the interval of the number by which they were selected holds the number of people at least 95 times in 100, whatever that number is: added up over the exact laws, a topped-up number over the fresh noise too.
// Without the condition that a group is shown, up to half of the intervals miss. Far above the threshold intervals are as wide as without a selection.
func TestShownGroupsCover(t *testing.T) {
	a := &sensitivity.Analysis{Agg: &plan.Aggregate{Aggs: []plan.AggItem{{ID: 1, Type: sqltype.Int8}}}, Measures: []sensitivity.Measure{{Kind: sensitivity.Units, Fine: 1}},
		Formulas: []sensitivity.Formula{{Agg: 1, Kind: sensitivity.IsCount, Sum: -1}}}
	for _, ev := range []dp.Selection{
		{Groups: 1, Scale: dp.Scale{Num: 10, Den: 1}, Threshold: 130, Delta: 0.1},
		{Groups: 4, Scale: dp.Scale{Num: 7, Den: 2}, Threshold: 30, Delta: 0.1},
		{Groups: 1, Scale: dp.Scale{Num: 100, Den: 1}, Threshold: 3, Delta: 0.1}, // wider than its limit
		{Groups: 1, Scale: dp.Scale{Num: 9, Den: 1}, Threshold: 50, Delta: 0.1, Noise: dp.GaussianNoise},
		{Groups: 2, Scale: dp.Scale{Num: 5, Den: 2}, Threshold: 15, Delta: 0.1, Noise: dp.GaussianNoise},
		{Groups: 2, Scale: dp.Scale{Num: 30, Den: 1}, Threshold: 90, Delta: 0.1, Noise: dp.GaussianNoise},
	} {
		laplace, most := ev.Noise != dp.GaussianNoise, float64(ev.Threshold)
		fresh := gaussianOf(max(1, ev.Scale.Num/ev.Scale.Den))
		if laplace {
			fresh = laplaceOf(max(1, ev.Scale.Num/ev.Scale.Den))
		}
		for _, weights := range [][2]int64{{1, 0}, {1, 1}, {1, 4}} {
			r := &release.Release{Run: &measure.Run{Measures: []dp.Event{nil}, Selection: &ev}}
			if weights[1] > 0 {
				if testing.Short() && ev.Scale.Num > 10 {
					continue
				}
				r.Tops = []release.Top{{Plan: &measure.Plan{Measures: []dp.Event{fresh}, UnitsFromSelection: -1}, Weights: [][2]int64{weights}}}
			}
			e, err := Of(t.Context(), a, r)
			if err != nil {
				t.Fatal(err)
			}
			freshLaw, err := lawOf(fresh)
			if err != nil {
				t.Fatal(err)
			}
			px, pz := masses(e.selected[0].law), []float64{1}
			if weights[1] > 0 {
				pz = masses(freshLaw)
			}
			for _, at := range []*Errors{e, e.Together(20)} {
				without := 1.0
				ends := map[float64][2]float64{}
				for _, n := range []float64{1, 2, 3, math.Floor(most / 3), most - 2*e.selected[0].law.scale, most - 1, most, most + 1, most + 3, most + 2*e.selected[0].law.scale, 2 * most} {
					n = math.Max(1, math.Round(n))
					shown, held, bare := 0.0, 0.0, 0.0
					for i, p := range px {
						x := float64(i - len(px)/2)
						if n+x <= most || laplace && math.Abs(x) > most {
							continue
						}
						shown += p
						for k, q := range pz {
							if p*q < 1e-14*shown {
								continue
							}
							z := float64(k - len(pz)/2)
							y := math.RoundToEven((float64(weights[0])*(n+x) + float64(weights[1])*(n+z)) / float64(weights[0]+weights[1]))
							end, ok := ends[y]
							if !ok {
								_, end[0], end[1] = at.interval(0, ints(int64(y)))
								ends[y] = end
							}
							if end[0] <= n && n <= end[1] {
								held += p * q
							}
							if math.Abs(y-n) <= at.Measure(0) {
								bare += p * q
							}
						}
					}
					without = math.Min(without, bare/shown)
					if held/shown < 1-at.miss-1e-6 {
						t.Errorf("%+v, weights %d, miss %g: of %g people %g hold", ev, weights, at.miss, n, held/shown)
					}
				}
				if weights[1] == 0 && most > 10 && without > 0.5 {
					t.Errorf("%+v: without the condition %g hold", ev, without)
				}
			}
			const far = 1_000_000
			if _, low, high := e.interval(0, ints(far)); low != far-e.Measure(0) || high != far+e.Measure(0) {
				t.Errorf("%+v: far above the threshold [%g, %g]", ev, low, high)
			}
		}
	}
}
