package noise

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// MaxNormalSigma is the largest standard deviation of Normal, in steps.
const MaxNormalSigma = 1 << 52

// Normal draws normal deviates rounded to the integers: round(Sigma X), X a standard normal.
// It is for one goroutine.
type Normal struct {
	sigma  uint64
	source *Source
}

// Normal makes the sampler of a standard deviation, in steps of the lattice.
//
// Proof: what Add gives is round(T + Sigma X) for an integer T and a continuous normal X of its own: round(T + y) = T + round(y)
// for whole T. So a vector of them is a function of the continuous Gaussian mechanism's output, coordinate by coordinate, and what holds of that
// (its Renyi and privacy loss, alone or on a Poisson sample, adaptively composed) holds of this by post-processing. (1) X has the normal law
// exactly: draw. (2) Samples are independent and each is used once.
func (s *Source) Normal(sigma uint64) (*Normal, error) {
	if sigma == 0 || sigma > MaxNormalSigma {
		return nil, fmt.Errorf("noise: a standard deviation of %d steps is out of range", sigma)
	}
	if s == nil || s.reader == nil {
		return nil, errNoSource
	}
	return &Normal{sigma, s}, nil
}

// Sigma is the standard deviation, in steps.
func (n *Normal) Sigma() uint64 { return n.sigma }

var errNotSum = errors.New("noise: a sum is not an integer of at most 2^62")

// Add adds fresh noise to each of totals, in place; on an error they are zeroed. The totals are whole numbers of at most 2^62; a sum of those and
// noise is exact, as Sigma is at most 2^52 and a deviate beyond 2^9 has a probability below 2^-180000.
func (n *Normal) Add(totals []int64) error {
	st := n.source.take()
	for i, t := range totals {
		if t > 1<<62 || t < -1<<62 {
			st.fail(errNotSum)
		}
		totals[i] = t + st.normal(n.sigma)
	}
	if st.err != nil {
		clear(totals)
		return st.err
	}
	n.source.give(st)
	return nil
}

// lazy is a uniform real number in [0, 1) whose digits to base 2^64 are drawn when they are first looked at.
type lazy struct {
	first uint64
	rest  []uint64
}

func (x *lazy) digit(s *stream, i int) uint64 {
	if i == 0 {
		return x.first
	}
	for len(x.rest) < i && s.err == nil {
		x.rest = append(x.rest, s.word())
	}
	if s.err != nil {
		return 0
	}
	return x.rest[i-1]
}

// above is true with probability x: a uniform number of its own is below it.
func (x *lazy) above(s *stream) bool {
	for i := 0; s.err == nil; i++ {
		if u, d := s.word(), x.digit(s, i); u != d {
			return u < d
		}
	}
	return false
}

// normal is round(sigma X) for a standard normal X, halves up.
//
// Proof: Karney, "Sampling exactly from the normal distribution", ACM TOMS 42, 2016, Algorithm N. |X| = k + x, k whole and x in [0, 1), has a density
// proportional to exp(-(k+x)^2/2) = exp(-k/2) exp(-k(k-1)/2) exp(-kx) exp(-x^2/2). (1) k has the law of the first factor: the number of events of probability
// exp(-1/2) before one that does not happen. (2) x is uniform. (3) k is kept with the probability of the second factor, and the pair with that of the third and the fourth; else both
// are drawn anew. exp(-x) and exp(-x^2/2) are drawn by alternating events (expMinus): x/j by an event of 1/j and one of x, x^2/2/j by one of 1/j, two of x and a coin.
// (4) The sign is a coin. Rounding: with w the first digit of x, sigma (k+x) lies in [a, a + sigma/2^64), a = sigma k + sigma w/2^64; where a + 1/2 has the same whole part
// over all of that the rounding is known, else further digits decide. Negative ones round half down instead of up: a tie has probability 0.
func (s *stream) normal(sigma uint64) int64 {
	for s.err == nil {
		k := uint64(0)
		for s.err == nil && s.expMinus(1, 2) {
			k++
		}
		if k > 1 && !s.expMinusWhole(k*(k-1)/2) {
			continue
		}
		x := lazy{first: s.word()}
		if !x.kept(s, k) {
			continue
		}
		v := int64(k*sigma + x.times(s, sigma))
		if s.word()&1 == 1 {
			v = -v
		}
		if s.err == nil {
			return v
		}
	}
	return 0
}

// kept is true with probability exp(-kx - x^2/2).
func (x *lazy) kept(s *stream, k uint64) bool {
	for ; k > 0; k-- {
		if !x.fades(s) {
			return false
		}
	}
	n, happened := s.run(), uint64(0)
	for happened < n && s.word()&1 == 1 && x.above(s) && x.above(s) {
		happened++
	}
	return happened%2 == 0 && s.err == nil
}

// times is floor(sigma x + 1/2).
func (x *lazy) times(s *stream, sigma uint64) uint64 {
	const half = 1 << 63
	hi, lo := bits.Mul64(x.first, sigma)
	part, carry := bits.Add64(lo, half, 0)
	if part <= math.MaxUint64-sigma { // the digits behind the first add less than sigma of these
		return hi + carry
	}
	by, n := new(big.Int).SetUint64(sigma), new(big.Int).SetUint64(x.first)
	for i := 1; s.err == nil; i++ { // rarely: with probability sigma/2^64
		n.Lsh(n, 64)
		n.Add(n, new(big.Int).SetUint64(x.digit(s, i)))
		size := uint(64 * (i + 1))
		low := new(big.Int).Mul(n, by)
		low.Add(low, new(big.Int).Lsh(big.NewInt(1), size-1))
		high := new(big.Int).Add(low, by)
		high.Sub(high, big.NewInt(1))
		if low.Rsh(low, size).Cmp(high.Rsh(high, size)) == 0 {
			return low.Uint64()
		}
	}
	return 0
}
