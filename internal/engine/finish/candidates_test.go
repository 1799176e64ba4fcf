package finish

import (
	"math"
	"math/big"
	"math/rand"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// TestCandidates: the intervals of the first rows hold all at once 95 times in 100, whether groups are far apart, equal, or in between; where they are far apart few are candidates, and where they are equal all are. False alarms: less than 1e-6.
func TestCandidates(t *testing.T) {
	a := &sensitivity.Analysis{Agg: &plan.Aggregate{Aggs: []plan.AggItem{{ID: 1, Type: sqltype.Int8}}}, Measures: []sensitivity.Measure{{Kind: sensitivity.CountRows, Subdivision: 1}},
		Formulas: []sensitivity.Formula{{Agg: 1, Kind: sensitivity.IsCount, Sum: -1}}}
	rng := rand.New(rand.NewSource(7))
	const groups, first, draws = 200, 5, 1500
	for _, ev := range []dp.Event{laplaceOf(20), gaussianOf(20)} {
		for _, apart := range []float64{0, 2, 30, 1000} {
			for _, desc := range []bool{true, false} {
				r := &release.Release{Run: runOf(ev)}
				for range groups {
					r.Groups = append(r.Groups, release.Group{Values: []*big.Int{new(big.Int)}})
				}
				e, err := Of(t.Context(), a, r)
				if err != nil {
					t.Fatal(err)
				}
				noise := drawn(rng, e.values[0].terms[0].law)
				missed, least, most := 0, groups, 0
				for range draws {
					truth := make([]int64, groups)
					for i := range truth {
						truth[i] = int64(apart * float64(i))
						r.Groups[i].Values[0].SetInt64(truth[i] + noise())
					}
					k, err := Candidates(t.Context(), a, r, divide.First{Rows: first, Desc: desc})
					if err != nil {
						t.Fatal(err)
					}
					least, most = min(least, k), max(most, k)
					order := make([]int, groups)
					for i := range order {
						order[i] = i
					}
					slices.SortFunc(order, func(i, j int) int {
						c := r.Groups[i].Values[0].Cmp(r.Groups[j].Values[0])
						if desc {
							return -c
						}
						return c
					})
					of := e.Simultaneous(k)
					for _, i := range order[:first] {
						if _, low, high := of.interval(0, r.Groups[i].Values); low > float64(truth[i]) || high < float64(truth[i]) {
							missed++
							break
						}
					}
				}
				if missed > atMost(draws, 0.05, 1e-8) {
					t.Errorf("%T, %g apart, desc %t: %d of %d miss", ev, apart, desc, missed, draws)
				}
				if apart == 1000 && most > 10 || apart == 0 && least < groups {
					t.Errorf("%T, %g apart: %d to %d candidates", ev, apart, least, most)
				}
				if math.IsNaN(e.Measure(0)) {
					t.Error("no width")
				}
			}
		}
	}
}
