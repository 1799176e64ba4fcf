package noise

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// coversMargin tells whether P(noise < -Margin) <= Delta for certain.
//
// Proof: P(x <= -(M+1)) = q^(M+1)/(1+q), q = exp(-1/b): the sum of (1-q)/(1+q) q^n over n > M. Both sides are bounded outward; a doubt that is left counts against the event.
func coversMargin(ev dp.SmoothScale) bool {
	l, delta := newLaplace(ev.Scale), new(big.Rat).SetFloat64(ev.Delta)
	return decide(func(prec uint) (yes, no bool) {
		return compare(boundExp(l.power(ev.Margin+1), prec), boundExp(l.power(1), prec).plusOne().mul(constant(delta, prec)))
	})
}

// Smoother runs one smooth scale. Its noise is drawn when it is made. It serves once, and one goroutine.
type Smoother struct {
	event dp.SmoothScale
	ahead supply
	used  bool
}

// Smoother makes the mechanism of a smooth scale; an event whose Delta does not cover its Margin is an error.
func (s *Source) Smoother(ev dp.SmoothScale) (*Smoother, error) {
	if err := ev.Validate(); err != nil {
		return nil, err
	}
	if !coversMargin(ev) {
		return nil, fmt.Errorf("noise: a margin of %d steps at scale %g costs more than delta %g", ev.Margin, ev.Scale.Float(), ev.Delta)
	}
	r := &Smoother{event: ev, ahead: supply{source: s, law: newLaplace(ev.Scale)}}
	return r, r.ahead.draw(1)
}

// MaxStep is the largest size of a number that Raise takes.
const MaxStep = 1 << 53

// Raise gives x + noise + Margin. It is used so: elastic.Grid.Step makes x of a smooth bound S, what is released here gives by elastic.Grid.Edge an edge S~, and S~ and all that follows from it is public: the scale of noise at S~ too.
//
// Proof: claim: let x be a function of the database that one unit moves by at most Steps, and let a bound S follow from x so that what is released is turned into a bound S~ that is at least S wherever it is at least x. Let then noise
// whose scale is that for a sensitivity of S~ be added to numbers that one unit more or less changes by at most S of *either* of the two databases. With P and Q the laws of all that is released, on the two: (a) P(O) <= exp(e1 + e2) Q(O) + Delta, e1 = Steps/b
// and e2 the pure loss of the noise; (b) there is a sub-density P' of P that lacks at most Delta of it, with sum P'^a Q^(1-a) <= exp((a-1)(r1 + r2)), the Renyi losses of both at an order a > 1. Delta counts once, however many numbers' noise follows S~.
// Let P' be P where the released r is at least x(D). (1) P lacks at most Delta there: P(noise < -Margin) <= Delta (coversMargin). (2) P'(r) <= exp(e1) Q(r), and sum P'^a Q^(1-a) over r is at most that of discrete Laplace noise shifted by Steps at most, as P' is P or 0 and Q is not cut. (3) Given such an r,
// the numbers differ by at most S(D) <= S~(r), so the noise at S~(r) has its loss e2, r2, at each r; the sum over both is at most the product. Nothing asks that r is at least x(D') too: only P was cut, and the other direction is the same with D and D' changed about. Adaptively chosen further releases multiply
// in the same way, so budget.NewFilter's proof takes P' for P and adds Delta to its sum. Where the bound ends (the last edge), the caller clamps the numbers so that they differ by no more than it.
// Facts kept here: the noise has its law exactly, but for laplaceLaw.draw's error; x is added to it without wrapping; nothing else of x leaves.
// Noise of a scale that stays secret (Nissim, Raskhodnikova, Smith 2007) needs a smooth bound alone; here the bound is released, as dp_error and all that follows need it public, and smoothness serves to release it.
func (r *Smoother) Raise(x int64) (int64, error) {
	if r.used || r.ahead.left == 0 {
		return 0, errors.New("noise: a smooth scale is released once")
	}
	r.used = true
	noise, err := r.ahead.sample()
	if err != nil {
		return 0, err
	}
	if x < -MaxStep || x > MaxStep {
		return 0, errors.New("noise: a scale's step is out of range")
	}
	if noise > MaxRaise || noise < -MaxRaise {
		return 0, errRange // of probability below e^-2000
	}
	return x + noise + int64(r.event.Margin), nil
}

// MaxRaise is the largest noise that Raise adds.
const MaxRaise = 1 << 61

// Event is what is run, for the ledger.
func (r *Smoother) Event() dp.SmoothScale { return r.event }
