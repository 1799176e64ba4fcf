package finish

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
)

// masses are P(N = k), k from -len/2 on, as laws are defined.
func masses(l *law) []float64 {
	most := int(10*l.scale) + 3
	if l.laplace {
		most = int(32*l.scale) + 3
	}
	p, sum := make([]float64, 2*most+1), 0.0
	for i := range p {
		k := float64(i - most)
		p[i] = math.Exp(-k * k / (2 * l.scale * l.scale))
		if l.laplace {
			p[i] = math.Exp(-math.Abs(k) / l.scale)
		}
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// plus is the law of x + c y, number by number; what is left out at each end is below 1e-14.
func plus(x, y []float64, c int) []float64 {
	out := make([]float64, len(x)+c*(len(y)-1))
	for j, q := range y {
		if q > 0 {
			to := out[c*j:]
			for i, p := range x {
				to[i] += p * q
			}
		}
	}
	cut, beyond := 0, 0.0
	for cut < len(out)/2 {
		if beyond += out[cut]; beyond > 1e-14 {
			break
		}
		cut++
	}
	return out[cut : len(out)-cut]
}

// folded is the law of the sum of n numbers.
func folded(p []float64, n int) []float64 {
	if n == 0 {
		return []float64{1}
	}
	if n%2 == 1 {
		return plus(folded(p, n-1), p, 1)
	}
	half := folded(p, n/2)
	return plus(half, half, 1)
}

// leastOf is the least k such that numbers of a symmetric law are within k with probability 0.95.
func leastOf(p []float64) int {
	zero, k := len(p)/2, 0
	for within := p[zero]; within < 0.95; within += p[zero-k] + p[zero+k] {
		k++
	}
	return k
}

func mixed(t *testing.T, laplace bool, num, den uint64) mixture {
	t.Helper()
	s := dp.Sensitivity{PerGroup: 1, Groups: 1}
	var ev dp.Event = dp.Gaussian{Sensitivity: s, Scale: dp.Scale{Num: num, Den: den}}
	if laplace {
		ev = dp.Laplace{Sensitivity: s, Scale: dp.Scale{Num: num, Den: den}}
	}
	m, err := mixtureOf(runOf(ev), nil, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSumsOfManyNoises: the width of sums of released numbers is the least one, as numbers are added up one by one.
func TestSumsOfManyNoises(t *testing.T) {
	for _, c := range []struct {
		laplace  bool
		num, den uint64
		ns       []int
	}{
		{true, 3, 1, []int{2, 3, 6, 33, 100, 1000}}, {true, 1, 3, []int{2, 6, 33, 10_000}}, {true, 1, 9, []int{2, 33, 10_000}}, {true, 1, 1000, []int{2, 10_000}}, {false, 1, 1000, []int{2, 10_000}}, {true, 40, 1, []int{2, 9}},
		{false, 5, 2, []int{2, 6, 33, 1000}}, {false, 1, 2, []int{2, 33, 10_000}}, {false, 1, 6, []int{2, 10_000}}, {false, 60, 1, []int{2, 33}},
	} {
		m := mixed(t, c.laplace, c.num, c.den)
		p := masses(m.terms[0].law)
		for _, n := range c.ns {
			if have, least := m.times(n).quantile(t.Context(), usualMiss), leastOf(folded(p, n)); have != float64(least) {
				t.Errorf("laplace %t, scale %d/%d: of %d numbers %v, the least is %d", c.laplace, c.num, c.den, n, have, least)
			}
		}
	}
}

// TestSumsBesideOthers: c times one sum and another one, of unlike noises.
func TestSumsBesideOthers(t *testing.T) {
	for _, x := range []mixture{mixed(t, true, 3, 1), mixed(t, false, 7, 2)} {
		for _, y := range []mixture{mixed(t, true, 9, 1), mixed(t, false, 20, 1), mixed(t, true, 1, 5)} {
			for _, n := range []int{2, 60} {
				px, py := folded(masses(x.terms[0].law), n), folded(masses(y.terms[0].law), n)
				for _, c := range []int{1, 2, 25} {
					if have, least := linear(t.Context(), float64(c), x.times(n), y.times(n), usualMiss), leastOf(plus(py, px, c)); have != float64(least) {
						t.Errorf("%d x (%d of %+v) + %d of %+v: %v, the least is %d", c, n, *x.terms[0].law, n, *y.terms[0].law, have, least)
					}
				}
			}
		}
	}
}

// TestWideSums: where numbers are too many to look at, the width is at most 0.5% above the least one.
func TestWideSums(t *testing.T) {
	for _, laplace := range []bool{true, false} {
		for _, scale := range []uint64{300, 1 << 20, 1 << 40} {
			m := mixed(t, laplace, scale, 1)
			for _, n := range []int{2, 3, 33, 10_000} {
				all := []addend{{1, m.times(n)}}
				least, ok := onLattice(t.Context(), all, usualMiss)
				if have := dithered(t.Context(), all, usualMiss); !ok || have < least-1 || have > 1.005*least+1 {
					t.Errorf("laplace %t, scale %d: of %d numbers %v, the least is %v, %t", laplace, scale, n, have, least, ok)
				}
			}
		}
	}
	x, y := mixed(t, true, 1000, 1), mixed(t, true, 3000, 1)
	if have, least := dithered(t.Context(), []addend{{2001, x}, {1, y}}, usualMiss), combined(2001, x.terms[0].law, y.terms[0].law, usualMiss); have < least-1 || have > 1.005*least+1 {
		t.Errorf("%v, the least is %v", have, least)
	}
	x, y = mixed(t, true, 1, 2), mixed(t, true, 40, 1) // few large ones, and what is between them
	if have, least := dithered(t.Context(), []addend{{2001, x}, {1, y}}, usualMiss), combined(2001, x.terms[0].law, y.terms[0].law, usualMiss); have < least-1 || have > 1.005*least+1 {
		t.Errorf("%v, the least is %v", have, least)
	}
}

// toppedUpBy is a value with noise of the first scale that was topped up by the others; and the weights.
func toppedUpBy(t testing.TB, laplace bool, scales ...uint64) (mixture, [][2]int64) {
	t.Helper()
	event := func(s uint64) dp.Event {
		if laplace {
			return dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: s, Den: 1}}
		}
		return dp.Gaussian{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: s, Den: 1}}
	}
	first := runOf(event(scales[0]))
	variance, err := first.VarianceInSteps(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var tops []release.Top
	var weights [][2]int64
	for _, s := range scales[1:] {
		top := release.Top{Plan: &price.Quote{Measures: []dp.Event{event(s)}, UnitsFromSelection: -1}}
		fresh, err := top.Plan.Run().VarianceInSteps(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		was, now, err := price.MeanWeights(variance, fresh)
		if err != nil {
			t.Fatal(err)
		}
		weights = append(weights, [2]int64{was, now})
		top.Weights = weights[len(weights)-1:]
		tops = append(tops, top)
		w, n, round := top.Share(0)
		variance = w*w*variance + n*n*fresh + 2*round*price.MeanRounding
	}
	m, err := mixtureOf(first, tops, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m, weights
}

// roundedMean is the law of a topped-up value's noise, from each pair of draws, where the total is even (parity 0) or odd: what lies between two numbers goes to the one that is even with it.
func roundedMean(p, q []float64, w [2]int64, parity int) []float64 {
	most := max(len(p), len(q))
	out := make([]float64, 2*most+1)
	share := float64(w[1]) / float64(w[0]+w[1])
	for i, x := range p {
		was := float64(i - len(p)/2)
		for j, y := range q {
			mean := was + share*(float64(j-len(q)/2)-was) // exact where weights are equal, and only there it ties
			out[int(math.RoundToEven(mean+float64(parity)))-parity+most] += x * y
		}
	}
	return out
}

// TestSumsOfToppedUp: the width of sums of values that were topped up, and rounded each time, is at least that of the law by enumeration, however many totals are odd, and at most 2% and a step more.
func TestSumsOfToppedUp(t *testing.T) {
	for _, laplace := range []bool{true, false} {
		for _, scales := range [][]uint64{{1, 1}, {2, 2}, {8, 8}, {12, 5}, {9, 9, 4}, {5, 5, 5, 5}} {
			m, weights := toppedUpBy(t, laplace, scales...)
			laws := [2][]float64{masses(m.cell.stages[0].law), masses(m.cell.stages[0].law)}
			for i, w := range weights {
				for parity := range laws {
					laws[parity] = roundedMean(laws[parity], masses(m.cell.stages[i+1].law), w, parity)
				}
			}
			for _, n := range []int{1, 2, 5, 20, 100, 1000} {
				if n*int(scales[0]*scales[0]) > 10_000 {
					continue
				}
				least := 0
				for _, odds := range []int{0, 1, n / 2, n} {
					least = max(least, leastOf(plus(folded(laws[0], n-odds), folded(laws[1], odds), 1)))
				}
				if have := m.times(n).quantile(t.Context(), usualMiss); have < float64(least) || have > 1.02*float64(least)+1 {
					t.Errorf("laplace %t, scales %v, %d values: %v, the least is %d", laplace, scales, n, have, least)
				}
				if have := dithered(t.Context(), []addend{{1, m.times(n)}}, usualMiss); have < float64(least) {
					t.Errorf("laplace %t, scales %v, %d values, with all roundings beside: %v, the least is %d", laplace, scales, n, have, least)
				}
				if n != 5 {
					continue
				}
				other := mixed(t, !laplace, 7, 1)
				least = leastOf(plus(folded(masses(other.terms[0].law), n), folded(laws[0], n), 3))
				if have := linear(t.Context(), 3, m.times(n), other.times(n), usualMiss); have < float64(least) || have > 1.02*float64(least)+1 {
					t.Errorf("laplace %t, scales %v, 3 times %d values and others: %v, the least is %d", laplace, scales, n, have, least)
				}
			}
		}
	}
}

// TestWideToppedUp: where a step is little beside the noise, or all roundings are too many to look at, the width of many values is close to the normal law's, of their variance.
func TestWideToppedUp(t *testing.T) {
	for _, laplace := range []bool{true, false} {
		for _, scales := range [][]uint64{{100, 60}, {5000, 3000}, {1000, 900, 800, 700}, {1 << 40, 1 << 39}} {
			m, _ := toppedUpBy(t, laplace, scales...)
			for _, n := range []int{200, 10_000} {
				have, about := m.times(n).quantile(t.Context(), usualMiss), 1.959964*math.Sqrt(m.times(n).variance)
				if have < 0.998*about || have > 1.02*about {
					t.Errorf("laplace %t, scales %v, %d values: %v, the normal law has %v", laplace, scales, n, have, about)
				}
			}
		}
	}
}

// BenchmarkRollUp: an answer of 1,000 groups, each the sum of 100 cells, works its width out once.
func BenchmarkRollUp(b *testing.B) {
	for range b.N {
		e := &Errors{ctx: b.Context(), miss: usualMiss, quantile: map[int]float64{}, pairs: map[int]float64{}}
		m, _ := toppedUpBy(b, true, 40)
		e.values = []mixture{m}
		for range 1000 {
			e.Cells(100).Measure(0)
		}
	}
}
