package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

func losses(t *testing.T) map[*Loss]func(*rand.Rand) float64 {
	poisson, err := Poisson(20, 5)
	if err != nil {
		t.Fatal(err)
	}
	two := func(r *rand.Rand) float64 { return float64(r.IntN(2)) }
	return map[*Loss]func(*rand.Rand) float64{
		Logistic().Weighted([]float64{1, 0.2}): two, Hinge(0.3).Weighted([]float64{0.5, 1}): two, Softmax(3).Weighted([]float64{1, 0.1, 0.6}): func(r *rand.Rand) float64 { return float64(r.IntN(3)) },
		Logistic(): two, Hinge(0.5): two, Hinge(0.1): two, Squared(1): func(r *rand.Rand) float64 { return 2*r.Float64() - 1 },
		poisson: func(r *rand.Rand) float64 { return float64(r.IntN(21)) }, Softmax(3): func(r *rand.Rand) float64 { return float64(r.IntN(3)) }, Softmax(10): func(r *rand.Rand) float64 { return float64(r.IntN(10)) },
	}
}

// TestResiduals: residuals are the value's slopes, never longer than Lipschitz, and their slopes are between 0 and Smooth.
func TestResiduals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for l, target := range losses(t) {
		longest, steepest := 0.0, 0.0
		for range 4000 {
			y, z := target(rng), make([]float64, l.Outputs)
			for k := range z {
				z[k] = 4 * rng.NormFloat64()
			}
			r := append([]float64(nil), z...)
			l.Residuals(r, y)
			norm := 0.0
			for _, v := range r {
				norm += v * v
			}
			if norm = math.Sqrt(norm); norm > l.Lipschitz*(1+1e-12) {
				t.Fatalf("%s at %v, %g: residual %g, at most %g", l.Name, z, y, norm, l.Lipschitz)
			}
			longest = math.Max(longest, norm)
			way, length := make([]float64, l.Outputs), 0.0
			for k := range way {
				way[k] = rng.NormFloat64()
				length += way[k] * way[k]
			}
			const h = 1e-5
			up, down := make([]float64, l.Outputs), make([]float64, l.Outputs)
			for k := range way {
				way[k] /= math.Sqrt(length)
				up[k], down[k] = z[k]+h*way[k], z[k]-h*way[k]
			}
			slope, along := (l.Value(up, y)-l.Value(down, y))/(2*h), 0.0
			for k := range way {
				along += r[k] * way[k]
			}
			if math.Abs(slope-along) > 1e-4*(1+math.Abs(along)) {
				t.Fatalf("%s at %v, %g: slope %g, residual says %g", l.Name, z, y, slope, along)
			}
			l.Residuals(up, y)
			l.Residuals(down, y)
			bend := 0.0
			for k := range way {
				bend += (up[k] - down[k]) / (2 * h) * way[k]
			}
			if bend < -1e-6 || bend > l.Smooth+1e-6 {
				t.Fatalf("%s at %v, %g: bends by %g, at most %g", l.Name, z, y, bend, l.Smooth)
			}
			steepest = math.Max(steepest, bend)
		}
		if longest < l.Lipschitz/2 || steepest < l.Smooth/2 {
			t.Errorf("%s: bounds %g, %g are loose: seen %g, %g", l.Name, l.Lipschitz, l.Smooth, longest, steepest)
		}
	}
}

func TestPoissonRefuses(t *testing.T) {
	if _, err := Poisson(0, 1); err == nil {
		t.Error("no counts")
	}
}
