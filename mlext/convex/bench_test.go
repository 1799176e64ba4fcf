package convex

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// BenchmarkObjective is objective perturbation of as many rows and features as Adult has: numbers, and categories of which one entry each is not 0.
func BenchmarkObjective(b *testing.B) {
	const rows, numbers, categories, levels = 32_561, 7, 8, 13
	rng := rand.New(rand.NewPCG(1, 2))
	width := numbers + categories*levels
	builder, err := data.NewBuilder(width, 1)
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float64, width)
	for i := range rows {
		clear(x)
		z := -1.0
		for j := range x[:numbers] {
			x[j] = (2*rng.Float64() - 1) / 3.5
			z += 4 * x[j]
		}
		for c := range categories {
			level := int(float64(levels) * rng.Float64() * rng.Float64())
			x[numbers+c*levels+level] = 1 / 3.5
			z += float64(level%3-1) / 2
		}
		y := 0.0
		if rng.Float64() < 1/(1+math.Exp(-z)) {
			y = 1
		}
		if err := builder.Add(int64(i), x, y); err != nil {
			b.Fatal(err)
		}
	}
	t := builder.Table()
	o, err := NewObjective(Redberg, loss.Logistic(), width, 1, 1, 1e-6, 0)
	if err != nil {
		b.Fatal(err)
	}
	src := noise.NewSource()
	for b.Loop() {
		if _, err := o.Train(t, src, never); err != nil {
			b.Fatal(err)
		}
	}
}
