package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dpsql/dpsql/internal/engine/answer"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// Prepared is a statement that is bound and analysed: its types are known, nothing was read or spent. It keeps its text and parameters and what it was
// analysed under, and Run analyses it again where that has changed. What it does is its kind's: privateStatement, publicStatement, catalogStatement,
// previewStatement, emptiedStatement or refusedStatement, and of models training, evaluation or models. An explainStatement wraps one of them.
type Prepared struct {
	*statement
	kind            kind
	stmt            *pgsyntax.Select // nil: a statement about models
	params          []sqltype.OID
	dependsOnParams bool      // the plan follows from values of parameters: it is analysed again with them
	predicts        bool      // it uses models: who may, and what they say, is looked up again at each run
	readsData       bool      // it reads tables, but for those of PostgreSQL and dpsql: dpsql.last is about it
	at              time.Time // when it was analysed
}

// Prepare binds and analyses a SELECT or an EXPLAIN of one, or checks a statement about DP models. It touches no private data and spends nothing.
func Prepare(ctx context.Context, s *Session, st pgsyntax.Statement, params []sqltype.OID) (*Prepared, error) {
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if t := s.world.policy.Limits.StatementTime; t > 0 { // public tables' values may be read for the groups
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, errTimeout)
		defer cancel()
	}
	defer s.working("planning")()
	p := &Prepared{statement: &statement{session: s, text: ledger.CutText(st.Text)}, params: params}
	n := st.Node
	if x, ok := n.(*pgsyntax.Explain); ok {
		_, train := x.Query.(*pgsyntax.Train)
		_, evaluate := x.Query.(*pgsyntax.Evaluate)
		if _, sel := x.Query.(*pgsyntax.Select); !sel && !train && !evaluate {
			return nil, sqlerr.New(sqlerr.Unsupported, "EXPLAIN of this statement is not supported").At(int(x.Pos))
		}
		if err := checkExplain(x); err != nil {
			return nil, err
		}
		if train && formatJSON(x) {
			return nil, sqlerr.New(sqlerr.Unsupported, "EXPLAIN (FORMAT JSON) of TRAIN is not supported").At(int(x.Pos)).WithHint("Its answer is a table of properties as it is.")
		}
		p.explain, n = x, x.Query
	}
	switch n := n.(type) {
	case *pgsyntax.Select:
		p.stmt = n
	case *pgsyntax.Train, *pgsyntax.Evaluate, *pgsyntax.Models:
		var err error
		p.kind, err = prepareModel(ctx, s, n, p.explain, prepareInner)
		return p, err
	default:
		return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
	}
	err := p.analyze(ctx, nil)
	if x, ok := p.kind.(*explainStatement); ok && isOn(x.explain, "analyze") {
		err = x.analyzable(unwrapped(x.of))
	}
	return p, err
}

// prepareInner prepares the query that a statement about models asks, and tells of what kind that is.
func prepareInner(ctx context.Context, st *statement, q *pgsyntax.Select) (whole, of kind, err error) {
	p := &Prepared{statement: st, stmt: q}
	if err := p.analyze(ctx, nil); err != nil {
		return nil, nil, err
	}
	return p, inner(p.kind), nil
}

// analyze binds and analyses under the session's present settings. What an analysis asks of parameters is of args, once they are there.
func (p *Prepared) analyze(ctx context.Context, args []sqltype.Value) error {
	s := p.session
	b, err := bindStatement(ctx, s, p.stmt, p.params)
	if err != nil {
		return err
	}
	q, dependsOnParams := b.query, false
	st := p.with(q)
	var k kind = &catalogStatement{st, b.meta}
	if b.meta == nil {
		if q, dependsOnParams, err = q.WithListedRows().WithValues(args, eval.ScalarValue); err != nil {
			return err
		}
		if st, k, err = p.kindOf(ctx, q); err != nil {
			return err
		}
	}
	if st.explain != nil {
		k = &explainStatement{st, k}
	}
	p.statement, p.kind, p.dependsOnParams, p.predicts, p.readsData, p.at = st, k, dependsOnParams, b.predicts, b.readsData, time.Now()
	return nil
}

// kindOf is what a statement over data does, which is private, public, previewed, or, until its parameters are there, refused.
func (p *Prepared) kindOf(ctx context.Context, q *plan.Query) (st *statement, k kind, err error) {
	s, empties := p.session, mayBeEmpty(q)
	program, err := divide.Divide(ctx, q, s.options())
	st = p.with(q)
	if how := previewOf(s, q, err); how != "" {
		k = &previewStatement{st, how}
	} else {
		if err == nil {
			st, k, err = p.arrange(ctx, q, program)
		}
		switch {
		case err != nil && errors.Is(err, ctx.Err()):
			return nil, nil, s.uncharged(ctx, err)
		case err != nil && empties == nil:
			return nil, nil, err
		case err != nil:
			st = p.with(q)
			k = &refusedStatement{st, err}
		}
	}
	if empties != nil {
		k = &emptiedStatement{st, empties, k}
	}
	return st, k, nil
}

// arrange keeps what is released and computed of a statement that was divided.
func (p *Prepared) arrange(ctx context.Context, q *plan.Query, program *divide.Program) (*statement, kind, error) {
	s := p.session
	program, shown := showing(ctx, s, q, program)
	st := p.with(program.Query)
	if program.Class != sensitivity.Private {
		return st, &publicStatement{st, program.Warnings}, nil
	}
	stages, err := analyzeStages(ctx, s, program)
	if err != nil {
		return nil, nil, err
	}
	if none, words := withoutStages(program, stages); none != nil {
		return p.arrange(ctx, none, &divide.Program{Class: sensitivity.Public, Query: none, Answer: divide.Computed{Root: none.Root}, Warnings: append(words, program.Warnings...)})
	}
	public, by, err := finishable(s, program, shown)
	if err != nil {
		return nil, nil, err
	}
	staged := &stagedStatement{statement: st, program: program, stages: stages, public: public, inBackend: by, shown: shown}
	staged.outer = append(slices.Clone(program.Warnings), outerConditions(ctx, s, program, stages)...)
	return st, &privateStatement{staged, p.analyzeAgain}, nil
}

// analyzeAgain analyses a statement that is being run, and tells of what kind it is now.
func (p *Prepared) analyzeAgain(ctx context.Context, args []sqltype.Value) (kind, error) {
	if !p.dependsOnParams {
		args = nil
	}
	if err := p.analyze(ctx, args); err != nil {
		return nil, err
	}
	return unwrapped(p.kind), nil
}

// inner is what a statement is behind EXPLAIN, if its parameters leave it rows.
func inner(k kind) kind {
	if x, ok := k.(*explainStatement); ok {
		k = x.of
	}
	return unwrapped(k)
}

// withoutStages is a statement that would be charged although its answer needs nothing of what is released, and why; nil where it needs some.
func withoutStages(program *divide.Program, stages []*stage) (*plan.Query, []string) {
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
	if p.query == nil {
		return nil
	}
	return p.query.Params
}

// Columns describe the answer.
func (p *Prepared) Columns() []answer.Column { return p.kind.Columns() }

// Run answers the statement. A private one is charged here, unless a stored release answers it.
func (p *Prepared) Run(ctx context.Context, args []sqltype.Value) (*answer.Answer, error) {
	s := p.session
	defer s.working("planning")()
	if p.stmt == nil {
		return p.kind.Run(ctx, args)
	}
	switch unwrapped(p.kind).(type) {
	case *explainStatement, *catalogStatement, *previewStatement: // these read no table
	default:
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
	private, is := inner(p.kind).(*privateStatement)
	old := is && private.hasPublicInputs() && time.Since(p.at) > publicTTL
	if old || p.query.Clock || p.predicts || p.isOutdated() { // the clock moved, public tables may have changed, a SET, a reload or another window came between Parse and Execute
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
	if _, refused := inner(p.kind).(*refusedStatement); p.dependsOnParams || refused { // what was in the way may be gone
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
	return p.kind.Run(ctx, args)
}

// IsForPersonRows says that the statement is for rows of people, which are not shown whatever it answers.
func (p *Prepared) IsForPersonRows() bool {
	switch inner(p.kind).(type) {
	case *previewStatement, *refusedStatement:
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
