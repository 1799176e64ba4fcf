package noise

import "fmt"

// MaxLaplaceScale is the largest scale of RoundedLaplace, in steps.
const MaxLaplaceScale = 1 << 48

// RoundedLaplace draws Laplace deviates rounded to the integers: round(Scale X), X of density exp(-|x|)/2.
// It is for one goroutine.
type RoundedLaplace struct {
	scale  uint64
	source *Source
}

// RoundedLaplace makes the sampler of a scale, in steps of the lattice.
//
// Proof: as Source.Normal's: round(T + y) = T + round(y) for whole T, so what Add gives is a function, coordinate by coordinate, of the continuous Laplace mechanism's output, and has its pure loss: |shift|_1/Scale (Dwork, McSherry, Nissim, Smith 2006,
// Example 1). X has its law exactly (doubled), but that a deviate beyond 2^61 is an error instead, of probability below e^-8000.
func (s *Source) RoundedLaplace(scale uint64) (*RoundedLaplace, error) {
	if scale == 0 || scale > MaxLaplaceScale {
		return nil, fmt.Errorf("noise: a Laplace scale of %d steps is out of range", scale)
	}
	if s == nil || s.reader == nil {
		return nil, errNoSource
	}
	return &RoundedLaplace{scale, s}, nil
}

// Add adds fresh noise to each of totals, in place; on an error they are zeroed. The totals are whole numbers of at most 2^62.
func (l *RoundedLaplace) Add(totals []int64) error {
	st := l.source.take()
	for i, t := range totals {
		if t > 1<<62 || t < -1<<62 {
			st.fail(errNotSum)
		}
		totals[i] = t + st.doubled(l.scale)
	}
	if st.err != nil {
		clear(totals)
		return st.err
	}
	l.source.give(st)
	return nil
}

// doubled is round(scale X) for X of density exp(-|x|)/2, halves away from 0 (a tie has probability 0).
//
// Proof: |X| = k + x, k whole and x in [0, 1), has the density exp(-k) exp(-x): k is the number of events of probability exp(-1) before one that does not happen, x is uniform and kept with probability
// exp(-x), else drawn anew: von Neumann 1951. The sign is a coin. Rounding: lazy.times.
func (s *stream) doubled(scale uint64) int64 {
	k := uint64(0)
	for s.err == nil && s.expMinusOne() {
		if k++; k == 1<<13 {
			s.fail(errRange)
		}
	}
	for s.err == nil {
		x := lazy{first: s.word()}
		if !x.fades(s) {
			continue
		}
		v := int64(k*scale + x.times(s, scale))
		if s.word()&1 == 1 {
			v = -v
		}
		if s.err == nil {
			return v
		}
	}
	return 0
}

// fades is true with probability exp(-x).
//
// Proof: Canonne, Kamath, Steinke 2020, Algorithm 1, as stream.expMinus: of the events of probability x/1, x/2, ... before one that does not happen an even number happens with probability exp(-x).
func (x *lazy) fades(s *stream) bool {
	n, happened := s.run(), uint64(0)
	for happened < n && x.above(s) {
		happened++
	}
	return happened%2 == 0 && s.err == nil
}
