package server

import (
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// Observer hears of each private statement that was priced: for the owner's audit log and counters. The session's goroutine calls it; what it does
// with an AuditEvent is not for analysts.
type Observer interface {
	// Charged is called when a charge is durable, before the first private row is read.
	Charged(AuditEvent)
	// Ended is called once a statement, after its end.
	Ended(AuditEvent)
}

// AuditEvent is what the owner may know of one private statement. Nothing in it comes from private rows but the outcome and what
// went wrong, which the design counts among what is not covered.
type AuditEvent struct {
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
	Alerted  Outcome = "alerted"  // a look of a watch, which was charged when it was created
)

// noObserver watches.
type noObserver struct{}

// Ended forgets it.
func (noObserver) Ended(AuditEvent) {}

// Charged forgets it.
func (noObserver) Charged(AuditEvent) {}
