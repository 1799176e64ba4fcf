package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/secret"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Session is one connection's view: who asks, with which settings. It is for one goroutine.
type Session struct {
	engine     *Engine
	user       string
	world      *world // with analyst and catalog: of the policy that the session last saw
	analyst    *policy.Analyst
	catalog    *sessionCatalog
	start, now settings
	values     sqltype.Settings // of literals, and the time zone
	last       *lastAnswer
}

// Use says how the literals of the statements that follow are read, and what their time zone is.
func (s *Session) Use(values sqltype.Settings) { s.values = values }

// Close ends the session.
func (s *Session) Close() {}

// Prepared is a statement that is bound and analysed: its types are known, nothing was read or spent.
type Prepared struct {
	session *Session
	stmt    *pgsyntax.Select
	explain *pgsyntax.Explain // set for EXPLAIN
	params  []sqltype.OID
	query   *plan.Query
	under   settings // the settings of the analysis
	values  sqltype.Settings
	world   *world // and its policy
	an      *sensitivity.Analysis
	priced  *measure.Plan // nil: not yet
}

// Prepare binds and analyses a SELECT or an EXPLAIN of one. It touches no private data and spends nothing.
func (s *Session) Prepare(ctx context.Context, st pgsyntax.Statement, params []sqltype.OID) (*Prepared, error) {
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if t := s.world.policy.Limits.StatementTime; t > 0 { // public tables' values may be read for the groups
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, errTimeout)
		defer cancel()
	}
	p := &Prepared{session: s, params: params}
	switch n := st.Node.(type) {
	case *pgsyntax.Select:
		p.stmt = n
	case *pgsyntax.Explain:
		sel, ok := n.Query.(*pgsyntax.Select)
		if !ok {
			return nil, sqlerr.New(sqlerr.Unsupported, "EXPLAIN of this statement is not supported").At(int(n.Pos))
		}
		if err := checkExplain(n); err != nil {
			return nil, err
		}
		p.stmt, p.explain = sel, n
	default:
		return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
	}
	return p, p.analyze(ctx)
}

// analyze binds and analyses under the session's present settings.
func (p *Prepared) analyze(ctx context.Context) error {
	s := p.session
	q, err := plan.Bind(p.stmt, s.catalog, plan.BindOptions{ParamTypes: p.params, Session: s.constants(), Values: s.values})
	if err != nil {
		return err
	}
	a, mp, err := s.bound(ctx, q)
	if err != nil {
		return err
	}
	if a.Groups.Public && a.Groups.Count > uint64(s.world.policy.Limits.ReleaseGroups) {
		return sqlerr.New(sqlerr.TooManyGroups, "the statement has %d groups; one answer has at most %d", a.Groups.Count, s.world.policy.Limits.ReleaseGroups).
			WithHint("Ask for fewer groups, or ask the owner to raise limits.release_groups.")
	}
	if a.Class == sensitivity.Private { // refuse before anything is charged what could not be finished or printed
		if err := eval.Check(q.Root, func(n plan.Rel) bool { return n == plan.Rel(a.Agg) }, q); err != nil {
			return err
		}
		if _, err := sqlgen.Private(a, s.engine.dialect, 0); err != nil {
			return err
		}
		if a.Limit.L2 {
			clips := make([]uint64, len(a.Choices))
			for i, c := range a.Choices {
				clips[i] = c.Edges[len(c.Edges)-1]
			}
			if _, err := sqlgen.Scaled(a, s.engine.dialect, clips); err != nil {
				return err
			}
		}
		if err := s.checkTrees(a); err != nil {
			return err
		}
	}
	p.query, p.an, p.priced, p.under, p.values, p.world = q, a, mp, s.now, s.values, s.world
	return nil
}

// Params are the types of $1 ...
func (p *Prepared) Params() []sqltype.Type { return p.query.Params }

// Columns describe the answer.
func (p *Prepared) Columns() []Column {
	if p.explain != nil {
		return []Column{{Name: "QUERY PLAN", Type: sqltype.Text}}
	}
	out := make([]Column, len(p.query.Outputs))
	for i, o := range p.query.Outputs {
		out[i] = Column{Name: o.Name, Type: o.Type, TableOID: o.TableOID, Attr: o.Attr}
	}
	return out
}

// Run answers the statement. A private one is charged here, unless a stored release answers it.
func (p *Prepared) Run(ctx context.Context, args []sqltype.Value) (*Answer, error) {
	s := p.session
	if p.explain == nil {
		if err := s.engine.settle(ctx); err != nil {
			if ctx.Err() != nil {
				err = s.uncharged(ctx, err)
			}
			return nil, err
		}
	}
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if p.query.Clock || s.now != p.under || s.values != p.values || s.world != p.world { // the clock moved, a SET or a reload came between Parse and Execute
		if err := p.analyze(ctx); err != nil {
			return nil, err
		}
	}
	if len(args) != len(p.query.Params) {
		return nil, sqlerr.New(sqlerr.ProtocolViolation, "the statement needs %d parameters, %d were given", len(p.query.Params), len(args))
	}
	if err := short(p.query, args); err != nil {
		return nil, err
	}
	if t := s.world.policy.Limits.StatementTime; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, errTimeout)
		defer cancel()
	}
	switch {
	case p.explain != nil:
		return p.runExplain(ctx, args)
	case p.an.Class == sensitivity.Private:
		return p.runPrivate(ctx, args)
	}
	rows, err := s.runPublic(ctx, p.query, args)
	if err != nil {
		return nil, err
	}
	return &Answer{Rows: rows, Tag: "SELECT"}, nil
}

// short refuses parameters that make a text too long for its place.
func short(q *plan.Query, args []sqltype.Value) error {
	for _, s := range q.Short {
		v, err := eval.ScalarValue(s.X, args)
		if err != nil {
			return err
		}
		if err := s.Check(v); err != nil {
			return err
		}
	}
	return nil
}

var errTimeout = errors.New("statement timeout")

// runPrivate is the way of design section 3 from the charge on.
func (p *Prepared) runPrivate(ctx context.Context, args []sqltype.Value) (ans *Answer, err error) {
	s := p.session
	e := s.engine
	mp, err := p.price()
	if err != nil {
		return nil, err
	}
	key, err := p.key(args)
	if err != nil {
		return nil, err
	}
	heard := Heard{Analyst: s.analyst.Name, Statement: key, Plan: sensitivity.Canonical(p.an), Order: e.filter.Order, Outcome: Answered}
	defer func() { s.tell(&heard, err) }()
	unlock, err := e.asking.lock(ctx, key)
	if err != nil {
		return nil, s.uncharged(ctx, err) // nothing was charged yet
	}
	defer unlock()

	r, free, err := p.stored(ctx, key, mp)
	if err != nil {
		return nil, err
	}
	if free {
		heard.Outcome = Free
	} else if r, err = p.ask(ctx, key, mp, r, args, &heard); err != nil {
		return nil, err
	}
	s.last = &lastAnswer{p.an, r, heard.Outcome == Free}
	rows, err := finish.Run(ctx, p.an, r, args, p.world.policy.Query.MinPeople)
	if err != nil {
		return nil, err
	}
	return &Answer{Rows: rows, Tag: "SELECT", Notice: s.notice(ctx, p.an, r, heard.Outcome == Free)}, nil
}

// stored looks for a release that answers at no charge: made of the same key with at least the asked price, or so near to it that measuring again is not
// worth it, or public through and through (groups without a measure). One that was made at a smaller price comes back too, not free: it can be topped up.
func (p *Prepared) stored(ctx context.Context, key ledger.Hash, mp *measure.Plan) (*release.Release, bool, error) {
	e := p.session.engine
	if len(mp.Events()) == 0 {
		m, err := release.New(p.an, mp, e.noise, p.releaseGroups())
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
	r, err := release.Decode(p.an, old.Payload)
	if err != nil {
		return nil, false, p.session.ledgerFailed(err)
	}
	more := p.session.asks().WorthTopUp(old.Price)
	if more && p.an.Trees() { // a tree's nodes are not measured again: at a higher price it is a new release
		return nil, false, nil
	}
	return r, !more, nil
}

// maker makes what will be run, its noise drawn before the data is asked: the whole plan, or what tops up an older release. The plan comes back
// as it is charged; nil where nothing is, because the older release has no numbers that measuring again makes more exact.
func (p *Prepared) maker(mp *measure.Plan, old *release.Release) (*measure.Plan, *release.Maker, error) {
	e := p.session.engine
	if old == nil {
		m, err := release.New(p.an, mp, e.noise, p.releaseGroups())
		return mp, m, err
	}
	top, err := measure.TopUp(p.an, old.Run, old.Spent().Price, p.session.asks())
	if err != nil || top == nil {
		return nil, nil, err
	}
	m, err := release.NewTopUp(p.an, top, old, e.noise)
	if m == nil {
		return nil, nil, err
	}
	return top, m, err
}

// ask opens a snapshot, reserves, reads, releases and commits.
//
// Proof: (0) opening a snapshot reads no row of the policy's tables: whether the backend answers, and with which schema, is not
// private, so a failure there costs nothing; (1) the reservation is durable before the backend is asked for rows; (2) whatever fails afterwards keeps the charge and is
// answered with one fixed error, the client's own cancel apart; (3) the release is durable before any of it is returned. The
// statement that is printed, its parameters and its noise follow from the plan, the policy and the settings.
func (p *Prepared) ask(ctx context.Context, key ledger.Hash, mp *measure.Plan, old *release.Release, args []sqltype.Value, heard *Heard) (*release.Release, error) {
	s := p.session
	e := s.engine
	seed := int64(binary.BigEndian.Uint64(key[:8]))
	st, err := sqlgen.Private(p.an, e.dialect, seed)
	if err != nil {
		return nil, err
	}
	if err := s.notStopped(); err != nil {
		return nil, err
	}
	mp, maker, err := p.maker(mp, old)
	switch {
	case sqlerr.ID(err) != "": // the price is too small for a top-up
		return nil, err
	case err != nil:
		return nil, s.uncharged(ctx, err)
	case mp == nil:
		heard.Outcome = Free
		return old, nil
	}
	done, err := s.turn(ctx)
	if err != nil {
		return nil, s.uncharged(ctx, err)
	}
	defer done()
	tx, err := e.begin(ctx, p.world) // (0)
	if err != nil {
		return nil, s.uncharged(ctx, err)
	}
	defer tx.Close()
	id, err := e.ledger.Reserve(ctx, ledger.Reservation{Analyst: s.analyst.Name, Quota: s.analyst.Share, Statement: key, Price: mp.Price,
		Events: mp.Events(), Loss: mp.Loss}) // (1)
	switch {
	case err != nil && errors.Is(err, ctx.Err()): // it gave up before it wrote
		return nil, s.uncharged(ctx, err)
	case err != nil:
		return nil, s.denied(err, mp)
	}
	heard.Reservation, heard.Price, heard.Loss = id, mp.Price, mp.Loss
	r, err := p.read(ctx, tx, st, maker, old, args)
	if err == nil {
		err = p.readTrees(ctx, tx, maker, seed, args)
	}
	if err == nil {
		err = tx.confirm(ctx)
	}
	tx.Close()
	if err != nil { // (2)
		return nil, s.resourceFailed(ctx, id, err)
	}
	payload, err := release.Encode(p.an, r)
	if err != nil {
		return nil, s.resourceFailed(ctx, id, err)
	}
	if most := p.world.policy.Limits.ReleaseBytes; int64(len(payload)) > most {
		return nil, s.resourceFailed(ctx, id, fmt.Errorf("a release of %d bytes is over limits.release_bytes of %d", len(payload), most))
	}
	// (3) A paid, finished release is kept whatever the client does now.
	if err := e.ledger.Commit(context.WithoutCancel(ctx), id, ledger.Release{Key: key, Payload: payload}); err != nil {
		return nil, s.ledgerFailed(err)
	}
	return r, nil
}

// read runs the statement's scans in their snapshot: one, or where vectors are scaled to norms that are chosen first, two.
func (p *Prepared) read(ctx context.Context, tx backend.Tx, st *sqlgen.Statement, maker *release.Maker, old *release.Release, args []sqltype.Value) (r *release.Release, err error) {
	if p.an.Limit.L2 {
		var clips []uint64
		if old != nil {
			clips = old.Edges(p.an)
		} else if err := query(ctx, tx, st, args, func(rows secret.Rows) (err error) {
			clips, err = maker.Bounds(st.Columns, rows)
			return err
		}); err != nil {
			return nil, err
		}
		if st, err = sqlgen.Scaled(p.an, p.session.engine.dialect, clips); err != nil {
			return nil, err
		}
	}
	if noTotals(p.an) {
		return maker.Read(nil, noRows{})
	}
	err = query(ctx, tx, st, args, func(rows secret.Rows) (err error) {
		r, err = maker.Read(st.Columns, rows)
		return err
	})
	return r, err
}

// inSnapshot runs one printed statement in a snapshot of its own and hands its rows over.
func (e *Engine) inSnapshot(ctx context.Context, w *world, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	tx, err := e.begin(ctx, w)
	if err != nil {
		return err
	}
	defer tx.Close()
	if err := query(ctx, tx, st, args, use); err != nil {
		return err
	}
	return tx.confirm(ctx)
}

// query runs one printed statement and hands its rows over.
func query(ctx context.Context, tx backend.Tx, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	bargs, want := bindArgs(st, args)
	rows, err := tx.Query(ctx, st.SQL, bargs, want)
	if err != nil {
		return err
	}
	defer rows.Close()
	return use(rows)
}

// releaseGroups limits a release, which is held in memory.
func (p *Prepared) releaseGroups() int { return int(p.world.policy.Limits.ReleaseGroups) }

// price is the statement's plan: the one by which its bounding was decided, where that took one.
func (p *Prepared) price() (mp *measure.Plan, err error) {
	if p.priced == nil {
		p.priced, err = p.session.price(p.an)
	}
	return p.priced, err
}

// price splits the session's epsilon over what the statement measures.
func (s *Session) price(a *sensitivity.Analysis) (*measure.Plan, error) {
	return measure.New(a, s.asks())
}

// asks is what the session's settings ask for.
func (s *Session) asks() measure.Ask {
	return measure.Ask{Filter: s.engine.filter, Epsilon: s.now.epsilon, Least: s.leastEpsilon(), QueryDelta: s.world.policy.Query.Delta, Mechanism: s.now.mechanism,
		Population: int64(min(s.world.policy.Units(), 1<<40))}
}

// key names everything that determines a release but its noise: canonical plan, parameters, bounds, time zone, policy.
func (p *Prepared) key(args []sqltype.Value) (ledger.Hash, error) {
	h := sha256.New()
	write := func(text string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write([]byte(text))
	}
	write("dpsql release 1")
	write(p.world.catalogs.Epoch())
	zone := ""
	if p.query.Zoned {
		zone = p.values.Zone.String()
	}
	write(zone)
	write(sensitivity.Canonical(p.an))
	for i, v := range args {
		if v == nil {
			write(fmt.Sprintf("$%d NULL", i+1))
			continue
		}
		write(fmt.Sprintf("$%d %s", i+1, p.query.Params[i]))
		write(sqltype.FormatText(v, p.query.Params[i]))
	}
	return ledger.Hash(h.Sum(nil)), nil
}

// notice says what was spent and what is left, if the session wants to know.
func (s *Session) notice(ctx context.Context, a *sensitivity.Analysis, r *release.Release, free bool) string {
	if s.now.notices == "off" {
		return ""
	}
	mp := r.Spent()
	var text string
	switch {
	case len(mp.Events()) == 0:
		return "spent: nothing (public groups, nothing measured)"
	case free:
		text = fmt.Sprintf("spent: nothing (answered from the release made at price %s)%s", number(mp.Price), s.littleMore(r))
	default:
		text = "spent: " + priceLine(mp, s.engine.filter.Order)
	}
	if b, err := s.engine.ledger.Balance(s.analyst.Name, s.analyst.Share); err == nil {
		text += fmt.Sprintf("; left: %s more at this price", statements(b.StatementsLeft(mp.Loss)))
	}
	if errs := s.errorLine(ctx, a, r); errs != "" {
		text += "; 95% error (noise only, largest group): " + errs
	}
	for _, l := range endLines(a, r) {
		text += "\n" + l
	}
	if s.now.notices == "full" {
		for _, l := range sensitivity.Explain(a, chosenBounds(a, r)) {
			text += "\n" + l
		}
	}
	return text
}

// littleMore says why a release answers for which more was asked than it was made at.
func (s *Session) littleMore(r *release.Release) string {
	if p := r.Spent(); len(p.Events()) > 0 && s.now.epsilon > p.Price {
		return "; measuring again takes a quarter more than that"
	}
	return ""
}

func statements(n int64) string {
	if n == math.MaxInt64 {
		return "any number"
	}
	return fmt.Sprint(n)
}

// noRows is the answer that a statement without measures needs.
type noRows struct{}
