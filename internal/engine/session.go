package engine

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
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Session is one connection's view: who asks, with which settings. It is for one goroutine.
type Session struct {
	engine     *Engine
	user       string
	world      *world // with analyst and catalog: of the policy that the session last saw
	analyst    *policy.Analyst
	catalog    *sessionCatalog
	filter     *budget.Filter // of the window in which the session last looked: what prices and losses are taken by
	start, now settings
	values     sqltype.Settings  // of literals, and the time zone
	last       lastFacts         // of the last SELECT from tables; nil: it released nothing
	parameters pgmeta.Parameters // settings that are not dpsql's
	explained  dp.Loss           // what the trainings that EXPLAIN (TOGETHER) goes on from would be charged
	warned     map[string]bool   // what the session was warned of (onceASession, newGaps)
	tell       func(text string) // tells the client how far a long statement is; nil: nobody wants to hear
	progress   *Progress         // of the statement that runs; nil: it is not told of
}

// Use says how the literals of the statements that follow are read, and what their time zone is.
func (s *Session) Use(values sqltype.Settings) { s.values = values }

// UseProgress says where word of a long statement's progress goes while it runs.
func (s *Session) UseProgress(tell func(text string)) { s.tell = tell }

// UseParameters gives the session the settings that SHOW knows: current_setting, set_config and pg_settings read and change them.
func (s *Session) UseParameters(p pgmeta.Parameters) { s.parameters = p }

// Close ends the session.
func (s *Session) Close() {}

var errTimeout = errors.New("statement timeout")

// request is what the session's settings ask for.
func (s *Session) request() price.Request {
	return price.Request{Filter: s.filter, Epsilon: s.now.epsilon, Least: s.leastEpsilon(), QueryDelta: s.world.policy.Query.Delta, Mechanism: s.now.mechanism,
		Population: int64(min(s.world.policy.Units(), 1<<40)), Kinds: s.world.policy.EachUnits(), Most: s.analyst.MaxQueryEpsilon}
}

// noRows is the answer that a statement without measures needs.
type noRows struct{}

// Next reports no row.
func (noRows) Next() bool { return false }

// Row is never called.
func (noRows) Row() []secret.Value { return nil }

// Err is nil.
func (noRows) Err() error { return nil }

// Close does nothing.
func (noRows) Close() {}

// turn is this session's: it is taken before a statement asks for a connection, and may be given back more than once.
func (s *Session) turn(ctx context.Context) (done func(), err error) {
	return s.engine.turns.take(ctx, s.analyst.Name, int(s.world.policy.Limits.StatementsAtOnce))
}

// observeCharge tells of a charge whose statement is not run yet.
func (s *Session) observeCharge(h AuditEvent) {
	h.Outcome = Charged
	s.engine.observer.Charged(h)
}

func (s *Session) observeEnd(h *AuditEvent, err error) {
	if err != nil {
		h.Outcome, h.Error = Failed, sqlerr.ID(err)
		switch h.Error {
		case sqlerr.BudgetExhausted.ID, sqlerr.LifetimeEnded.ID, sqlerr.Frozen.ID, sqlerr.AnalystStopped.ID:
			h.Outcome = Denied
		case sqlerr.QueryCanceled.ID:
			h.Outcome = Canceled
		}
	}
	s.engine.observer.Ended(*h)
}

// options are what the settings and the policy say of every statement.
func (s *Session) options() sensitivity.Options {
	off := sensitivity.OwnerMayOffUnit
	if s.world.policy.Query.Joins == policy.JoinsAny {
		off = sensitivity.AnyOffUnit
	}
	return sensitivity.Options{OffUnit: off, MaxGroups: s.now.maxGroups, ChooseGroups: s.now.maxGroups == 0, MaxRows: s.now.clip, MaxPublicGroups: uint64(s.world.policy.Query.MaxPublicGroups),
		Public: s.world.public, DeltaZero: s.world.policy.Budget.Delta == 0, MinPeople: s.world.policy.Query.MinPeople, Norm: map[bool]sensitivity.Norm{true: sensitivity.L2}[s.now.bounding == "l2"], Split: s.now.split}
}

// usualRequest is what the session asks for, but at the policy's price for a statement: what decides which release a stage has goes by it, so that the stage has
// the same one at another price, or in a statement of more stages.
func (s *Session) usualRequest() price.Request {
	ask := s.request()
	ask.Epsilon = s.world.policy.Query.Epsilon
	return ask
}

// warning is a warning of an answer. One with a key is told once a session.
type warning struct{ key, text string }

// onceASession are the texts of warnings that the session has not been told yet. It follows from those that it was told, and so from its statements and their answers.
func (s *Session) onceASession(list []warning) (lines []string) {
	for _, w := range list {
		if w.key == "" || !s.warned[w.key] {
			lines = append(lines, w.text)
		}
	}
	for _, w := range list {
		s.noteWarned(w.key)
	}
	return lines
}

// noteWarned remembers what the session was warned of.
func (s *Session) noteWarned(words ...string) {
	if s.warned == nil {
		s.warned = map[string]bool{}
	}
	for _, w := range words {
		s.warned[w] = true
	}
}

// newGaps are those that the session is warned of now: those of rare values once a session, those at the ends of a type never (withoutEnds).
func (s *Session) newGaps(gaps []sqlgen.Gap) []sqlgen.Gap {
	out := slices.DeleteFunc(slices.Clone(gaps), func(g sqlgen.Gap) bool { return g.AtEnd || g.Rare && s.warned[g.Words] })
	for _, g := range gaps {
		s.noteWarned(g.Words)
	}
	return out
}

// payer is whom this analyst's statements count against.
func (s *Session) payer() ledger.Payer { return payerOf(s.analyst) }

// leastPart: a statement may cost no less than the usual price divided by it.
const leastPart = 1000

func (s *Session) leastEpsilon() float64 { return s.world.policy.Query.Epsilon / leastPart }
