package budget

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Limit is what one measurement may cost: both parts hold. Epsilon is +Inf where only the Renyi loss counts (a Gaussian is
// among the statement's mechanisms); Renyi is not read where the filter has no order.
type Limit struct {
	Epsilon float64
	Renyi   float64
}

// Limit is the price tag `epsilon = e`: e on the pure side and r(e) on the Renyi side.
func (f *Filter) Limit(epsilon float64) Limit {
	return Limit{Epsilon: epsilon, Renyi: f.RenyiLimit(epsilon)}
}

// Part is num/den of the limit, rounded down: equal charge each, or a selection's third.
func (l Limit) Part(num, den uint64) Limit {
	part := func(x float64) float64 {
		if math.IsInf(x, 1) {
			return x
		}
		return math.Max(0, exactly(x).times(exactUint(num)).over(exactUint(den)).lo)
	}
	return Limit{Epsilon: part(l.Epsilon), Renyi: part(l.Renyi)}
}

// Less is what is left of the limit beside a smaller one that was spent, rounded down and not below 0.
func (l Limit) Less(spent Limit) Limit {
	left := func(x, y float64) float64 {
		if math.IsInf(x, 1) {
			return x
		}
		return math.Max(0, exactly(x).minus(exactly(y)).lo)
	}
	return Limit{Epsilon: left(l.Epsilon, spent.Epsilon), Renyi: left(l.Renyi, spent.Renyi)}
}

// RenyiOnly is the limit for a statement whose pure loss is infinite anyway.
func (l Limit) RenyiOnly() Limit { return Limit{Epsilon: math.Inf(1), Renyi: l.Renyi} }

// spare is left of every limit, so that losses which are rounded up at each addition still add up to no more than the
// whole: ten statements of 0.1 fit a budget of 1. It covers half a million additions: each adds less than 2^-52 of the sum, and
// 2^-32 is a million of these. Noise grows by its like, unseen.
const spare = 1.0 / (1 << 32)

// LaplaceScale is the least scale, up to the grid of scales, whose discrete Laplace noise stays within the limit.
func (f *Filter) LaplaceScale(s dp.Sensitivity, l Limit) (dp.Scale, error) {
	if err := s.Validate(); err != nil {
		return dp.Scale{}, err
	}
	l1 := exactUint(s.PerGroup).times(exactUint(s.Groups))
	return f.leastScale(l, func(b dp.Scale) (pure, renyi float64) {
		return l1.times(inverse(b)).hi, f.laplaceRenyi(s, b)
	})
}

// PicksScale is the least scale, up to the grid of scales, whose picks stay within the limit.
func (f *Filter) PicksScale(s dp.Sensitivity, l Limit) (dp.Scale, error) {
	if err := s.Validate(); err != nil {
		return dp.Scale{}, err
	}
	l1 := exactUint(s.PerGroup).times(exactUint(s.Groups))
	return f.leastScale(l, func(b dp.Scale) (pure, renyi float64) {
		return l1.times(inverse(b)).hi, f.picksRenyi(s, b)
	})
}

// GaussianScale is the least sigma, up to the grid of scales, whose discrete Gaussian noise stays within the limit's Renyi
// part. An error without an order.
func (f *Filter) GaussianScale(s dp.Sensitivity, l Limit) (dp.Scale, error) {
	if f.Order == 0 {
		return dp.Scale{}, errGaussian
	}
	if err := s.Validate(); err != nil {
		return dp.Scale{}, err
	}
	return f.leastScale(l.RenyiOnly(), func(sigma dp.Scale) (pure, renyi float64) {
		return 0, f.gaussianRenyi(s, sigma)
	})
}

// Selection calibrates a choice of unknown groups by truncated Laplace noise (""), or Gaussian: the least scale within the limit and the least threshold for the delta.
// One unit is in at most groups groups.
func (f *Filter) Selection(noise dp.NoiseKind, groups uint64, l Limit, delta float64) (dp.Selection, error) {
	if groups == 0 || groups > dp.MaxSensitivity {
		return dp.Selection{}, fmt.Errorf("budget: selection over %d groups is out of range", groups)
	}
	var err error
	e := dp.Selection{Noise: noise, Groups: groups, Delta: delta}
	if e.Scale, err = lawLosses[e.Kind()].scale(f, groups, l); err != nil {
		return e, err
	}
	if e.Threshold, err = SelectionThreshold(e); err != nil {
		return e, err
	}
	return e, e.Validate()
}

func (f *Filter) gaussianSelectionScale(groups uint64, l Limit) (dp.Scale, error) {
	return f.GaussianScale(dp.Sensitivity{PerGroup: 1, Groups: groups}, l)
}

func (f *Filter) truncatedSelectionScale(groups uint64, l Limit) (dp.Scale, error) {
	return f.leastScale(l, func(b dp.Scale) (pure, renyi float64) {
		epsilon := exactUint(groups).times(inverse(b))
		if f.Order != 0 {
			renyi = randomizedResponse(f.Order, epsilon).hi
		}
		return epsilon.hi, renyi
	})
}

// SelectionThreshold is the least threshold at which a selection stays within its delta.
func SelectionThreshold(e dp.Selection) (uint64, error) {
	if e.Threshold = 1; e.Validate() != nil {
		return 0, e.Validate()
	}
	within := func(t uint64) bool {
		e.Threshold = t
		return selectionDelta(e) <= e.Delta
	}
	if !within(dp.MaxScale) {
		return 0, fmt.Errorf("budget: no threshold up to %d gives delta %g at noise scale %g", uint64(dp.MaxScale), e.Delta, e.Scale.Float())
	}
	return least(1, dp.MaxScale, within), nil
}

// maxFineNum keeps the numerator of a scale small where the grid allows: the relative step stays below 2^-20 above a scale
// of 1, and samplers work in machine words.
const maxFineNum = 1<<32 - 1

// leastScale searches the grid of scales (numerators over a power of two) for the least whose loss stays within the limit.
//
// Proof: only scales whose loss, rounded up, was compared with the limit are returned, so nothing rests on the search; that
// losses fall with the scale only makes the answer the least.
func (f *Filter) leastScale(l Limit, loss func(dp.Scale) (pure, renyi float64)) (dp.Scale, error) {
	if !(l.Epsilon > 0) || f.Order != 0 && !(l.Renyi > 0) || f.Order == 0 && math.IsInf(l.Epsilon, 1) {
		return dp.Scale{}, fmt.Errorf("budget: nothing to spend within epsilon %g, Renyi loss %g", l.Epsilon, l.Renyi)
	}
	epsilon, renyi := l.Epsilon*(1-spare), l.Renyi*(1-spare)
	within := func(s dp.Scale) bool {
		p, r := loss(s)
		return p <= epsilon && (f.Order == 0 || r <= renyi)
	}
	den, top := uint64(dp.MaxScaleDen), uint64(maxFineNum)
	for den > 1 && !within(dp.Scale{Num: top, Den: den}) {
		den /= 2
	}
	if den == 1 && !within(dp.Scale{Num: top, Den: 1}) {
		if top = dp.MaxScale - 1; !within(dp.Scale{Num: top, Den: 1}) {
			return dp.Scale{}, fmt.Errorf("budget: epsilon %g, Renyi loss %g needs noise beyond the largest scale", l.Epsilon, l.Renyi)
		}
	}
	num := least(1, top, func(n uint64) bool { return within(dp.Scale{Num: n, Den: den}) })
	for num%2 == 0 && den > 1 {
		num, den = num/2, den/2
	}
	return dp.Scale{Num: num, Den: den}, nil
}

// least is the smallest n in [lo, hi] that passes, for a test that hi passes and that does not turn back.
func least(lo, hi uint64, passes func(uint64) bool) uint64 {
	for lo < hi {
		if mid := lo + (hi-lo)/2; passes(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
