package noise

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Distribution is the law of an event's noise: a function of public parameters. Its zero value has no law: its numbers are NaN
// and the largest int64.
type Distribution struct{ law law }

// DistributionOf gives the law of an event's noise: discrete Laplace, discrete Gaussian, or the truncated discrete Laplace that a
// selection may have. Unknown and invalid events are errors.
func DistributionOf(ev dp.Event) (Distribution, error) {
	if ev == nil {
		return Distribution{}, errors.New("noise: no event")
	}
	if err := ev.Validate(); err != nil {
		return Distribution{}, err
	}
	l, err := dp.LawOf(ev)
	if err != nil {
		return Distribution{}, err
	}
	row, ok := laws[l.Noise]
	if !ok {
		return Distribution{}, fmt.Errorf("noise: no law for event %T", ev)
	}
	return Distribution{row.law(l)}, nil
}

// laws has a row for each kind of noise that is added to a number: its law, and whether a selection by it pays its delta.
var laws = map[dp.NoiseKind]struct {
	law  func(dp.Law) law
	pays func(dp.Selection) bool
}{
	dp.LaplaceNoise:   {law: func(l dp.Law) law { return newLaplace(l.Scale) }},
	dp.GaussianNoise:  {func(l dp.Law) law { return newGaussian(l.Scale) }, paysGaussian},
	dp.TruncatedNoise: {func(l dp.Law) law { return newTruncated(l.Scale, l.Largest) }, paysTruncated},
}

// Variance is the noise's variance in squared grid steps, to float64's precision.
func (d Distribution) Variance() float64 {
	if d.law == nil {
		return math.NaN()
	}
	return d.law.variance()
}

// StdDev is the square root of Variance.
func (d Distribution) StdDev() float64 { return math.Sqrt(d.Variance()) }

// Quantile975 is the least k, in grid steps, with P(noise <= k) >= 0.975: with probability at least 0.95 the noise lies in
// [-k, k]. It is computed anew at each call (some microseconds).
func (d Distribution) Quantile975() int64 {
	if d.law == nil {
		return math.MaxInt64
	}
	return d.law.quantile975()
}

// Mechanism adds noise to each entry of one vector. It is for one goroutine.
type Mechanism struct {
	Distribution
	event dp.Event
	scale dp.Scale
	ahead supply
}

// Mechanism makes the mechanism that runs an event: dp.Laplace or dp.Gaussian. Each entry of the event's vector takes one Add.
//
// Proof: the event claims noise of its law and scale on each entry of an integer vector of its sensitivity. (1) The
// event is valid, so that the scale is positive. (2) Each Add takes a fresh sample of that law, independent of all others: exactly that
// law, but that a sample beyond an int64 is an error instead, of probability below e^-8000 (laplaceLaw.draw). (3) It is added to the exact integer without rounding or wrapping. What this costs is the accountant's theorem about
// the event; that the totals have the sensitivity is the caller's claim.
func (s *Source) Mechanism(ev dp.Event) (*Mechanism, error) {
	l, err := dp.LawOf(ev)
	if err != nil {
		return nil, err
	}
	if _, selects := ev.(dp.Selection); selects {
		return nil, fmt.Errorf("noise: event %T is not noise added to a number", ev)
	}
	m := &Mechanism{event: ev, scale: l.Scale}
	if m.Distribution, err = DistributionOf(ev); err != nil { // (1) the event is valid
		return nil, err
	}
	m.ahead = supply{source: s, law: m.law}
	return m, m.ahead.ready()
}

// Event is what is run, for the ledger.
func (m *Mechanism) Event() dp.Event { return m.event }

// Scale is the noise's scale.
func (m *Mechanism) Scale() dp.Scale { return m.scale }

// Ahead draws n numbers now, for the next n calls of Add: before the data is asked, so that neither the time of the answer nor that of
// the data's reading follows the noise.
func (m *Mechanism) Ahead(n int) error { return m.ahead.draw(n) }

// Add returns total + fresh noise; total is not changed. An error gives no number.
func (m *Mechanism) Add(total *big.Int) (*big.Int, error) {
	x, err := m.ahead.sample() // (2) a fresh sample
	if err != nil {
		return nil, err
	}
	noise := big.NewInt(x)
	return noise.Add(noise, total), nil // (3) exact integers, without rounding or wrapping
}

// supply holds samples drawn ahead in batches of fixed size, so that the time of an answer does not follow its own noise.
type supply struct {
	source *Source
	law    law
	batch  []int64
	left   int
}

// batchSize samples are drawn at once: some ten microseconds of work.
const batchSize = 32

// ready draws a batch; the first when the mechanism is made, before it sees any data.
func (s *supply) ready() error {
	return s.draw(batchSize)
}

// draw replaces the batch by n fresh samples; what was left of the old one is never given.
func (s *supply) draw(n int) error {
	s.left = 0
	if s.law == nil {
		return errZero
	}
	if n <= 0 {
		return nil
	}
	if cap(s.batch) < n {
		s.batch = make([]int64, n)
	}
	s.batch = s.batch[:n]
	if err := s.source.fill(s.law, s.batch); err != nil {
		return err
	}
	s.left = n
	return nil
}

var errZero = errors.New("noise: the mechanism is not made by a source")

// sample takes one sample out; it is never given twice.
func (s *supply) sample() (int64, error) {
	if s.left == 0 {
		if err := s.ready(); err != nil {
			return 0, err
		}
	}
	s.left--
	x := s.batch[s.left]
	s.batch[s.left] = 0
	return x, nil
}
