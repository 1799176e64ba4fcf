package engine

import (
	"errors"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/internal/policy"
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
	warned     map[string]bool   // of which rare values, and of which columns' unlisted values, the session was warned
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
