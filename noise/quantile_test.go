package noise

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// bruteQuantile sums a stated pmf outward from 0 until it has 95%: sure is false where that is too close to tell.
func bruteQuantile(e exact) (k int64, sure bool) {
	for sum := e.pmf(0); ; k++ {
		if k > 0 {
			sum += 2 * e.pmf(float64(k))
		}
		if math.Abs(sum-0.95) < 1e-11 {
			return k, false
		}
		if sum > 0.95 {
			return k, true
		}
	}
}

func TestQuantileIsTheSumOfThePMF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := dp.Scale{Num: rapid.Uint64Range(1, 1900_000).Draw(t, "num"), Den: rapid.Uint64Range(1, 100_000).Draw(t, "den")}
		if s.Float() > 1900 {
			s.Den = 1000
		}
		limit := rapid.Uint64Range(1, 3000).Draw(t, "limit")
		for _, c := range []struct {
			law law
			e   exact
		}{
			{newLaplace(s), exactLaplace(s)}, {newGaussian(s), exactGaussian(s)},
			{newTruncated(s, limit), exactTruncated(s, limit)},
		} {
			if k, sure := bruteQuantile(c.e); sure && c.law.quantile975() != k {
				t.Fatalf("%T %v limit %d: %d, by summing %d", c.law, s, limit, c.law.quantile975(), k)
			}
		}
	})
}

// Each way to a quantile, float64 and exact bounds, gives the same.
func TestQuantileWaysAgree(t *testing.T) {
	for _, s := range []dp.Scale{{Num: 1, Den: 1 << 20}, {Num: 3, Den: 10}, {Num: 1, Den: 1}, {Num: 5, Den: 2}, {Num: 60, Den: 1}, {Num: 1000, Den: 3}} {
		l := newGaussian(s)
		k, sure := l.sumTo(128)
		if !sure || k != l.quantile975() || k != l.quantileBySum() {
			t.Errorf("gaussian %v: %d (%v), %d, %d", s, k, sure, l.quantile975(), l.quantileBySum())
		}
	}
}

// Wide scales, by mpmath to 60 digits.
func TestQuantileOfWideScales(t *testing.T) {
	for _, c := range []struct {
		scale             dp.Scale
		laplace, gaussian int64
	}{
		{dp.Scale{Num: 1<<50 - 1, Den: 1}, 3372894687719878, 2206723267608543},
		{dp.Scale{Num: 1e12, Den: 1}, 2995732273554, 1959963984540},
		{dp.Scale{Num: 1e12<<13 + 1, Den: 1 << 13}, 2995732273554, 1959963984540},
		{dp.Scale{Num: 1e15 + 7, Den: 3}, 0, 653321328180023},
		{dp.Scale{Num: 123456789123, Den: 1000}, 369843488, 241970860},
		{dp.Scale{Num: 1e6, Den: 7}, 0, 279995},
	} {
		if k := newLaplace(c.scale).quantile975(); c.laplace != 0 && k != c.laplace {
			t.Errorf("laplace %v: %d, reference %d", c.scale, k, c.laplace)
		}
		if k := newGaussian(c.scale).quantile975(); k != c.gaussian {
			t.Errorf("gaussian %v: %d, reference %d", c.scale, k, c.gaussian)
		}
	}
}

// Scales at which the tail is within 10^-10 to 10^-15 of 1/40, on either side: there float64 leaves a doubt and exact bounds
// decide. By mpmath.
func TestQuantileNearTies(t *testing.T) {
	for _, c := range []struct {
		law  law
		want int64
	}{
		{newGaussian(dp.Scale{Num: 389291, Den: 137999}), 5}, {newGaussian(dp.Scale{Num: 2063923, Den: 731636}), 6},
		{newGaussian(dp.Scale{Num: 21387873, Den: 533992}), 78}, {newGaussian(dp.Scale{Num: 36480688, Den: 910815}), 79},
		{newGaussian(dp.Scale{Num: 8329920, Den: 104321}), 156}, {newGaussian(dp.Scale{Num: 15010241, Den: 187983}), 157},
		{newLaplace(dp.Scale{Num: 234245, Den: 153206}), 4}, {newLaplace(dp.Scale{Num: 197466, Den: 129151}), 5},
		{newLaplace(dp.Scale{Num: 2351682, Den: 70097}), 100}, {newLaplace(dp.Scale{Num: 1995761, Den: 59488}), 101},
	} {
		if k := c.law.quantile975(); k != c.want {
			t.Errorf("%+v: %d, reference %d", c.law, k, c.want)
		}
	}
}

// Samples stay within the quantile as often as it says.
func TestQuantileCoversSamples(t *testing.T) {
	for _, s := range testScales {
		for _, ev := range []dp.Event{dp.Laplace{Sensitivity: one, Scale: s}, dp.Gaussian{Sensitivity: one, Scale: s}} {
			d, err := DistributionOf(ev)
			if err != nil {
				t.Fatal(err)
			}
			e := exactLaplace(s)
			if _, ok := ev.(dp.Gaussian); ok {
				e = exactGaussian(s)
			}
			k := d.Quantile975()
			if e.variance < 1e20 && (e.below(float64(k)) < 0.975 || k > 0 && e.below(float64(k-1)) >= 0.975+1e-9) {
				t.Errorf("%T %v: %d has %g", ev, s, k, e.below(float64(k)))
			}
			out := draw(t, fixed(t), d.law, 100_000)
			inside := count(out, func(x int64) bool { return -k <= x && x <= k })
			if err := binomial("within the quantile", inside, len(out), 1-2*e.cdf(-float64(k)-1)); err != nil {
				t.Errorf("%T %v: %v", ev, s, err)
			}
			near(t, "standard deviation", d.StdDev(), math.Sqrt(e.variance), 1e-9)
		}
	}
}

func TestTruncatedVariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, limit := drawScale(t), rapid.Uint64Range(1, 5000).Draw(t, "limit")
		got, want := newTruncated(s, limit).variance(), exactTruncated(s, limit).variance
		if math.Abs(got-want) > 1e-6*want+1e-300 {
			t.Fatalf("scale %v limit %d: %g, by summing %g", s, limit, got, want)
		}
	})
	near(t, "wide variance", newTruncated(dp.Scale{Num: 40, Den: 1}, 1<<40).variance(), newLaplace(dp.Scale{Num: 40, Den: 1}).variance(), 1e-12)
}

func TestLeastFindsTheEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(0, 100).Draw(t, "lo")
		hi := rapid.Int64Range(lo, math.MaxInt64-1).Draw(t, "hi")
		edge := rapid.Int64Range(lo, hi).Draw(t, "edge")
		guess := rapid.Int64().Draw(t, "guess")
		if near := rapid.Int64Range(-5, 5).Draw(t, "near"); rapid.Bool().Draw(t, "good guess") && edge < math.MaxInt64-10 {
			guess = edge + near
		}
		asked := 0
		got := least(lo, hi, guess, func(k int64) bool {
			if asked++; k < lo || k > hi || asked > 200 {
				t.Fatalf("asks for %d outside [%d, %d], question %d", k, lo, hi, asked)
			}
			return k >= edge
		})
		if got != edge {
			t.Fatalf("%d, edge %d", got, edge)
		}
	})
}
