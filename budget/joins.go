package budget

import (
	"fmt"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// smoothLoss is (Steps/b, delta): discrete Laplace noise on a number that moves by Steps, and what the margin leaves.
//
// Proof: noise.Smoother.Raise's: together with the noise that follows the released scale there is a sub-density that lacks at most Delta, whose losses are those of both added; the noise's is its own event's. Releasing the scale loses no delta by itself, but
// the noise that follows it is what it says only where the scale is large enough: that Delta is charged here, once. A stated delta that may be below the tail (hi) is refused.
func (f *Filter) smoothLoss(e dp.SmoothScale) (dp.Loss, error) {
	if tail := smoothDelta(e.Scale, e.Margin); e.Delta < tail.hi {
		return dp.Loss{}, fmt.Errorf("budget: a smooth scale with margin %d states delta %g, which is below its %g", e.Margin, e.Delta, tail.hi)
	}
	one := dp.Sensitivity{PerGroup: e.Steps, Groups: 1}
	return dp.Loss{Pure: overScaleUp(one.L1(), e.Scale), Renyi: f.laplaceRenyi(one, e.Scale), Delta: e.Delta}, nil
}

// smoothDelta encloses P(noise < -margin) = q^(margin+1)/(1+q), q = e^(-1/b).
func smoothDelta(b dp.Scale, margin uint64) enclosure {
	t := inverse(b)
	return t.times(exactUint(margin + 1)).negative().exp().over(exactly(1).plus(t.negative().exp()))
}

// SmoothScale calibrates the release of a scale that one unit moves by at most so many steps: the least noise whose loss stays within the limit, and the least margin for the delta, which is a part of query.delta, as a selection's is. The limit is this
// release's alone; the noise that follows the scale has its own (Filter.Clipped).
func (f *Filter) SmoothScale(steps uint64, l Limit, delta float64) (dp.SmoothScale, error) {
	e := dp.SmoothScale{Steps: steps, Scale: dp.Scale{Num: 1, Den: 1}, Delta: delta}
	if err := e.Validate(); err != nil {
		return e, err
	}
	var err error
	if e.Scale, err = f.LaplaceScale(dp.Sensitivity{PerGroup: steps, Groups: 1}, l); err != nil {
		return e, err
	}
	within := func(m uint64) bool { return smoothDelta(e.Scale, m).hi <= delta }
	if !within(dp.MaxScale) {
		return e, fmt.Errorf("budget: no margin up to %d gives delta %g at noise scale %g", uint64(dp.MaxScale), delta, e.Scale.Float())
	}
	e.Margin = least(0, dp.MaxScale, within)
	return e, e.Validate()
}
