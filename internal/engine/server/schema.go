package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// The schema that a policy was bound to is compared in each statement's snapshot, before the charge, and once more when its rows
// were read. Where it is another, the policy is bound anew: under the same epoch if nothing changed that matters, and the statement
// goes on; under a new one, or not at all, if the database no longer enforces what the policy needs, and the statement fails. Where
// the policy does not fit, no table is read until it does again.

// schemaChange knows whether the world in force is that of a schema that was seen to change.
type schemaChange struct {
	Mu      sync.Mutex
	stale   *World        // whose schema has changed; nil: none
	binding chan struct{} // closed when the attempt under way has ended; nil: none is
	Tried   time.Time     // when the last attempt failed
	Looked  time.Time     // when the schema was last compared
	err     error         // and what its statements are told
}

// Snapshot is a transaction of a statement of a world.
type Snapshot struct {
	backend.Tx
	engine *Engine
	world  *World
	marked bool // opened at the world's mark
}

// Begin opens a snapshot in which the schema means what it meant in the statement's world.
//
// Proof: claim: what was planned in w may be read in the snapshot. (1) The snapshot sees the schema of the mark of w, or of the world in
// force. (2) That world is of the same policy and the same epoch, which names all that a plan rests on: relations, columns, types,
// keys, ways to units and definitions.
func (e *Engine) Begin(ctx context.Context, w *World) (*Snapshot, error) {
	m, ok := e.Backend.(backend.Marker)
	if !ok || w.mark == nil {
		tx, err := e.Backend.Begin(ctx)
		if err != nil {
			return nil, err
		}
		return &Snapshot{tx, e, w, false}, nil
	}
	for tries := 0; ; tries++ {
		if now := e.World.Load(); now != w && now.hasSameMeaning(w) { // (2) the world in force is of the same policy and epoch
			w = now
		}
		tx, err := m.BeginMarked(ctx, w.mark) // (1) the snapshot sees the schema of that mark
		if err == nil {
			e.compared()
			return &Snapshot{tx, e, w, true}, nil
		}
		if !errors.Is(err, backend.ErrSchema) {
			return nil, err
		}
		e.noteWorld(w)
		if tries == mostChanges || e.Settle(ctx) != nil || e.World.Load() == w || !e.World.Load().hasSameMeaning(w) {
			return nil, err
		}
	}
}

// publish makes a world, whose schema was read just now, the one in force.
func (e *Engine) publish(w *World) {
	e.World.Store(w)
	e.compared()
}

// compared notes that the schema was read just now.
func (e *Engine) compared() {
	e.Schema.Mu.Lock()
	defer e.Schema.Mu.Unlock()
	e.Schema.Looked = time.Now()
}

// mostChanges is how many changes of the schema that mean nothing a statement goes on after.
const mostChanges = 3

// hasSameMeaning says that statements mean the same in both worlds.
func (w *World) hasSameMeaning(other *World) bool {
	return w.Policy == other.Policy && w.Catalogs.Epoch() == other.Catalogs.Epoch()
}

// Confirm ends a snapshot in which rows were read: they may be used if the schema was the world's all the while.
func (s *Snapshot) Confirm(ctx context.Context) error {
	if !s.marked {
		return nil
	}
	c, ok := s.Tx.(backend.Confirmer)
	if !ok {
		return backend.NewError(backend.FailOther, "mark", fmt.Errorf("engine: a marked transaction of type %T cannot be confirmed", s.Tx))
	}
	err := c.Confirm(ctx)
	if errors.Is(err, backend.ErrSchema) {
		s.engine.noteWorld(s.world)
	}
	return err
}

func (e *Engine) noteWorld(w *World) {
	e.Schema.Mu.Lock()
	defer e.Schema.Mu.Unlock()
	if w == e.World.Load() { // a late statement of an old one says nothing new
		e.Schema.stale = w
	}
}

// again is how long a schema that does not fit is left alone, and for how long stored releases answer without a look at the schema.
const again = 5 * time.Second

// Settle binds the policy anew where the schema was seen to change. It is asked before a statement that reads tables is charged, or
// answered by a stored release. One attempt serves all who wait, each under its own context.
func (e *Engine) Settle(ctx context.Context) error {
	c := &e.Schema
	c.Mu.Lock()
	due := c.stale == nil && time.Since(c.Looked) > again
	if due {
		c.Looked = time.Now()
	}
	c.Mu.Unlock()
	if due {
		e.checkSchema(ctx)
	}
	c.Mu.Lock()
	if c.stale != e.World.Load() { // none, or a reload came first
		c.stale, c.Tried = nil, time.Time{}
	}
	switch {
	case c.stale == nil:
		c.Mu.Unlock()
		return nil
	case c.binding == nil && time.Since(c.Tried) < again:
		defer c.Mu.Unlock()
		return c.err
	case c.binding == nil:
		c.binding = make(chan struct{})
		go e.rebind(c.binding) //nolint:gosec // G118: it serves all who wait, and outlives the statement that came first
	}
	done := c.binding
	c.Mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.stale == nil {
		return nil
	}
	return c.err
}

// checkSchema compares the schema. A database that does not answer says nothing of it; stored releases are then given.
func (e *Engine) checkSchema(ctx context.Context) {
	w := e.World.Load()
	m, ok := e.Backend.(backend.Marker)
	if !ok || w.mark == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, again)
	defer cancel()
	tx, err := m.BeginMarked(ctx, w.mark)
	switch {
	case errors.Is(err, backend.ErrSchema):
		e.noteWorld(w)
	case err == nil:
		tx.Close()
	}
}

// rebind binds the policy in force to the schema as it is now, and publishes what came of it.
func (e *Engine) rebind(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	e.changing.Lock()
	before := e.World.Load()
	w, err := e.bind(ctx, before.Policy)
	if err == nil {
		err = e.enter(ctx, w)
	}
	e.changing.Unlock()
	c := &e.Schema
	c.Mu.Lock()
	defer c.Mu.Unlock()
	defer close(done)
	c.binding = nil
	var misfit *policy.Error
	switch {
	case err == nil && w.hasSameMeaning(before):
		c.stale, c.Tried, c.err = nil, time.Time{}, nil
		e.Log.Info("the database's schema has changed; statements and stored answers mean what they did", "epoch", w.Catalogs.Epoch())
		return
	case err == nil:
		c.stale, c.Tried, c.err = nil, time.Time{}, nil
		e.Log.Warn("the database's schema has changed; the policy was bound to it anew", "epoch", w.Catalogs.Epoch())
		return
	case errors.As(err, &misfit):
		e.Log.Error("the database's schema has changed and no longer fits the policy: no table is read until it does (dpsql check tells what is wrong)", "error", err.Error())
		c.err = sqlerr.New(sqlerr.SchemaChanged, "the database's schema has changed and no longer fits the policy").
			WithHint("Nothing was spent. Ask the owner of the data to run dpsql check.").WithCause(err)
	case errors.Is(err, ledger.ErrMismatch):
		c.err = e.PromiseChanged(err)
	default:
		e.Log.Error("the database's schema has changed and could not be read again", Logged(err)...)
		c.err = sqlerr.New(sqlerr.ResourceFailure, "the statement could not be completed").
			WithHint("Nothing was spent. The database did not answer; the owner's log has the cause.").WithCause(err)
	}
	c.Tried = time.Now()
}

// InSnapshot runs one printed statement in a snapshot of its own and hands its rows over.
func (e *Engine) InSnapshot(ctx context.Context, w *World, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	tx, err := e.Begin(ctx, w)
	if err != nil {
		return err
	}
	defer tx.Close()
	if err := queryAll(ctx, tx, st, args, use); err != nil {
		return err
	}
	return tx.Confirm(ctx)
}

// Query runs one statement printed over private rows and hands its readable rows over.
func Query(ctx context.Context, tx backend.Tx, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	return queryAll(ctx, tx, st, args, func(rows secret.Rows) error { return use(secret.Readable(rows)) })
}

// queryAll runs one printed statement and hands its rows over.
func queryAll(ctx context.Context, tx backend.Tx, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	bargs, want := BindArgs(st, args)
	rows, err := tx.Query(ctx, st.SQL, bargs, want)
	if err != nil {
		return err
	}
	defer rows.Close()
	return use(rows)
}

// BindArgs gives the print its parameters and says which types come back.
func BindArgs(st *sqlgen.Statement, args []sqltype.Value) ([]backend.Arg, []sqltype.Type) {
	bargs := make([]backend.Arg, len(st.Args))
	for i, a := range st.Args {
		v := a.Value
		if a.Param > 0 {
			v = args[a.Param-1]
		}
		bargs[i] = backend.Arg{Type: a.Type, Value: v}
	}
	want := make([]sqltype.Type, len(st.Columns))
	for i, c := range st.Columns {
		want[i] = c.Type
	}
	return bargs, want
}
