package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// price sets what the ledger is charged: the training's (epsilon, delta), or what it runs by its Renyi loss.
//
// Proof: either event bounds the whole training (mlext.Training), and which is charged follows from the policy, the settings and the ledger's balance, which are no data; so the filter's conditions hold of either (budget.NewFilter (ii)). The second makes the plain sum of epsilons infinite, so it is taken only where that sum has ended in
// all accounts, or where the policy's condition for Gaussian noise holds and the analyst has not asked for Laplace noise; and only where it is the smaller on the Renyi side, and fits if either does, or where it alone fits.
func (t *Training) price() error {
	balance, err := t.Session.Engine.Ledger.Balance(t.Session.Payer())
	if err != nil {
		return t.Session.LedgerFailed(err)
	}
	return t.priceBy(balance)
}

// priceBy is price by a balance. It refuses what is charged beyond the analyst's limits, whichever options it follows from.
func (t *Training) priceBy(balance ledger.Balance) error {
	if err := t.chooseCharge(balance); err != nil {
		return err
	}
	return MayTrainAt(t.Session, t.paid())
}

// MayTrainAt refuses a price out of the analyst's limits, which are those of any statement.
func MayTrainAt(s *session.Session, price float64) error {
	if least := s.LeastEpsilon(); price < least {
		return sqlerr.New(sqlerr.InvalidParam, "price %g is too small to train with", price).WithHint("The least is %g.", least)
	}
	if err := s.MayAsk("price", price); err != nil {
		return err
	}
	return nil
}

// chooseCharge is the way of charging that a balance leads to.
func (t *Training) chooseCharge(balance ledger.Balance) error {
	whole := dp.Training{Method: t.Plan.Method, Epsilon: t.Plan.Epsilon, Delta: t.Plan.Delta}
	var err error
	if t.charge.loss, err = t.charge.filter.Loss(whole); err != nil {
		return sqlerr.New(sqlerr.InvalidParam, "the training cannot be priced").WithCause(err)
	}
	t.charge.event, t.charge.otherwise = whole, ""
	if t.Plan.Composed == nil || t.charge.filter.Order == 0 {
		return nil
	}
	if parts, err := t.charge.filter.Loss(*t.Plan.Composed); err == nil { // else there is none at this order
		_, ended := balance.PureEnded()
		prefers := t.under.Mechanism.AllowsL2Scale() && t.charge.filter.PrefersRenyi()
		fits, otherFits := balance.CanAdmit(parts), balance.CanAdmit(t.charge.loss)
		smaller := parts.Renyi < t.charge.loss.Renyi && (fits || !otherFits)
		switch {
		case (smaller || fits && !otherFits) && (ended || prefers) && balance.Filter.Order == t.charge.filter.Order:
			t.charge.otherwise = t.charged(t.charge.loss)
			t.charge.event, t.charge.loss = *t.Plan.Composed, parts
		default:
			t.charge.otherwise = t.charged(parts)
		}
	}
	return nil
}

func (t *Training) charged(l dp.Loss) string { return Charged(l, t.charge.filter.Order) }

// Charged is a loss in words.
func Charged(l dp.Loss, order float64) string {
	if math.IsInf(l.Pure, 1) {
		return fmt.Sprintf("Renyi %s at order %s, no delta; the budget then counts Renyi losses alone", server.Number(l.Renyi), server.Number(order))
	}
	text := fmt.Sprintf("epsilon %s, delta %s", server.Number(l.Pure), server.Number(l.Delta))
	if order != 0 {
		text += fmt.Sprintf("; Renyi %s at order %s", server.Number(l.Renyi), server.Number(order))
	}
	return text
}

// paid is the price that the training was asked at, or else the least that pays for its charge.
func (t *Training) paid() float64 {
	if p := t.Plan.Spec.Price; p > 0 {
		return p
	}
	return PriceOf(t.charge.loss, t.charge.filter, 2*t.Plan.Epsilon)
}

// PriceOf is the least price that pays for a loss; about is where the search begins.
func PriceOf(loss dp.Loss, f *budget.Filter, about float64) float64 {
	low, high := 0.0, about
	for !IsWithin(loss, f.Limit(high), f.Order) && high < math.MaxFloat32 {
		high *= 2
	}
	for range 60 {
		if mid := (low + high) / 2; IsWithin(loss, f.Limit(mid), f.Order) {
			high = mid
		} else {
			low = mid
		}
	}
	return server.RoundUp3(high)
}

// Reservation is the charge.
func (t *Training) Reservation() ledger.Reservation {
	return ledger.Reservation{Payer: t.Session.Payer(), Statement: t.key, Text: pgsyntax.Print(t.Node), Price: t.paid(), Events: ledger.Events{t.charge.event}, Loss: t.charge.loss, Filter: t.charge.filter}
}

// explained is the card with the other way of charging, how many such trainings are left, and what would refuse it: that the name is taken, or the budget. Together, it is judged beside those that this session has explained before.
func (t *Training) explained(ctx context.Context) ([][]sqltype.Value, error) {
	s := t.Session
	balance, err := s.Balance()
	if err != nil {
		return nil, err
	}
	if !t.shown.together {
		s.Explained = dp.Loss{}
	}
	balance = balance.After(s.Explained)
	if err := t.priceBy(balance); err != nil { // as it will be when those before are charged
		return nil, err
	}
	if err := t.withinPrice(); err != nil {
		return nil, err
	}
	rows := t.card()
	if why := t.Plan.WhyMethod(); why != "" {
		rows = append(rows, []sqltype.Value{"why this method", why})
	}
	if t.charge.otherwise != "" {
		rows = append(rows, []sqltype.Value{"charge otherwise", t.charge.otherwise})
	}
	usual, atEnds := stage.WithoutEnds(t.gaps)
	for _, w := range append(stage.Omitted(t.Analysis), stage.WarningsOf(usual)...) {
		rows = append(rows, []sqltype.Value{"warning", w})
	}
	for _, w := range stage.WarningsOf(atEnds) {
		rows = append(rows, []sqltype.Value{"at the ends of types", w})
	}
	refused := func(err error) error {
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.ID != sqlerr.DuplicateObject.ID && e.ID != sqlerr.BudgetExhausted.ID && e.ID != sqlerr.LifetimeEnded.ID {
			return err
		}
		text := e.Message + ". "
		for _, more := range []string{e.Detail, e.Hint} {
			if more != "" {
				text += more + " "
			}
		}
		rows = append(rows, []sqltype.Value{"refused", strings.TrimSpace(text)})
		return nil
	}
	s.Explained = s.Explained.Plus(t.charge.loss)
	if limit := s.World.Policy.Limits.StatementTime; limit > 0 {
		rows = append(rows, []sqltype.Value{"time limit", fmt.Sprintf("%v (limits.statement_time); a training that takes longer ends charged, without a model", limit)})
	}
	rows = append(rows, []sqltype.Value{"left", server.Statements(balance.StatementsLeft(t.charge.loss)) + " trainings at this charge"})
	if err := t.free(ctx); err != nil {
		if err := refused(err); err != nil {
			return nil, err
		}
	}
	if err := balance.Denies(t.charge.loss); err != nil {
		done, turnErr := s.Turn(ctx) // for the hint's calibrations
		if turnErr != nil {
			return nil, s.Uncharged(ctx, turnErr)
		}
		err := refused(t.denied(ctx, err))
		done()
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}
