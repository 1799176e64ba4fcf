package account

import (
	"math"
	"math/bits"
)

// part is a loss and how often it is met.
type part struct {
	loss   *distribution
	coarse *distribution // for Chernoff's bounds
	count  int
}

// composed is the sum of independent losses, tilted: Mass[i] is the probability of (First+i) step times e^(Tilt x - Scale), which keeps tails
// accurate that are far smaller than a float64's precision.
type composed struct {
	distribution
	Tilt, Scale float64
	above       []float64
	other       []float64
	slack       float64 // of the tilted mass: errors of the transforms, all in one place
	lost        float64 // probability that is not on the grid at all
	nowhere     bool    // all of it is not
}

// compose convolves losses of one step on a grid that holds the sum up to tail.
//
// Proof: the sum of independent losses is the loss of the composition (Dwork, Rothblum 2016; Meiser, Mohammadi 2018). The transform is circular: mass above
// the grid comes back at its lower end and is lost, so Chernoff's bound on it is added to the infinite mass (lost); mass below the grid comes
// back at its upper end, which only adds. Both are tilted by the wrong power then, the first too much upwards, the second too little, but what lies below the
// grid is below every epsilon that is asked (Delta refuses others), where nothing counts. Rounding: an FFT of length N errs by a few log2 N units of the norm, and a power of count
// that much count times (slack), and a tilted mass, e to the power of 700 at most, by 1024 units; what comes out negative counts as 0. Frequencies at which the product is below e^-dead are left out: the masses are a mean over frequencies of terms no
// larger, so all of them together miss n e^-dead at most, which is added.
func compose(parts []part, tilt, tail float64) composed {
	var step float64
	offset, count := 0, 0
	finite, scale := 0.0, 0.0
	tilted := make([][]float64, len(parts))
	for i, p := range parts {
		step = p.loss.Step
		offset += p.loss.First * p.count
		count += p.count
		k, _, _ := p.loss.cumulant(tilt)
		scale += float64(p.count) * k
		finite += float64(p.count) * math.Log1p(-math.Min(1, p.loss.Infinite))
		tilted[i] = make([]float64, len(p.loss.Mass))
		for j, l := range p.loss.logMass() {
			if e := tilt*p.loss.at(j) + l - k; e > -700 {
				tilted[i][j] = math.Exp(e)
			}
		}
	}
	lo, hi, lost := window(parts, tilt, tail)
	if !((hi-lo)/step < mostSum-2) {
		return nowhere(step)
	}
	first := int(math.Floor(lo / step))
	n := nextPower(int(math.Ceil(hi/step)) - first + 2)
	out := composed{Tilt: tilt, Scale: scale, lost: lost}
	out.Step, out.First, out.Infinite = step, first, -math.Expm1(finite)
	product := make([]complex128, n/2+1)
	w := newSpectrum(n, product)
	for i, p := range parts {
		w.times(tilted[i], p.count)
	}
	fft, ring := w.fft, w.ring
	fft.Sequence(ring, product)
	out.Mass = make([]float64, n)
	for j, m := range ring {
		at := (offset + j - first) & (n - 1)
		out.Mass[at] = math.Max(0, m/float64(n))
	}
	out.suffixes()
	out.slack = 0x1p-52*float64(count)*(math.Max(16*float64(bits.Len(uint(n))), w.steps)+1024) + float64(n)*math.Exp(-dead)
	return out
}

// mostSum is the most cells of a sum: some 80 bytes are held for each.
const mostSum = 1 << 20

// nowhere bounds any sum: all of it is of infinite loss, so that delta is 1 at every epsilon.
func nowhere(step float64) composed {
	out := composed{distribution: distribution{Step: step, Mass: []float64{0}, Infinite: 1}, nowhere: true}
	out.suffixes()
	return out
}

func nextPower(n int) int {
	return 1 << bits.Len(uint(max(16, n)-1))
}

// cumulants bounds the sum's K(t).
func cumulants(parts []part, t float64) (k float64) {
	for _, p := range parts {
		k += float64(p.count) * p.coarse.bound(t)
	}
	return k
}

// window is where the sum lies but for a probability of tail under P above, and the same of the tilted law on either side, by Chernoff's bound, and what
// the bound above is.
func window(parts []part, tilt, tail float64) (lo, hi, lost float64) {
	sum := func(t float64) float64 { return cumulants(parts, t) }
	var mean, variance, most, least float64
	for _, p := range parts {
		_, m, v := p.coarse.cumulant(tilt)
		mean, variance = mean+float64(p.count)*m, variance+float64(p.count)*v
		least += float64(p.count) * p.loss.at(0)
		most += float64(p.count) * p.loss.at(len(p.loss.Mass)-1)
	}
	need := -math.Log(tail)
	sd := math.Sqrt(variance)
	if sd == 0 {
		return least, most, 0
	}
	base := sum(tilt)
	hi, lo = most, least
	for _, c := range []float64{0.5, 1, 2, 4, 6, 9, 14, 20} { // the tilted law's own tails
		t := c / sd
		hi = math.Min(hi, (sum(tilt+t)-base+need)/t)
		lo = math.Max(lo, -(sum(tilt-t)-base+need)/t)
	}
	// Above hi under P itself: P(S > hi) <= e^(K(t) - t hi) for every t > 0.
	if hi < most {
		lost = 1
		for _, c := range []float64{0, 0.5, 1, 2, 4, 6, 9, 14, 20} {
			if t := tilt + c/sd; t > 0 {
				lost = math.Min(lost, math.Exp(sum(t)-t*hi))
			}
		}
	}
	return lo, hi, lost
}

// suffixes are, for each cell, the sums of the masses from there on, times e^(-Tilt y) and e^(-(Tilt+1) y), y being the distance from the cell.
func (c *composed) suffixes() {
	n := len(c.Mass)
	c.above, c.other = make([]float64, n+1), make([]float64, n+1)
	f, g := math.Exp(-c.Tilt*c.Step), math.Exp(-(c.Tilt+1)*c.Step)
	for i := n - 1; i >= 0; i-- {
		c.above[i], c.other[i] = c.Mass[i]+f*c.above[i+1], c.Mass[i]+g*c.other[i+1]
	}
}

// delta bounds the hockey-stick divergence at epsilon, the sum of (1 - e^(epsilon-x)) over the masses at x > epsilon; 1 below the grid.
func (c *composed) delta(epsilon float64) float64 {
	i := int(math.Floor(epsilon/c.Step)) + 1 - c.First
	if i < 1 {
		return 1
	}
	above := 0.0
	if i < len(c.Mass) {
		y := c.at(i) - epsilon
		above = math.Exp(-c.Tilt*y) * (c.above[i] - math.Exp(-y)*c.other[i])
	}
	finite := (math.Max(0, above) + c.slack) * math.Exp(c.Scale-c.Tilt*epsilon)
	return math.Min(1, c.Infinite+c.lost+finite)
}
