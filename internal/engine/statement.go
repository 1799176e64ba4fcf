package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/internal/policy"
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
	filter     *budget.Filter // of the window in which the session last looked: what prices and losses are taken by
	start, now settings
	values     sqltype.Settings // of literals, and the time zone
	last       *lastAnswer
	parameters pgmeta.Parameters // settings that are not dpsql's
	explained  dp.Loss           // what the trainings that EXPLAIN (TOGETHER) goes on from would be charged
	warned     map[string]bool   // of which rare values, and of which columns' unlisted values, the session was warned
	tell       func(text string) // tells the client how far a long statement is; nil: nobody wants to hear
	progress   *Progress         // of the statement that runs; nil: it is not told of
}

// Use says how the literals of the statements that follow are read, and what their time zone is.
func (s *Session) Use(values sqltype.Settings) { s.values = values }

// UseProgress says where word of a long statement's progress goes while it runs.
func (s *Session) UseProgress(tell func(text string)) { s.tell = tell }

// Close ends the session.
func (s *Session) Close() {}

// Prepared is a statement that is bound and analysed: its types are known, nothing was read or spent.
type Prepared struct {
	session         *Session
	stmt            *pgsyntax.Select
	text            string            // as it was sent, for the ledger
	explain         *pgsyntax.Explain // set for EXPLAIN
	params          []sqltype.OID
	query           *plan.Query
	under           settings // the settings of the analysis
	filter          *budget.Filter
	values          sqltype.Settings
	world           *world                // and its policy
	an              *sensitivity.Analysis // of the first stage; of a public statement, that it is one
	program         *sensitivity.Program
	stages          []*stage
	public          map[plan.Rel]*sqlgen.Statement // the public relations that its answer is computed from
	dependsOnParams bool                           // the plan follows from values of parameters: it is analysed again with them
	inBackend       *backendFinishing              // set where its answer is computed by the database, from given rows
	meta            *pgmeta.Session                // set for statements over PostgreSQL's own catalogs
	predicts        bool                           // it uses models: who may, and what they say, is looked up again at each run
	model           modelStatement                 // set for statements about DP models, of which nothing below is
	nameless        bool                           // its errors are told by those who ask for it, by other names
	shown           *displayed                     // how its values are shown; nil: as they are
	read            func()                         // gives back the turn that its run has for stored releases (reading); nil: it has none
	empties         *plan.Query                    // the statement, where values of parameters may leave it no rows (LIMIT $1); nil: none do
	refused         error                          // what else is refused then, once they are there
	at              time.Time                      // when it was analysed
	outer           []string                       // warnings of limits that no value meets, and of conditions outside of the groups that they are on
	readsData       bool                           // it reads tables, but for those of PostgreSQL and dpsql: dpsql.last is about it
	preview         string                         // how rows of people, which are not shown, are previewed; "": they were not asked for
}

// Prepare binds and analyses a SELECT or an EXPLAIN of one, or checks a statement about DP models. It touches no private data and spends nothing.
func (s *Session) Prepare(ctx context.Context, st pgsyntax.Statement, params []sqltype.OID) (*Prepared, error) {
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if t := s.world.policy.Limits.StatementTime; t > 0 { // public tables' values may be read for the groups
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, errTimeout)
		defer cancel()
	}
	defer s.working("planning")()
	p := &Prepared{session: s, params: params, text: ledger.CutText(st.Text)}
	switch n := st.Node.(type) {
	case *pgsyntax.Select:
		p.stmt = n
	case *pgsyntax.Train, *pgsyntax.Evaluate, *pgsyntax.Models:
		return p, p.prepareModel(ctx, n, nil)
	case *pgsyntax.Explain:
		if _, ok := n.Query.(*pgsyntax.Train); ok {
			if err := checkExplain(n); err != nil {
				return nil, err
			}
			if formatJSON(n) {
				return nil, sqlerr.New(sqlerr.Unsupported, "EXPLAIN (FORMAT JSON) of TRAIN is not supported").At(int(n.Pos)).WithHint("Its answer is a table of properties as it is.")
			}
			return p, p.prepareModel(ctx, n.Query, n)
		}
		if _, ok := n.Query.(*pgsyntax.Evaluate); ok {
			if err := checkExplain(n); err != nil {
				return nil, err
			}
			return p, p.prepareModel(ctx, n.Query, n)
		}
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
	if err := p.analyze(ctx, nil); err != nil || p.explain == nil || !isOn(p.explain, "analyze") {
		return p, err
	}
	return p, p.analyzable()
}

// analyze binds and analyses under the session's present settings. What an analysis asks of parameters is of args, once they are there.
func (p *Prepared) analyze(ctx context.Context, args []sqltype.Value) error {
	s := p.session
	q, err := p.bind(ctx)
	if err != nil {
		return err
	}
	if p.meta != nil {
		p.analyzeFree(q, "")
		return nil
	}
	if q, p.dependsOnParams, err = q.WithListedRows().WithValues(args, eval.ScalarValue); err != nil {
		return err
	}
	p.empties, p.refused = mayBeEmpty(q), nil
	program, err := sensitivity.Divide(ctx, q, s.options())
	if how := s.previews(q, err); how != "" {
		p.analyzeFree(q, how)
		return nil
	}
	if err == nil {
		err = p.arrange(ctx, q, program)
	}
	if err != nil && errors.Is(err, ctx.Err()) {
		return s.uncharged(ctx, err)
	}
	if err != nil && p.empties != nil {
		p.analyzeFree(q, "")
		p.refused = err
		return nil
	}
	return err
}

// arrange keeps what is released and computed of a statement that was divided.
func (p *Prepared) arrange(ctx context.Context, q *plan.Query, program *sensitivity.Program) (err error) {
	s := p.session
	program, shown := s.showing(ctx, q, program)
	q = program.Query
	first, stages, public, by := &sensitivity.Analysis{Class: sensitivity.Public, Query: q}, []*stage(nil), map[plan.Rel]*sqlgen.Statement(nil), (*backendFinishing)(nil)
	if program.Class == sensitivity.Private {
		if stages, err = s.analyzeStages(ctx, program); err != nil {
			return err
		}
		if none, words := withoutStages(program, stages); none != nil {
			return p.arrange(ctx, none, &sensitivity.Program{Class: sensitivity.Public, Query: none, Answer: sensitivity.Computed{Root: none.Root}, Warnings: append(words, program.Warnings...)})
		}
		if public, by, err = s.finishable(program, shown); err != nil {
			return err
		}
		first = stages[0].an
	}
	p.outer = append(slices.Clone(program.Warnings), s.outerConditions(ctx, program, stages)...)
	p.preview, p.shown = "", shown
	p.at = time.Now()
	p.query, p.program, p.stages, p.public, p.inBackend, p.an, p.under, p.filter, p.values, p.world = q, program, stages, public, by, first, s.now, s.filter, s.values, s.world
	return nil
}

// withoutStages is a statement that would be charged although its answer needs nothing of what is released, and why; nil where it needs some.
func withoutStages(program *sensitivity.Program, stages []*stage) (*plan.Query, []string) {
	if !slices.ContainsFunc(stages, (*stage).isCharged) {
		return nil, nil
	}
	list := make([]*sensitivity.Analysis, len(stages))
	for i, st := range stages {
		list[i] = st.an
	}
	none := program.WithoutStages(list)
	if none == nil || eval.Check(none.Root, hasNoLeaf, none) != nil {
		return nil, nil
	}
	return none, unread(list)
}

// Params are the types of $1 ...
func (p *Prepared) Params() []sqltype.Type {
	if p.model != nil {
		return nil
	}
	return p.query.Params
}

// Columns describe the answer.
func (p *Prepared) Columns() []Column {
	if p.model != nil {
		return p.model.columns()
	}
	if p.explain != nil {
		if formatJSON(p.explain) {
			return []Column{{Name: "QUERY PLAN", Type: sqltype.JSONType}}
		}
		return []Column{{Name: "QUERY PLAN", Type: sqltype.Text}}
	}
	out := make([]Column, len(p.query.Outputs))
	for i, o := range p.query.Outputs {
		out[i] = Column{Name: p.label(o), Type: o.Type, TableOID: o.TableOID, Attr: o.Attr}
	}
	return out
}

// Run answers the statement. A private one is charged here, unless a stored release answers it.
func (p *Prepared) Run(ctx context.Context, args []sqltype.Value) (*Answer, error) {
	s := p.session
	defer s.working("planning")()
	if p.model != nil {
		return p.model.run(ctx)
	}
	if p.explain == nil && p.meta == nil && p.preview == "" {
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
	old := p.hasPublicInputs() && time.Since(p.at) > publicTTL
	if old || p.query.Clock || p.predicts || s.now != p.under || s.values != p.values || s.world != p.world || *s.filter != *p.filter { // the clock moved, public tables may have changed, a SET, a reload or another window came between Parse and Execute
		if err := p.analyze(ctx, nil); err != nil {
			return nil, err
		}
	}
	if len(args) != len(p.query.Params) {
		return nil, sqlerr.New(sqlerr.ProtocolViolation, "the statement needs %d parameters, %d were given", len(p.query.Params), len(args))
	}
	if err := short(p.query, args); err != nil {
		return nil, err
	}
	if p.dependsOnParams || p.refused != nil { // what was in the way may be gone
		if err := p.analyze(ctx, args); err != nil {
			return nil, err
		}
	}
	if t := s.world.policy.Limits.StatementTime; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, errTimeout)
		defer cancel()
	}
	if p.readsData && p.explain == nil {
		s.last = nil // a release sets it
	}
	if none := p.emptied(args); none != nil {
		return none.answer(ctx, args)
	}
	return p.answer(ctx, args)
}

// hasPublicInputs says that groups or bounds follow from public tables, which were read when it was analysed.
func (p *Prepared) hasPublicInputs() bool {
	return slices.ContainsFunc(p.stages, func(st *stage) bool {
		return len(st.an.Multiplicities) > 0 || slices.ContainsFunc(st.an.Groups.Sources, func(s sensitivity.Source) bool { return s.Table != nil })
	})
}

// answer runs the statement as it was analysed last.
func (p *Prepared) answer(ctx context.Context, args []sqltype.Value) (*Answer, error) {
	switch {
	case p.refused != nil:
		return nil, p.refused
	case p.explain != nil:
		return p.runExplain(ctx, args)
	case p.meta != nil:
		return p.runMeta(ctx, args)
	case p.preview != "":
		return p.runPreview(ctx, args)
	case p.an.Class == sensitivity.Private:
		return p.retryOnOrderChange(ctx, args)
	}
	rows, err := p.session.runPublic(ctx, p.query, args)
	if err != nil {
		return nil, err
	}
	return &Answer{Rows: rows, Tag: "SELECT", Warnings: p.outer}, nil
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

// inSnapshot runs one printed statement in a snapshot of its own and hands its rows over.
func (e *Engine) inSnapshot(ctx context.Context, w *world, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	tx, err := e.begin(ctx, w)
	if err != nil {
		return err
	}
	defer tx.Close()
	if err := queryAll(ctx, tx, st, args, use); err != nil {
		return err
	}
	return tx.confirm(ctx)
}

// query runs one statement printed over private rows and hands its readable rows over.
func query(ctx context.Context, tx backend.Tx, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	return queryAll(ctx, tx, st, args, func(rows secret.Rows) error { return use(secret.Readable(rows)) })
}

// queryAll runs one printed statement and hands its rows over.
func queryAll(ctx context.Context, tx backend.Tx, st *sqlgen.Statement, args []sqltype.Value, use func(secret.Rows) error) error {
	bargs, want := bindArgs(st, args)
	rows, err := tx.Query(ctx, st.SQL, bargs, want)
	if err != nil {
		return err
	}
	defer rows.Close()
	return use(rows)
}

// request is what the session's settings ask for.
func (s *Session) request() price.Request {
	return price.Request{Filter: s.filter, Epsilon: s.now.epsilon, Least: s.leastEpsilon(), QueryDelta: s.world.policy.Query.Delta, Mechanism: s.now.mechanism,
		Population: int64(min(s.world.policy.Units(), 1<<40)), Kinds: s.world.policy.EachUnits(), Most: s.analyst.MaxQueryEpsilon}
}

// noRows is the answer that a statement without measures needs.
type noRows struct{}
