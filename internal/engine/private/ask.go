package private

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/flow"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// Lock makes the sessions of one analyst that ask for the same releases at the same price wait for one another, in one order for all. Others who ask the same wait for a reservation alone (AskOnce): who has
// none, since other statements have this analyst's turns, or whose price is too small for them, keeps nobody waiting.
func (r *Run) Lock(ctx context.Context) (unlock func(), err error) {
	var keys []ledger.Hash
	if r.Under.Fresh { // it is not to be answered by another's release
		return func() {}, nil
	}
	for _, a := range r.StageRuns { // who holds these has those that read them to themselves
		if !a.known {
			continue
		}
		both := []ledger.Hash{a.key}
		if other := a.RivalStage(); other != nil { // whose release may answer too, and which another session may have taken meanwhile
			both = append(both, r.Key(other, a.Args, nil))
		}
		for _, key := range both {
			keys = append(keys, sha256.Sum256(fmt.Appendf(nil, "%x %g %s", key, a.Plan.Price, r.Session.Analyst.Name)))
		}
	}
	slices.SortFunc(keys, func(a, b ledger.Hash) int { return bytes.Compare(a[:], b[:]) })
	var held []func()
	unlock = func() {
		for _, f := range held {
			f()
		}
	}
	for _, k := range slices.Compact(keys) {
		one, err := r.Session.Engine.Queues.Asking.Lock(ctx, k)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, one)
	}
	return unlock, nil
}

// prepare makes what will be run, its noise drawn before the data is asked: the whole plan, or what tops up an older release. Nothing is charged
// where the older release has no numbers that measuring again makes more exact.
func (r *Run) prepare(a *StageRun) (err error) {
	src := r.Session.Engine.Noise
	if a.Release == nil {
		a.charge = a.Plan // whether or not its key proves to be stored, where it is not known yet
		if a.Releaser, err = release.New(a.An, a.Plan, src, r.ReleaseGroups()); err == nil {
			a.Releaser.SpoolTo(r.Spooling(a.Stage))
		}
		return err
	}
	top, err := price.TopUp(a.An, a.Release.Run, a.Release.LastQuote().Price, a.Request)
	if err != nil {
		return err
	}
	if top != nil {
		if a.Releaser, err = release.NewTopUp(a.An, top, a.Release, src); err != nil {
			return err
		}
	}
	a.charge, a.Free = top, a.Releaser == nil
	return nil
}

// ask opens a snapshot, reads the public relations, reserves, reads, releases and commits.
//
// Proof: (0) opening a snapshot reads no row of private tables: whether the backend answers, and with which schema, is not
// private, so a failure there costs nothing, nor does one of a public relation; (1) the reservation of all stages is durable before the backend is asked for private rows; (2) whatever fails afterwards keeps the
// whole charge and is answered with one fixed error, the client's own cancel apart; (3) each release is durable before any of them is returned. The
// statements that are printed, their parameters and their noise follow from the plan, the policy and the settings. All stages are read in one snapshot, which is
// confirmed before the first is committed; where the schema changed meanwhile, but means what it did, everything is read once more, in a new snapshot and with
// fresh noise, and nothing of the first reading is shown: which of the two was shown depends on the schema alone, and its events are those that were charged. (4) What a stage reads of others (inputs) is computed from their released values; where that fails, it is an answer of theirs, told once they are
// confirmed and committed.
func (r *Run) ask(ctx context.Context, event *server.AuditEvent) error {
	s := r.Session
	for _, a := range r.open() {
		if err := s.NotStopped(); err != nil {
			return err
		}
		switch err := r.prepare(a); {
		case sqlerr.ID(err) != "": // the price is too small for a top-up
			return err
		case err != nil:
			return s.Uncharged(ctx, err)
		}
	}
	open := r.open()
	if len(open) == 0 {
		event.Outcome = server.Free
		if len(r.PublicStatements) == len(r.PublicRows) {
			return nil
		}
		return r.InOwnSnapshot(ctx)
	}
	done, err := s.Turn(ctx)
	if err != nil {
		return s.Uncharged(ctx, err)
	}
	defer done()
	s.Progress.At("reading public tables")
	tx, err := s.Engine.Begin(ctx, r.World) // (0) a snapshot reads no private row, so a failure costs nothing
	if err != nil {
		return s.Uncharged(ctx, err)
	}
	defer tx.Close()
	had := maps.Clone(r.PublicRows)
	switch err := r.ReadPublic(ctx, tx); {
	case errors.Is(err, server.ErrGrown):
		return err
	case err != nil:
		return s.PublicFailed(ctx, err)
	}
	if err := r.reserve(ctx, open, event); err != nil { // (1) all stages are charged durably before a private row is asked for
		return err
	}
	charges := make([]*session.OpenCharge, len(open))
	for i, a := range open {
		charges[i] = &a.OpenCharge
	}
	defer s.Abandon(ctx, charges)
	before, rereadable := make([]*release.Release, len(open)), true
	for i, a := range open {
		before[i], rereadable = a.Release, rereadable && a.known
	}
	made, wrong, err := r.readOpen(ctx, tx, open)
	if errors.Is(err, backend.ErrSchema) && rereadable && !r.hasReleaseOnDisk() {
		tx.Close()
		for i, a := range open {
			a.Release = before[i]
			if err := r.prepare(a); err != nil { // it was prepared before
				return s.ResourceFailed(ctx, charges, err)
			}
		}
		r.PublicRows = had
		var next *server.Snapshot
		if next, err = s.Engine.Begin(ctx, r.World); err == nil {
			defer next.Close()
			if err = r.ReadPublic(ctx, next); err == nil {
				made, wrong, err = r.readOpen(ctx, next, open)
			}
			tx = next
		}
	}
	tx.Close()
	done() // others may read while this is written
	s.Progress.At("storing what was released")
	releases := make([]ledger.Release, made)
	if err == nil {
		err = r.keepNarrower(ctx, open[:made])
	}
	for i, a := range open[:made] {
		if err == nil {
			releases[i], err = r.encoded(a)
		}
	}
	if err != nil { // (2) whatever failed, the charge stays and the error is one fixed text
		return s.ResourceFailed(ctx, charges, err)
	}
	// (3) A paid, finished release is kept whatever the client does now. The last comes first: who waits for one that others read finds those too.
	for i, a := range slices.Backward(open[:made]) {
		if err := s.Engine.Ledger.Commit(context.WithoutCancel(ctx), a.ID, releases[i]); err != nil {
			return s.LedgerFailed(err)
		}
		a.stored, a.ID = a.ID, 0
	}
	for _, a := range open[made:] {
		if err := s.Engine.Ledger.Fail(context.WithoutCancel(ctx), a.ID, "finishing"); err != nil {
			return s.LedgerFailed(err)
		}
		a.ID = 0
	}
	return wrong
}

// readOpen reads the stages in one snapshot, and confirms it. wrong is an answer of released values that the stages after the first made of them do not outlive.
func (r *Run) readOpen(ctx context.Context, tx *server.Snapshot, open []*StageRun) (made int, wrong, err error) {
	for i, a := range open {
		r.Session.Progress.At(readingStep(i, len(open)))
		if !a.known {
			if wrong = r.Inputs(ctx, a); wrong != nil {
				if r.hasReleaseOnDisk() && sqlerr.ID(wrong) == "" { // the disk's failure, no answer
					return made, nil, wrong
				}
				break
			}
		}
		if err = r.Read(ctx, tx, a); err != nil {
			return made, nil, err
		}
		made++
	}
	return made, wrong, tx.Confirm(ctx)
}

// readingStep is the step of progress that reads one of several releases.
func readingStep(i, of int) string {
	if of == 1 {
		return "reading private rows"
	}
	return fmt.Sprintf("reading private rows, release %d of %d", i+1, of)
}

// reserve charges what has to be asked, all or nothing.
func (r *Run) reserve(ctx context.Context, open []*StageRun, event *server.AuditEvent) error {
	s := r.Session
	var list []ledger.Reservation
	var plans []*price.Quote
	text, bytes := r.StatementText(r.args), uint64(0)
	for _, a := range open {
		if a.An.Groups.Public {
			n, _ := release.PublicBytes(a.An, uint64(r.World.Policy.Limits.SpoolGroups)) //nolint:gosec // not negative
			bytes += n
		}
		list = append(list, ledger.Reservation{Payer: s.Payer(), Statement: a.key, Text: text, Price: a.charge.Price, Events: a.charge.Events(), Loss: a.charge.Loss, Filter: a.Request.Filter,
			Once: a.known && !r.Under.Fresh && r.waits < mostWaits, Known: a.stored, Enough: a.Request.TopUpThreshold()})
		plans = append(plans, a.charge)
	}
	if err := s.CanStore(ctx, bytes); err != nil {
		return err
	}
	ids, err := s.Engine.Ledger.ReserveAll(ctx, list)
	sum := stage.Total(plans)
	switch {
	case err != nil && errors.Is(err, ctx.Err()): // it gave up before it wrote
		return s.Uncharged(ctx, err)
	case errors.As(err, new(*ledger.InFlightError)), errors.Is(err, ledger.ErrOrder):
		return err
	case err != nil:
		return r.denied(err, sum)
	}
	for i, a := range open {
		a.ID = ids[i]
	}
	r.first = ids[0]
	event.Reservation, event.Price, event.Loss = ids[0], sum.Price, sum.Loss
	s.Progress.Charged("price " + server.Number(sum.Price))
	s.ObserveCharge(*event)
	return nil
}

// Read runs a stage's scans in the statement's snapshot: one, or two where something is chosen first: norms, or a bound of the rows that one unit changes.
func (r *Run) Read(ctx context.Context, tx backend.Tx, a *StageRun) error {
	d, an := r.Session.Engine.Dialect, a.An
	a.Releaser.UseContext(ctx)
	var again func() error // with the memory of pairs for itself
	if an.Pairs != nil {
		memory, err := r.Session.Engine.Queues.Pairs.Share(ctx, r.World.Policy.Limits.FlowMemory)
		if err != nil {
			return err
		}
		defer func() { memory.End() }()
		a.Releaser.UseMemory(memory)
		again = func() (err error) {
			memory.End()
			if memory, err = r.Session.Engine.Queues.Pairs.Exclusive(ctx, r.World.Policy.Limits.FlowMemory); err == nil {
				a.Releaser.UseMemory(memory)
			}
			return err
		}
	}
	if len(a.Args) > 0 || a.Given != nil {
		with := *a.An
		with.Given, with.Args = a.Given, a.Args
		an = &with
	}
	if an.IsSmoothed() {
		st, err := sqlgen.Frequencies(an, d, a.seed())
		if err != nil {
			return err
		}
		if err := server.Query(ctx, tx, st, a.Args, func(rows secret.Rows) error { return a.Releaser.Scale(st.Columns, rows) }); err != nil {
			return err
		}
	}
	st, err := sqlgen.Private(an, d, a.seed())
	if err != nil {
		return err
	}
	if an.Limit.Norm > 0 {
		var clips []uint64
		if a.Release != nil {
			clips = a.Release.Edges(a.An)
		} else if err := server.Query(ctx, tx, st, a.Args, func(rows secret.Rows) (err error) {
			clips, err = a.Releaser.Bounds(st.Columns, rows)
			return err
		}); err != nil {
			return err
		}
		if st, err = sqlgen.Scaled(an, d, clips); err != nil {
			return err
		}
	}
	if hasNoTotals(a.An) {
		a.Release, err = a.Releaser.Read(nil, session.NoRows{})
	} else {
		rows := func() error {
			return server.Query(ctx, tx, st, a.Args, func(rows secret.Rows) (err error) {
				a.Release, err = a.Releaser.Read(st.Columns, rows)
				for errors.Is(err, flow.ErrTurn) && ctx.Err() == nil && rows.Next() { // to the end: what is closed before is cancelled, and its snapshot with it
				}
				return err
			})
		}
		if err = rows(); errors.Is(err, flow.ErrTurn) {
			if err = again(); err == nil {
				err = rows()
			}
		}
	}
	if err != nil {
		return err
	}
	if err := r.readApart(ctx, tx, an, a); err != nil {
		return err
	}
	if b, ok := a.Releaser.LostBounds(); ok {
		if st, err = sqlgen.Lost(an, d, b, a.seed()); err != nil {
			return err
		}
		if err := server.Query(ctx, tx, st, a.Args, func(rows secret.Rows) error { return a.Releaser.ReadLost(st.Columns, rows) }); err != nil {
			return err
		}
	}
	return nil
}

// mostWaits is how often a statement waits for another one to answer it.
const mostWaits = 10
