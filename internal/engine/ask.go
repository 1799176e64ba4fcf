package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/secret"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// run is one execution of a private statement.
type run struct {
	*Prepared
	args   []sqltype.Value
	asked  []*asked // one a stage
	public map[plan.Rel]*eval.Relation
}

// asked is a stage that is run.
type asked struct {
	*stage
	key     ledger.Hash
	plan    *measure.Plan    // the whole
	release *release.Release // what there is, or was made
	free    bool             // it answers as it was stored

	charge *measure.Plan // what is charged: the whole, or a top-up
	maker  *release.Maker
	id     int64
}

// seed varies which groups of a unit a cap keeps.
func (a *asked) seed() int64 { return int64(binary.BigEndian.Uint64(a.key[:8])) }

// runPrivate is the way of design section 3 from the charge on.
func (p *Prepared) runPrivate(ctx context.Context, args []sqltype.Value) (ans *Answer, err error) {
	s := p.session
	r := &run{Prepared: p, args: args, public: map[plan.Rel]*eval.Relation{}}
	for _, st := range p.stages {
		mp, err := st.price()
		if err != nil {
			return nil, err
		}
		r.asked = append(r.asked, &asked{stage: st, key: p.key(st, args), plan: mp})
	}
	heard := r.heard()
	defer func() { s.tell(heard, err) }()
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, s.uncharged(ctx, err) // nothing was charged yet
	}
	defer unlock()
	for i, a := range r.asked {
		if a.as != i {
			continue
		}
		if a.release, a.free, err = p.stored(ctx, a.key, a.stage, a.plan); err != nil {
			return nil, err
		}
	}
	if err := r.ask(ctx, heard); err != nil {
		return nil, err
	}
	for _, a := range r.asked {
		a.release, a.free = r.asked[a.as].release, r.asked[a.as].free
	}
	s.last = &lastAnswer{r.releases()}
	rows, err := r.finish(ctx)
	if err != nil {
		return nil, err
	}
	return &Answer{Rows: rows, Tag: "SELECT", Notice: r.notice(ctx)}, nil
}

// heard is what the owner will hear, of the statement before it is run.
func (r *run) heard() *Heard {
	h := &Heard{Analyst: r.session.analyst.Name, Statement: r.asked[0].key, Order: r.session.engine.filter.Order, Outcome: Answered}
	for i, a := range r.asked {
		if i > 0 {
			h.Plan += "\n"
		}
		h.Plan += sensitivity.Canonical(a.an)
	}
	return h
}

// lock makes those who ask for the same releases wait for one another, in one order for all.
func (r *run) lock(ctx context.Context) (unlock func(), err error) {
	var keys []ledger.Hash
	for _, a := range r.asked {
		keys = append(keys, a.key)
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

// stored looks for a release that answers at no charge: made of the same key with at least the asked price, or so near to it that measuring again is not
// worth it, or public through and through (groups without a measure). One that was made at a smaller price comes back too, not free: it can be topped up.
func (p *Prepared) stored(ctx context.Context, key ledger.Hash, st *stage, mp *measure.Plan) (*release.Release, bool, error) {
	e := p.session.engine
	if len(mp.Events()) == 0 {
		m, err := release.New(st.an, mp, e.noise, p.releaseGroups())
		if err != nil {
			return nil, false, err
		}
		r, err := m.Read(nil, noRows{})
		return r, true, err
	}
	old, ok, err := e.ledger.Lookup(ctx, key, p.session.analyst.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, false, p.session.uncharged(ctx, err)
	case err != nil:
		return nil, false, p.session.ledgerFailed(err)
	}
	if !ok {
		return nil, false, nil
	}
	r, err := release.Decode(st.an, old.Payload)
	if err != nil {
		return nil, false, p.session.ledgerFailed(err)
	}
	more := st.ask.WorthTopUp(old.Price)
	if more && st.an.Trees() { // a tree's nodes are not measured again: at a higher price it is a new release
		return nil, false, nil
	}
	return r, !more, nil
}

// releaseGroups limits a release, which is held in memory.
func (p *Prepared) releaseGroups() int { return int(p.world.policy.Limits.ReleaseGroups) }

// prepare makes what will be run, its noise drawn before the data is asked: the whole plan, or what tops up an older release. Nothing is charged
// where the older release has no numbers that measuring again makes more exact.
func (r *run) prepare(a *asked) (err error) {
	src := r.session.engine.noise
	if a.release == nil {
		a.charge = a.plan
		a.maker, err = release.New(a.an, a.plan, src, r.releaseGroups())
		return err
	}
	top, err := measure.TopUp(a.an, a.release.Run, a.release.Spent().Price, a.ask)
	if err != nil {
		return err
	}
	if top != nil {
		if a.maker, err = release.NewTopUp(a.an, top, a.release, src); err != nil {
			return err
		}
	}
	a.charge, a.free = top, a.maker == nil
	return nil
}

// open are the stages that have to be asked.
func (r *run) open() []*asked {
	var out []*asked
	for i, a := range r.asked {
		if a.as == i && !a.free {
			out = append(out, a)
		}
	}
	return out
}

// ask opens a snapshot, reads the public relations, reserves, reads, releases and commits.
//
// Proof: (0) opening a snapshot reads no row of private tables: whether the backend answers, and with which schema, is not
// private, so a failure there costs nothing, nor does one of a public relation; (1) the reservation of all stages is durable before the backend is asked for private rows; (2) whatever fails afterwards keeps the
// whole charge and is answered with one fixed error, the client's own cancel apart; (3) each release is durable before any of them is returned. The
// statements that are printed, their parameters and their noise follow from the plan, the policy and the settings. All stages are read in one snapshot, which is
// confirmed before the first is committed.
func (r *run) ask(ctx context.Context, heard *Heard) error {
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
		if len(r.Prepared.public) == 0 {
			return nil
		}
	}
	done, err := s.turn(ctx)
	if err != nil {
		return s.uncharged(ctx, err)
	}
	defer done()
	tx, err := s.engine.begin(ctx, r.world) // (0)
	if err != nil {
		return s.uncharged(ctx, err)
	}
	defer tx.Close()
	if err := r.readPublic(ctx, tx); err != nil {
		return s.publicFailed(ctx, err)
	}
	if len(open) == 0 {
		if err := tx.confirm(ctx); err != nil {
			return s.uncharged(ctx, err)
		}
		return nil
	}
	if err := r.reserve(ctx, open, heard); err != nil { // (1)
		return err
	}
	for _, a := range open {
		if err == nil {
			err = r.read(ctx, tx, a)
		}
	}
	if err == nil {
		err = tx.confirm(ctx)
	}
	tx.Close()
	payloads := make([][]byte, len(open))
	for i, a := range open {
		if err == nil {
			payloads[i], err = r.encoded(a)
		}
	}
	if err != nil { // (2)
		return s.resourceFailed(ctx, open, err)
	}
	for i, a := range open { // (3) A paid, finished release is kept whatever the client does now.
		if err := s.engine.ledger.Commit(context.WithoutCancel(ctx), a.id, ledger.Release{Key: a.key, Payload: payloads[i]}); err != nil {
			return s.ledgerFailed(err)
		}
	}
	return nil
}

// reserve charges what has to be asked, all or nothing.
func (r *run) reserve(ctx context.Context, open []*asked, heard *Heard) error {
	s := r.session
	var list []ledger.Reservation
	var plans []*measure.Plan
	for _, a := range open {
		list = append(list, ledger.Reservation{Analyst: s.analyst.Name, Quota: s.analyst.Share, Statement: a.key, Price: a.charge.Price, Events: a.charge.Events(), Loss: a.charge.Loss})
		plans = append(plans, a.charge)
	}
	ids, err := s.engine.ledger.ReserveAll(ctx, list)
	sum := total(plans)
	switch {
	case err != nil && errors.Is(err, ctx.Err()): // it gave up before it wrote
		return s.uncharged(ctx, err)
	case err != nil:
		return s.denied(err, sum)
	}
	for i, a := range open {
		a.id = ids[i]
	}
	heard.Reservation, heard.Price, heard.Loss = ids[0], sum.Price, sum.Loss
	return nil
}

// readPublic reads the public relations that the answer is computed from.
func (r *run) readPublic(ctx context.Context, tx backend.Tx) error {
	for _, l := range r.program.Answer.Leaves {
		st, ok := r.Prepared.public[l.At]
		if !ok {
			continue
		}
		rel := &eval.Relation{Cols: l.Cols}
		if err := query(ctx, tx, st, r.args, func(rows secret.Rows) (err error) {
			rel.Rows, err = publicRows(r.world, rows, int(r.world.policy.Limits.PublicRows))
			return err
		}); err != nil {
			return err
		}
		r.public[l.At] = rel
	}
	return nil
}

// read runs a stage's scans in the statement's snapshot: one, or where vectors are scaled to norms that are chosen first, two.
func (r *run) read(ctx context.Context, tx backend.Tx, a *asked) error {
	d := r.session.engine.dialect
	st, err := sqlgen.Private(a.an, d, a.seed())
	if err != nil {
		return err
	}
	if a.an.Limit.L2 {
		var clips []uint64
		if a.release != nil {
			clips = a.release.Edges(a.an)
		} else if err := query(ctx, tx, st, r.args, func(rows secret.Rows) (err error) {
			clips, err = a.maker.Bounds(st.Columns, rows)
			return err
		}); err != nil {
			return err
		}
		if st, err = sqlgen.Scaled(a.an, d, clips); err != nil {
			return err
		}
	}
	if noTotals(a.an) {
		a.release, err = a.maker.Read(nil, noRows{})
	} else {
		err = query(ctx, tx, st, r.args, func(rows secret.Rows) (err error) {
			a.release, err = a.maker.Read(st.Columns, rows)
			return err
		})
	}
	if err != nil {
		return err
	}
	return r.readTrees(ctx, tx, a)
}

func (r *run) encoded(a *asked) ([]byte, error) {
	payload, err := release.Encode(a.an, a.release)
	if most := r.world.policy.Limits.ReleaseBytes; err == nil && int64(len(payload)) > most {
		return nil, fmt.Errorf("a release of %d bytes is over limits.release_bytes of %d", len(payload), most)
	}
	return payload, err
}

// finish computes the answer.
func (r *run) finish(ctx context.Context) ([][]sqltype.Value, error) {
	rels := make([]*eval.Relation, len(r.asked))
	for i, a := range r.asked {
		var err error
		if rels[i], err = finish.Shown(ctx, a.an, a.release, r.world.policy.Query.MinPeople); err != nil {
			return nil, err
		}
	}
	out, err := finish.Compute(ctx, r.query, r.program.Answer, rels, r.public, r.args)
	if err != nil {
		return nil, err
	}
	return finish.Outputs(r.query, out)
}
