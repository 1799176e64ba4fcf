package engine

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
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// lock makes the sessions of one analyst that ask for the same releases at the same price wait for one another, in one order for all. Others who ask the same wait for a reservation alone (askOnce): who has
// none, since other statements have this analyst's turns, or whose price is too small for them, keeps nobody waiting.
func (r *run) lock(ctx context.Context) (unlock func(), err error) {
	var keys []ledger.Hash
	if r.under.fresh { // it is not to be answered by another's release
		return func() {}, nil
	}
	for _, a := range r.stageRuns { // who holds these has those that read them to themselves
		if !a.known {
			continue
		}
		both := []ledger.Hash{a.key}
		if other := a.rivalStage(); other != nil { // whose release may answer too, and which another session may have taken meanwhile
			both = append(both, r.key(other, a.args, nil))
		}
		for _, key := range both {
			keys = append(keys, sha256.Sum256(fmt.Appendf(nil, "%x %g %s", key, a.plan.Price, r.session.analyst.Name)))
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
		one, err := r.session.engine.asking.lock(ctx, k)
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
func (r *run) prepare(a *stageRun) (err error) {
	src := r.session.engine.noise
	if a.release == nil {
		a.charge = a.plan // whether or not its key proves to be stored, where it is not known yet
		if a.releaser, err = release.New(a.an, a.plan, src, r.releaseGroups()); err == nil {
			a.releaser.SpoolTo(r.spooling(a.stage))
		}
		return err
	}
	top, err := price.TopUp(a.an, a.release.Run, a.release.LastQuote().Price, a.request)
	if err != nil {
		return err
	}
	if top != nil {
		if a.releaser, err = release.NewTopUp(a.an, top, a.release, src); err != nil {
			return err
		}
	}
	a.charge, a.free = top, a.releaser == nil
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
func (r *run) ask(ctx context.Context, heard *AuditEvent) error {
	s := r.session
	for _, a := range r.open() {
		if err := s.notStopped(); err != nil {
			return err
		}
		switch err := r.prepare(a); {
		case sqlerr.ID(err) != "": // the price is too small for a top-up
			return err
		case err != nil:
			return s.uncharged(ctx, err)
		}
	}
	open := r.open()
	if len(open) == 0 {
		heard.Outcome = Free
		if len(r.stagedStatement.public) == len(r.public) {
			return nil
		}
		return r.inOwnSnapshot(ctx)
	}
	done, err := s.turn(ctx)
	if err != nil {
		return s.uncharged(ctx, err)
	}
	defer done()
	s.progress.At("reading public tables")
	tx, err := s.engine.begin(ctx, r.world) // (0) a snapshot reads no private row, so a failure costs nothing
	if err != nil {
		return s.uncharged(ctx, err)
	}
	defer tx.Close()
	had := maps.Clone(r.public)
	switch err := r.readPublic(ctx, tx); {
	case errors.Is(err, errGrown):
		return err
	case err != nil:
		return s.publicFailed(ctx, err)
	}
	if err := r.reserve(ctx, open, heard); err != nil { // (1) all stages are charged durably before a private row is asked for
		return err
	}
	charges := make([]*openCharge, len(open))
	for i, a := range open {
		charges[i] = &a.openCharge
	}
	defer s.abandon(ctx, charges)
	before, rereadable := make([]*release.Release, len(open)), true
	for i, a := range open {
		before[i], rereadable = a.release, rereadable && a.known
	}
	made, wrong, err := r.readOpen(ctx, tx, open)
	if errors.Is(err, backend.ErrSchema) && rereadable && !r.hasReleaseOnDisk() {
		tx.Close()
		for i, a := range open {
			a.release = before[i]
			if err := r.prepare(a); err != nil { // it was prepared before
				return s.resourceFailed(ctx, charges, err)
			}
		}
		r.public = had
		var next *snapshot
		if next, err = s.engine.begin(ctx, r.world); err == nil {
			defer next.Close()
			if err = r.readPublic(ctx, next); err == nil {
				made, wrong, err = r.readOpen(ctx, next, open)
			}
			tx = next
		}
	}
	tx.Close()
	done() // others may read while this is written
	s.progress.At("storing what was released")
	releases := make([]ledger.Release, made)
	for i, a := range open[:made] {
		if err == nil {
			releases[i], err = r.encoded(a)
		}
	}
	if err != nil { // (2) whatever failed, the charge stays and the error is one fixed text
		return s.resourceFailed(ctx, charges, err)
	}
	// (3) A paid, finished release is kept whatever the client does now. The last comes first: who waits for one that others read finds those too.
	for i, a := range slices.Backward(open[:made]) {
		if err := s.engine.ledger.Commit(context.WithoutCancel(ctx), a.id, releases[i]); err != nil {
			return s.ledgerFailed(err)
		}
		a.id = 0
	}
	for _, a := range open[made:] {
		if err := s.engine.ledger.Fail(context.WithoutCancel(ctx), a.id, "finishing"); err != nil {
			return s.ledgerFailed(err)
		}
		a.id = 0
	}
	return wrong
}

// readOpen reads the stages in one snapshot, and confirms it. wrong is an answer of released values that the stages after the first made of them do not outlive.
func (r *run) readOpen(ctx context.Context, tx *snapshot, open []*stageRun) (made int, wrong, err error) {
	for i, a := range open {
		r.session.progress.At(readingStep(i, len(open)))
		if !a.known {
			if wrong = r.inputs(ctx, a); wrong != nil {
				if r.hasReleaseOnDisk() && sqlerr.ID(wrong) == "" { // the disk's failure, no answer
					return made, nil, wrong
				}
				break
			}
		}
		if err = r.read(ctx, tx, a); err != nil {
			return made, nil, err
		}
		made++
	}
	return made, wrong, tx.confirm(ctx)
}

// readingStep is the step of progress that reads one of several releases.
func readingStep(i, of int) string {
	if of == 1 {
		return "reading private rows"
	}
	return fmt.Sprintf("reading private rows, release %d of %d", i+1, of)
}

// reserve charges what has to be asked, all or nothing.
func (r *run) reserve(ctx context.Context, open []*stageRun, heard *AuditEvent) error {
	s := r.session
	var list []ledger.Reservation
	var plans []*price.Quote
	text := r.stagedStatement.statementText(r.args)
	for _, a := range open {
		list = append(list, ledger.Reservation{Payer: s.payer(), Statement: a.key, Text: text, Price: a.charge.Price, Events: a.charge.Events(), Loss: a.charge.Loss, Filter: a.request.Filter,
			Once: a.known && !r.under.fresh && r.waits < mostWaits, Known: a.stored, Enough: a.request.TopUpThreshold()})
		plans = append(plans, a.charge)
	}
	ids, err := s.engine.ledger.ReserveAll(ctx, list)
	sum := total(plans)
	switch {
	case err != nil && errors.Is(err, ctx.Err()): // it gave up before it wrote
		return s.uncharged(ctx, err)
	case errors.As(err, new(*ledger.InFlightError)), errors.Is(err, ledger.ErrOrder):
		return err
	case err != nil:
		return r.denied(err, sum)
	}
	for i, a := range open {
		a.id = ids[i]
	}
	heard.Reservation, heard.Price, heard.Loss = ids[0], sum.Price, sum.Loss
	s.progress.Charged("price " + number(sum.Price))
	s.observeCharge(*heard)
	return nil
}

// read runs a stage's scans in the statement's snapshot: one, or two where something is chosen first: norms, or a bound of the rows that one unit changes.
func (r *run) read(ctx context.Context, tx backend.Tx, a *stageRun) error {
	d, an := r.session.engine.dialect, a.an
	a.releaser.UseContext(ctx)
	var again func() error // with the memory of pairs for itself
	if an.Pairs != nil {
		memory, err := r.session.engine.pairs.Share(ctx, r.world.policy.Limits.FlowMemory)
		if err != nil {
			return err
		}
		defer func() { memory.End() }()
		a.releaser.UseMemory(memory)
		again = func() (err error) {
			memory.End()
			if memory, err = r.session.engine.pairs.Exclusive(ctx, r.world.policy.Limits.FlowMemory); err == nil {
				a.releaser.UseMemory(memory)
			}
			return err
		}
	}
	if len(a.args) > 0 || a.given != nil {
		with := *a.an
		with.Given, with.Args = a.given, a.args
		an = &with
	}
	if an.IsSmoothed() {
		st, err := sqlgen.Frequencies(an, d, a.seed())
		if err != nil {
			return err
		}
		if err := query(ctx, tx, st, a.args, func(rows secret.Rows) error { return a.releaser.Scale(st.Columns, rows) }); err != nil {
			return err
		}
	}
	st, err := sqlgen.Private(an, d, a.seed())
	if err != nil {
		return err
	}
	if an.Limit.Norm > 0 {
		var clips []uint64
		if a.release != nil {
			clips = a.release.Edges(a.an)
		} else if err := query(ctx, tx, st, a.args, func(rows secret.Rows) (err error) {
			clips, err = a.releaser.Bounds(st.Columns, rows)
			return err
		}); err != nil {
			return err
		}
		if st, err = sqlgen.Scaled(an, d, clips); err != nil {
			return err
		}
	}
	if hasNoTotals(a.an) {
		a.release, err = a.releaser.Read(nil, noRows{})
	} else {
		rows := func() error {
			return query(ctx, tx, st, a.args, func(rows secret.Rows) (err error) {
				a.release, err = a.releaser.Read(st.Columns, rows)
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
	if b, ok := a.releaser.LostBounds(); ok {
		if st, err = sqlgen.Lost(an, d, b, a.seed()); err != nil {
			return err
		}
		if err := query(ctx, tx, st, a.args, func(rows secret.Rows) error { return a.releaser.ReadLost(st.Columns, rows) }); err != nil {
			return err
		}
	}
	return r.readApart(ctx, tx, an, a)
}

// mostWaits is how often a statement waits for another one to answer it.
const mostWaits = 10
