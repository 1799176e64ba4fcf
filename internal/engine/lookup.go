package engine

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/engine/release"
)

// lookUp finds what was stored, stage by stage: of one that reads others where those are.
func (r *run) lookUp(ctx context.Context) error {
	for i, a := range r.stageRuns {
		if a.as != i {
			continue
		}
		if !a.known && r.isReady(a) {
			if err := r.inputs(ctx, a); err != nil {
				return err
			}
		}
		if !a.known {
			continue
		}
		var err error
		if a.release, a.stored, a.free, err = r.stored(ctx, a); err != nil {
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
func (p *run) stored(ctx context.Context, a *stageRun) (r *release.Release, of int64, free bool, err error) {
	e, key, st, mp := p.session.engine, a.key, a.stage, a.plan
	if !st.isCharged() { // (2) of isCharged: such a release has no number, so no event is run
		r, err = release.NewPlaceholder(st.an, mp)
		return r, 0, true, err
	}
	if st.kept != nil {
		return st.kept, st.keptOf, true, nil
	}
	if p.under.fresh { // asked anew, on purpose
		return nil, 0, false, nil
	}
	old, ok, err := e.ledger.Lookup(ctx, key, p.session.analyst.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, 0, false, p.session.uncharged(ctx, err)
	case err != nil:
		return nil, 0, false, p.session.ledgerFailed(err)
	}
	if ok {
		if err := p.reading(ctx, len(old.Payload)); err != nil {
			return nil, 0, false, errors.Join(err, old.Spool.Close())
		}
		of = old.Reservation
		if r, err = decoded(st, old); err != nil {
			return nil, 0, false, p.session.ledgerFailed(err)
		}
		if !st.request.IsWorthTopUp(old.Price) {
			return r, of, true, nil
		}
	}
	other, from, err := p.computed(ctx, a, r)
	topped := !p.needsFreshRelease(st.an, r) && !r.IsOnDisk()
	if err == nil && other == nil && !st.again && topped { // some are not measured again: at a higher price it is a new release
		return r, of, false, nil
	}
	if st.again && topped {
		a.staleRelease = r
	}
	if r != nil && !p.isSameData(r) {
		a.stalePrice = r.LastQuote().Price
	}
	if end := r.Close(); err == nil {
		err = end
	}
	if err == nil && other != nil {
		return other, from, true, nil
	}
	return nil, of, false, err
}

// answerFromRival gives a stage the bound that it would not have anew, where a release with that one is stored which answers at no charge, and none with the other or one that errs more: who asks again pays nothing, whatever was released since.
//
// Proof: post-processing: what is stored for this analyst decides, and scales. The other analysis is of the same statement, with a key of its own, so its release answers it.
func (r *run) answerFromRival(ctx context.Context, of int) error {
	a := r.stageRuns[of]
	st := a.rivalStage()
	if st == nil || a.targetNote != "" { // solveForTargetError has looked
		return nil
	}
	b := *a
	b.stage, b.key = st, r.key(st, a.args, a.given)
	var err error
	if b.plan, err = st.price(); err != nil {
		return nil //nolint:nilerr // it cannot be had at this price
	}
	if b.release, b.stored, b.free, err = r.stored(ctx, &b); err != nil {
		return err
	}
	better := b.free
	if better && a.free {
		was, err := a.release.Variance(a.an, 0)
		if err != nil {
			return err
		}
		now, err := b.release.Variance(b.an, 0)
		if err != nil {
			return err
		}
		better = now < was
	}
	if !better {
		return b.release.Close()
	}
	if err := a.release.Close(); err != nil {
		return err
	}
	*a = b
	for i, x := range r.stageRuns {
		if i != of && x.as == of {
			x.stage = x.rivalStage()
		}
	}
	return nil
}
