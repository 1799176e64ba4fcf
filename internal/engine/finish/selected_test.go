package finish

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestShownGroupsCover: of groups that are shown, the interval of the number by which they were selected, by a threshold, the policy's min_people or both, holds the number of people at least 95 times in 100, whatever that number is: added up over the exact laws, a topped-up number over the fresh noise too.
// So nothing is drawn, and there is no false alarm. Without the condition that a group is shown, half of the intervals miss or nearly so. Far above the threshold intervals are as wide as without a selection.
func TestShownGroupsCover(t *testing.T) {
	const gaussian = dp.GaussianNoise
	laplace := func(scale, den uint64) dp.Event {
		return dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: scale, Den: den}}
	}
	for _, k := range []struct {
		ev   dp.Event
		min  int64
		tops [][2]int64 // weights of a top-up; none: as it was released
	}{
		{dp.Selection{Groups: 1, Scale: dp.Scale{Num: 10, Den: 1}, Threshold: 130, Delta: 0.1}, 0, [][2]int64{{1, 0}, {1, 4}}},
		{dp.Selection{Groups: 4, Scale: dp.Scale{Num: 7, Den: 2}, Threshold: 30, Delta: 0.1}, 0, [][2]int64{{1, 0}, {1, 1}, {1, 4}}},
		{dp.Selection{Groups: 1, Scale: dp.Scale{Num: 100, Den: 1}, Threshold: 3, Delta: 0.1}, 0, [][2]int64{{1, 0}}}, // wider than its limit
		{dp.Selection{Groups: 1, Scale: dp.Scale{Num: 9, Den: 1}, Threshold: 50, Delta: 0.1, Noise: gaussian}, 0, [][2]int64{{1, 0}, {1, 1}, {1, 4}}},
		{dp.Selection{Groups: 2, Scale: dp.Scale{Num: 5, Den: 2}, Threshold: 15, Delta: 0.1, Noise: gaussian}, 0, [][2]int64{{1, 0}, {1, 1}, {1, 4}}},
		{dp.Selection{Groups: 2, Scale: dp.Scale{Num: 30, Den: 1}, Threshold: 90, Delta: 0.1, Noise: gaussian}, 0, [][2]int64{{1, 0}, {1, 1}}},

		{laplace(4, 1), 20, [][2]int64{{1, 0}, {1, 1}, {1, 4}}}, // public groups
		{laplace(1, 2), 100, [][2]int64{{1, 0}, {1, 1}}},
		{laplace(10, 1), 3, [][2]int64{{1, 0}}},
		{gaussianOf(10), 20, [][2]int64{{1, 0}, {1, 1}, {1, 4}}},
		{gaussianOf(2), 200, [][2]int64{{1, 0}, {1, 1}, {0, 1}}}, // where tails have no digits
		{gaussianOf(30), 1000, [][2]int64{{1, 0}}},
		{dp.Selection{Groups: 4, Scale: dp.Scale{Num: 7, Den: 2}, Threshold: 30, Delta: 0.1}, 50, [][2]int64{{1, 0}, {1, 1}, {1, 4}}},
		{dp.Selection{Groups: 4, Scale: dp.Scale{Num: 7, Den: 2}, Threshold: 30, Delta: 0.1}, 31, [][2]int64{{1, 0}, {1, 1}, {0, 1}}},
		{dp.Selection{Groups: 4, Scale: dp.Scale{Num: 7, Den: 2}, Threshold: 30, Delta: 0.1}, 80, [][2]int64{{1, 0}}}, // beyond twice the limit
		{dp.Selection{Groups: 1, Scale: dp.Scale{Num: 9, Den: 1}, Threshold: 50, Delta: 0.1, Noise: gaussian}, 60, [][2]int64{{1, 0}, {1, 1}, {1, 4}}},
		{dp.Selection{Groups: 1, Scale: dp.Scale{Num: 9, Den: 1}, Threshold: 50, Delta: 0.1, Noise: gaussian}, 20, [][2]int64{{1, 0}, {1, 1}}},
	} {
		for _, weights := range k.tops {
			shownGroupsCover(t, k.ev, k.min, weights)
		}
	}
}

func shownGroupsCover(t *testing.T, ev dp.Event, minPeople int64, weights [2]int64) {
	a := &sensitivity.Analysis{Agg: &plan.Aggregate{Aggs: []plan.AggItem{{ID: 1, Type: sqltype.Int8}}}, Measures: []sensitivity.Measure{{Kind: sensitivity.Units, Subdivision: 1}},
		Formulas: []sensitivity.Formula{{Agg: 1, Kind: sensitivity.IsCount, Sum: -1}}, MinPeople: minPeople}
	selection, selects := ev.(dp.Selection)
	r, limit, above := &release.Release{Run: runOf(ev)}, math.Inf(1), math.Inf(-1) // above: what the selection's number is
	if selects {
		r.Run, above = &price.Run{Measures: []dp.Event{nil}, Selection: &selection}, float64(selection.Threshold)
		if selection.Noise != dp.GaussianNoise {
			limit = above
		}
	}
	first, err := lawOf(ev)
	if err != nil {
		t.Fatal(err)
	}
	fresh := gaussianOf(max(1, uint64(first.scale)))
	if first.laplace {
		fresh = laplaceOf(max(1, uint64(first.scale)))
	}
	px, pz := masses(first), []float64{1}
	if weights[1] > 0 {
		r.Tops = []release.Top{{Plan: &price.Quote{Measures: []dp.Event{fresh}, UnitsFromSelection: -1}, Weights: [][2]int64{weights}}}
		freshLaw, err := lawOf(fresh)
		if err != nil {
			t.Fatal(err)
		}
		pz = masses(freshLaw)
	}
	e, err := Of(t.Context(), a, r)
	if err != nil {
		t.Fatal(err)
	}
	most := math.Max(above, float64(minPeople)-1)
	for _, at := range []*Errors{e, e.Simultaneous(20)} {
		without := 1.0
		ends := map[float64][2]float64{}
		for _, n := range []float64{0, 1, 2, 3, math.Floor(most / 3), most - 2*first.scale, most - 1, most, most + 1, most + 3, most + 2*first.scale, 2 * most} {
			if n = math.Max(0, math.Round(n)); n == 0 && selects {
				continue
			}
			shown, held, bare := 0.0, 0.0, 0.0
			for i, p := range px {
				x := float64(i - len(px)/2)
				if n+x <= above || math.Abs(x) > limit {
					continue
				}
				for k, q := range pz {
					if p*q < 1e-14*shown {
						continue
					}
					z := float64(k - len(pz)/2)
					y := math.RoundToEven((float64(weights[0])*(n+x) + float64(weights[1])*(n+z)) / float64(weights[0]+weights[1]))
					if y < float64(minPeople) {
						continue
					}
					shown += p * q
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
			if shown < 1e-200 { // it is never shown
				continue
			}
			without = math.Min(without, bare/shown)
			if held/shown < 1-at.miss-1e-6 {
				t.Errorf("%+v, min_people %d, weights %d, miss %g: of %g people %g hold", ev, minPeople, weights, at.miss, n, held/shown)
			}
		}
		if at == e && weights[1] == 0 && most > 10 && first.scale > 1 && without > 0.6 {
			t.Errorf("%+v, min_people %d: without the condition %g hold", ev, minPeople, without)
		}
	}
	const far = 1_000_000
	if _, low, high := e.interval(0, ints(far)); low != far-e.Measure(0) || high != far+e.Measure(0) {
		t.Errorf("%+v, min_people %d: far above the threshold [%g, %g]", ev, minPeople, low, high)
	}
}
