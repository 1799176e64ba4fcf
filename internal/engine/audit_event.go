package engine

import (
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Watcher hears of each private statement that was priced: for the owner's audit log and counters. The session's goroutine calls it; what it does
// with a Heard is not for analysts.
type Watcher interface {
	// Charged is called when a charge is durable, before the first private row is read.
	Charged(Heard)
	// Heard is called once a statement, after its end.
	Heard(Heard)
}

// Heard is what the owner may know of one private statement. Nothing in it comes from private rows but the outcome and what
// went wrong, which the design counts among what is not covered.
type Heard struct {
	Analyst     string
	Statement   ledger.Hash // key of the release
	Plan        string      // canonical; it holds the analyst's own constants
	Reservation int64       // 0: nothing was charged
	Price       float64     // what was charged: the price tag
	Loss        dp.Loss     // and its loss
	Order       float64     // at which Loss.Renyi was taken
	Outcome     Outcome
	Error       string // stable id of the error that the analyst saw
}

// Outcome is how a private statement ended.
type Outcome string

// The outcomes.
const (
	Charged  Outcome = "charged"  // and not run yet
	Answered Outcome = "answered" // charged and released
	Free     Outcome = "free"     // from a stored release
	Denied   Outcome = "denied"   // by the budget or the owner; nothing was charged
	Failed   Outcome = "failed"   // an error
	Canceled Outcome = "canceled" // by the client
)

// nobody watches.
type nobody struct{}

// Heard forgets it.
func (nobody) Heard(Heard) {}

// Charged forgets it.
func (nobody) Charged(Heard) {}

// tellCharged tells of a charge whose statement is not run yet.
func (s *Session) tellCharged(h Heard) {
	h.Outcome = Charged
	s.engine.watch.Charged(h)
}

func (s *Session) tell(h *Heard, err error) {
	if err != nil {
		h.Outcome, h.Error = Failed, sqlerr.ID(err)
		switch h.Error {
		case sqlerr.BudgetExhausted.ID, sqlerr.LifetimeEnded.ID, sqlerr.Frozen.ID, sqlerr.AnalystStopped.ID:
			h.Outcome = Denied
		case sqlerr.QueryCanceled.ID:
			h.Outcome = Canceled
		}
	}
	s.engine.watch.Heard(*h)
}
