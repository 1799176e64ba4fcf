package model

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/mlext"
)

// denied is a training that the budget does not hold.
func (t *Training) denied(ctx context.Context, err error) error {
	s := t.Session
	var d *ledger.Denied
	if !errors.As(err, &d) {
		return s.LedgerFailed(err)
	}
	return private.RefusedByBudget(s, d, fmt.Sprintf("this training: epsilon %s, delta %s", server.Number(t.Plan.Epsilon), server.Number(t.Plan.Delta)), t.deniedHint(ctx, d))
}

// deniedHint names options with which the training would be admitted by the balance that refused it. Each was priced as the training itself is.
func (t *Training) deniedHint(ctx context.Context, d *ledger.Denied) string {
	fits := func(epsilon, delta float64) bool {
		loss, err := t.charge.filter.Loss(dp.Training{Method: t.Plan.Method, Epsilon: epsilon, Delta: delta})
		return err == nil && d.Balance.CanAdmit(loss)
	}
	instead, epsilon := "", ""
	switch {
	case t.Plan.Spec.Noise() > 0:
		instead = " instead of noise_multiplier"
	case t.Plan.Spec.Has("price"):
		instead = " instead of price"
	case t.Plan.Spec.Price > 0: // that of the session: with another delta it would buy another epsilon
		epsilon = fmt.Sprintf("epsilon = %s, ", server.Number(server.RoundDown3(t.Plan.Epsilon)))
	}
	switch low, most := t.Session.LeastEpsilon(), server.RoundDown3(math.Min(d.Left.Delta, t.Plan.Delta)); {
	case d.Balance.Dataset.Ended:
		return "No epsilon of this training passes now; more budget is the owner's to give."
	case fits(low, t.Plan.Delta):
		high := t.Plan.Epsilon
		for range 40 {
			if mid := (low + high) / 2; fits(mid, t.Plan.Delta) {
				low = mid
			} else {
				high = mid
			}
		}
		if x := server.RoundDown3(low); fits(x, t.Plan.Delta) {
			low = x
		}
		return fmt.Sprintf("WITH (epsilon = %s)%s passes now.", server.Number(low), instead)
	case most > 0 && fits(t.Plan.Epsilon, most):
		return fmt.Sprintf("WITH (%sdelta = %s) passes now.", epsilon, server.Number(most))
	}
	// The deltas have ended, or both sums of what comes with one. What the training's parts lose has no delta, and a training by plain epsilons has none either.
	if t.Plan.Composed != nil {
		if !t.under.Mechanism.AllowsL2Scale() {
			other := *t
			if other.under.Mechanism = price.Auto; other.priceBy(d.Balance) == nil && d.Balance.CanAdmit(other.charge.loss) {
				return "SET dpsql.mechanism = auto passes now."
			}
		}
		for x, tries := server.RoundDown3(t.Plan.Epsilon/2), 0; x >= t.Session.LeastEpsilon() && tries < mostReplanned; x, tries = server.RoundDown3(x/2), tries+1 {
			if t.passes(ctx, d.Balance, func(spec *mlext.Spec) error { spec.Epsilon = x; return nil }) {
				return fmt.Sprintf("WITH (epsilon = %s)%s passes now.", server.Number(x), instead)
			}
		}
	}
	if instead == "" && t.passes(ctx, d.Balance, func(spec *mlext.Spec) error { spec.Delta = 0; return spec.NoDelta() }) {
		return fmt.Sprintf("WITH (%sdelta = 0) passes now.", epsilon)
	}
	return "No smaller epsilon of this training passes now; more budget is the owner's to give."
}

// mostReplanned limits how often a refused training is calibrated for a hint.
const mostReplanned = 8

// passes says whether the training would be admitted under other options.
func (t *Training) passes(ctx context.Context, b ledger.Balance, change func(*mlext.Spec) error) bool {
	other, spec := *t, t.Plan.Spec.Calibrated()
	err := change(spec)
	if err == nil {
		spec.Until = ctx.Err
		other.Plan, err = t.replan(spec)
	}
	if err != nil {
		return false
	}
	return other.priceBy(b) == nil && b.CanAdmit(other.charge.loss)
}
