package engine

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
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

// promiseChanged is what analysts see of a promise that another server, or the owner, has raised.
func (e *Engine) promiseChanged(err error) error {
	e.log.Error("nothing is charged before this server has read the policy again: dpsql reload", "error", err.Error())
	return sqlerr.New(sqlerr.PromiseChanged, "the data set's budget was made larger, and this server has not taken that over yet").
		WithHint("Nothing was spent. Ask the owner of the data to run dpsql reload on this server. What was answered before is answered again.").WithCause(ledgerCause{err: err})
}

// ledgerCause is a failure of the ledger. It reads no rows, and keeps what was asked, charged and released: its words, with the records that they name, may stand in the owner's log as they are.
type ledgerCause struct{ err error }

func (c ledgerCause) Error() string { return c.err.Error() }

func (c ledgerCause) Unwrap() error { return c.err }

func (c ledgerCause) LogText() string { return c.Error() }
