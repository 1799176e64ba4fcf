package model

import (
	"context"
	"math"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext"
)

// A training with a price costs the budget at most the epsilon or the Renyi loss of a statement of this price, and where it is charged as one event its delta. Its epsilon follows.

// mostPlans limits how often a training is calibrated for its price.
const mostPlans = 8

// IsWithin reports that a loss is at most a price: where it has an epsilon part, that is at most the price's epsilon; and its Renyi loss is at most that of the Laplace answer.
func IsWithin(l dp.Loss, most budget.Limit, order float64) bool {
	return (l.Pure <= most.Epsilon || math.IsInf(l.Pure, 1) && order != 0) && (l.Renyi <= most.Renyi || order == 0)
}

// costsMore reports that the training would be charged more than its price: the balance has changed, and with it the way of charging.
func (t *Training) costsMore() bool {
	p := t.Plan.Spec.Price
	return p > 0 && !IsWithin(t.charge.loss, t.charge.filter.Limit(p), t.charge.filter.Order)
}

// planForPrice finds the largest epsilon that the price of its options pays for, by the way of charging that price prefers: as one (epsilon, delta) event, which its formula tells, or by the Renyi loss of what it runs, which
// takes a few calibrations.
func (t *Training) planForPrice(ctx context.Context, spec *mlext.Spec, plan func(context.Context, *mlext.Spec) (*mlext.Training, error)) error {
	most := t.charge.filter.Limit(spec.Price)
	try := func(epsilon float64) (err error) {
		with := spec.Calibrated()
		with.Epsilon = epsilon
		if t.Plan, err = plan(ctx, with); err != nil {
			return err
		}
		return t.price()
	}
	low, high := 0.0, spec.Price // as one event
	for range 60 {
		mid := (low + high) / 2
		if loss, err := t.charge.filter.Loss(dp.Training{Method: "any", Epsilon: mid, Delta: spec.Delta}); err == nil && IsWithin(loss, most, t.charge.filter.Order) {
			low = mid
		} else {
			high = mid
		}
	}
	if err := try(low); err != nil {
		return err
	}
	if _, composed := t.charge.event.(dp.Composed); !composed {
		return nil
	}
	best, gap := 0.0, math.Log(most.Renyi/t.charge.loss.Renyi) // of the Renyi loss to what may be, on a scale on which it grows about twice as fast as epsilon
	if gap >= 0 {
		best = low
	}
	at, slope := math.Log(low), 2.0
	for n := 0; n < mostPlans && (gap < 0 || gap > 2e-3); n++ {
		next := at + (gap-1e-3)/slope
		if err := try(math.Exp(next)); err != nil {
			break
		}
		if t.Plan.Composed == nil {
			break
		}
		parts, err := t.charge.filter.Loss(*t.Plan.Composed)
		if err != nil {
			break
		}
		now := math.Log(most.Renyi / parts.Renyi)
		if now >= 0 {
			best = math.Max(best, math.Exp(next))
		}
		if s := (gap - now) / (next - at); s > 0.5 && s < 8 {
			slope = s
		}
		at, gap = next, now
	}
	if best > 0 {
		if err := try(best); err != nil || !t.costsMore() {
			return err
		}
	}
	if err := try(low); err != nil {
		return err
	}
	return t.withinPrice()
}

// withinPrice refuses a training that would be charged more than its price: where its delta does not fit into the budget, and its Renyi loss is more than the price pays for.
func (t *Training) withinPrice() error {
	if !t.costsMore() {
		return nil
	}
	spec := t.Plan.Spec
	return sqlerr.New(sqlerr.BudgetExhausted, "price %g does not pay for this training: delta %g does not fit into the budget any more, and without it the training costs more", spec.Price, spec.Delta).WithHint("Take a smaller delta, such as WITH (delta = 1e-12), or a larger price.")
}
