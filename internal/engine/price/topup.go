package price

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/sensitivity"
)

// leastRise is the part of a release's price that a top-up adds at least. So prices grow geometrically, and a release has few top-ups (44 from the
// least price, query.price/1000, to 40 times query.price) whatever anybody asks: what a repeat and the ledger carry along stays small, and nobody
// can use up the top-ups of a release that others share.
const leastRise = 0.25

// IsWorthTopUp says whether this price measures again what was released at the other; for less more, the release answers as it is.
func (ask Request) IsWorthTopUp(price float64) bool {
	return ask.Epsilon-price >= max(ask.Least, leastRise*price)*slack
}

const slack = 1 - 1e-9 // 1 is a quarter above 0.8, whatever float64 says; what is charged is rounded by Limit.Less

// TopUpThreshold is the price from which on it is not worth it.
func (ask Request) TopUpThreshold() float64 {
	return min(ask.Epsilon-ask.Least*slack, ask.Epsilon/(1+leastRise*slack))
}

// TopUp prices what makes a stored release of a smaller price more exact: every measure once more, at the bounds and for the
// groups that were chosen then; the mean of both, weighed by variance, is what asking at once would give for Gaussian noise, and up to sqrt(2) as wide
// for Laplace noise that is topped up once, up to 3 after many small steps (Koufogiannis, Han, Pappas, "Gradual release of sensitive data under differential privacy", 2015, would
// lose nothing, by correlated noise). run is what noise the release has, price what it was made at. nil: there is nothing to
// measure again, or it is not worth it.
//
// Proof: the old events lost at most what the tag of the old price allows, those here at most the difference of the tags, side by side (Limit.Less
// rounds down): together at most the new price's tag, by sequential composition. Both tags are at ask's order, that of the window that pays (the ledger refuses losses at another). The old events may be of a window with another order: they were
// charged there, at that, and what they lose at this one enters no sum; what is charged here is the loss of the events here. Their sensitivities are those of the release's own events: the
// bounds and groups are released values. Noise stays of the kind that it was, but for people counted by a selection
// beside Gaussian noise, which has no pure part either; so a price without a pure part is one for both.
func TopUp(a *sensitivity.Analysis, run *Run, price float64, ask Request) (*Quote, error) {
	top, limit, err := startTopUp(a, run.Mechanism, price, ask)
	if top == nil {
		return nil, err
	}
	for i := range a.Measures {
		s, err := run.sensitivity(i)
		if err != nil {
			return nil, err
		}
		if top.Measures[i], err = mechanisms[top.Mechanism].event(ask.Filter, s, limit); err != nil {
			return nil, tooMuch(err)
		}
	}
	top.Loss, err = ask.Filter.Sum(top.Events())
	return top, err
}

// startTopUp is a top-up without its events, and what each of them may cost; nil, as TopUp.
func startTopUp(a *sensitivity.Analysis, mech Mechanism, price float64, ask Request) (*Quote, budget.Limit, error) {
	top := &Quote{Price: ask.Epsilon, Mechanism: mech, UnitsFromSelection: -1, Measures: make([]dp.Event, len(a.Measures))}
	if len(a.Measures) == 0 || !ask.IsWorthTopUp(price) {
		return nil, budget.Limit{}, nil
	}
	if top.Mechanism == "" {
		candidates, err := ask.candidates(a.Limit.Norm)
		if err != nil {
			return nil, budget.Limit{}, err
		}
		top.Mechanism = candidates[0]
	}
	limit := top.Mechanism.limited(ask.Filter.Limit(ask.Epsilon).Less(ask.Filter.Limit(price)))
	return top, limit.Part(1, uint64(len(a.Measures))), nil
}

// ForecastTopUp is TopUp before it is known which bounds the release of p chose: of each measure the event that loses most, and a loss that is at least that of
// TopUp, whatever is chosen.
//
// Proof: what a Clipped event or a selection may become is listed whole (sensitivities), TopUp's own calibration is run on each, and each part of the loss
// is the largest of them, measure by measure.
func ForecastTopUp(a *sensitivity.Analysis, p *Quote, price float64, ask Request) (*Quote, error) {
	top, limit, err := startTopUp(a, p.Mechanism, price, ask)
	if top == nil {
		return nil, err
	}
	purest := make([]dp.Event, len(a.Measures))
	for i := range a.Measures {
		var most dp.Loss
		var failed error
		all, err := p.sensitivities(a, i)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			ev, err := mechanisms[top.Mechanism].event(ask.Filter, s, limit)
			if err != nil { // at this bound a top-up is refused
				failed = err
				continue
			}
			loss, err := ask.Filter.Loss(ev)
			if err != nil {
				return nil, err
			}
			if top.Measures[i] == nil || loss.Renyi > most.Renyi {
				top.Measures[i], most.Renyi = ev, loss.Renyi
			}
			if purest[i] == nil || loss.Pure > most.Pure {
				purest[i], most.Pure = ev, loss.Pure
			}
		}
		if top.Measures[i] == nil {
			return nil, tooMuch(failed)
		}
	}
	renyi, err := ask.Filter.Sum(top.Events())
	if err != nil {
		return nil, err
	}
	pure, err := ask.Filter.Sum(purest)
	top.Loss = dp.Loss{Pure: max(pure.Pure, renyi.Pure), Renyi: max(pure.Renyi, renyi.Renyi), Delta: renyi.Delta}
	return top, err
}

// sensitivities are those that measure i may have once its bounds are chosen.
func (p *Quote) sensitivities(a *sensitivity.Analysis, i int) ([]dp.Sensitivity, error) {
	var events []dp.Event
	var out []dp.Sensitivity
	switch ev := p.Measures[i].(type) {
	case dp.Clipped:
		clips := []uint64{a.Measures[i].PerGroup}
		if c := a.Measures[i].Bound; c != nil {
			clips = nil
			for _, edge := range c.Edges[:p.CandidateCount(c)] {
				clips = append(clips, a.Measures[i].Clip(edge))
			}
		}
		groups := ev.Groups
		if c := a.Limit.Cap; c != nil {
			groups = groups[:p.CandidateCount(c)]
		}
		for _, g := range groups {
			for _, clip := range clips {
				out = append(out, dp.Sensitivity{PerGroup: clip, Groups: g})
			}
		}
	case nil:
		for _, sel := range p.Selections {
			events = append(events, sel)
		}
	default:
		events = append(events, ev)
	}
	for _, ev := range events {
		l, err := dp.LawOf(ev)
		if err != nil {
			return nil, err
		}
		out = append(out, l.Sensitivity)
	}
	return out, nil
}

// MeanWeights say how a value becomes more exact by a fresh one, of variances before and fresh: as their weighted mean, rounded to a whole
// number; or, where that would be less exact than one of them, as that one alone (the other weighs 0). They follow from scales alone.
//
// A weight is off by 2^-53 of the sum at most. The mean's variance is then above the least by 2^-106 (before + fresh) at most, less than either gains by the
// other unless that one rounds to 0.
func MeanWeights(before, fresh float64) (was, now int64, err error) {
	const sum = 1 << 52
	if !(before >= 0 && fresh >= 0) || math.IsInf(before+fresh, 1) {
		return 0, 0, errors.New("price: a variance is out of range")
	}
	share := before / (before + fresh) // of the fresh one
	switch best := math.Min(before, fresh); {
	case best > 0 && share*fresh+0.25 < best: // 1/4 is the most that rounding adds to a mean square
	case before <= fresh:
		return 1, 0, nil
	default:
		return 0, 1, nil
	}
	now = int64(math.Round(share * sum))
	return sum - now, now, nil
}
