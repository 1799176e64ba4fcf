package finish

import (
	"context"
	"math"
	"math/big"

	"gonum.org/v1/gonum/dsp/fourier"
)

// cell is the law of one released value as it is rounded, number by number. A mean that lies between two whole numbers goes to the even one, so the noise that is left has one law where the total is
// even and another where it is odd; both are symmetric.
type cell struct {
	stages []stage
	even   []float64 // P(noise = k), k from -len/2 on, where the total is even; nil: it takes too long
	odd    []float64
	period int
	waves  [2][]float64 // their transforms at 2 pi i/period, up to pi
}

// stage is the mean of was parts of what was there before, and now parts of fresh noise.
type stage struct {
	was, now int64
	law      *law
}

// How many products a cell's law may take: some 0.3 s of them for sums of many cells; a single one hides less of its roundings, and is looked at at many prices.
const (
	mostSteps    = 1 << 28
	mostStepsOne = 1 << 24
)

// law fills even and odd; false: they would take too long, or ctx has ended.
func (c *cell) law(ctx context.Context, most float64) bool {
	if c.even != nil {
		return true
	}
	steps, size := 0.0, 0.0
	for _, s := range c.stages {
		was, now := s.shares()
		next := was*size + now*s.law.most() + 1
		steps += 4*size*next + s.law.most()
		size = next
	}
	if steps > most {
		return false
	}
	even, odd := []float64{1}, []float64{1}
	for _, s := range c.stages {
		tail := s.law.tails()
		even, odd = s.after(even, tail, 0), s.after(odd, tail, 1)
		if ctx.Err() != nil {
			return false
		}
	}
	c.even, c.odd = even, odd
	return true
}

func (s stage) shares() (was, now float64) {
	sum := float64(s.was) + float64(s.now)
	return float64(s.was) / sum, float64(s.now) / sum
}

// most is a number beyond which less than 5 tolerance of a law lies, of both sides together.
func (l *law) most() float64 {
	if l.laplace {
		return math.Ceil(20 * l.scale)
	}
	return math.Ceil(6.5*l.scale) + 2
}

// tails are P(N >= k), k from -most on; the last one is 0.
func (l *law) tails() []float64 {
	most := int(l.most())
	if !l.laplace {
		l = &law{scale: l.scale}
		l.fill()
	}
	out := make([]float64, 2*most+2)
	for i := range out[:2*most+1] {
		out[i] = l.tail(float64(i - most))
	}
	return out
}

// after is the law of (was X + now N)/(was + now), rounded, for X of a law: half goes to the whole number that is even with parity.
//
// Each X reaches k from the least N on that has 2 (was X + now N) above (2k - 1)(was + now), or equal where k goes up; the least ones for k = 1, 2, ... rise by steady steps and a rest, all in whole
// numbers. Laws are symmetric, so those of k < 0 are the same.
func (s stage) after(p, tail []float64, parity int) []float64 {
	zero := len(p) / 2
	was, now := s.shares()
	reach := len(tail)/2 - 1
	most := int(math.Ceil(was*float64(zero)+now*float64(reach))) + 1
	atLeast := make([]float64, most+2) // P(it is k or more)
	sum, each := s.was+s.now, 2*s.now
	up, rest := 2*sum/each, 2*sum%each
	for i, q := range p {
		// (2k - 1) sum - 2 was x, of k = 1: n of each, less lack of one
		first := new(big.Int).Mul(big.NewInt(s.was), big.NewInt(int64(2*(zero-i))))
		first.Add(first, big.NewInt(sum))
		quotient, left := new(big.Int).DivMod(first, big.NewInt(each), new(big.Int))
		n, part := quotient.Int64(), left.Int64()
		for k := 1; k <= most; k++ {
			least := n
			if part > 0 || (k+parity)%2 == 1 {
				least++
			}
			at := int(least) + reach
			if at >= len(tail)-1 {
				break
			}
			atLeast[k] += q * tail[max(at, 0)]
			n, part = n+up, part+rest
			if part >= each {
				n, part = n+1, part-each
			}
		}
	}
	out := make([]float64, 2*most+1)
	out[most] = 1 - 2*atLeast[1]
	for k := 1; k <= most; k++ {
		out[most+k] = math.Max(0, atLeast[k]-atLeast[k+1])
		out[most-k] = out[most+k]
	}
	return out
}

// transform fills waves for a period of at least so much.
func (c *cell) transform(period int) {
	if c.period >= period {
		return
	}
	c.period = period
	fft := fourier.NewFFT(period)
	ring := make([]float64, period)
	for i, p := range [][]float64{c.even, c.odd} {
		clear(ring)
		for k, mass := range p {
			ring[((k-len(p)/2)%period+period)%period] += mass
		}
		c.waves[i] = make([]float64, period/2+1)
		for k, v := range fft.Coefficients(nil, ring) {
			c.waves[i][k] = real(v)
		}
	}
}
