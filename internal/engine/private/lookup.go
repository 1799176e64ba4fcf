package private

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/stage"
)

// LookUp finds what was stored. All releases of an answer are of one state of the data (isOfOneState): where the best ones are not, those of one state answer, if each stage has
// one at its price; else all are asked anew, in one snapshot.
//
// Proof: which releases answer, and what is charged, follows from stored releases that this analyst may be given, their prices and the names of the states that they are of, which are public (stage.Staged.Data, Run.encoded).
func (r *Run) LookUp(ctx context.Context) error {
	if err := r.lookUp(ctx); err != nil || r.isOfOneState() {
		return err
	}
	best, found := make([]int64, len(r.StageRuns)), 0
	var first *StageRun
	for i, a := range r.StageRuns {
		if best[i] = a.best; a.As != i || !a.IsCharged() {
			continue
		}
		if a.Free {
			found++
		}
		if first == nil && a.known {
			first = a
		}
	}
	states, err := r.statesOf(ctx, first)
	if err != nil {
		return err
	}
	for _, r.state = range states {
		if err := r.restart(); err != nil {
			return err
		}
		if err := r.lookUp(ctx); err != nil || !slices.ContainsFunc(r.Releases(), func(a *StageRun) bool { return !a.Free }) {
			return err
		}
	}
	if err := r.restart(); err != nil {
		return err
	}
	r.setAside = found
	sum := 0.0
	for i, a := range r.StageRuns {
		a.stored = best[i] // which this reservation does not wait for
		if a.As == i && a.IsCharged() {
			sum += a.Plan.Price
		}
	}
	return r.CheckTargetPrice(sum)
}

// restart forgets what was looked up.
func (r *Run) restart() error {
	r.CloseReleases()
	return r.start()
}

// isOfOneState: all releases of the answer, stored or to be made, are of one state of the data, as far as is known.
//
// Proof: claim: a value that is computed from several releases is of one state of the data, so its interval is that of noise and bounds. Releases of one name are (stage.Staged.IsSameData); what is read now has the name of Data, and where there is none all of it is read in one snapshot, and named after its charge (encoded). A release without a name is of a state of its own.
func (r *Run) isOfOneState() bool {
	states := map[string]bool{}
	for _, a := range r.Releases() {
		name := r.Data()
		if a.Free {
			if name = a.Release.Data; name == "" {
				name = fmt.Sprintf("release %d", a.stored)
			}
		}
		states[name] = true
	}
	return len(states) <= 1
}

// statesOf are the states of the data that stored releases of a stage are of.
func (r *Run) statesOf(ctx context.Context, a *StageRun) (states []string, err error) {
	if a == nil || r.Under.Fresh {
		return nil, nil
	}
	list, err := r.all(ctx, a)
	for _, one := range list {
		if name := release.DataOf(one.Payload); name != "" && !slices.Contains(states, name) {
			states = append(states, name)
		}
	}
	return states, err
}

// all are the stored releases of a stage that answer at its price, the best first.
func (r *Run) all(ctx context.Context, a *StageRun) ([]ledger.Stored, error) {
	s, bytes := r.Session, 0
	list, err := s.Engine.Ledger.All(ctx, a.key, s.Analyst.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, s.Uncharged(ctx, err)
	case err != nil:
		return nil, s.LedgerFailed(err)
	}
	list = slices.DeleteFunc(list, func(old ledger.Stored) bool { return a.Request.IsWorthTopUp(old.Price) })
	for _, old := range list {
		bytes += len(old.Payload)
	}
	return list, r.Reading(ctx, bytes)
}

// lookUp finds what was stored, stage by stage: of one that reads others where those are.
func (r *Run) lookUp(ctx context.Context) error {
	for i, a := range r.StageRuns {
		if a.As != i {
			continue
		}
		if !a.known && r.isReady(a) {
			if err := r.Inputs(ctx, a); err != nil {
				return err
			}
		}
		if !a.known {
			continue
		}
		var err error
		if a.Release, a.stored, a.Free, err = r.stored(ctx, a); err != nil {
			return err
		}
		if err = r.answerFromRival(ctx, i); err != nil {
			return err
		}
		r.inForm(i)
	}
	return nil
}

// stored looks for a release that answers at no charge: made of the same key with at least the asked price, or so near to it that measuring again is not
// worth it, or public through and through (groups without a measure, or no group). One that was made at a smaller price comes back too, not free: it can be topped up. of is its reservation.
// dpsql.fresh leaves all of them alone: what it asks for is a release of its own, beside those.
func (p *Run) stored(ctx context.Context, a *StageRun) (r *release.Release, of int64, free bool, err error) {
	e, key, st, mp := p.Session.Engine, a.key, a.Stage, a.Plan
	if !st.IsCharged() { // (2) of IsCharged: such a release has no number, so no event is run
		r, err = release.NewPlaceholder(st.An, mp)
		return r, 0, true, err
	}
	if st.Kept != nil && (p.state == "" || p.state == st.Kept.Data) {
		return st.Kept, st.KeptOf, true, nil
	}
	if p.Under.Fresh { // asked anew, on purpose
		return nil, 0, false, nil
	}
	if p.state != "" {
		if r, of, err := p.fromCube(ctx, a, nil, time.Time{}); r != nil || err != nil {
			return r, of, err == nil, err
		}
		list, err := p.all(ctx, a)
		i := slices.IndexFunc(list, func(old ledger.Stored) bool { return release.DataOf(old.Payload) == p.state })
		if err != nil || i < 0 {
			return nil, 0, false, err
		}
		if r, err = stage.Decoded(st, &list[i]); err != nil {
			return nil, 0, false, p.Session.LedgerFailed(err)
		}
		return r, list[i].Reservation, true, nil
	}
	old, ok, err := e.Ledger.Lookup(ctx, key, p.Session.Analyst.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, 0, false, p.Session.Uncharged(ctx, err)
	case err != nil:
		return nil, 0, false, p.Session.LedgerFailed(err)
	}
	if ok {
		a.best = old.Reservation
	}
	var rival *release.Release // answers at no charge
	var since time.Time
	if ok {
		if err := p.Reading(ctx, len(old.Payload)); err != nil {
			return nil, 0, false, errors.Join(err, old.Spool.Close())
		}
		of, since = old.Reservation, old.Made
		if r, err = stage.Decoded(st, old); err != nil {
			return nil, 0, false, p.Session.LedgerFailed(err)
		}
		if !st.Request.IsWorthTopUp(old.Price) {
			rival = r
		}
	}
	if other, from, err := p.fromCube(ctx, a, rival, since); other != nil || err != nil {
		return other, from, err == nil, errors.Join(err, r.Close())
	}
	if rival != nil {
		if other, from, err := p.narrower(ctx, a, r, of); other != nil || err != nil {
			return other, from, err == nil, errors.Join(err, r.Close())
		}
		return r, of, true, nil
	}
	other, from, err := p.computed(ctx, a, r, 1+1e-9)
	topped := !p.NeedsFreshRelease(st.An, r) && !r.IsOnDisk()
	if err == nil && other == nil && !st.Again && topped { // some are not measured again: at a higher price it is a new release
		return r, of, false, nil
	}
	if st.Again && topped {
		a.staleRelease = r
	}
	if r != nil && !p.IsSameData(r) {
		a.StalePrice = r.LastQuote().Price
	}
	if end := r.Close(); err == nil {
		err = end
	}
	if err == nil && other != nil {
		return other, from, true, nil
	}
	return nil, of, false, err
}

// clearlyLess is the part of a stored answer's errors that another one's have at most where it takes its place: those of noise alone differ little.
const clearlyLess = 0.9

// narrower is what is computed from another question's release where a release of the question itself is stored, as reservation of, and errs clearly more, as bounds that are chosen may make it; nil: there is none. It is of the same data, or was made later.
func (p *Run) narrower(ctx context.Context, a *StageRun, own *release.Release, of int64) (*release.Release, int64, error) {
	if !a.An.CanAnyBeClipped() || own.IsOnDisk() {
		return nil, 0, nil
	}
	other, from, err := p.computed(ctx, a, own, clearlyLess)
	if other == nil || from > of || own.Data != "" && own.Data == other.Data {
		return other, from, err
	}
	return nil, 0, errors.Join(err, other.Close())
}

// answerFromRival gives a stage the bound that it would not have anew, where a release with that one is stored which answers at no charge, and none with the other or one that errs more: who asks again pays nothing, whatever was released since.
//
// Proof: post-processing: what is stored for this analyst decides, and scales. The other analysis is of the same statement, with a key of its own, so its release answers it.
func (r *Run) answerFromRival(ctx context.Context, of int) error {
	a := r.StageRuns[of]
	st := a.RivalStage()
	if st == nil || a.TargetNote != "" { // SolveForTargetError has looked
		return nil
	}
	b := *a
	b.Stage, b.key = st, r.Key(st, a.Args, a.Given)
	var err error
	if b.Plan, err = st.Price(); err != nil {
		return nil //nolint:nilerr // it cannot be had at this price
	}
	if b.Release, b.stored, b.Free, err = r.stored(ctx, &b); err != nil {
		return err
	}
	better := b.Free
	if better && a.Free {
		was, err := a.Release.Variance(a.An, 0)
		if err != nil {
			return err
		}
		now, err := b.Release.Variance(b.An, 0)
		if err != nil {
			return err
		}
		better = now < was
	}
	if !better {
		return b.Release.Close()
	}
	if err := a.Release.Close(); err != nil {
		return err
	}
	b.best = a.best
	*a = b
	for i, x := range r.StageRuns {
		if i != of && x.As == of {
			x.Stage = x.RivalStage()
		}
	}
	return nil
}

// keepNarrower stores and shows what was stored before in place of a release that was asked anew for its smaller error, and errs more after all. It is stored at the price that was charged, so that who asks again for that, with the target or without, pays nothing and is answered as well.
//
// Proof: post-processing of two releases of this analyst's, of one state of the data (NeedsFreshRelease).
func (r *Run) keepNarrower(ctx context.Context, made []*StageRun) error {
	t, _, err := r.TargetAndSize()
	for _, a := range made {
		if err != nil || a.staleRelease == nil {
			continue
		}
		if a.keptStale = r.IsNarrower(ctx, slices.Index(r.StageRuns, a), a.Stage, t, a.staleRelease, a.Release); a.keptStale {
			if err := a.Release.Close(); err != nil {
				return err
			}
			a.Release = a.staleRelease
		}
	}
	return err
}
