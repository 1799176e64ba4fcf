package session

import (
	"context"
	"errors"
	"math"
	"syscall"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/mlext"
)

// NotStopped refuses an analyst with too many resource failures before anything is opened or drawn. The ledger refuses the reservation of one who was stopped since.
func (s *Session) NotStopped() error {
	if s.Engine.Ledger.IsStopped(s.Analyst.Name) || s.Engine.Unnoted.Of(s.Analyst.Name) >= ledger.MaxFailures {
		return stopped()
	}
	return nil
}

func stopped() error {
	return sqlerr.New(sqlerr.AnalystStopped, "this analyst's private statements are stopped after %d that ran out of a resource", ledger.MaxFailures).
		WithHint("Ask the owner of the data to look at the log and to run dpsql unfreeze. Answers that were released before are still given.")
}

// OpenCharge is a reservation of the ledger while it is open.
type OpenCharge struct{ ID int64 } // 0: it was not made, or is closed

// ResourceFailed is the end of everything that fails after the reservation: the charge stays, and the client sees one fixed
// error, or its own cancel.
func (s *Session) ResourceFailed(ctx context.Context, open []*OpenCharge, err error) error {
	canceled := clientCanceled(ctx)
	class := ledger.FailResource
	switch {
	case canceled:
		class = "canceled"
	case errors.Is(err, backend.ErrSchema): // the owner's doing: no private row had a part in it
		class = "schema"
	}
	s.Engine.Log.Error("a private statement failed after its charge", append([]any{"analyst", s.Analyst.Name, "reservation", open[0].ID, "end", class, "limit", limitOf(ctx, err)}, server.Logged(err)...)...)
	if !canceled { // a client's own cancel is no failure; its reservation is abandoned, that is, spent
		s.noteFailure(context.WithoutCancel(ctx), open, class)
	}
	if class == "schema" {
		return sqlerr.New(sqlerr.SchemaChanged, "the database's schema changed while the statement ran").
			WithHint(sqlerr.StaysSpent + " Ask again: the statement is then read under the new schema.").WithCause(err)
	}
	return s.failed(ctx, err)
}

// noteFailure closes a statement's reservations: one failure, however many its stages.
func (s *Session) noteFailure(ctx context.Context, open []*OpenCharge, class string) {
	for i, a := range open {
		as := class
		if class == ledger.FailResource && i > 0 {
			as = ledger.FailStage
		}
		if err := s.Engine.Ledger.Fail(ctx, a.ID, as); err != nil {
			s.Engine.Log.Error("the ledger could not note a failure", append(server.Logged(err), "error", err.Error())...)
			if as == ledger.FailResource {
				s.Engine.Unnoted.Add(s.Analyst.Name)
			}
			continue
		}
		a.ID = 0
	}
}

// failed is what the client sees of a failure that is not its own mistake.
func (s *Session) failed(ctx context.Context, err error) error {
	if clientCanceled(ctx) {
		return sqlerr.New(sqlerr.QueryCanceled, "canceling statement due to user request").WithHint(sqlerr.ChargedAgain).WithCause(err)
	}
	return s.World.ResourceFailure(err)
}

// limitOf is the limit that a failure met, for the owner's log: what raises it, or where it is.
func limitOf(ctx context.Context, err error) string {
	var be *backend.Error
	var failed *mlext.Failure
	switch {
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return "limits.statement_time"
	case errors.Is(err, flow.ErrMemory):
		return "limits.flow_memory"
	case errors.Is(err, release.ErrLarge):
		return "limits.release_groups"
	case errors.Is(err, spool.ErrLarge), errors.Is(err, ErrLargeRelease):
		return "limits.release_bytes"
	case errors.Is(err, syscall.ENOSPC):
		return "the disk of this server"
	case errors.As(err, &be) && be.Class == backend.FailTimeout:
		return "a time-out of the database"
	case errors.As(err, &be) && be.Class == backend.FailResource:
		return "memory or disk of the database"
	case errors.As(err, &failed):
		return "of the training: see cause"
	}
	return "none"
}

func clientCanceled(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrTimeout)
}

// CanStore refuses, before its charge, a statement whose release its analyst or the ledger's disk has no room for. bytes is what a release of public groups may take, and 0 of groups
// that are chosen: these count once they are stored. All of it follows from what was released, the policy and the disk.
func (s *Session) CanStore(ctx context.Context, bytes uint64) error {
	if s.World.Policy.Cache.TTL == 0 {
		bytes = 0
	}
	models, err := s.Engine.Models.Bytes(ctx, s.Analyst.Name)
	if err != nil { // who cannot train fills nothing
		s.Engine.Log.Error("the models cannot be counted", "analyst", s.Analyst.Name, "error", err.Error())
	}
	held, most := uint64(s.Engine.Ledger.StoredBytes(s.Analyst.Name)+models), uint64(s.World.Policy.Limits.StoredBytes) //nolint:gosec // not negative
	if held >= most || bytes > most-held {
		return sqlerr.New(sqlerr.DiskFull, "your stored answers and models take %d bytes, and this one may take %d; limits.stored_bytes is %d", held, bytes, most).
			WithHint("Nothing was spent. Wait until stored answers expire, drop a model (DROP DP MODEL), ask for fewer groups, or ask the owner to raise limits.stored_bytes.")
	}
	if err := s.Engine.Ledger.Room(int64(min(bytes, math.MaxInt64))); err != nil { //nolint:gosec // the least
		s.Engine.Log.Error("the ledger's disk is nearly full", "analyst", s.Analyst.Name, "error", err.Error())
		return sqlerr.New(sqlerr.DiskFull, "the disk of the budget's ledger is nearly full").
			WithHint("Nothing was spent. Ask the owner of the data for space; what is stored is answered meanwhile.").WithCause(server.LedgerCause{Err: err})
	}
	return nil
}

// LedgerFailed is the error of a statement that the ledger refused or failed: nothing is answered that the ledger does not hold, nor to whom the owner has frozen, nor under a promise that is no longer the one that this server has read.
func (s *Session) LedgerFailed(err error) error {
	if errors.Is(err, ledger.ErrFrozen) {
		return sqlerr.New(sqlerr.Frozen, "the owner of the data has stopped this analyst's statements").
			WithHint("Nothing was spent. Ask the owner. Answers are given again once the freeze is lifted.").WithCause(server.LedgerCause{Err: err})
	}
	if errors.Is(err, ledger.ErrStopped) {
		return stopped()
	}
	if errors.Is(err, ledger.ErrPromise) {
		return s.Engine.PromiseChanged(err)
	}
	s.Engine.Log.Error("the ledger failed", append([]any{"analyst", s.Analyst.Name, "error", err.Error()}, server.Logged(err)...)...)
	return sqlerr.New(sqlerr.LedgerFailure, "the budget's ledger is not available").
		WithHint("Nothing can be answered before the owner of the data has looked at it.").WithCause(server.LedgerCause{Err: err})
}

// Abandon closes what a statement leaves open: its client cancelled it, its release could not be stored, or it ended in a panic. The charge stays, and whoever waits for a
// release goes on without one.
func (s *Session) Abandon(ctx context.Context, open []*OpenCharge) {
	var ids []int64
	for _, a := range open {
		if a.ID != 0 {
			ids = append(ids, a.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	if err := s.Engine.Ledger.Abandon(context.WithoutCancel(ctx), ids); err != nil {
		s.Engine.Log.Error("the ledger could not close what was abandoned", append(server.Logged(err), "error", err.Error())...)
	}
}

// ErrLargeRelease says that a release cannot be stored.
var ErrLargeRelease = errors.New("a release is over limits.release_bytes, or over what a ledger stores beside its records")

// Unfinished is the end of a statement whose answer the database could not compute from the releases.
func (s *Session) Unfinished(ctx context.Context, err error) error {
	if of := OfValues(err); of != nil {
		return of
	}
	s.Engine.Log.Error("an answer was not computed from its releases", append([]any{"analyst", s.Analyst.Name}, server.Logged(err)...)...)
	if clientCanceled(ctx) {
		return sqlerr.New(sqlerr.QueryCanceled, "canceling statement due to user request").WithCause(err)
	}
	return sqlerr.New(sqlerr.ResourceFailure, "the answer could not be computed from what was released").
		WithHint("What was released is stored: ask again, which costs nothing more. The database did not answer, or the time or another limit was reached; the owner's log has the cause.").WithCause(err)
}

// ModelsFailed passes what the analyst can do something about, and hides the store's own failures.
func (s *Session) ModelsFailed(ctx context.Context, err error) error {
	return s.storeFailed(ctx, "models", err)
}

// WatchesFailed is ModelsFailed for the watches' store.
func (s *Session) WatchesFailed(ctx context.Context, err error) error {
	return s.storeFailed(ctx, "watches", err)
}

func (s *Session) storeFailed(ctx context.Context, what string, err error) error {
	if sqlerr.ID(err) != "" {
		return err
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return s.Uncharged(ctx, err)
	}
	s.Engine.Log.Error("the "+what+"' store failed", append([]any{"analyst", s.Analyst.Name, "error", err.Error()}, server.Logged(err)...)...)
	return sqlerr.New(sqlerr.ResourceFailure, "the %s cannot be read now", what).WithHint("Ask the owner of the data, whose log has the cause.").WithCause(err)
}

// Planned is the error of planning, which stops where the statement's context has ended: that is told as Uncharged tells it.
func (s *Session) Planned(ctx context.Context, err error) error {
	if err != nil && sqlerr.ID(err) == "" && errors.Is(err, ctx.Err()) {
		return s.Uncharged(ctx, err)
	}
	return err
}

// Uncharged is the end of a statement that failed before anything was charged.
func (s *Session) Uncharged(ctx context.Context, err error) error {
	s.Engine.Log.Error("a statement failed before any charge", append([]any{"analyst", s.Analyst.Name}, server.Logged(err)...)...)
	if clientCanceled(ctx) {
		return sqlerr.New(sqlerr.QueryCanceled, "canceling statement due to user request").WithCause(err)
	}
	if errors.Is(err, backend.ErrSchema) {
		return sqlerr.New(sqlerr.SchemaChanged, "the database's schema has changed").
			WithHint("Nothing was spent. Ask again: the statement is then read under the new schema.").WithCause(err)
	}
	return sqlerr.New(sqlerr.ResourceFailure, "the statement could not be completed").
		WithHint("Nothing was spent. The database did not answer, the time or another limit was reached, or it could not compute with a public table's values; the owner's log has the cause.").WithCause(err)
}

// NotFrozen refuses an analyst whom the owner has stopped.
func (s *Session) NotFrozen(ctx context.Context) error {
	_, _, err := s.Engine.Ledger.Lookup(ctx, ledger.Hash{}, s.Analyst.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return s.Uncharged(ctx, err)
	case err != nil:
		return s.LedgerFailed(err)
	}
	return nil
}

// LookFailed counts a look of a watch that failed at private rows, as a statement's failure after its charge is counted.
func (s *Session) LookFailed(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, backend.ErrSchema) || errors.Is(context.Cause(ctx), ErrTimeout) {
		s.Engine.Unnoted.Add(s.Analyst.Name)
	}
}
