package finish

import (
	"math"
	"testing"
)

// TestSplitsInOne: what is looked at for many splits of totals into even and odd ones is at least what each of them has by itself, at every width; and some have more than the first of them.
func TestSplitsInOne(t *testing.T) {
	for _, laplace := range []bool{true, false} {
		m, _ := toppedUpBy(t, laplace, 1, 1)
		other, _ := toppedUpBy(t, laplace, 2, 2)
		all := []addend{{1, m.times(9)}, {2, other.times(7)}}
		s, ok := lattice(t.Context(), all)
		if !ok {
			t.Fatal("no lattice")
		}
		of := func(odds, each []int) func(k float64) float64 {
			s := s
			s.odds, s.each, s.over = odds, each, 0
			return s.beyond(t.Context())
		}
		for _, c := range []struct{ odds, each []int }{{[]int{0, 3}, []int{4, 1}}, {[]int{5, 3}, []int{5, 1}}, {[]int{2, 0}, []int{1, 4}}, {[]int{2, 4}, []int{1, 4}}, {[]int{1, 2}, []int{4, 4}}} {
			have, first, more := of(c.odds, c.each), of(c.odds, []int{1, 1}), 0.0
			for i := range c.each[0] {
				for j := range c.each[1] {
					one := of([]int{c.odds[0] + i, c.odds[1] + j}, []int{1, 1})
					for k := 0.0; k < 40; k++ {
						if have(k) < one(k)-1e-12 {
							t.Errorf("laplace %t, from %v, %v of them: beyond %v %g, but %g of %d and %d more odd ones", laplace, c.odds, c.each, k, have(k), one(k), i, j)
						}
						more = max(more, one(k)-first(k))
					}
				}
			}
			if more < 1e-5 {
				t.Errorf("laplace %t, from %v, %v of them: all alike, to %g", laplace, c.odds, c.each, more)
			}
		}
	}
}

// TestCutEnds: what lies beyond the ends that cells' laws are cut at is counted for each cell and each of its noises, and is more than all other errors together.
func TestCutEnds(t *testing.T) {
	for _, c := range []struct {
		laplace bool
		scales  []uint64
	}{{true, []uint64{1, 1}}, {true, []uint64{9, 9, 4}}, {false, []uint64{8, 8}}, {false, []uint64{30, 20, 10}}} {
		m, _ := toppedUpBy(t, c.laplace, c.scales...)
		const n = 1000
		s, ok := lattice(t.Context(), []addend{{1, m.times(n)}})
		if !ok {
			t.Fatalf("%+v: no lattice", c)
		}
		ends := 0.0
		for _, stage := range m.cell.stages {
			p := masses(stage.law)
			for i, q := range p {
				if math.Abs(float64(i-len(p)/2)) > stage.law.most() {
					ends += n * q
				}
			}
		}
		if s.over < ends || ends < 5*tolerance {
			t.Errorf("%+v: %g lies beyond the ends, %g is added", c, ends, s.over)
		}
	}
}

// TestDitherTerms: beside what the noises with a dither have beyond x, dither counts that the dither, or all roundings, are more than they are said to be; no more than that.
func TestDitherTerms(t *testing.T) {
	for _, laplace := range []bool{true, false} {
		const n = 100
		m, _ := toppedUpBy(t, laplace, 2, 2)
		beyond, _, more := dither(t.Context(), []addend{{1, m.times(n)}}, usualMiss)
		p := folded(plus(masses(m.terms[0].law), masses(m.terms[1].law), 1), n) // in halves: both weigh as much
		at := func(i int) float64 { return float64(i-len(p)/2) / 2 }
		variance := 0.0
		for i, q := range p {
			variance += q * at(i) * at(i)
		}
		d := math.Sqrt(variance) / 1000
		counted := math.Erfc(apart/math.Sqrt2) + 2*math.Exp(-certain)
		if said := apart*d + math.Sqrt(2*certain*n)*m.rounding; math.Abs(more-said) > 1e-9*said {
			t.Errorf("laplace %t: %v more for dither and roundings, not %v", laplace, more, said)
		}
		for x := 0.2; x < 80; x += 3.7 {
			want := counted
			for i, q := range p {
				want += q * (math.Erfc((x-at(i))/d/math.Sqrt2) + math.Erfc((x+at(i))/d/math.Sqrt2)) / 2
			}
			if have := beyond(x); have < want || have > want+1e-8 {
				t.Errorf("laplace %t: beyond %v it has %.12g, not %.12g", laplace, x, have, want)
			}
		}
	}
}
