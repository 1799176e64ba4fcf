package synthetic

import (
	"math"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/mlext/synth"
)

// method is the events' name of what is run.
const method = "noisy marginals"

// charge is what a table is charged.
type charge struct {
	design *synth.Design
	events ledger.Events
	loss   dp.Loss
	price  float64
	other  string // what the other way of charging would take
}

// wholeOf is the charge of one (epsilon, delta) event.
func wholeOf(epsilon, delta float64) dp.Event {
	return dp.Training{Method: method, Epsilon: epsilon, Delta: delta}
}

// partsOf are the charge by parts: one event for each release that is made.
//
// Proof: claim: each release that Counts.Measure makes has an event here, and is the Gaussian mechanism that the event says: of noise that is Multiplier times what one unit changes (synth.Design.Parts is what both read).
func partsOf(d *synth.Design) (out ledger.Events) {
	for _, p := range d.Parts() {
		out = append(out, dp.Composed{Method: method + ": " + p.Name, Multiplier: p.Multiplier, Rate: 1, Steps: 1})
	}
	return out
}

// charged prices a table for a balance. Its options name a price, or its own epsilon.
//
// Proof: as Training.price: either charge bounds all releases together, and which is taken follows from the policy, the settings and the balance, which are no data. (1) The Training event: epsilon and delta of all releases together (synth.Design.Epsilon). (2) The parts: their Renyi losses add up. (3) A price pays for at most its own limit.
func charged(s *session.Session, o *options, src *source, balance ledger.Balance) (*charge, error) {
	f := s.Filter
	as := func(mu float64, events func(*synth.Design) ledger.Events) (c *charge, err error) {
		c = &charge{price: o.price}
		if c.design, err = synth.NewDesign(src.sizes(), src.rows, mu); err != nil {
			return nil, sqlerr.New(sqlerr.InvalidParam, "a synthetic table of this price cannot be made").WithHint("Take a larger price, or fewer columns.").WithCause(err)
		}
		c.events = events(c.design)
		c.loss, err = f.Sum(c.events)
		return c, err
	}
	whole := func(d *synth.Design) ledger.Events { // (1) one event
		return ledger.Events{wholeOf(d.Epsilon(o.delta), o.delta)}
	}
	_, ended := balance.PureEnded()
	prefersParts := f.Order != 0 && (ended || s.Now.Mechanism.AllowsL2Scale() && f.PrefersRenyi())
	if o.epsilon > 0 {
		mu := synth.MuOf(o.epsilon, o.delta)
		c, err := as(mu, whole)
		if err != nil {
			return nil, err
		}
		if other, err := as(mu, partsOf); err == nil && f.Order != 0 { // (2) one for each release
			smaller, fits, otherFits := other.loss.Renyi < c.loss.Renyi, balance.CanAdmit(other.loss), balance.CanAdmit(c.loss)
			if prefersParts && (smaller && (fits || !otherFits) || fits && !otherFits) {
				c, other = other, c
			}
			c.other = model.Charged(other.loss, f.Order)
		}
		c.price = model.PriceOf(c.loss, f, 2*o.epsilon)
		return c, model.MayTrainAt(s, c.price)
	}
	if err := model.MayTrainAt(s, o.price); err != nil {
		return nil, err
	}
	most := f.Limit(o.price)
	pays := func(loss dp.Loss) bool { return model.IsWithin(loss, most, f.Order) } // (3)
	c, err := as(synth.MuOf((1-1e-9)*largest(o.price, func(epsilon float64) bool {
		loss, err := f.Loss(wholeOf(epsilon, o.delta))
		return err == nil && pays(loss)
	}), o.delta), whole)
	if prefersParts {
		top := math.Sqrt(2 * most.Renyi / f.Order) // by exact arithmetic
		mu := largest(top, func(mu float64) bool {
			parts, err := as(mu, partsOf)
			return err == nil && pays(parts.loss)
		})
		if parts, partsErr := as(mu, partsOf); partsErr == nil && pays(parts.loss) && (balance.CanAdmit(parts.loss) || err != nil || !balance.CanAdmit(c.loss)) {
			return parts, nil
		}
	}
	if err == nil && !pays(c.loss) {
		err = sqlerr.New(sqlerr.InvalidParam, "price %g does not pay for a synthetic table", o.price).WithHint("Take a larger price.")
	}
	return c, err
}

// largest is about the largest number up to top that passes; 0 where none is found.
func largest(top float64, passes func(float64) bool) float64 {
	low, high := 0.0, top
	for range 50 {
		if mid := (low + high) / 2; passes(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// hint is a price that passes now.
func hint(s *session.Session, o *options, src *source, b ledger.Balance) string {
	low, high := s.LeastEpsilon(), math.Max(o.price, o.epsilon)
	fits := func(price float64) bool {
		at := &options{price: price, delta: o.delta}
		c, err := charged(s, at, src, b)
		return err == nil && b.CanAdmit(c.loss)
	}
	if b.Dataset.Ended || !fits(low) {
		return "No smaller price of this table passes now; more budget is the owner's to give."
	}
	low = math.Max(low, largest(high, fits))
	if x := server.RoundDown3(low); fits(x) {
		low = x
	}
	return "WITH (price = " + server.Number(low) + ") passes now."
}

// chargedAs is the charge in words.
func (c *Creation) chargedAs() string { return model.Charged(c.charge.loss, c.Session.Filter.Order) }
