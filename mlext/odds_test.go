package mlext

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// scored is a row of two classes and its score.
type scored struct {
	y int
	z float64
}

// exactly are the metrics of rows themselves.
func exactly(rows []scored) map[string]float64 {
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(a, b scored) int {
		switch {
		case a.z < b.z:
			return -1
		case a.z > b.z:
			return 1
		}
		return 0
	})
	below, wins, right, loss, n := 0.0, 0.0, 0.0, 0.0, float64(len(rows))
	for i := 0; i < len(sorted); {
		to, of := i, [2]float64{}
		for ; to < len(sorted) && sorted[to].z == sorted[i].z; to++ {
			of[sorted[to].y]++
		}
		wins += of[1] * (below + of[0]/2)
		below += of[0]
		i = to
	}
	for _, r := range rows {
		right += is((r.z > 0) == (r.y == 1)) / n
		loss += math.Min(plan.MostScoreLoss, math.Log1p(math.Exp(r.z*float64(1-2*r.y)))) / n
	}
	return map[string]float64{"accuracy": right, "AUC": wins / (below * (n - below)), "log-loss": loss}
}

// levelsOf are the levels' counts of rows.
func levelsOf(rows []scored) (out []Cell) {
	counts := [oddsLevels][2]map[int]float64{}
	for l, k := range oddsKeys {
		counts[l] = [2]map[int]float64{{}, {}}
		for _, r := range rows {
			fine := math.Max(0, math.Min(plan.OddsBins-1, math.Floor((r.z+plan.MostOdds)*plan.OddsBins/(2*plan.MostOdds))))
			counts[l][r.y][int(fine)*k/plan.OddsBins]++
		}
		for y := range 2 {
			for at := range k {
				out = append(out, Cell{Keys: []int{y, at}, Level: l, Count: counts[l][y][at]})
			}
		}
	}
	return out
}

// TestOddsIntervals: of two classes the metric of the rows themselves lies within the error that is told at least 95 times in 100, the AUC at each seed: of scores that are spread, crowded near 0 with rare positives, all in a few intervals, and beyond all of them; with much noise and
// with next to none, when the error is that of binning. With half the error of much noise it does not.
func TestOddsIntervals(t *testing.T) {
	p := over(t, "logistic_regression")
	m := p.model(make([]float64, p.width*p.Loss.Outputs), 0)
	s := &Scoring{model: m, Levels: oddsLevels}
	var err error
	if s.of, err = m.family(); err != nil {
		t.Fatal(err)
	}
	made := func(n int, rare, mean, spread, shift float64) (rows []scored) {
		draw := rand.New(rand.NewPCG(7, uint64(n))) //nolint:gosec // a fixed seed
		for range n {
			y := int(is(draw.Float64() < rare))
			rows = append(rows, scored{y, mean + spread*draw.NormFloat64() + shift*float64(y)})
		}
		return rows
	}
	const rounds = 400
	for name, rows := range map[string][]scored{
		"spread":       made(20_000, 0.3, -1, 1.5, 2),
		"rare":         made(40_000, 0.03, -4.5, 0.4, 0.5),
		"one interval": made(20_000, 0.2, 0.31, 0.002, 0.001),
		"beyond":       made(20_000, 0.5, -12, 3, 22),
	} {
		truth, cells := exactly(rows), levelsOf(rows)
		for _, deviation := range []float64{0.5, 20} {
			draw := rand.New(rand.NewPCG(9, uint64(2*deviation))) //nolint:gosec // a fixed seed
			held, half, widths := map[string]int{}, map[string]int{}, map[string]float64{}
			for range rounds {
				noisy := slices.Clone(cells)
				for i := range noisy {
					noisy[i].Count += math.Round(deviation * draw.NormFloat64())
					noisy[i].Noise = 1.96 * deviation
				}
				list := s.Classes(noisy, nil)
				value := func(name string) float64 {
					i := slices.IndexFunc(list, func(f Fact) bool { return f.Name == name })
					if i < 0 {
						t.Fatalf("%s: no %s in %v", name, name, list)
					}
					v, err := strconv.ParseFloat(list[i].Value, 64)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				for of, want := range truth {
					v, e := value(of), value(of+errorOf)
					widths[of] += e / rounds
					if math.Abs(v-want) <= e+1e-3*math.Abs(v) { // four digits are told
						held[of]++
					}
					if math.Abs(v-want) <= e/2 {
						half[of]++
					}
				}
			}
			for of := range truth { // one that is never held is in no other map
				n := held[of]
				t.Logf("%s, deviation %g: %s is %.4f, %d of %d within %.4f, %d within half of that", name, deviation, of, truth[of], n, rounds, widths[of], half[of])
				if least := rounds * 95 / 100; n < least && (of == "AUC" || n < least-13) { // an error that is noise alone holds 95%, within three deviations
					t.Errorf("%s, deviation %g: %s is %.4f, %d of %d intervals hold it", name, deviation, of, truth[of], n, rounds)
				}
			}
			if deviation == 20 && half["accuracy"] > rounds*9/10 {
				t.Errorf("%s: half of the error holds accuracy %d times", name, half["accuracy"])
			}
		}
	}
}
