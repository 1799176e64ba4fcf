package engine

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// backendFinishing is an answer that internal/eval cannot compute from the releases: the database does, whose rows of private tables it does not read. The print has the given rows as parameters.
type backendFinishing struct {
	query *plan.Query // over plan.Released for each of the answer's leaves; its outputs are the columns that are shown, and those that say how
	cols  []plan.ColID
}

// finishedBy has the answer computed by the database, or says why that cannot be printed for it either.
func (s *Session) finishedBy(program *sensitivity.Program, shown *displayed) (*backendFinishing, error) {
	root, err := overGiven(program.Answer, program.Query.Columns)
	if err != nil {
		return nil, err
	}
	q, b := *program.Query, &backendFinishing{}
	q.Root, q.Outputs = root, nil
	add := func(id plan.ColID) {
		if !slices.Contains(b.cols, id) {
			b.cols = append(b.cols, id)
			q.Outputs = append(q.Outputs, plan.Output{Col: id, Type: q.Columns[id].Type})
		}
	}
	for _, o := range program.Query.Outputs {
		add(o.Col)
	}
	if shown != nil {
		for _, m := range shown.marks {
			if m.of != 0 {
				add(m.width)
			}
			add(m.ends[0])
			add(m.ends[1])
		}
	}
	b.query = &q
	for _, noisy := range []map[plan.ColID]bool{nil, program.Noisy(program.Answer)} { // both are run, perhaps
		if _, err := sqlgen.Finishing(b.query, nil, noisy, s.engine.dialect); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// overGiven puts rows that will be given in place of a computation's leaves.
func overGiven(c sensitivity.Computed, columns []plan.ColumnInfo) (plan.Rel, error) {
	given := make([]*plan.Released, len(c.Leaves))
	for i, l := range c.Leaves {
		given[i] = &plan.Released{N: i, Columns: l.Cols}
		for _, id := range l.Cols {
			given[i].Types = append(given[i].Types, columns[id].Type)
		}
	}
	var rel func(plan.Rel) (plan.Rel, error)
	rel = func(r plan.Rel) (plan.Rel, error) {
		if i := slices.IndexFunc(c.Leaves, func(l sensitivity.Leaf) bool { return l.At == r }); i >= 0 {
			return given[i], nil
		}
		return plan.MapParts(r, rel, plan.InQueries(rel))
	}
	return rel(c.Root)
}

// finishInBackend computes the answer in the database, in a snapshot of its own. What fails there fails of released and public values, or for want of resources: the releases are stored, and may be asked again.
func (r *run) finishInBackend(ctx context.Context) ([][]sqltype.Value, error) {
	s := r.session
	rels, err := r.leaves(ctx, r.program.Answer, r.simultaneousRows())
	if err != nil {
		return nil, err
	}
	given := finish.Given(r.program.Answer, rels, r.public)
	rows := make([][][]sqltype.Value, len(r.program.Answer.Leaves))
	for i, l := range r.program.Answer.Leaves {
		if rows[i], err = r.gathered(ctx, given, l.At); err != nil {
			return nil, err
		}
	}
	done, err := s.turn(ctx)
	if err != nil {
		return nil, s.unfinished(ctx, err)
	}
	defer done()
	out := &eval.Relation{Cols: r.inBackend.cols}
	run := func(noisy map[plan.ColID]bool) error {
		st, err := sqlgen.Finishing(r.inBackend.query, rows, noisy, s.engine.dialect)
		if err != nil {
			return err
		}
		return s.engine.inSnapshot(ctx, r.world, st, r.args, func(rows secret.Rows) (err error) {
			out.Rows, err = publicRows(r.world, rows, int(r.world.policy.Limits.PublicRows))
			return err
		})
	}
	err = run(nil)
	if of := ofValues(err); of != nil && eval.IsByValue(of) { // again, with NULL where a noisy number made it fail
		if err = run(r.program.Noisy(r.program.Answer)); err == nil {
			r.raised(of)
		}
	}
	if err != nil {
		return nil, s.unfinished(ctx, err)
	}
	return r.picked(out.Cols, out.Rows)
}

// unfinished is the end of a statement whose answer the database could not compute from the releases.
func (s *Session) unfinished(ctx context.Context, err error) error {
	if of := ofValues(err); of != nil {
		return of
	}
	s.engine.log.Error("an answer was not computed from its releases", append([]any{"analyst", s.analyst.Name}, logged(err)...)...)
	if clientCanceled(ctx) {
		return sqlerr.New(sqlerr.QueryCanceled, "canceling statement due to user request").WithCause(err)
	}
	return sqlerr.New(sqlerr.ResourceFailure, "the answer could not be computed from what was released").
		WithHint("What was released is stored: ask again, which costs nothing more. The database did not answer, or the time or another limit was reached; the owner's log has the cause.").WithCause(err)
}
