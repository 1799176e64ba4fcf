package noise

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// paysTruncated tells whether Groups times the probability that a group of one unit is kept by truncated Laplace noise is at most Delta for certain.
//
// Proof: a group of one is kept where x > T-1. The probability of that is pmf(T), and pmf(T) = q^T (1-q)/(1+q-2q^(T+1)), q = exp(-1/b). Both sides are bounded outward until one is surely the larger; a
// doubt that is left counts against the event.
func paysTruncated(ev dp.Selection) bool {
	l := newTruncated(ev.Scale, ev.Threshold)
	groups := new(big.Rat).SetInt(new(big.Int).SetUint64(ev.Groups))
	share := new(big.Rat).SetFloat64(ev.Delta)
	share.Quo(share, groups)
	return decide(func(prec uint) (yes, no bool) {
		q, last := boundExp(l.power(1), prec), boundExp(l.power(l.limit), prec)
		left := last.mul(integer(1, q).minus(q))
		right := q.plusOne().minus(last.mul(q).times(2)).mul(constant(share, prec))
		return compare(left, right)
	})
}

// paysGaussian tells whether Groups*P(x >= Threshold) <= Delta for certain.
//
// Proof: P(x >= T) is the sum over k >= T of exp(-k^2/2s^2) over Z, the same sum over all whole k. (1) (T+j)^2 >= T^2 + 2Tj, so it is at most exp(-T^2/2s^2)/(1 - exp(-T/s^2)). (2) Z >= 1, its middle term, and
// Z >= 2.5 s, since by Poisson summation Z >= s sqrt(2 pi). The bounds are rounded outward as in paysTruncated.
func paysGaussian(ev dp.Selection) bool {
	t, square := new(big.Rat).SetUint64(ev.Threshold), ev.Scale.Rat()
	square.Mul(square, square)
	step := new(big.Rat).Quo(t, square)
	first := new(big.Rat).Mul(step, t)
	first.Mul(first, big.NewRat(1, 2))
	z := big.NewRat(1, 1)
	if wide := new(big.Rat).Mul(big.NewRat(5, 2), ev.Scale.Rat()); wide.Cmp(z) > 0 { // (2) Z is at least 1 and at least 2.5 s
		z = wide
	}
	share := new(big.Rat).SetFloat64(ev.Delta)
	share.Mul(share.Quo(share, new(big.Rat).SetInt(new(big.Int).SetUint64(ev.Groups))), z)
	return decide(func(prec uint) (yes, no bool) {
		last, q := boundExp(first, prec), boundExp(step, prec)
		return compare(last, integer(1, q).minus(q).mul(constant(share, prec))) // (1) the tail's geometric bound
	})
}

// Selector keeps groups by their noisy numbers of units. It is for one goroutine.
type Selector struct {
	Distribution
	event dp.Selection
	ahead supply
}

// Selector makes the mechanism that runs a selection; an event whose Delta is too small for its Threshold is an error.
//
// Proof: claim: releasing, for every key that somebody has, its noisy number of units where Keep says so, is (Groups/b, Delta)-DP with truncated Laplace noise, and with Gaussian noise has, but for events of probability Delta, the
// Renyi loss of Gaussian noise on Groups numbers (budget.selectionLoss). First the Laplace noise, for every key that there could be.
// Assumptions: (1) a key's number n is of distinct units, and 0 if no row has it; (2) one unit adds at most 1 to each of at most
// Groups numbers. Facts kept here: (3) the noise x has the law proportional to exp(-|x|/b) on [-T, T], exactly but for the
// error of laplaceLaw.draw; (4) a key is kept only if n > 0 and n + x > T, strictly; (5) Groups*pmf(T) <= Delta, proved with outward rounding.
// One key: the laws of n+x and (n+1)+x have, wherever both are positive, a ratio in [exp(-1/b), exp(1/b)]; each has one more point
// that the other lacks, of mass pmf(T). So showing n+x is (1/b, pmf(T))-DP, and Keep is a function of n+x alone. A key with n = 0 has
// n+x <= T and is never kept (3, 4), so that keys nobody has need no drawing and leave no trace, and the set of keys that are
// looked at may depend on the data. All keys: by (2) at most Groups laws differ; basic composition gives the sums, with (5).
// Gaussian noise: keys that nobody has are never kept (4: a number of 0 is not). Of two neighbours, the one with the unit more may have keys that only the unit has, at most Groups, with n = 1. Let E be that none of these is kept: its probability
// is at least 1 - Delta (6: x > T-1 has at most Delta/Groups, paysGaussian), and as each key has its own noise, given E the outcome is that of the other keys alone, which both have: numbers that differ by at most 1, at most Groups of them, with
// Gaussian noise, and Keep is post-processing. The other way round the outcome of the database without the unit is compared with all that the other may give, of which the part in E has at least 1 - Delta of that law: so the divergence of (1 - Delta) times
// it is that of the Gaussian noise or less. This is the event that Delta pays for (Gopi et al., "Differentially private set union", ICML 2020, Theorem 5.1, has it with one L2 norm).
// Source of the Laplace part: Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection", PoPETs 2022 (arXiv 2020), on truncated
// geometric thresholding, which shows too that no selection keeps more where 1/b and pmf(T) are its whole cost.
func (s *Source) Selector(ev dp.Selection) (*Selector, error) {
	d, err := DistributionOf(ev)
	if err != nil {
		return nil, err
	}
	if !laws[ev.Kind()].pays(ev) { // (5) the threshold pays for the delta
		return nil, fmt.Errorf("noise: threshold %d over %d groups at scale %g costs more than delta %g", ev.Threshold, ev.Groups, ev.Scale.Float(), ev.Delta)
	}
	c := &Selector{Distribution: d, event: ev, ahead: supply{source: s, law: d.law}}
	return c, c.ahead.ready()
}

// Event is what is run, for the ledger.
func (c *Selector) Event() dp.Selection { return c.event }

// MaxUnits is the largest number of units that Keep takes.
const MaxUnits = math.MaxInt64 / 2 // with noise it fits an int64 (dp.MaxScale)

// Keep decides about one group that has the given number of distinct units. The noisy number may be shown if kept is true, and must
// not be otherwise (it is 0 then). Each group takes one call; noise is drawn whatever the number.
func (c *Selector) Keep(units int64) (noisy int64, kept bool, err error) {
	x, err := c.ahead.sample() // (3) a sample of the truncated law
	if err != nil {
		return 0, false, err
	}
	if units < 0 || units > MaxUnits {
		return 0, false, errors.New("noise: a number of units is out of range")
	}
	if noisy = units + x; units > 0 && noisy > int64(c.event.Threshold) { // (4) somebody is in the group, and strictly above the threshold
		return noisy, true, nil
	}
	return 0, false, nil
}
