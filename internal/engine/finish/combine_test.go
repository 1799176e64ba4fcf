package finish

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

func lawFor(t *testing.T, laplace bool, s dp.Scale) *law {
	t.Helper()
	one := dp.Sensitivity{PerGroup: 1, Groups: 1}
	var ev dp.Event = dp.Gaussian{Sensitivity: one, Scale: s}
	if laplace {
		ev = dp.Laplace{Sensitivity: one, Scale: s}
	}
	l, err := lawOf(ev)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// coverage is P(|c N1 + N2| <= k), from the probabilities of each number of both laws.
func coverage(c int, n1, n2 *law, k float64) float64 {
	pmf := func(n *law) (p []float64, most int) {
		most = int(9*n.scale) + 3
		if n.laplace {
			most = int(30*n.scale) + 3
		}
		sum := 0.0
		for k := -most; k <= most; k++ {
			w := math.Exp(-math.Abs(float64(k)) / n.scale)
			if !n.laplace {
				w = math.Exp(-float64(k) * float64(k) / (2 * n.scale * n.scale))
			}
			p = append(p, w)
			sum += w
		}
		for i := range p {
			p[i] /= sum
		}
		return p, most
	}
	p1, m1 := pmf(n1)
	p2, m2 := pmf(n2)
	below := make([]float64, len(p2)+1) // of N2 up to each number
	for i, p := range p2 {
		below[i+1] = below[i] + p
	}
	upTo := func(k int) float64 { return below[min(max(k+m2+1, 0), len(p2))] }
	total := 0.0
	for i, p := range p1 {
		at := c * (i - m1)
		total += p * (upTo(int(k)-at) - upTo(-int(k)-at-1))
	}
	return total
}

// TestCombinedIsLeast: the error of a SUM beside an AVG covers 95% and one step less does not, also where the middle is large against
// the width (years, codes) and the noise lies on a coarse lattice.
func TestCombinedIsLeast(t *testing.T) {
	scales := [][2]dp.Scale{{{Num: 3, Den: 10}, {Num: 2, Den: 5}}, {{Num: 1, Den: 1}, {Num: 1, Den: 1}}, {{Num: 2, Den: 1}, {Num: 26, Den: 1}}, {{Num: 20, Den: 1}, {Num: 20, Den: 1}},
		{{Num: 7, Den: 1}, {Num: 70, Den: 1}}, {{Num: 255, Den: 1}, {Num: 13, Den: 2}}, {{Num: 1, Den: 4}, {Num: 250, Den: 1}}, {{Num: 9, Den: 1}, {Num: 5000, Den: 3}}, {{Num: 3000, Den: 1}, {Num: 30, Den: 1}}}
	for _, laplace := range []bool{true, false} {
		for _, s := range scales {
			n1, n2 := lawFor(t, laplace, s[0]), lawFor(t, laplace, s[1])
			least := laplace || n1.block() == 1 && n2.block() == 1
			for _, c := range []int{1, 2, 3, 15, 100, 2001} {
				k := combined(float64(c), n1, n2, usualMiss)
				if got := coverage(c, n1, n2, k); got < 0.95 {
					t.Errorf("laplace %t, scales %v, %d N1 + N2: %g covers %.6f", laplace, s, c, k, got)
				}
				less := k - math.Ceil(k*0x1p-20)
				if !least {
					less = math.Floor(k * 0.995)
				}
				if got := coverage(c, n1, n2, less); got >= 0.95+1e-8 {
					t.Errorf("laplace %t, scales %v, %d N1 + N2: %g is not the least, %g covers %.6f", laplace, s, c, k, less, got)
				}
			}
		}
	}
}

// TestSumBesideAverageCovers: range [1000, 1001], one row a person, price split over two measures. The quantile of continuous laws
// would cover 93.8%, 92.7% and 90.5% here.
func TestSumBesideAverageCovers(t *testing.T) {
	a := pairOf("1", 1000, 1001, sqltype.Numeric)
	for _, den := range []uint64{1, 2, 6} { // epsilon 0.5, 1 and 3: scale 4/den for each
		ev := dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 4, Den: den}}
		e, err := NewErrors(a, runOf(ev, ev))
		if err != nil {
			t.Fatal(err)
		}
		width := e.Expected(2, math.NaN())
		n := lawFor(t, true, ev.Scale)
		if got := coverage(2001, n, n, 2*width); got < 0.95 || width != math.Trunc(2*width)/2 {
			t.Errorf("scale 4/%d: %g covers %.4f", den, width, got)
		}
		if again := e.Expected(2, math.NaN()); again != width {
			t.Errorf("asked again: %g, not %g", again, width)
		}
	}
}

// TestCombinedWide: beyond 256 the normal law and blocks bound closely; the largest scales and coefficients give a number too.
func TestCombinedWide(t *testing.T) {
	for _, s := range [][2]uint64{{1_000_000, 10_000_000}, {300, 100}, {100, 100_000}, {257, 257}, {1 << 49, 1 << 49}, {3, 1 << 49}, {1 << 49, 3}} {
		for _, c := range []float64{1, 15, 2001, 1 << 53} {
			n1, n2 := lawFor(t, false, dp.Scale{Num: s[0], Den: 1}), lawFor(t, false, dp.Scale{Num: s[1], Den: 1})
			about := 1.959963984540054 * math.Hypot(c*n1.scale, n2.scale)
			if k := combined(c, n1, n2, usualMiss); s[0] > 10 && (k < about*(1-1e-5) || k > about*1.005+2) || k < about/2 || k > 2*about {
				t.Errorf("Gaussian scales %v, %g N1 + N2: %g, of the normal laws it is %g", s, c, k, about)
			}
			n1, n2 = lawFor(t, true, dp.Scale{Num: s[0], Den: 1}), lawFor(t, true, dp.Scale{Num: s[1], Den: 1})
			about = twoLaplace(c*n1.scale, n2.scale)
			if k := combined(c, n1, n2, usualMiss); s[0] > 10 && (k < about*(1-1e-5) || k > about*1.005+c+1) || k < about/2 || k > 2*about {
				t.Errorf("Laplace scales %v, %g N1 + N2: %g, of the continuous laws it is %g", s, c, k, about)
			}
		}
	}
}

// twoLaplace is the 97.5% quantile of the sum of two independent continuous Laplace variables with scales a and b: the tail beyond z
// is (a^2 e^(-z/a) - b^2 e^(-z/b)) / (2 (a^2 - b^2)), and (1 + z/(2a)) e^(-z/a) / 2 for a = b.
func twoLaplace(a, b float64) float64 {
	a, b = max(a, b), min(a, b)
	tail := func(z float64) float64 {
		if a-b < 1e-6*a {
			return (1 + z/(2*a)) * math.Exp(-z/a) / 2
		}
		r := b / a
		return (math.Exp(-z/a) - r*r*math.Exp(-z/b)) / (2 * (1 - r*r))
	}
	lo, hi := 0.0, 20*(a+b)
	for range 200 {
		if mid := (lo + hi) / 2; tail(mid) > 0.025 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// TestLawOfSelections: a selection's truncated noise has the tails of noise that is not, or thinner ones.
func TestLawOfSelections(t *testing.T) {
	scale := dp.Scale{Num: 10, Den: 1}
	l, err := lawOf(dp.Selection{Groups: 4, Scale: scale, Threshold: 30, Delta: 1e-2})
	if err != nil {
		t.Fatal(err)
	}
	q := math.Exp(-0.1)
	mass := func(k int) float64 { return (math.Pow(q, float64(k)) - math.Pow(q, 31)) / (1 + q - 2*math.Pow(q, 31)) }
	for k := 1; k <= 30; k++ {
		if exact := mass(k); exact > l.tail(float64(k)) {
			t.Errorf("P(N >= %d) is %g, the law says %g", k, exact, l.tail(float64(k)))
		}
	}
}
