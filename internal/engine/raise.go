package engine

import (
	"context"

	"github.com/dpsql/dpsql/internal/policy"
)

// Raise makes the larger promise of a policy, durably, and puts that policy in force: as Reload does, but that its budget or lifetime is larger. by and reason
// are for the ledger's record. If the promise was made and the policy could not be put in force, Reload does it.
func (e *Engine) Raise(ctx context.Context, p *policy.Policy, by, reason string) error {
	return e.change(ctx, p, func(w *world) error {
		head, err := Head(p, w.catalogs.Epoch())
		if err != nil {
			return err
		}
		return e.ledger.Raise(ctx, head, by, reason)
	})
}

// change puts a policy in force once what it promises stands in the ledger, which promise sees to.
func (e *Engine) change(ctx context.Context, p *policy.Policy, promise func(*world) error) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	if err := fixed(e.world.Load().policy, p); err != nil {
		return err
	}
	w, err := e.bind(ctx, p)
	if err != nil {
		return err
	}
	keys, _, err := e.textKeys(p)
	if err != nil {
		return err
	}
	if e.owned { // the unit may be another
		marks, err := DataMarks(ctx, e.backend, p)
		if err == nil {
			err = e.ledger.SetData(marks)
		}
		if err != nil {
			return err
		}
	}
	if err := promise(w); err != nil {
		return err
	}
	if err := e.enter(ctx, w); err != nil {
		return err
	}
	e.ledger.SetTextKeys(keys)
	return e.ledger.SetCache(cache(p)) // it cannot fail: the policy was checked
}
