package private

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
)

// denied turns the ledger's refusal of a run into what the analyst can act on: what is left, when it comes back, and the largest price that passes now. All of it
// follows from statements and the policy, none from data.
func (r *Run) denied(err error, sum *price.Quote) error {
	s := r.Session
	var d *ledger.Denied
	if !errors.As(err, &d) {
		return s.LedgerFailed(err)
	}
	return RefusedByBudget(s, d, "this statement at price "+server.Number(sum.Price), r.deniedHint(d.Balance))
}

// RefusedByBudget says whose budget does not hold something, what is left of it, and when it comes back.
func RefusedByBudget(s *session.Session, d *ledger.Denied, what, hint string) error {
	if d.Scope == ledger.ScopeLifetime {
		l := d.Balance.Lifetime
		return sqlerr.New(sqlerr.LifetimeEnded, "the lifetime budget does not hold another window").
			WithDetail("Lifetime: epsilon %s, of which %s is used by the windows that something was asked in. Each costs epsilon %s.", server.Number(l.Epsilon), server.Number(l.Spent), server.Number(s.Filter.Epsilon)).
			WithHint("A statement that was answered before is free. A longer lifetime is a new promise, which is the owner's to make.")
	}
	whose, account := "the data set's", d.Balance.Dataset
	switch d.Scope {
	case ledger.ScopeAnalyst:
		whose, account = "your", d.Balance.Analyst
	case ledger.ScopeRole:
		whose = "role " + d.Role + "'s"
		for _, r := range d.Balance.Roles {
			if r.Name == d.Role {
				account = r.Account
			}
		}
	}
	detail := fmt.Sprintf("Left: %.3g %% of %s %s.", 100*(1-account.Used()), whose, session.QuotaText(account.Rooms.Pure, d.Balance.Dataset.Rooms.Pure))
	if without := (dp.Loss{Pure: d.Charge.Pure, Renyi: d.Charge.Renyi}); d.Charge.Delta > 0 && d.Balance.CanAdmit(without) {
		epsilon, delta := account.Parts()
		detail = fmt.Sprintf("Its delta does not fit: %.3g %% is left of the delta of %s %s, and %.3g %% of its epsilon. Statements over unknown groups and with Gaussian noise need a delta; others are answered.", 100*(1-delta), whose, session.QuotaText(account.Rooms.Pure, d.Balance.Dataset.Rooms.Pure), 100*(1-epsilon))
	}
	if at := d.Balance.Window.Renews; !at.IsZero() {
		if d.Balance.Window.Last {
			detail += " It does not come back: the lifetime holds no further window."
		} else {
			detail += fmt.Sprintf(" It comes back on %s UTC.", at.Format("2006-01-02 15:04"))
		}
	}
	return sqlerr.New(sqlerr.BudgetExhausted, "%s budget does not hold %s", whose, what).WithDetail("%s", detail).WithHint("%s", hint)
}

func (r *Run) deniedHint(b ledger.Balance) string {
	free := "is free"
	if r.Under.Fresh && !r.OfCube {
		free = "is free with dpsql.fresh off"
	}
	if set := r.PassingPrice(b); set != "" {
		return fmt.Sprintf("%s lets this statement pass now, and no larger price does. A statement that was answered before %s.", set, free)
	}
	return fmt.Sprintf("No price of this statement passes now. A statement that was answered before %s. More budget is the owner's to give.", free)
}

// PassingPrice is what sets the largest price at which a balance holds the statement; "" where it holds none.
func (r *Run) PassingPrice(b ledger.Balance) string {
	off, epsilon := "", r.passes(b, "")
	if slices.ContainsFunc(r.StageRuns, func(a *StageRun) bool { return a.Plan != nil && a.Plan.Mechanism.HasL2Scale() }) { // only the Renyi side holds that; the pure one may hold more
		for _, m := range price.Compared {
			if m.HasL2Scale() {
				continue
			}
			if other := r.passes(b, m); other > epsilon {
				epsilon, off = other, "SET dpsql.mechanism = "+string(m)+"; "
			}
		}
	}
	if r.hasTarget() {
		off = "SET dpsql.target_error = off; " + off
	}
	if !(epsilon > 0) {
		return ""
	}
	if r.OfCube {
		return off + "WITH (price = " + server.Number(epsilon) + ")"
	}
	return off + "SET dpsql.price = " + server.Number(epsilon)
}

// hasTarget: its releases are priced one by one, by dpsql.target_error.
func (r *Run) hasTarget() bool {
	return slices.ContainsFunc(r.StageRuns, func(a *StageRun) bool { return a.TargetNote != "" })
}

// passes is the largest price, to three digits, at which the statement would be admitted by a balance, its releases sharing that alike; 0 if there is none. With another mechanism, where one is named.
func (r *Run) passes(b ledger.Balance, by price.Mechanism) float64 {
	if b.Dataset.Ended {
		return 0
	}
	var paid []*StageRun
	high, least := 0.0, 0.0 // of the whole statement
	for i, a := range r.StageRuns {
		if a.As == i && a.IsCharged() {
			paid = append(paid, a)
			high, least = high+a.Request.Epsilon, least+a.Request.Least
		}
	}
	if r.hasTarget() || by != "" { // it was denied at other parts, or with other noise: what they come to may pass when it is shared alike, and more with this one
		high = max(high, r.Session.Analyst.MaxQueryEpsilon)
	}
	fits := func(epsilon float64) bool {
		var sum dp.Loss
		for _, a := range paid {
			plan, err := a.priceAt(epsilon/float64(len(paid)), by)
			if err != nil {
				return false
			}
			if plan != nil {
				sum = sum.Plus(plan.Loss)
			}
		}
		return b.CanAdmit(sum)
	}
	low := server.RoundUp3(least)
	switch {
	case fits(high):
		low = high
	case !(low < high) || !fits(low):
		return 0
	default:
		var err error
		if low, _, err = stage.Narrowed(low, high, 1.0005, func(epsilon float64) (bool, error) { return !fits(epsilon), nil }); err != nil {
			return 0
		}
	}
	for _, x := range []float64{server.RoundDown3(low), low} {
		if x >= least && fits(x) {
			return x
		}
	}
	return 0
}

// priceAt is what a stage is charged at another price, without a target: nothing where what is there answers, or as a top-up of that, or anew. Nil is nothing.
func (a *StageRun) priceAt(epsilon float64, by price.Mechanism) (*price.Quote, error) {
	ask, old := a.Request, a.Release
	if ask.Epsilon = epsilon; by != "" {
		ask.Mechanism = by
	}
	switch {
	case a.Free && !ask.IsWorthTopUp(a.Request.Epsilon):
		return nil, nil
	case a.Again:
		old = a.staleRelease
	case a.Kept != nil || a.StalePrice > 0 || a.An.NeedsFreshRelease(): // of another question, or of what is not measured again
		old = nil
	}
	if old == nil {
		return price.New(a.An, ask)
	}
	return price.TopUp(a.An, old.Run, old.LastQuote().Price, ask)
}
