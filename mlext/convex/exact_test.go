package convex

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/mlext/kernel"
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
			if r := rounded(l, most, o.Lambda, far+o.tolerance/o.Lambda, linear); r > o.tolerance*0.7 {
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
	if _, err := o.Train(some(t, rand.New(rand.NewPCG(21, 22)), 400, 5, 2), noise.NewSource(), never); !errors.Is(err, ErrTooManyRows) {
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
		if off, most := math.Abs(poisson.Residual(z, 1)-math.Expm1(z)), rounded(poisson, 1, 0, z, 0); off > most {
			t.Fatalf("poisson at %g: off by %g, taken for %g", z, off, most)
		}
		m := 1 + (rng.Float64()*2-1)*1e-3
		exact := new(big.Float).SetPrec(200).Sub(new(big.Float).SetPrec(200).Add(big.NewFloat(1), big.NewFloat(1e-3)), big.NewFloat(m))
		exact.Quo(exact, new(big.Float).SetPrec(200).Add(big.NewFloat(1e-3), big.NewFloat(1e-3)))
		want, _ := exact.Float64()
		if off, most := math.Abs(hinge.Residual(m, 1)+want), rounded(hinge, 1, 0, m, 0); off > most {
			t.Fatalf("hinge at %g: off by %g, taken for %g", m, off, most)
		}
	}
}

// TestSplit: a score of split parameters is off by at most 2 units of the last place of their norm, whatever the width and the order of adding, with rows as they are stored.
func TestSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, d := range []int{1, 7, 4000} {
		table := some(t, rng, 20, d, 2)
		cursor := table.Cursor()
		for i := range 20 {
			x, theta := cursor.Row(i), make([]float64, d)
			for j := range theta {
				theta[j] = rng.NormFloat64() * math.Exp(4*rng.NormFloat64())
			}
			norm, exact := 0.0, new(big.Float).SetPrec(300)
			for j, v := range theta {
				norm = math.Hypot(norm, v)
				exact.Add(exact, new(big.Float).SetPrec(300).Mul(big.NewFloat(float64(x[j])), big.NewFloat(v)))
			}
			off := func(z float64) float64 {
				e, _ := new(big.Float).SetPrec(300).Sub(exact, big.NewFloat(z)).Float64()
				return math.Abs(e) / norm
			}
			coarse, fine := split(theta)
			if e := off(kernel.Dot(x, coarse) + kernel.Dot(x, fine)); e > 0x1p-52 {
				t.Errorf("%d features: off by %g of the norm", d, e)
			}
			z, rest := make([]float64, 1), make([]float64, 1)
			kernel.Scores(x, coarse, z)
			kernel.Scores(x, fine, rest)
			if e := off(z[0] + rest[0]); e > 0x1p-52 {
				t.Errorf("%d features, added up one after the other: off by %g of the norm", d, e)
			}
		}
		cursor.Close()
	}
	for _, theta := range [][]float64{{0, 0}, {5e-324, 0}, {1e-310, 1e-320}} {
		if c, f := split(theta); c[0]+f[0] != theta[0] || c[1]+f[1] != theta[1] {
			t.Errorf("%v is split into %v and %v", theta, c, f)
		}
	}
}
