package num

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// exp(-1) and exp(-10) to 60 digits.
func TestExpNegKnown(t *testing.T) {
	for _, c := range []struct {
		x    *big.Rat
		want string
	}{
		{big.NewRat(0, 1), "1"},
		{big.NewRat(1, 1), "0.367879441171442321595523770161460867445811131031767834507836"},
		{big.NewRat(10, 1), "0.0000453999297624848515355915155605506102379180888665343117"},
	} {
		want, _, err := big.ParseFloat(c.want, 10, 400, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := ExpNeg(c.x, 128)
		if lo.Cmp(want) > 0 || hi.Cmp(want) < 0 {
			t.Errorf("exp(-%s) is not in [%s, %s]", c.x.RatString(), lo.Text('g', 50), hi.Text('g', 50))
		}
	}
}

// The bounds hold each other at every precision, are as close as promised, and multiply as exponentials do.
func TestExpNegBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) *big.Rat {
			top := rapid.SampledFrom([]int64{3, 1000, MaxExponent << 19, math.MaxInt64 >> 2}).Draw(t, name+" size")
			return big.NewRat(rapid.Int64Range(0, top).Draw(t, name), rapid.Int64Range(1<<22, 1<<42).Draw(t, name+" den"))
		}
		x, y := draw("x"), draw("y")
		prec := uint(rapid.SampledFrom([]int{64, 128, 512}).Draw(t, "prec"))
		lo, hi := ExpNeg(x, prec)
		finer, finest := ExpNeg(x, 2*prec)
		if lo.Cmp(finer) > 0 || finest.Cmp(hi) > 0 || finer.Cmp(finest) > 0 {
			t.Fatalf("exp(-%s): [%g, %g] at %d bits, [%g, %g] at twice", x, lo, hi, prec, finer, finest)
		}
		if x.Cmp(big.NewRat(MaxExponent, 1)) > 0 {
			if lo.Sign() != 0 {
				t.Fatalf("exp(-%s) has lower bound %g", x, lo)
			}
			return
		}
		gap := new(big.Float).Sub(hi, lo)
		if gap.Cmp(new(big.Float).SetMantExp(lo, 4-int(prec))) >= 0 {
			t.Fatalf("exp(-%s) at %d bits: gap %g of %g", x, prec, gap, lo)
		}
		lo2, hi2 := ExpNeg(y, prec)
		lo3, hi3 := ExpNeg(new(big.Rat).Add(x, y), prec)
		if down(prec).Mul(lo, lo2).Cmp(hi3) > 0 || up(prec).Mul(hi, hi2).Cmp(lo3) < 0 {
			t.Fatalf("exp(-%s) exp(-%s) is not exp of the sum", x, y)
		}
		if f, _ := x.Float64(); f < 700 {
			got, _ := lo.Float64()
			if want := math.Exp(-f); math.Abs(got-want) > 1e-12*want {
				t.Fatalf("exp(-%g) is %g, math says %g", f, got, want)
			}
		}
	})
}

func TestExpNegRefusesNegatives(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	ExpNeg(big.NewRat(-1, 3), 64)
}
