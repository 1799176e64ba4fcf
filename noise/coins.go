package noise

import (
	"errors"
	"math"
)

// Coins draws Poisson samples: each index by itself, with one probability.
type Coins struct {
	all       bool
	threshold uint64
	source    *Source
}

// Coins makes the sampler of a rate in (0, 1]. The probability is the rate rounded down to 2^-64.
//
// Proof: each index takes one fresh word, uniform below 2^64, and is in if it is below threshold <= rate 2^64. A lower rate loses no more than the rate that was paid for: the sample at the
// lower rate is a Poisson sample, with a further coin, of one at the higher, and what an index not in the sample adds is nothing.
func (s *Source) Coins(rate float64) (*Coins, error) {
	if !(rate > 0 && rate <= 1) {
		return nil, errors.New("noise: a sampling rate must be above 0 and at most 1")
	}
	if s == nil || s.reader == nil {
		return nil, errNoSource
	}
	if rate == 1 {
		return &Coins{all: true, source: s}, nil
	}
	return &Coins{threshold: uint64(math.Ldexp(rate, 64)), source: s}, nil
}

// Sample puts the sampled ones of 0 ... n-1 behind into, ascending.
func (c *Coins) Sample(into []int32, n int) ([]int32, error) {
	if c.all {
		for i := range n {
			into = append(into, int32(i))
		}
		return into, nil
	}
	st := c.source.take()
	for i := range n {
		if st.word() < c.threshold {
			into = append(into, int32(i))
		}
	}
	if st.err != nil {
		return nil, st.err
	}
	c.source.give(st)
	return into, nil
}
