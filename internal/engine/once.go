package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
)

// askOnce looks up what is stored and asks for the rest. Where that is being asked already, in another session or by another proxy over the same ledger, it waits for the end
// of that and looks again: there is a release then, or this session is the next to ask. While it waits it has neither a reservation nor a connection. It gives the run that was answered.
// After mostWaits it is charged beside whoever asks: others' failures, and their releases under rules that it does not share, do not keep it from its question.
//
// Proof: a run that is refused by ledger.InFlightError has charged nothing and read no private row (ledger.book.inFlight, run.ask (1)); what is stored and priced is looked up again whole, by a new run.
func (r *run) askOnce(ctx context.Context, heard *AuditEvent) (answered *run, err error) {
	s := r.session
	defer func() {
		if err != nil {
			r.closeReleases()
		}
	}()
	for {
		if err := r.lookUp(ctx); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(r.stageRuns, func(a *stageRun) bool { return a.release != nil }) {
			r.releaseTurn()
		}
		err := r.ask(ctx, heard)
		var by *ledger.InFlightError
		if !errors.As(err, &by) {
			return r, err
		}
		r.closeReleases()
		r.releaseTurn()
		switch err := s.engine.ledger.Await(ctx, by.Reservation); {
		case err != nil && ctx.Err() != nil:
			return nil, s.uncharged(ctx, err)
		case err != nil:
			return nil, s.ledgerFailed(err)
		}
		next, err := newRun(ctx, r.stagedStatement, r.args)
		if err != nil {
			return nil, err
		}
		next.public, next.waits, r = r.public, r.waits+1, next
	}
}
