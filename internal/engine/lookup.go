package engine

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/sensitivity"
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
	if !st.isCharged() { // its (2): no event is run
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

// data names the state of the data, which does not change under that name: the owner's data_version, or the opening of a database that nobody
// writes to. "": the data may change at any time.
func (p *stagedStatement) data() string {
	if v := p.world.policy.DataVersion; v != "" {
		return "version " + v
	}
	if b, ok := p.session.engine.backend.(backend.Steady); ok {
		return "opening " + b.Opened()
	}
	return ""
}

// isSameData says that a stored release is of the data that would be read now.
//
// Proof: claim: the mean of a release and of a new one is of one state of the data, so its stated error is that of its noise. Data that were read under one
// name do not differ: by the owner's word for data_version, and because the file of an open DuckDB is locked. Both names are public.
func (p *stagedStatement) isSameData(r *release.Release) bool {
	return r.Data != "" && r.Data == p.data()
}

// needsFreshRelease says that a stored release is not measured again at a higher price: its bounds are of one snapshot, or it may be of other data.
func (p *stagedStatement) needsFreshRelease(a *sensitivity.Analysis, r *release.Release) bool {
	return a.NeedsFreshRelease() || r != nil && !p.isSameData(r)
}
