package measure

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// TopUp prices what makes a stored release of a smaller price more exact: every measure once more, at the bounds and for the
// groups that were chosen then; the mean of both, weighed by variance, is what asking at once would give for Gaussian noise, and up to sqrt(2) as wide
// for Laplace noise that is topped up once (Koufogiannis, Han, Pappas, "Gradual release of sensitive data under differential privacy", 2015, would
// lose nothing, by correlated noise). run is the release's plan with its bounds, price what it was made at. nil: there is nothing to
// measure again.
//
// Proof: the old events lost at most what the tag of the old price allows, those here at most the difference of the tags, side by side (Limit.Less
// rounds down): together at most the new price's tag, by sequential composition. Their sensitivities are those of the release's own events: the
// bounds and groups are released values. Noise stays of the kind that it was, so a price without a pure part is one for both.
func TopUp(a *sensitivity.Analysis, run *Plan, price float64, ask Ask) (*Plan, error) {
	top, limit := startTopUp(a, run, price, ask)
	if top == nil {
		return nil, nil
	}
	for i := range a.Measures {
		s, err := runSensitivity(run, i)
		if err != nil {
			return nil, err
		}
		if top.Measures[i], err = noiseFor(ask.Filter, s, limit, top.Mechanism); err != nil {
			return nil, tooMuch(err)
		}
	}
	var err error
	top.Loss, err = ask.Filter.Sum(top.Events())
	return top, err
}

// startTopUp is a top-up without its events, and what each of them may cost.
func startTopUp(a *sensitivity.Analysis, p *Plan, price float64, ask Ask) (*Plan, budget.Limit) {
	top := &Plan{Price: ask.Epsilon, Mechanism: p.Mechanism, UnitsFromSelection: -1, Measures: make([]dp.Event, len(a.Measures))}
	if len(a.Measures) == 0 {
		return nil, budget.Limit{}
	}
	if top.Mechanism == "" {
		top.Mechanism = Laplace
	}
	limit := ask.Filter.Limit(ask.Epsilon).Less(ask.Filter.Limit(price))
	if top.Mechanism == Gaussian {
		limit = limit.RenyiOnly()
	}
	return top, limit.Part(1, uint64(len(a.Measures)))
}

// ForecastTopUp is TopUp before it is known which bounds the release of p chose: of each measure the event that loses most, and a loss that is at least that of
// TopUp, whatever is chosen.
//
// Proof: what a Clipped event or a selection may become is listed whole (sensitivities), TopUp's own calibration is run on each, and each part of the loss
// is the largest of them, measure by measure.
func ForecastTopUp(a *sensitivity.Analysis, p *Plan, price float64, ask Ask) (*Plan, error) {
	top, limit := startTopUp(a, p, price, ask)
	if top == nil {
		return nil, nil
	}
	purest := make([]dp.Event, len(a.Measures))
	for i := range a.Measures {
		var most dp.Loss
		var failed error
		for _, s := range p.sensitivities(a, i) {
			ev, err := noiseFor(ask.Filter, s, limit, top.Mechanism)
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
func (p *Plan) sensitivities(a *sensitivity.Analysis, i int) []dp.Sensitivity {
	var out []dp.Sensitivity
	switch ev := p.Measures[i].(type) {
	case dp.Laplace:
		out = append(out, ev.Sensitivity)
	case dp.Gaussian:
		out = append(out, ev.Sensitivity)
	case dp.Clipped:
		clips := []uint64{a.Measures[i].PerGroup}
		if c := a.Measures[i].Clip; c != nil {
			clips = nil
			for _, edge := range c.Edges[:p.Choices[c.Index].Edges] {
				clips = append(clips, edge*a.Measures[i].Factor)
			}
		}
		groups := ev.Groups
		if c := a.Limit.Clip; c != nil {
			groups = groups[:p.Choices[c.Index].Edges]
		}
		for _, g := range groups {
			for _, clip := range clips {
				out = append(out, dp.Sensitivity{PerGroup: clip, Groups: g})
			}
		}
	case nil:
		for _, sel := range p.Selections {
			out = append(out, dp.Sensitivity{PerGroup: 1, Groups: sel.Groups})
		}
	}
	return out
}

func runSensitivity(run *Plan, i int) (dp.Sensitivity, error) {
	switch ev := run.Measures[i].(type) {
	case dp.Laplace:
		return ev.Sensitivity, nil
	case dp.Gaussian:
		return ev.Sensitivity, nil
	case nil:
		if sel := run.Selection(); sel != nil {
			return dp.Sensitivity{PerGroup: 1, Groups: sel.Groups}, nil
		}
	}
	return dp.Sensitivity{}, errors.New("measure: a release's event has no sensitivity")
}

func noiseFor(f *budget.Filter, s dp.Sensitivity, l budget.Limit, mech Mechanism) (dp.Event, error) {
	if mech == Gaussian {
		scale, err := f.GaussianScale(s, l)
		return dp.Gaussian{Sensitivity: s, Scale: scale}, err
	}
	scale, err := f.LaplaceScale(s, l)
	return dp.Laplace{Sensitivity: s, Scale: scale}, err
}

// Event is what was run for measure i: its own, or the selection whose noisy numbers it is.
func (p *Plan) Event(i int) (dp.Event, error) {
	if ev := p.Measures[i]; ev != nil {
		return ev, nil
	}
	if sel := p.Selection(); sel != nil {
		return *sel, nil
	}
	return nil, errors.New("measure: nothing was run for a measure")
}

// Weights are whole numbers near the inverses of two variances: of what was released before and of the fresh event. They follow from
// scales alone.
func Weights(before float64, fresh dp.Event) (was, now int64, err error) {
	d, err := noise.DistributionOf(fresh)
	if err != nil {
		return 0, 0, err
	}
	const most = 1 << 20
	switch ratio := before / d.Variance(); {
	case !(ratio > 0) || math.IsInf(ratio, 1):
		return 0, 0, errors.New("measure: a variance is out of range")
	case ratio >= 1:
		return 1, int64(math.Min(most, math.Round(ratio))), nil
	default:
		return int64(math.Min(most, math.Round(1/ratio))), 1, nil
	}
}

// Variance is that of measure i's noise.
func (p *Plan) Variance(i int) (float64, error) {
	ev, err := p.Event(i)
	if err != nil {
		return 0, err
	}
	d, err := noise.DistributionOf(ev)
	return d.Variance(), err
}
