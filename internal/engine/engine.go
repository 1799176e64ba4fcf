package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Options wires an engine.
type Options struct {
	Policy     *policy.Policy
	Backend    backend.Backend
	LedgerPath string // "" = the policy's
	Logger     *slog.Logger
}

// Engine serves one data set: one policy, one backend, one ledger.
type Engine struct {
	policy   *policy.Policy
	catalogs *policy.Catalogs
	backend  backend.Backend
	dialect  funcs.Dialect
	ledger   ledger.Ledger
	filter   *budget.Filter
	noise    *noise.Source
	log      *slog.Logger
	public   *publicCache
	asking   keyedLock
	failures failureCount
}

// Open checks the policy against the live schema and takes the ledger. The backend stays the caller's to close.
func Open(ctx context.Context, opt Options) (*Engine, error) {
	p := opt.Policy
	e := &Engine{policy: p, backend: opt.Backend, dialect: funcs.Dialect(opt.Backend.Dialect()), noise: noise.NewSource(), log: opt.Logger}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	var names []backend.RelationName
	for _, n := range p.Relations() {
		names = append(names, backend.RelationName{Schema: n.Schema, Name: n.Name})
	}
	rels, err := e.backend.Describe(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("reading the database's schema: %w (%w)", err, errors.Unwrap(err))
	}
	if e.catalogs, err = p.Bind(rels); err != nil {
		return nil, err
	}
	e.public = newPublicCache(e)
	filter, err := budget.NewFilter(budget.Params{Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta, QueryEpsilon: p.Query.Epsilon,
		Accountant: p.Budget.Accountant})
	if err != nil {
		return nil, err
	}
	path := opt.LedgerPath
	if path == "" {
		path = p.Ledger.SQLite
	}
	head := ledger.Head{Dataset: p.Dataset, People: p.People, Filter: filter, Epoch: e.catalogs.Epoch()}
	e.ledger, err = ledger.OpenSQLite(ctx, path, head, ledger.Options{Cache: ledger.Cache{TTL: p.Cache.TTL, Scope: p.Cache.Scope}})
	if err != nil {
		return nil, err
	}
	e.filter = e.ledger.Filter()
	return e, nil
}

// Close gives the ledger free.
func (e *Engine) Close() error { return e.ledger.Close() }

// Database is the name that clients connect to: the data set's.
func (e *Engine) Database() string { return e.policy.Dataset }

// Verifier is an analyst's stored SCRAM verifier.
func (e *Engine) Verifier(user string) (string, bool) {
	a, ok := e.policy.Analyst(user)
	if !ok {
		return "", false
	}
	return a.Verifier, true
}

// StatementTimeout is the policy's limit on one statement.
func (e *Engine) StatementTimeout() time.Duration { return e.policy.Limits.StatementTime }

// Open begins a session of an analyst who has proved who they are. application is the client's application_name: notices are
// on for psql alone.
func (e *Engine) Open(user, application string) (*Session, error) {
	a, ok := e.policy.Analyst(user)
	if !ok {
		return nil, sqlerr.New(sqlerr.InvalidAuth, "role %q does not exist", user)
	}
	cat, err := e.catalogs.For(user)
	if err != nil {
		return nil, err
	}
	s := &Session{engine: e, analyst: a}
	s.start = settings{epsilon: min(e.policy.Query.Epsilon, a.MaxQueryEpsilon), mechanism: measure.Mechanism(e.policy.Query.Mechanism), maxGroups: e.policy.Query.MaxGroups,
		bounding: "linf", notices: "off"}
	if application == "psql" {
		s.start.notices = "brief"
	}
	s.now = s.start
	s.catalog = newSessionCatalog(s, cat)
	return s, nil
}

// keyedLock makes those who ask the same wait for one another.
type keyedLock struct {
	mu   sync.Mutex
	busy map[ledger.Hash]chan struct{}
}

// lock waits for the key, or for the context.
func (k *keyedLock) lock(ctx context.Context, key ledger.Hash) (unlock func(), err error) {
	for {
		k.mu.Lock()
		wait, taken := k.busy[key]
		if !taken {
			if k.busy == nil {
				k.busy = map[ledger.Hash]chan struct{}{}
			}
			done := make(chan struct{})
			k.busy[key] = done
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.busy, key)
				k.mu.Unlock()
				close(done)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// logged are the words of a failure that may go to the log: classes and codes, no text that could hold values.
func logged(err error) []any {
	var be *backend.Error
	if errors.As(err, &be) {
		return []any{"class", string(be.Class), "code", be.Code}
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, ledger.ErrClosed, ledger.ErrBroken} {
		if errors.Is(err, known) {
			return []any{"class", known.Error()}
		}
	}
	return []any{"class", fmt.Sprintf("%T", err)}
}
