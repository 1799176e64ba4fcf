package private

import (
	"context"
	"errors"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/server"
)

// AskOnce looks up what is stored and asks for the rest. Where that is being asked already, in another session or by another proxy over the same ledger, it waits for the end
// of that and looks again: there is a release then, or this session is the next to ask. While it waits it has neither a reservation nor a connection. It gives the run that was answered.
// After mostWaits it is charged beside whoever asks: others' failures, and their releases under rules that it does not share, do not keep it from its question.
//
// Proof: a run that is refused by ledger.InFlightError has charged nothing and read no private row (ledger.book.inFlight, Run.ask (1)); what is stored and priced is looked up again whole, by a new run.
func (r *Run) AskOnce(ctx context.Context, event *server.AuditEvent) (answered *Run, err error) {
	s := r.Session
	defer func() {
		if err != nil {
			r.CloseReleases()
		}
	}()
	for {
		if err := r.LookUp(ctx); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(r.StageRuns, func(a *StageRun) bool { return a.Release != nil }) {
			r.ReleaseTurn()
		}
		err := r.ask(ctx, event)
		var by *ledger.InFlightError
		if !errors.As(err, &by) {
			return r, err
		}
		r.CloseReleases()
		r.ReleaseTurn()
		switch err := s.Engine.Ledger.Await(ctx, by.Reservation); {
		case err != nil && ctx.Err() != nil:
			return nil, s.Uncharged(ctx, err)
		case err != nil:
			return nil, s.LedgerFailed(err)
		}
		next, err := NewRun(ctx, r.Staged, r.args)
		if err != nil {
			return nil, err
		}
		next.PublicRows, next.waits, r = r.PublicRows, r.waits+1, next
	}
}
