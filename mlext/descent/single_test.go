package descent

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
)

// Among units of several rows one of a single row adds what it adds among units of one, the sums do not depend on the order, and parameters without bounds make no unit add more than the clip.
func TestSingles(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, l := range []*loss.Loss{loss.Logistic(), loss.Softmax(4)} {
		const units, width = 101, 9
		build := func(most int) *data.Table {
			b, err := data.NewBuilder(width, most)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(7, 8))
			x := make([]float64, width)
			for u := range units {
				for j := range x {
					x[j] = rng.NormFloat64() / 3
				}
				if err := b.Add(int64(u), x, float64(rng.IntN(max(2, l.Outputs)))); err != nil {
					t.Fatal(err)
				}
			}
			return b.Table()
		}
		theta := make([]float64, width*l.Outputs)
		for j := range theta {
			theta[j] = 3 * rng.NormFloat64()
		}
		batch := make([]int32, units)
		for i := range batch {
			batch[i] = int32(i)
		}
		sum := func(table *data.Table, theta []float64) []int64 {
			s := &summer{table: table, learner: NewLinear(l, table.Width()), clip: 0.4}
			totals, err := s.totals(theta, batch)
			if err != nil {
				t.Fatal(err)
			}
			return totals
		}
		one, several := sum(build(1), theta), sum(build(3), theta)
		if !slices.Equal(one, several) {
			t.Errorf("%s: %v as rows, %v as units", l.Name, one, several)
		}
		rng.Shuffle(units, func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		if again := sum(build(1), theta); !slices.Equal(one, again) {
			t.Errorf("%s: another order gives another sum", l.Name)
		}
		batch = batch[:1]
		for _, v := range []float64{math.Inf(1), math.NaN(), 1e300, -1e39} {
			far := slices.Repeat([]float64{v, -v, v}, width*l.Outputs)[:width*l.Outputs]
			norm := 0.0
			for _, n := range sum(build(1), far) {
				norm += float64(n) * float64(n)
			}
			if !(math.Sqrt(norm) <= Unit) {
				t.Errorf("%s: at %v one unit adds %v steps", l.Name, v, math.Sqrt(norm))
			}
		}
	}
}
