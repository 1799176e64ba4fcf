package session

import (
	"context"
	"errors"
	"slices"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Session is one connection's view: who asks, with which settings. It is for one goroutine.
type Session struct {
	Engine     *server.Engine
	User       string
	World      *server.World // with analyst and catalog: of the policy that the session last saw
	Analyst    *policy.Analyst
	Catalog    *Catalog
	Filter     *budget.Filter // of the window in which the session last looked: what prices and losses are taken by
	Start, Now Settings
	Values     sqltype.Settings  // of literals, and the time zone
	Last       lastFacts         // of the last SELECT from tables; nil: it released nothing
	Parameters pgmeta.Parameters // settings that are not dpsql's
	Explained  dp.Loss           // what the trainings that EXPLAIN (TOGETHER) goes on from would be charged
	Warned     map[string]bool   // the rare values that the session was warned of (NewGaps)
	tell       func(text string) // tells the client how far a long statement is; nil: nobody wants to hear
	Progress   *Progress         // of the statement that runs; nil: it is not told of
	Intervals  bool              // rows have answer.Intervals behind their columns
}

// Use says how the literals of the statements that follow are read, and what their time zone is.
func (s *Session) Use(values sqltype.Settings) { s.Values = values }

// UseProgress says where word of a long statement's progress goes while it runs.
func (s *Session) UseProgress(tell func(text string)) { s.tell = tell }

// UseIntervals gives each row the intervals of its numbers. It is called before the first statement.
func (s *Session) UseIntervals() { s.Intervals = true }

// UseParameters gives the session the settings that SHOW knows: current_setting, set_config and pg_settings read and change them.
func (s *Session) UseParameters(p pgmeta.Parameters) { s.Parameters = p }

// Close ends the session.
func (s *Session) Close() {}

// ErrTimeout is the cause where a statement has taken statement_timeout.
var ErrTimeout = errors.New("statement timeout")

// Within gives a statement, of whatever kind, the policy's statement_time: for its planning, and again for all of its run.
func (s *Session) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if t := s.World.Policy.Limits.StatementTime; t > 0 {
		return context.WithTimeoutCause(ctx, t, ErrTimeout)
	}
	return ctx, func() {}
}

// Request is what the session's settings ask for.
func (s *Session) Request() price.Request {
	return price.Request{Filter: s.Filter, Epsilon: s.Now.Epsilon, Least: s.LeastEpsilon(), QueryDelta: s.World.Policy.Query.Delta, Mechanism: s.Now.Mechanism,
		Population: int64(min(s.World.Policy.Units(), 1<<40)), Kinds: s.World.Policy.EachUnits(), Most: s.Analyst.MaxQueryEpsilon}
}

// NoRows is the answer that a statement without measures needs.
type NoRows struct{}

// Next reports no row.
func (NoRows) Next() bool { return false }

// Row is never called.
func (NoRows) Row() []secret.Value { return nil }

// Err is nil.
func (NoRows) Err() error { return nil }

// Close does nothing.
func (NoRows) Close() {}

// Turn is this session's: it is taken before a statement asks for a connection, and may be given back more than once.
func (s *Session) Turn(ctx context.Context) (done func(), err error) {
	return s.Engine.Queues.Turns.Take(ctx, s.Analyst.Name, int(s.World.Policy.Limits.StatementsAtOnce))
}

// ObserveCharge tells of a charge whose statement is not run yet.
func (s *Session) ObserveCharge(h server.AuditEvent) {
	h.Outcome = server.Charged
	s.Engine.Observer.Charged(h)
}

// ObserveEnd tells the observer how a statement ended.
func (s *Session) ObserveEnd(h *server.AuditEvent, err error) {
	if err != nil {
		h.Outcome, h.Error = server.Failed, sqlerr.ID(err)
		switch h.Error {
		case sqlerr.BudgetExhausted.ID, sqlerr.LifetimeEnded.ID, sqlerr.Frozen.ID, sqlerr.AnalystStopped.ID:
			h.Outcome = server.Denied
		case sqlerr.QueryCanceled.ID:
			h.Outcome = server.Canceled
		}
	}
	s.Engine.Observer.Ended(*h)
}

// Options are what the settings and the policy say of every statement.
func (s *Session) Options() sensitivity.Options {
	off := sensitivity.OwnerMayOffUnit
	if s.World.Policy.Query.Joins == policy.JoinsAny {
		off = sensitivity.AnyOffUnit
	}
	return sensitivity.Options{OffUnit: off, MaxGroups: s.Now.maxGroups, ChooseGroups: s.Now.maxGroups == 0, MaxRows: s.Now.Clip, MaxPublicGroups: uint64(s.World.Policy.Query.MaxPublicGroups),
		Public: s.World.Public, DeltaZero: s.World.Policy.Budget.Delta == 0, MinPeople: s.World.Policy.Query.MinPeople, Norm: map[bool]sensitivity.Norm{true: sensitivity.L2}[s.Now.Bounding == "l2"], Split: s.Now.Split, WithinRows: s.Now.Bounding == "auto"}
}

// OwnMaxGroups is dpsql.max_groups where the session has set it to a number; else 0.
func (s *Session) OwnMaxGroups() uint64 {
	if s.Now.maxGroups == s.Start.maxGroups {
		return 0
	}
	return s.Now.maxGroups
}

// UsualRequest is what the session asks for, but at the policy's price for a statement: what decides which release a stage has goes by it, so that the stage has
// the same one at another price, or in a statement of more stages.
func (s *Session) UsualRequest() price.Request {
	ask := s.Request()
	ask.Epsilon = s.World.Policy.Query.Epsilon
	return ask
}

// NewGaps are those that the session is warned of now: those of rare values once a session, those at the ends of a type never (WithoutEnds).
func (s *Session) NewGaps(gaps []sqlgen.Gap) (now []sqlgen.Gap) {
	if s.Warned == nil {
		s.Warned = map[string]bool{}
	}
	now = slices.DeleteFunc(slices.Clone(gaps), func(g sqlgen.Gap) bool { return g.AtEnd || g.Rare && s.Warned[g.Words] })
	for _, g := range gaps {
		s.Warned[g.Words] = true
	}
	return now
}

// Payer is whom this analyst's statements count against.
func (s *Session) Payer() ledger.Payer { return server.PayerOf(s.Analyst) }

// leastPart: a statement may cost no less than the usual price divided by it.
const leastPart = 1000

// LeastEpsilon is the least price of a statement.
func (s *Session) LeastEpsilon() float64 { return s.World.Policy.Query.Epsilon / leastPart }
