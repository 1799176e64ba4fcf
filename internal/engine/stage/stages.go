package stage

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// AnalyzeStages bounds a statement's stages and refuses, before anything is charged, what could not be printed.
func AnalyzeStages(ctx context.Context, s *session.Session, program *divide.Program) ([]*Stage, error) {
	out, texts, paid := make([]*Stage, len(program.Stages)), map[string]int{}, 0
	for i := range out {
		ask := s.Request().PerStage(len(program.Stages))
		st, err := boundStage(ctx, s, ask.Epsilon, func(opts sensitivity.Options) (*sensitivity.Analysis, error) { return program.Analyze(ctx, i, opts) })
		if err != nil {
			return nil, err
		}
		st.As, st.Inputs, st.Request = i, program.Stages[i].Inputs, ask
		if st.gaps, err = printable(ctx, s, st.An); err != nil {
			return nil, err
		}
		text := reuse.Canonical(st.An)
		if st.Ways != nil { // the other, too, is to be one release
			if text, err = printableWays(ctx, s, st); err != nil {
				return nil, err
			}
		}
		if first, ok := texts[text]; ok && len(st.Inputs) == 0 {
			st.As = first
		} else if texts[text] = i; st.IsCharged() {
			paid++
		}
		out[i] = st
	}
	if paid > 0 && paid != len(out) {
		for _, st := range out {
			st.Request, st.Priced = s.Request().PerStage(paid), nil
		}
	}
	return out, nil
}

// Finishable refuses what could not be computed from the releases, and prints the public relations among what it is computed from. The answer, not what other stages read, may be
// computed by the database.
func Finishable(s *session.Session, program *divide.Program, shown *Displayed) (map[plan.Rel]*sqlgen.Statement, *BackendFinishing, error) {
	for _, sc := range server.ScansOf(program.Query.Root) {
		if s.Catalog.Own(sc.Table) {
			return nil, nil, server.OwnTableJoined(sc.Pos)
		}
	}
	var by *BackendFinishing
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
		st, err := sqlgen.PublicQuery(&q, s.Engine.Dialect)
		if err != nil {
			return nil, nil, err
		}
		public[l.At] = st
	}
	return public, by, nil
}
