package price

import (
	"errors"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/noise"
)

// Run is what noise the values of a release have: a plan whose bounds are chosen, or a top-up, whose groups are known. Every event has a law.
type Run struct {
	Mechanism Mechanism
	Measures  []dp.Event    // nil: the selection's noisy numbers
	Lost      []*Lost       // a measure: nil where it loses nothing
	Selection *dp.Selection // nil: nothing is selected
}

// Run is what is run of a plan without choices.
func (p *Quote) Run() *Run {
	r := &Run{Mechanism: p.Mechanism, Measures: p.Measures}
	if len(p.Selections) > 0 {
		r.Selection = &p.Selections[0]
	}
	return r
}

// Event is what was run for measure i: its own, or the selection whose noisy numbers it is.
func (r *Run) Event(i int) (dp.Event, error) {
	switch {
	case r.Measures[i] != nil:
		return r.Measures[i], nil
	case r.Selection != nil:
		return *r.Selection, nil
	}
	return nil, errors.New("price: nothing was run for a measure")
}

// MeanRounding is the variance that rounding a mean to a whole number adds, where the mean is spread out.
const MeanRounding = 1.0 / 12

// Variance is that of measure i's noise.
func (r *Run) Variance(i int) (float64, error) {
	ev, err := r.Event(i)
	if err != nil {
		return 0, err
	}
	d, err := noise.DistributionOf(ev)
	return d.Variance(), err
}

// VarianceInSteps is that of measure i's values: the noise is in parts of steps, fine to one, and where fine is above 1 rounded to steps.
func (r *Run) VarianceInSteps(i int, fine uint64) (float64, error) {
	v, err := r.Variance(i)
	if fine > 1 {
		v = v/(float64(fine)*float64(fine)) + MeanRounding
	}
	return v, err
}

// sensitivity is what measure i's noise is for.
func (r *Run) sensitivity(i int) (dp.Sensitivity, error) {
	ev, err := r.Event(i)
	if err != nil {
		return dp.Sensitivity{}, err
	}
	l, err := dp.LawOf(ev)
	return l.Sensitivity, err
}
