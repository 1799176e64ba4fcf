// Package measure prices a statement: it chooses the mechanism and splits what an epsilon may cost (design section 7, the
// price tag) over the measures and the selection of groups. It works from the analysis and the policy alone.
package measure

import (
	"math"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// Mechanism is a choice of noise.
type Mechanism string

// The mechanisms that a policy or SET may name.
const (
	Auto     Mechanism = "auto"
	Laplace  Mechanism = "laplace"
	Gaussian Mechanism = "gaussian"
)

// Ask is what a statement may cost and how.
type Ask struct {
	Filter     *budget.Filter
	Epsilon    float64   // the price tag
	QueryDelta float64   // delta of one selecting statement
	Mechanism  Mechanism // Auto, Laplace, Gaussian
}

// Plan says what will be run. Events has one entry a measure, in order, but for a Units measure that the selection's noisy
// number answers (UnitsFromSelection); the selection comes last.
type Plan struct {
	Price     float64
	Mechanism Mechanism // Laplace or Gaussian; "" where only a selection is run, or nothing
	Measures  []dp.Event
	Selection *dp.Selection
	// UnitsFromSelection is the measure that the selection's noisy numbers are, or -1.
	UnitsFromSelection int
	Loss               dp.Loss
}

// Events are all events, as the ledger keeps them.
func (p *Plan) Events() []dp.Event {
	var out []dp.Event
	for _, ev := range p.Measures {
		if ev != nil {
			out = append(out, ev)
		}
	}
	if p.Selection != nil {
		out = append(out, *p.Selection)
	}
	return out
}

// New splits the price. Without anything to measure (public groups only) the plan is empty and costs nothing.
//
// Proof: claim: the loss of all events together is at most the price tag's: if every event has an epsilon part, the sum of the
// epsilons is at most e and that of the Renyi losses at most r(e); otherwise the Renyi losses are. Each event is calibrated to a
// part of the limit, and the parts' numerators add up to the denominator: (1) selection 1/3 where it is extra and something else
// is measured, the rest in equal parts; budget.Limit.Part rounds down and the calibrations round scales up. (2) The sum is taken
// again by the filter over the events as they will be run, and a sum above the tag is refused. Sequential composition: package
// budget. The number of parts and the sensitivities come from the plan and the policy, so no scale depends on private rows.
func New(a *sensitivity.Analysis, ask Ask) (*Plan, error) {
	laplace, err := build(a, ask, Laplace)
	if ask.Mechanism == Laplace || ask.Filter.Order == 0 && ask.Mechanism == Auto {
		return laplace, err
	}
	if ask.Mechanism == Gaussian && ask.Filter.Order == 0 {
		return nil, sqlerr.New(sqlerr.BadMechanism, "Gaussian noise needs a Renyi budget, which this data set's policy does not have").
			WithHint("SET dpsql.mechanism = auto, or ask the owner for budget.delta > 0 and accountant: rdp.")
	}
	gaussian, gerr := build(a, ask, Gaussian)
	switch {
	case ask.Mechanism == Gaussian:
		return gaussian, gerr
	case err != nil || gerr != nil || len(laplace.noisy()) == 0 || !ask.Filter.PrefersRenyi():
		return laplace, err
	case logVariance(gaussian) < logVariance(laplace):
		return gaussian, nil
	}
	return laplace, nil
}

// noisy are the events that carry noise of the mechanism.
func (p *Plan) noisy() []dp.Event {
	var out []dp.Event
	for _, ev := range p.Measures {
		if ev != nil {
			out = append(out, ev)
		}
	}
	return out
}

// logVariance is the sum of the log variances: which of two plans with the same measures errs less, each measure weighing alike.
func logVariance(p *Plan) float64 {
	sum := 0.0
	for _, ev := range p.noisy() {
		d, err := noise.DistributionOf(ev)
		if err != nil {
			return math.Inf(1)
		}
		sum += math.Log(d.Variance())
	}
	return sum
}

// build calibrates for one mechanism. Losses are rounded up and so are their sums: where that passes the tag by a rounding, a
// tag smaller by 2^-40 holds it.
func build(a *sensitivity.Analysis, ask Ask, mech Mechanism) (*Plan, error) {
	tag := ask.Filter.Limit(ask.Epsilon)
	for _, limit := range []budget.Limit{tag, tag.Part(1<<40-1, 1<<40)} {
		p, err := split(a, ask, mech, limit)
		if err != nil {
			return nil, err
		}
		if (ask.Filter.Order == 0 || p.Loss.Renyi <= tag.Renyi) && (p.Loss.Pure <= tag.Epsilon || math.IsInf(p.Loss.Pure, 1)) {
			return p, nil
		}
	}
	return nil, sqlerr.New(sqlerr.Internal, "the price tag does not hold the statement's events")
}

func split(a *sensitivity.Analysis, ask Ask, mech Mechanism, limit budget.Limit) (*Plan, error) {
	p := &Plan{Price: ask.Epsilon, UnitsFromSelection: -1, Measures: make([]dp.Event, len(a.Measures))}
	parts := uint64(len(a.Measures))
	if !a.Groups.Public {
		for i, m := range a.Measures {
			if m.Kind == sensitivity.Units {
				p.UnitsFromSelection = i
			}
		}
		if p.UnitsFromSelection >= 0 {
			parts--
		}
	}
	if parts > 0 && mech == Gaussian {
		limit = limit.RenyiOnly()
	}
	// Each measure gets num/den of the limit, the selection snum/den.
	num, snum, den := uint64(1), uint64(0), parts
	if !a.Groups.Public {
		switch {
		case parts == 0:
			snum, den = 1, 1
		case p.UnitsFromSelection >= 0: // the selection is one of the measures
			snum, den = 1, parts+1
		default:
			num, snum, den = 2, parts, 3*parts // a third for the selection
		}
	}
	for i, m := range a.Measures {
		if i == p.UnitsFromSelection {
			continue
		}
		ev, err := event(ask.Filter, dp.Sensitivity{PerGroup: m.PerGroup, Groups: a.Limit.PerUnit}, limit.Part(num, den), mech)
		if err != nil {
			return nil, tooMuch(err)
		}
		p.Measures[i] = ev
		p.Mechanism = mech
	}
	if snum > 0 {
		sel, err := ask.Filter.Selection(a.Limit.PerUnit, limit.Part(snum, den), ask.QueryDelta)
		if err != nil {
			return nil, tooMuch(err)
		}
		p.Selection = &sel
	}
	loss, err := ask.Filter.Sum(p.Events())
	if err != nil {
		return nil, err
	}
	p.Loss = loss
	return p, nil
}

func event(f *budget.Filter, s dp.Sensitivity, l budget.Limit, mech Mechanism) (dp.Event, error) {
	if mech == Gaussian {
		scale, err := f.GaussianScale(s, l)
		return dp.Gaussian{Sensitivity: s, Scale: scale}, err
	}
	scale, err := f.LaplaceScale(s, l)
	return dp.Laplace{Sensitivity: s, Scale: scale}, err
}

func tooMuch(err error) error {
	return sqlerr.New(sqlerr.NoiseTooLarge, "the noise that this statement needs is too large to be drawn").
		WithHint("Ask with a larger dpsql.epsilon, over a narrower range, or for fewer groups.").WithCause(err)
}
