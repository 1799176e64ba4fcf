package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/cube"
	"github.com/dpsql/dpsql/internal/engine/explain"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/engine/synthetic"
	"github.com/dpsql/dpsql/internal/engine/watch"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// Prepared is a statement that is bound and analysed: its types are known, nothing was read or spent. It keeps its text and parameters and what it was
// analysed under, and Run analyses it again where that has changed. Its kind is a private.Statement, session.Public,
// catalog.Statement, catalog.Preview, catalog.Emptied or catalog.Refused. A statement about models is one of package model's kinds. An
// explain.Statement wraps one of them.
type Prepared struct {
	*session.Statement
	kind            session.Kind
	stmt            *pgsyntax.Select // nil: a statement about models
	params          []sqltype.OID
	dependsOnParams bool      // the plan follows from values of parameters: it is analysed again with them
	predicts        bool      // it uses models or synthetic tables: who may, and what they say, is looked up again at each run
	readsData       bool      // it reads tables, but for those of PostgreSQL and dpsql: dpsql.last is about it
	at              time.Time // when it was analysed
}

// Prepare binds and analyses a SELECT or an EXPLAIN of one, or checks a statement about DP models. It touches no private data and spends nothing.
func Prepare(ctx context.Context, s *session.Session, st pgsyntax.Statement, params []sqltype.OID) (*Prepared, error) {
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	ctx, cancel := s.Within(ctx)
	defer cancel()
	defer s.Working("planning")()
	p := &Prepared{Statement: &session.Statement{Session: s, Text: pgsyntax.Condensed(st.Text, ledger.MaxText), Literals: s.Values}, params: params}
	n := st.Node
	if x, ok := n.(*pgsyntax.Explain); ok {
		_, train := x.Query.(*pgsyntax.Train)
		_, evaluate := x.Query.(*pgsyntax.Evaluate)
		_, watches := x.Query.(*pgsyntax.Watch)
		_, synthesize := x.Query.(*pgsyntax.Synthesize)
		_, cubes := x.Query.(*pgsyntax.Cube)
		if _, sel := x.Query.(*pgsyntax.Select); !sel && !train && !evaluate && !watches && !synthesize && !cubes {
			return nil, sqlerr.New(sqlerr.Unsupported, "EXPLAIN of this statement is not supported").At(int(x.Pos))
		}
		if err := explain.CheckExplain(x); err != nil {
			return nil, err
		}
		if (train || watches || synthesize || cubes) && explain.FormatJSON(x) {
			return nil, sqlerr.New(sqlerr.Unsupported, "EXPLAIN (FORMAT JSON) of this statement is not supported").At(int(x.Pos)).WithHint("Its answer is a table of properties as it is.")
		}
		p.Explain, n = x, x.Query
	}
	switch n := n.(type) {
	case *pgsyntax.Select:
		p.stmt = n
	case *pgsyntax.Train, *pgsyntax.Evaluate, *pgsyntax.Models:
		var err error
		p.kind, err = model.PrepareModel(ctx, s, n, p.Explain, PrepareInner)
		return p, s.Planned(ctx, err)
	case *pgsyntax.Watch, *pgsyntax.DropWatch:
		var err error
		p.kind, err = watch.Prepare(ctx, s, n, p.Explain != nil, PrepareInner)
		return p, s.Planned(ctx, err)
	case *pgsyntax.Synthesize, *pgsyntax.SyntheticTables:
		var err error
		p.kind, err = synthetic.Prepare(ctx, s, n, p.Explain)
		return p, s.Planned(ctx, err)
	case *pgsyntax.Cube, *pgsyntax.DropCube:
		var err error
		p.kind, err = cube.Prepare(ctx, s, n, p.Explain, PrepareInner)
		return p, s.Planned(ctx, err)
	default:
		return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
	}
	err := p.analyze(ctx, nil)
	if x, ok := p.kind.(*explain.Statement); ok && explain.IsOn(x.Explain, "analyze") {
		err = x.Analyzable(catalog.Unwrapped(x.Of))
	}
	return p, err
}

// Looker makes the looks of a server's watches.
func Looker(e *server.Engine) *watch.Looker { return &watch.Looker{Engine: e, Ask: PrepareInner} }

// Kind is what the statement is.
func (p *Prepared) Kind() session.Kind { return p.kind }

// PrepareInner prepares the query that a statement about models asks, and tells of what kind that is.
func PrepareInner(ctx context.Context, st *session.Statement, q *pgsyntax.Select) (whole, of session.Kind, err error) {
	p := &Prepared{Statement: st, stmt: q}
	if err := p.analyze(ctx, nil); err != nil {
		return nil, nil, err
	}
	return p, inner(p.kind), nil
}

// analyze binds and analyses under the session's present settings. What an analysis asks of parameters is of args, once they are there. It ends soon after the context does, and says so.
func (p *Prepared) analyze(ctx context.Context, args []sqltype.Value) error {
	err := ctx.Err()
	if err == nil {
		err = p.bindAndArrange(ctx, args)
	}
	return p.Session.Planned(ctx, err)
}

func (p *Prepared) bindAndArrange(ctx context.Context, args []sqltype.Value) error {
	s := p.Session
	opts := s.Binding(&p.Literals)
	opts.ParamTypes = p.params
	b, err := catalog.BindStatement(ctx, s, p.stmt, opts)
	if err != nil {
		return err
	}
	q, dependsOnParams := b.Query, false
	st := p.With(q)
	var k session.Kind = &catalog.Statement{Statement: st, Meta: b.Meta}
	if b.Meta == nil {
		if q, dependsOnParams, err = q.WithListedRows().WithValues(args, eval.ScalarValue); err != nil {
			return err
		}
		st, k, err = p.kindOf(ctx, q)
		switch {
		case err == nil:
		case args == nil && dependsOnParams && sqlerr.ID(err) == sqlerr.NoRange.ID: // a value may be the range's end
			st = p.With(q)
			k = &catalog.Refused{Statement: st, Why: err}
		default:
			return err
		}
	}
	if st.Explain != nil {
		k = &explain.Statement{Statement: st, Of: k}
	}
	if p.kind != nil && !slices.EqualFunc(p.kind.Columns(), k.Columns(), func(a, b answer.Column) bool { return a.Type.OID == b.Type.OID }) { // a model was replaced, or a table's column has another type
		return sqlerr.New(sqlerr.Unsupported, "cached plan must not change result type").WithHint("Nothing was spent. Prepare the statement again: its answer has other types than it had.")
	}
	p.Statement, p.kind, p.dependsOnParams, p.predicts, p.readsData, p.at = st, k, dependsOnParams, b.Predicts || b.Synthetic, b.ReadsData, time.Now()
	return nil
}

// kindOf is what a statement over data does, which is private, public, previewed, or, until its parameters are there, refused.
func (p *Prepared) kindOf(ctx context.Context, q *plan.Query) (st *session.Statement, k session.Kind, err error) {
	s, empties := p.Session, catalog.MayBeEmpty(q)
	program, err := divide.Divide(ctx, q, s.Options())
	st = p.With(q)
	if err != nil && errors.Is(err, ctx.Err()) {
		return nil, nil, err
	}
	if how := catalog.PreviewOf(s, q, err); how != "" {
		k = &catalog.Preview{Statement: st, How: how}
	} else {
		if err == nil {
			st, k, err = p.arrange(ctx, q, program)
		}
		switch {
		case err != nil && errors.Is(err, ctx.Err()):
			return nil, nil, err
		case err != nil && empties == nil:
			return nil, nil, err
		case err != nil:
			st = p.With(q)
			k = &catalog.Refused{Statement: st, Why: err}
		}
	}
	if empties != nil {
		k = &catalog.Emptied{Statement: st, Empties: empties, Then: k}
	}
	return st, k, nil
}

// arrange keeps what is released and computed of a statement that was divided.
func (p *Prepared) arrange(ctx context.Context, q *plan.Query, program *divide.Program) (*session.Statement, session.Kind, error) {
	s := p.Session
	program, shown := stage.Showing(ctx, s, q, program)
	st := p.With(program.Query)
	if program.Class != sensitivity.Private {
		return st, &session.Public{Statement: st, Warnings: program.Warnings}, nil
	}
	stages, err := stage.AnalyzeStages(ctx, s, program)
	if err != nil {
		return nil, nil, err
	}
	if none, words := withoutStages(program, stages); none != nil {
		return p.arrange(ctx, none, &divide.Program{Class: sensitivity.Public, Query: none, Answer: divide.Computed{Root: none.Root}, Warnings: append(words, program.Warnings...)})
	}
	if err := stage.RefuseUnmet(stages); err != nil {
		return nil, nil, err
	}
	public, by, err := stage.Finishable(s, program, shown)
	if err != nil {
		return nil, nil, err
	}
	staged := &stage.Staged{Statement: st, Program: program, Stages: stages, PublicStatements: public, InBackend: by, Shown: shown}
	staged.Outer = append(slices.Clone(program.Warnings), stage.OuterConditions(ctx, s, program, stages)...)
	if staged.HasHiddenTotals() {
		staged.PublicBy = stage.PublicBy(ctx, s, program, stages)
	}
	return st, &private.Statement{Staged: staged, Again: p.analyzeAgain}, nil
}

// analyzeAgain analyses a statement that is being run, and tells of what kind it is now.
func (p *Prepared) analyzeAgain(ctx context.Context, args []sqltype.Value) (session.Kind, error) {
	if !p.dependsOnParams {
		args = nil
	}
	if err := p.analyze(ctx, args); err != nil {
		return nil, err
	}
	return catalog.Unwrapped(p.kind), nil
}

// inner is what a statement is behind EXPLAIN, if its parameters leave it rows.
func inner(k session.Kind) session.Kind {
	if x, ok := k.(*explain.Statement); ok {
		k = x.Of
	}
	return catalog.Unwrapped(k)
}

// withoutStages is a statement that would be charged although its answer needs nothing of what is released, and why; nil where it needs some.
func withoutStages(program *divide.Program, stages []*stage.Stage) (*plan.Query, []string) {
	if !slices.ContainsFunc(stages, (*stage.Stage).IsCharged) {
		return nil, nil
	}
	list := make([]*sensitivity.Analysis, len(stages))
	for i, st := range stages {
		list[i] = st.An
	}
	none := program.WithoutStages(list)
	if none == nil || eval.Check(none.Root, session.HasNoLeaf, none) != nil {
		return nil, nil
	}
	return none, stage.Unread(list)
}

// Params are the types of $1 ...
func (p *Prepared) Params() []sqltype.Type {
	if p.Query == nil {
		return nil
	}
	return p.Query.Params
}

// Columns describe the answer.
func (p *Prepared) Columns() []answer.Column { return p.kind.Columns() }

// Run answers the statement. A private one is charged here, unless a stored release answers it.
func (p *Prepared) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	s := p.Session
	ctx, cancel := s.Within(ctx)
	defer cancel()
	defer s.Working("planning")()
	if p.stmt == nil {
		return p.kind.Run(ctx, args)
	}
	switch catalog.Unwrapped(p.kind).(type) {
	case *explain.Statement, *catalog.Statement, *catalog.Preview: // these read no table
	default:
		if err := s.Engine.Settle(ctx); err != nil {
			if ctx.Err() != nil {
				err = s.Uncharged(ctx, err)
			}
			return nil, err
		}
	}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	private, is := inner(p.kind).(*private.Statement)
	old := is && private.HasPublicInputs() && time.Since(p.at) > server.PublicTTL
	if old || p.Query.Clock || p.predicts || p.IsOutdated() { // the clock moved, public tables may have changed, a SET, a reload or another window came between Parse and Execute
		if err := p.analyze(ctx, nil); err != nil {
			return nil, err
		}
	}
	if len(args) != len(p.Query.Params) {
		return nil, sqlerr.New(sqlerr.ProtocolViolation, "the statement needs %d parameters, %d were given", len(p.Query.Params), len(args))
	}
	if err := short(p.Query, args); err != nil {
		return nil, err
	}
	if _, refused := inner(p.kind).(*catalog.Refused); p.dependsOnParams || refused { // what was in the way may be gone
		if err := p.analyze(ctx, args); err != nil {
			return nil, err
		}
	}
	if p.readsData && p.Explain == nil {
		s.Last = nil // a release sets it
	}
	return p.kind.Run(ctx, args)
}

// IsForPersonRows says that the statement is for rows of people, which are not shown whatever it answers.
func (p *Prepared) IsForPersonRows() bool {
	switch inner(p.kind).(type) {
	case *catalog.Preview, *catalog.Refused:
		return true
	}
	return false
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
