package engine

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/engine/release"
)

// lookUp finds what was stored, stage by stage: of one that reads others where those are.
func (r *run) lookUp(ctx context.Context) error {
	for i, a := range r.asked {
		if a.as != i {
			continue
		}
		if !a.known && r.ready(a) {
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
		if err = r.instead(ctx, i); err != nil {
			return err
		}
		r.inForm(i)
	}
	return nil
}

// stored looks for a release that answers at no charge: made of the same key with at least the asked price, or so near to it that measuring again is not
// worth it, or public through and through (groups without a measure). One that was made at a smaller price comes back too, not free: it can be topped up. of is its reservation.
// dpsql.fresh leaves all of them alone: what it asks for is a release of its own, beside those.
func (p *Prepared) stored(ctx context.Context, a *asked) (r *release.Release, of int64, free bool, err error) {
	e, key, st, mp := p.session.engine, a.key, a.stage, a.plan
	if len(mp.Events()) == 0 {
		m, err := release.New(st.an, mp, e.noise, p.releaseGroups())
		if err != nil {
			return nil, 0, false, err
		}
		r, err = m.Read(nil, noRows{})
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
		if !st.ask.WorthTopUp(old.Price) {
			return r, of, true, nil
		}
	}
	other, from, err := p.computed(ctx, a, r)
	if err == nil && other == nil && !st.again && !st.an.Anew() && !r.Many() { // some are not measured again: at a higher price it is a new release
		return r, of, false, nil
	}
	if st.again {
		a.poor = r
	}
	if end := r.Close(); err == nil {
		err = end
	}
	if err == nil && other != nil {
		return other, from, true, nil
	}
	return nil, of, false, err
}
