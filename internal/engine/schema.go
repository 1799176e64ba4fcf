package engine

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
	mu      sync.Mutex
	stale   *world        // whose schema has changed; nil: none
	binding chan struct{} // closed when the attempt under way has ended; nil: none is
	tried   time.Time     // when the last attempt failed
	looked  time.Time     // when the schema was last compared
	err     error         // and what its statements are told
}

// snapshot is a transaction of a statement of a world.
type snapshot struct {
	backend.Tx
	engine *Engine
	world  *world
	marked bool // opened at the world's mark
}

// begin opens a snapshot in which the schema means what it meant in the statement's world.
//
// Proof: claim: what was planned in w may be read in the snapshot. (1) The snapshot sees the schema of the mark of w, or of the world in
// force. (2) That world is of the same policy and the same epoch, which names all that a plan rests on: relations, columns, types,
// keys, ways to units and definitions.
func (e *Engine) begin(ctx context.Context, w *world) (*snapshot, error) {
	m, ok := e.backend.(backend.Marker)
	if !ok || w.mark == nil {
		tx, err := e.backend.Begin(ctx)
		if err != nil {
			return nil, err
		}
		return &snapshot{tx, e, w, false}, nil
	}
	for tries := 0; ; tries++ {
		if now := e.world.Load(); now != w && now.hasSameMeaning(w) { // (2) the world in force is of the same policy and epoch
			w = now
		}
		tx, err := m.BeginMarked(ctx, w.mark) // (1) the snapshot sees the schema of that mark
		if err == nil {
			e.compared()
			return &snapshot{tx, e, w, true}, nil
		}
		if !errors.Is(err, backend.ErrSchema) {
			return nil, err
		}
		e.noteWorld(w)
		if tries == mostChanges || e.settle(ctx) != nil || e.world.Load() == w || !e.world.Load().hasSameMeaning(w) {
			return nil, err
		}
	}
}

// publish makes a world, whose schema was read just now, the one in force.
func (e *Engine) publish(w *world) {
	e.world.Store(w)
	e.compared()
}

// compared notes that the schema was read just now.
func (e *Engine) compared() {
	e.schema.mu.Lock()
	defer e.schema.mu.Unlock()
	e.schema.looked = time.Now()
}

// mostChanges is how many changes of the schema that mean nothing a statement goes on after.
const mostChanges = 3

// hasSameMeaning says that statements mean the same in both worlds.
func (w *world) hasSameMeaning(other *world) bool {
	return w.policy == other.policy && w.catalogs.Epoch() == other.catalogs.Epoch()
}

// confirm ends a snapshot in which rows were read: they may be used if the schema was the world's all the while.
func (s *snapshot) confirm(ctx context.Context) error {
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

func (e *Engine) noteWorld(w *world) {
	e.schema.mu.Lock()
	defer e.schema.mu.Unlock()
	if w == e.world.Load() { // a late statement of an old one says nothing new
		e.schema.stale = w
	}
}

// again is how long a schema that does not fit is left alone, and for how long stored releases answer without a look at the schema.
const again = 5 * time.Second

// settle binds the policy anew where the schema was seen to change. It is asked before a statement that reads tables is charged, or
// answered by a stored release. One attempt serves all who wait, each under its own context.
func (e *Engine) settle(ctx context.Context) error {
	c := &e.schema
	c.mu.Lock()
	due := c.stale == nil && time.Since(c.looked) > again
	if due {
		c.looked = time.Now()
	}
	c.mu.Unlock()
	if due {
		e.checkSchema(ctx)
	}
	c.mu.Lock()
	if c.stale != e.world.Load() { // none, or a reload came first
		c.stale, c.tried = nil, time.Time{}
	}
	switch {
	case c.stale == nil:
		c.mu.Unlock()
		return nil
	case c.binding == nil && time.Since(c.tried) < again:
		defer c.mu.Unlock()
		return c.err
	case c.binding == nil:
		c.binding = make(chan struct{})
		go e.rebind(c.binding) //nolint:gosec // G118: it serves all who wait, and outlives the statement that came first
	}
	done := c.binding
	c.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stale == nil {
		return nil
	}
	return c.err
}

// checkSchema compares the schema. A database that does not answer says nothing of it; stored releases are then given.
func (e *Engine) checkSchema(ctx context.Context) {
	w := e.world.Load()
	m, ok := e.backend.(backend.Marker)
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
	before := e.world.Load()
	w, err := e.bind(ctx, before.policy)
	if err == nil {
		err = e.enter(ctx, w)
	}
	e.changing.Unlock()
	c := &e.schema
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(done)
	c.binding = nil
	var misfit *policy.Error
	switch {
	case err == nil && w.hasSameMeaning(before):
		c.stale, c.tried, c.err = nil, time.Time{}, nil
		e.log.Info("the database's schema has changed; statements and stored answers mean what they did", "epoch", w.catalogs.Epoch())
		return
	case err == nil:
		c.stale, c.tried, c.err = nil, time.Time{}, nil
		e.log.Warn("the database's schema has changed; the policy was bound to it anew", "epoch", w.catalogs.Epoch())
		return
	case errors.As(err, &misfit):
		e.log.Error("the database's schema has changed and no longer fits the policy: no table is read until it does (dpsql check tells what is wrong)", "error", err.Error())
		c.err = sqlerr.New(sqlerr.SchemaChanged, "the database's schema has changed and no longer fits the policy").
			WithHint("Nothing was spent. Ask the owner of the data to run dpsql check.").WithCause(err)
	case errors.Is(err, ledger.ErrMismatch):
		c.err = e.promiseChanged(err)
	default:
		e.log.Error("the database's schema has changed and could not be read again", logged(err)...)
		c.err = sqlerr.New(sqlerr.ResourceFailure, "the statement could not be completed").
			WithHint("Nothing was spent. The database did not answer; the owner's log has the cause.").WithCause(err)
	}
	c.tried = time.Now()
}

// inSnapshot runs one printed statement in a snapshot of its own and hands its rows over.
func (e *Engine) inSnapshot(ctx context.Context, w *world, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	tx, err := e.begin(ctx, w)
	if err != nil {
		return err
	}
	defer tx.Close()
	if err := queryAll(ctx, tx, st, args, use); err != nil {
		return err
	}
	return tx.confirm(ctx)
}

// query runs one statement printed over private rows and hands its readable rows over.
func query(ctx context.Context, tx backend.Tx, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	return queryAll(ctx, tx, st, args, func(rows secret.Rows) error { return use(secret.Readable(rows)) })
}

// queryAll runs one printed statement and hands its rows over.
func queryAll(ctx context.Context, tx backend.Tx, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	bargs, want := bindArgs(st, args)
	rows, err := tx.Query(ctx, st.SQL, bargs, want)
	if err != nil {
		return err
	}
	defer rows.Close()
	return use(rows)
}

// bindArgs gives the print its parameters and says which types come back.
func bindArgs(st *sqlgen.Statement, args []sqltype.Value) ([]backend.Arg, []sqltype.Type) {
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
