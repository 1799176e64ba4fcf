package engine

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// analyzeStages bounds a statement's stages and refuses, before anything is charged, what could not be printed.
func analyzeStages(ctx context.Context, s *Session, program *divide.Program) ([]*stage, error) {
	out, texts, paid := make([]*stage, len(program.Stages)), map[string]int{}, 0
	for i := range out {
		ask := s.request().PerStage(len(program.Stages))
		st, err := boundStage(ctx, s, ask.Epsilon, func(opts sensitivity.Options) (*sensitivity.Analysis, error) { return program.Analyze(ctx, i, opts) })
		if err != nil {
			return nil, err
		}
		st.as, st.inputs, st.request = i, program.Stages[i].Inputs, ask
		if st.gaps, err = printable(s, st.an); err != nil {
			return nil, err
		}
		text := reuse.Canonical(st.an)
		if st.ways != nil { // the other, too, is to be one release
			if text, err = printableWays(s, st); err != nil {
				return nil, err
			}
		}
		if first, ok := texts[text]; ok && len(st.inputs) == 0 {
			st.as = first
		} else if texts[text] = i; st.isCharged() {
			paid++
		}
		out[i] = st
	}
	if paid > 0 && paid != len(out) {
		for _, st := range out {
			st.request, st.priced = s.request().PerStage(paid), nil
		}
	}
	return out, nil
}

// finishable refuses what could not be computed from the releases, and prints the public relations among what it is computed from. The answer, not what other stages read, may be
// computed by the database.
func finishable(s *Session, program *divide.Program, shown *displayed) (map[plan.Rel]*sqlgen.Statement, *backendFinishing, error) {
	for _, sc := range scansOf(program.Query.Root) {
		if s.catalog.own(sc.Table) {
			return nil, nil, ownTableJoined(sc.Pos)
		}
	}
	var by *backendFinishing
	given, public := map[plan.Rel]bool{}, map[plan.Rel]*sqlgen.Statement{}
	computed := []divide.Computed{program.Answer}
	for _, st := range program.Stages {
		for _, in := range st.Inputs {
			computed = append(computed, in.Computed)
		}
	}
	for i, c := range computed {
		for _, l := range c.Leaves {
			given[l.At] = true
		}
		if err := eval.Check(c.Root, func(n plan.Rel) bool { return given[n] }, program.Query); err != nil {
			if i > 0 || sqlerr.ID(err) != sqlerr.Unsupported.ID {
				return nil, nil, err
			}
			var failed error
			switch by, failed = finishedBy(s, program, shown); {
			case sqlerr.ID(failed) == sqlerr.TooComplex.ID:
				return nil, nil, failed
			case failed != nil:
				return nil, nil, err
			}
		}
	}
	for _, l := range program.PublicLeaves() {
		q := *program.Query
		q.Root, q.Outputs = l.At, nil
		for _, id := range l.Cols {
			q.Outputs = append(q.Outputs, plan.Output{Col: id, Type: q.Columns[id].Type})
		}
		st, err := sqlgen.PublicQuery(&q, s.engine.dialect)
		if err != nil {
			return nil, nil, err
		}
		public[l.At] = st
	}
	return public, by, nil
}
