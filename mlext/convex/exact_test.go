package convex

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// TestExactness: what is planned can be proved for every table that a training takes: at the largest parameters that a minimum of so many rows may have rounding takes less than the tolerance; where nothing can be, as for a loss with a step in it or a lambda of almost nothing,
// it is refused before, and tables of more rows are refused by their number alone.
func TestExactness(t *testing.T) {
	poisson, err := loss.Poisson(20, 40)
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{1 << 20, 1 << 24} {
		for _, l := range []*loss.Loss{loss.Logistic(), loss.Hinge(0.5), loss.Squared(1), loss.Softmax(4), poisson} {
			o, err := NewObjective(Redberg, l, 50, 1, 1, 1e-6, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.ForRows(most); err != nil {
				t.Fatal(err)
			}
			linear := o.Sigma * (math.Sqrt(float64(50*l.Outputs)) + 12)
			far := (linear + math.Sqrt(linear*linear+2*o.Lambda*float64(most)*l.AtZero)) / o.Lambda
			if r := rounded(l, 50, most, o.Lambda, far+o.tolerance/o.Lambda, linear); r > o.tolerance*0.7 {
				t.Errorf("%s, %d rows: rounding of %g, tolerance %g", l.Name, most, r, o.tolerance)
			}
			worst := 0.0
			rng := rand.New(rand.NewPCG(1, 2))
			for range 2000 { // AtZero is what a loss at 0 exceeds its least by
				y, z := float64(rng.IntN(max(2, l.Outputs))), make([]float64, l.Outputs)
				if l == poisson {
					y = float64(rng.IntN(21))
				}
				at := l.Value(z, y)
				for j := range z {
					z[j] = 8 * rng.NormFloat64()
				}
				worst = math.Max(worst, at-l.Value(z, y))
			}
			if worst > l.AtZero || worst < l.AtZero/3 {
				t.Errorf("%s: at 0 %g above another score's loss, bounded by %g", l.Name, worst, l.AtZero)
			}
		}
	}
	if _, err := NewOutput(loss.Hinge(1e-11), 3, 1, 0.01, 1e-9, 1e-3); err == nil {
		t.Error("a hinge with a step is taken")
	}
	if _, err := NewPureOutput(loss.Logistic(), 3, 1, 1, 1e-30); err == nil {
		t.Error("a lambda of almost nothing is taken")
	}
	o, err := NewObjective(Redberg, loss.Logistic(), 5, 1, 1, 1e-6, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.ForRows(399); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Train(some(t, rand.New(rand.NewPCG(21, 22)), 400, 5, 2), noise.NewSource(), never); !errors.Is(err, TooManyRows) {
		t.Errorf("400 rows where 399 were planned for: %v", err)
	}
}

// TestResidualRounding: a residual's own rounding is within what is taken for it, of losses that are clamped far below the numbers that they are computed of.
func TestResidualRounding(t *testing.T) {
	poisson, err := loss.Poisson(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	hinge := loss.Hinge(1e-3)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		z := rng.Float64() * 1e-6
		if off, most := math.Abs(poisson.Residual(z, 1)-math.Expm1(z)), rounded(poisson, 1, 1, 0, z, 0); off > most {
			t.Fatalf("poisson at %g: off by %g, taken for %g", z, off, most)
		}
		m := 1 + (rng.Float64()*2-1)*1e-3
		exact := new(big.Float).SetPrec(200).Sub(new(big.Float).SetPrec(200).Add(big.NewFloat(1), big.NewFloat(1e-3)), big.NewFloat(m))
		exact.Quo(exact, new(big.Float).SetPrec(200).Add(big.NewFloat(1e-3), big.NewFloat(1e-3)))
		want, _ := exact.Float64()
		if off, most := math.Abs(hinge.Residual(m, 1)+want), rounded(hinge, 1, 1, 0, m, 0); off > most {
			t.Fatalf("hinge at %g: off by %g, taken for %g", m, off, most)
		}
	}
}
