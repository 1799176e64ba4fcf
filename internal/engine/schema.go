package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/sqlerr"
)

// The schema that a policy was bound to is compared again in each statement's snapshot, before the charge. Where it is another, the
// statement fails, and the policy is bound anew before the next: under the same epoch if nothing changed that matters, under a new one, or
// not at all, if the database no longer enforces what the policy needs. Then nothing is answered until it does again.

// schemaChange knows whether the world in force is that of a schema that was seen to change.
type schemaChange struct {
	mu      sync.Mutex
	stale   *world    // whose schema has changed; nil: none
	binding bool      // somebody is at it
	tried   time.Time // when that last failed
}

// begin opens the snapshot of a statement of a world.
func (e *Engine) begin(ctx context.Context, w *world) (backend.Tx, error) {
	m, ok := e.backend.(backend.Marker)
	if !ok || w == nil || w.mark == nil {
		return e.backend.Begin(ctx)
	}
	tx, err := m.BeginMarked(ctx, w.mark)
	if errors.Is(err, backend.ErrSchema) {
		e.schema.saw(w)
		return nil, backend.NewError(backend.FailOther, "schema", err)
	}
	return tx, err
}

func (c *schemaChange) saw(w *world) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = w
}

// again is how long a schema that does not fit is left alone.
const again = 5 * time.Second

// settled binds the policy anew where the schema was seen to change. It is asked before anything is charged.
func (c *schemaChange) settled(e *Engine) error {
	c.mu.Lock()
	if c.stale != e.world.Load() { // none, or a reload came first
		c.stale = nil
	}
	settled, wait := c.stale == nil, c.binding || time.Since(c.tried) < again
	c.binding = c.binding || !settled && !wait
	c.mu.Unlock()
	switch {
	case settled:
		return nil
	case wait: // nobody waits for a database that may not answer
		return errSchema()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := e.rebind(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.binding = false
	if err != nil {
		c.tried = time.Now()
		e.log.Error("the database's schema has changed and no longer fits the policy: nothing is answered until it does (dpsql check tells what is wrong)", "error", err.Error())
		return errSchema()
	}
	c.stale, c.tried = nil, time.Time{}
	e.log.Warn("the database's schema has changed; the policy was bound to it anew", "epoch", e.world.Load().catalogs.Epoch())
	return nil
}

func errSchema() error {
	return sqlerr.New(sqlerr.SchemaChanged, "the database's schema has changed and no longer fits the policy").
		WithHint("Nothing was spent. Ask the owner of the data to run dpsql check.")
}

// rebind binds the policy in force to the schema as it is now.
func (e *Engine) rebind(ctx context.Context) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	w, err := e.bind(ctx, e.world.Load().policy)
	if err != nil {
		return err
	}
	return e.enter(ctx, w)
}
