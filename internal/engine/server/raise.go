package server

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/policy"
)

// Raise makes the larger promise of a policy, durably, and puts that policy in force: as Reload does, but that its budget or lifetime is larger. by and reason
// are for the ledger's record. If the promise was made and the policy could not be put in force, Reload does it.
func (e *Engine) Raise(ctx context.Context, p *policy.Policy, by, reason string) error {
	return e.change(ctx, p, func(w *World) error {
		head, err := Head(p, w.Catalogs.Epoch())
		if err != nil {
			return err
		}
		return e.Ledger.Raise(ctx, head, by, reason)
	})
}

// change puts a policy in force once what it promises stands in the ledger, which promise sees to.
func (e *Engine) change(ctx context.Context, p *policy.Policy, promise func(*World) error) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	if err := fixed(e.World.Load().Policy, p); err != nil {
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
	if e.start.owned { // the unit may be another
		marks, err := DataMarks(ctx, e.Backend, p)
		if err == nil {
			err = e.Ledger.SetData(marks)
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
	e.Ledger.SetTextKeys(keys)
	e.Watches.SetKeys(sealers(keys))
	return e.Ledger.SetCache(cache(p)) // it cannot fail: the policy was checked
}

// PromiseChanged is what analysts see of a promise that another server, or the owner, has raised.
func (e *Engine) PromiseChanged(err error) error {
	e.Log.Error("nothing is charged before this server has read the policy again: dpsql reload", "error", err.Error())
	return sqlerr.New(sqlerr.PromiseChanged, "the data set's budget was made larger, and this server has not taken that over yet").
		WithHint("Nothing was spent. Ask the owner of the data to run dpsql reload on this server. What was answered before is answered again.").WithCause(LedgerCause{Err: err})
}

// LedgerCause is a failure of the ledger. It reads no rows, and keeps what was asked, charged and released: its words, with the records that they name, may stand in the owner's log as they are.
type LedgerCause struct{ Err error }

func (c LedgerCause) Error() string { return c.Err.Error() }

func (c LedgerCause) Unwrap() error { return c.Err }

// LogText is what the log may have of it.
func (c LedgerCause) LogText() string { return c.Error() }
