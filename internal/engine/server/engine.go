package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Options wires an engine.
type Options struct {
	Policy     *policy.Policy
	Backend    backend.Backend
	LedgerPath string // "" = the policy's
	Logger     *slog.Logger
	Observer   Observer         // nil: nobody watches
	Now        func() time.Time // the ledger's clock; nil: time.Now
}

// Engine serves one data set: one policy, one backend, one ledger.
type Engine struct {
	World    atomic.Pointer[World]
	Backend  backend.Backend
	Dialect  dialect.Dialect
	Ledger   ledger.Ledger
	Models   *mlext.Store
	Watches  *watches.Store
	Now      func() time.Time
	Noise    *noise.Source
	Log      *slog.Logger
	Observer Observer
	Unnoted  UnnotedFailures
	Queues   Queues
	Schema   schemaChange
	Hooks    Hooks
	start    start
	changing sync.Mutex // one reload at a time
}

// Queues are where statements wait for one another.
type Queues struct {
	Asking       keyedLock   // those that ask the same
	Turns        Turns       // of one analyst, to read the database
	Decoding     Turns       // of one analyst, to read large releases
	Synthetic    Turns       // of one analyst, to hold rows of synthetic tables
	AllSynthetic Turns       // of all analysts
	Pairs        flow.Memory // of rows of two units
}

// start is what an engine keeps from its opening until it ends.
type start struct {
	beside  string // the ledger's path, of a shared one its mark's
	answers int64  // limits.answer_memory
	owned   bool   // the ledger is the policy's
}

// Hooks are set by tests.
type Hooks struct {
	After    func(time.Duration) <-chan time.Time // in place of time.After, for words of progress
	Collects func(*mlext.Collector)               // sees the rows of each training as it begins to read them
}

// World is a policy bound to a schema: what a reload replaces as a whole.
type World struct {
	Policy   *policy.Policy
	Catalogs *policy.Catalogs
	Public   plan.PublicReader
	answers  int64        // limits.answer_memory, as the server started with it
	mark     backend.Mark // of the schema; nil where the backend's cannot change

	Published sync.Map // what each analyst's sessions read of PostgreSQL's catalogs
}

// Open checks the policy against the live schema and takes the ledger. The backend stays the caller's to close.
func Open(ctx context.Context, opt Options) (*Engine, error) {
	p := opt.Policy
	e := &Engine{Backend: opt.Backend, Dialect: opt.Backend.Dialect(), Noise: noise.NewSource(), Log: opt.Logger, Observer: opt.Observer, Now: opt.Now, start: start{answers: p.Limits.AnswerMemory}}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	if e.Observer == nil {
		e.Observer = noObserver{}
	}
	if err := funcs.CheckDialect(e.Dialect); err != nil {
		return nil, err
	}
	w, err := e.bind(ctx, p)
	if err != nil {
		return nil, err
	}
	head, err := Head(p, w.Catalogs.Epoch())
	if err != nil {
		return nil, err
	}
	e.start.owned = opt.LedgerPath == "" // not of a rehearsal or a demo
	var keys []*ledger.Key
	if e.Ledger, keys, err = e.openLedger(ctx, opt, head); err != nil {
		return nil, err
	}
	if e.Models, err = openModels(opt); err != nil {
		return nil, errors.Join(err, e.Ledger.Close())
	}
	if e.Watches, err = openWatches(opt, keys); err != nil {
		return nil, errors.Join(err, e.Ledger.Close(), e.Models.Close())
	}
	e.publish(w)
	if e.Ledger.IsUnmarked() {
		e.Log.Warn("no mark lay beside the ledger, so nothing tells whether it is the newest: if this machine has served it before, look whether it was put back from a backup; the ledger's record of this opening says it too")
	}
	if e.Ledger.IsNew() && e.start.owned {
		at := ledger.Place{SQLite: p.Ledger.SQLite, Postgres: ledger.Server{URL: p.Ledger.Postgres}}
		e.Log.Warn("a new ledger was begun: nothing is spent in it. If anything was asked under this policy before, stop and bring the ledger back, or move it with dpsql budget move", "ledger", at.String())
	}
	return e, nil
}

// openLedger takes the policy's ledger, or takes part in it, with the keys of its texts.
func (e *Engine) openLedger(ctx context.Context, opt Options, head ledger.Head) (ledger.Ledger, []*ledger.Key, error) {
	with := ledger.Options{Cache: cache(opt.Policy), Now: opt.Now}
	with.Broken = func(b *ledger.BrokenRelease) {
		e.Log.Error("a stored release is broken: it answers nothing, and who asks is charged anew", "record", b.Seq, "error", b.Error())
	}
	var err error
	if e.start.owned {
		with.Data, err = DataMarks(ctx, opt.Backend, opt.Policy)
	}
	if err != nil {
		return nil, nil, err
	}
	l, err := openAt(ctx, opt, head, with)
	if err != nil {
		return nil, nil, err
	}
	e.start.beside = besideOf(opt)
	keys, made, err := e.textKeys(opt.Policy)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	l.SetTextKeys(keys)
	if made && !l.IsNew() {
		e.Log.Warn("a new key of statements' texts was made: texts that were stored under another key are not shown. If there was one, on this machine or beside another proxy, bring it back", "file", e.start.beside+ledger.KeySuffix)
	}
	return l, keys, nil
}

func openAt(ctx context.Context, opt Options, head ledger.Head, with ledger.Options) (ledger.Ledger, error) {
	p := opt.Policy
	switch {
	case opt.LedgerPath != "":
		return ledger.OpenSQLite(ctx, opt.LedgerPath, head, with)
	case p.Ledger.Postgres != "":
		return ledger.OpenPostgres(ctx, ledger.Server{URL: p.Ledger.Postgres, Path: p.Ledger.Beside}, head, with)
	}
	with.Mark = p.Ledger.Shared // it may have been in PostgreSQL, or in that file
	return ledger.OpenSQLite(ctx, p.Ledger.SQLite, head, with)
}

// ModelsSuffix and WatchesSuffix name the files of models and of watches beside a SQLite ledger.
const (
	ModelsSuffix  = "-models"
	WatchesSuffix = "-watches"
)

// openWatches opens the store of watches, beside the ledger.
func openWatches(opt Options, keys []*ledger.Key) (*watches.Store, error) {
	p := opt.Policy
	at := ledger.Place{SQLite: p.Ledger.SQLite, Postgres: ledger.Server{URL: p.Ledger.Postgres}}
	switch {
	case opt.LedgerPath != "":
		at = ledger.Place{SQLite: opt.LedgerPath}
	case at.Postgres.URL != "":
		at.SQLite = ""
	}
	return WatchesAt(at, p.Dataset, keys)
}

// WatchesOf is the store of a policy's watches, for its owner.
func WatchesOf(p *policy.Policy, keys []*ledger.Key) (*watches.Store, error) {
	return openWatches(Options{Policy: p}, keys)
}

// WatchesAt is the store of the watches beside a ledger.
func WatchesAt(at ledger.Place, dataset string, keys []*ledger.Key) (s *watches.Store, err error) {
	if at.SQLite != "" {
		s, err = watches.OpenFile(at.SQLite+WatchesSuffix, dataset)
	} else {
		s, err = watches.OpenServer(at.Postgres.URL, dataset)
	}
	if err == nil {
		s.SetKeys(sealers(keys))
	}
	return s, err
}

// sealers are keys of texts as watches are sealed by them.
func sealers(keys []*ledger.Key) []watches.Sealer {
	out := make([]watches.Sealer, len(keys))
	for i, k := range keys {
		out[i] = k
	}
	return out
}

// openModels opens the store of models, beside the ledger.
func openModels(opt Options) (*mlext.Store, error) {
	p := opt.Policy
	var key mlext.Sealer
	if k := cache(p).Key; k != nil {
		key = k
	}
	switch {
	case opt.LedgerPath != "":
		return mlext.OpenFile(opt.LedgerPath+ModelsSuffix, p.Dataset, key)
	case p.Ledger.Postgres != "":
		return mlext.OpenServer(p.Ledger.Postgres, p.Dataset, key)
	}
	return mlext.OpenFile(p.Ledger.SQLite+ModelsSuffix, p.Dataset, key)
}

// Head is what a policy promises, as the ledger keeps it.
func Head(p *policy.Policy, epoch string) (ledger.Head, error) {
	filter, err := budget.NewFilter(budget.Params{Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta, QueryEpsilon: p.Query.Epsilon,
		Accountant: p.Budget.Accountant})
	h := ledger.Head{Dataset: p.Dataset, People: p.People, Filter: filter, Window: p.Budget.Per, Epoch: epoch}
	if p.Budget.Lifetime > 0 {
		h.Lifetime = &ledger.Lifetime{Epsilon: p.Budget.Lifetime}
	}
	return h, err
}

func cache(p *policy.Policy) ledger.Cache {
	c := ledger.Cache{TTL: p.Cache.TTL, Scope: p.Cache.Scope}
	if p.Cache.Key != "" {
		key, err := ledger.NewKey([]byte(p.Cache.Key))
		if err != nil {
			panic("engine: the policy has checked its key: " + err.Error())
		}
		c.Key = key
	}
	return c
}

// bind checks a policy against the live schema.
func (e *Engine) bind(ctx context.Context, p *policy.Policy) (*World, error) {
	w := &World{Policy: p, answers: e.start.answers}
	if m, ok := e.Backend.(backend.Marker); ok {
		mark, err := m.Mark(ctx, relationNames(p))
		if err != nil {
			return nil, schemaError(err)
		}
		w.mark = mark
	}
	rels, err := Describe(ctx, e.Backend, p)
	if err != nil {
		return nil, err
	}
	if w.Catalogs, err = p.Bind(rels); err != nil {
		return nil, err
	}
	for _, d := range w.Catalogs.CopyWarnings() {
		e.Log.Warn("a public table may hold rows of people: run dpsql check", "table", d.Table, "error", d.Says)
	}
	w.Public = newPublicCache(e, w)
	return w, nil
}

// Describe reads what the database says of the policy's tables.
func Describe(ctx context.Context, b backend.Backend, p *policy.Policy) ([]sqltype.Relation, error) {
	rels, err := b.Describe(ctx, relationNames(p))
	if err != nil {
		return nil, schemaError(err)
	}
	return rels, nil
}

func schemaError(err error) error {
	return fmt.Errorf("reading the database's schema: %w (%w)", err, errors.Unwrap(err))
}

func relationNames(p *policy.Policy) (names []backend.RelationName) {
	for _, n := range p.Relations() {
		names = append(names, backend.RelationName(n))
	}
	return names
}

// Reload puts another policy in force, for running sessions too: rights, prices, bounds, descriptions. What was promised and what
// is open stays: another data set, people, backend or ledger, or a budget that was not promised, is refused, and then the old policy goes on whole. A change
// of what answers mean opens a new epoch of the ledger, which forgets no charge.
func (e *Engine) Reload(ctx context.Context, p *policy.Policy) error {
	return e.change(ctx, p, func(*World) error { return nil })
}

// enter puts a world in force.
func (e *Engine) enter(ctx context.Context, w *World) error {
	head, err := Head(w.Policy, w.Catalogs.Epoch())
	if err != nil {
		return err
	}
	if err := e.Ledger.SetHead(ctx, head); errors.Is(err, ledger.ErrMismatch) {
		return errors.Join(errChanged("budget"), err)
	} else if err != nil {
		return err
	}
	e.publish(w)
	return nil
}

// fixed refuses what a running server cannot change.
func fixed(a, b *policy.Policy) error {
	for _, f := range []struct {
		key  string
		same bool
	}{
		{"dataset", a.Dataset == b.Dataset}, {"people", a.People == b.People}, {"ledger", a.Ledger == b.Ledger},
		{"backend", a.Backend.Postgres == b.Backend.Postgres && a.Backend.DuckDB == b.Backend.DuckDB && a.Backend.Files == b.Backend.Files &&
			maps.Equal(a.Backend.Settings, b.Backend.Settings)},
	} {
		if !f.same {
			return errChanged(f.key)
		}
	}
	return nil
}

func errChanged(key string) error {
	return fmt.Errorf("%s has changed, which a running server does not take over: restore it, or stop the server and start it with the new policy "+
		"(a budget that was promised stays in the ledger; dpsql budget raise makes a larger one)", key)
}

// Post goes to the other proxies over the ledger; nil where there can be none.
func (e *Engine) Post() *ledger.Post {
	if l, shared := e.Ledger.(*ledger.Postgres); shared {
		return l.Post()
	}
	return nil
}

// Close gives the ledger free.
func (e *Engine) Close() error {
	return errors.Join(e.Ledger.Close(), e.Models.Close(), e.Watches.Close())
}

// Policy is the one in force.
func (e *Engine) Policy() *policy.Policy { return e.World.Load().Policy }

// Database is the name that clients connect to: the data set's.
func (e *Engine) Database() string { return e.Policy().Dataset }

// Verifier is an analyst's stored SCRAM verifier.
func (e *Engine) Verifier(user string) (string, bool) {
	a, ok := e.Policy().Analyst(user)
	if !ok {
		return "", false
	}
	return a.Verifier, true
}

// keyedLock makes those who ask the same wait for one another.
type keyedLock struct {
	mu   sync.Mutex
	busy map[ledger.Hash]chan struct{}
}

// Lock waits for the key, or for the context.
func (k *keyedLock) Lock(ctx context.Context, key ledger.Hash) (unlock func(), err error) {
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

// Logged are the words of a failure that may go to the log: classes and codes, no text that could hold values.
func Logged(err error) []any {
	var be *backend.Error
	if errors.As(err, &be) {
		return []any{"class", string(be.Class), "code", be.Code}
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, ledger.ErrClosed, ledger.ErrBroken, flow.ErrMemory} {
		if errors.Is(err, known) {
			return []any{"class", known.Error()}
		}
	}
	var failed *mlext.Failure
	if errors.As(err, &failed) {
		return []any{"class", "training", "cause", failed.Error()}
	}
	return []any{"class", fmt.Sprintf("%T", err)}
}

// ResourceFailure is the one error of every failure after the charge. Which limit was met may follow from private rows.
//
// Proof: claim: its text is a function of the policy. Message and hint are made of constants and of the policy's limits alone; err is kept as the cause, which the proxy writes to the log and to no client.
func (w *World) ResourceFailure(err error) error {
	return sqlerr.New(sqlerr.ResourceFailure, "the statement could not be completed").
		WithHint("%s A limit was reached, or the database failed; which, is in the owner's log alone. The limits that may end a charged statement, which the owner can raise: %s. Ask the owner before you repeat it: %d such failures stop your statements.",
			sqlerr.StaysSpent, w.Policy.AfterCharge(), ledger.MaxFailures).WithCause(err)
}
