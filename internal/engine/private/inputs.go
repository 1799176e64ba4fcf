package private

import (
	"context"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity/divide"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// What a stage reads of those before it: values as parameters and relations as rows, all released.

// hasPublicFirst: a stage reads public tables beside other releases, so that they decide whether it is stored.
func (r *Run) hasPublicFirst() bool {
	for _, a := range r.StageRuns {
		for _, in := range a.Inputs {
			for _, l := range in.Leaves {
				if l.Parts == nil {
					return true
				}
			}
		}
	}
	return false
}

// InOwnSnapshot reads the public relations in a snapshot of their own.
func (r *Run) InOwnSnapshot(ctx context.Context) error {
	s := r.Session
	done, err := s.Turn(ctx)
	if err != nil {
		return s.Uncharged(ctx, err)
	}
	defer done()
	tx, err := s.Engine.Begin(ctx, r.World)
	if err != nil {
		return s.Uncharged(ctx, err)
	}
	defer tx.Close()
	if err := r.ReadPublic(ctx, tx); err != nil {
		return s.PublicFailed(ctx, err)
	}
	if err := tx.Confirm(ctx); err != nil {
		return s.Uncharged(ctx, err)
	}
	return nil
}

// refuseSeveralRows refuses scalar subqueries of public rows alone that have more than one, whether or not the answer comes to ask for their values: an error of public rows is told before the charge.
func (r *Run) refuseSeveralRows(ctx context.Context) error {
	computed := []divide.Computed{r.Program.Answer}
	for _, st := range r.Program.Stages {
		for _, in := range st.Inputs {
			computed = append(computed, in.Computed)
		}
	}
	public := func(n plan.Rel) (*eval.Relation, bool) { rel, ok := r.PublicRows[n]; return rel, ok }
	for _, c := range computed {
		for _, s := range c.PublicValues() {
			rel, err := eval.RunWithin(ctx, r.Within(), eval.Noisy{}, s.Query, public, r.Query, r.args)
			if err == nil && len(rel.Rows) > 1 || sqlerr.ID(err) == sqlerr.Cardinality.ID {
				return unit.SeveralRowsError(s)
			}
		}
	}
	return nil
}

// isReady: all that a stage reads is there, and will not change.
func (r *Run) isReady(a *StageRun) bool {
	for _, in := range a.Inputs {
		for _, l := range in.Leaves {
			if l.Parts == nil && r.PublicRows[l.At] == nil {
				return false
			}
			for _, p := range l.Parts {
				if of := r.StageRuns[r.StageRuns[p.Stage].As]; !of.known || !of.Free {
					return false
				}
			}
		}
	}
	return true
}

// Inputs computes what a stage reads, and with it the key of its release.
func (r *Run) Inputs(ctx context.Context, a *StageRun) error {
	a.Args = append([]sqltype.Value(nil), r.args...)
	for _, in := range a.Inputs {
		rel, err := r.compute(ctx, in.Computed)
		if err != nil {
			return err
		}
		if in.Rows == nil {
			v, err := onlyValue(rel, in.Col)
			if err != nil {
				return err
			}
			a.Args = append(a.Args, v)
			if err := r.refuseRounded(a.An.Query.Params[in.Param-1:in.Param], [][]sqltype.Value{{v}}); err != nil {
				return err
			}
			continue
		}
		rows, err := rowsOf(rel, in)
		if err != nil {
			return err
		}
		var types []sqltype.Type
		for _, c := range in.Rows.Columns {
			types = append(types, c.Type)
		}
		if err := r.refuseRounded(types, rows); err != nil {
			return err
		}
		a.Given = append(a.Given, rows)
	}
	a.key, a.known = r.Key(a.Stage, a.Args, a.Given), true
	return nil
}

// refuseRounded refuses released values that the database could only round: what is told of them follows from releases alone.
func (r *Run) refuseRounded(types []sqltype.Type, rows [][]sqltype.Value) error {
	return sqlgen.CheckGiven(r.Session.Engine.Dialect, types, rows)
}

// compute is a computation over the releases that there are.
func (r *Run) compute(ctx context.Context, c divide.Computed) (*eval.Relation, error) {
	together := 1
	if c.Root == r.Program.Answer.Root {
		together = r.simultaneousRows()
	}
	rels, err := r.leaves(ctx, c, together)
	if err != nil {
		return nil, err
	}
	return finish.Compute(ctx, r.Within(), r.Query, c, rels, r.PublicRows, eval.Noisy{Cols: r.Program.Noisy(c), Raised: r.raised}, r.args)
}

// simultaneousRows is in how many rows the intervals of an answer hold at once: all groups of its releases, where rows are chosen by their noisy numbers or dpsql.simultaneous says so; else 1.
//
// Proof: whichever rows are chosen, their intervals hold where those of all candidates do, and of n they all do with 95% if each misses with 0.05/n (finish.Errors.Simultaneous). The candidates are the groups of the answer's releases, which are released; of the first rows by an aggregate those that finish.Candidates counts.
func (r *Run) simultaneousRows() int { return r.SimultaneousRows(r.answering()...) }

// groups are those of the answer's releases.
func (r *Run) groups() (n int) {
	for _, of := range r.answering() {
		n += of.Len()
	}
	return n
}

// answering are the releases that the answer is computed from.
func (r *Run) answering() (list []*release.Release) {
	for _, l := range r.Program.Answer.Leaves {
		for _, p := range l.Parts {
			if of := r.StageRuns[r.StageRuns[p.Stage].As].Release; !slices.Contains(list, of) {
				list = append(list, of)
			}
		}
	}
	return list
}

// leaves are the relations of the stages that a computation reads.
func (r *Run) leaves(ctx context.Context, c divide.Computed, together int) ([]*eval.Relation, error) {
	rels := make([]*eval.Relation, len(r.StageRuns))
	var adjusted map[int]*finish.Adjusted
	if c.Root == r.Program.Answer.Root {
		var err error
		if adjusted, err = r.adjusted(ctx); err != nil {
			return nil, err
		}
	}
	for _, l := range c.Leaves {
		for _, p := range l.Parts {
			a := r.StageRuns[p.Stage]
			var err error
			if r.Session.Intervals {
				if err = r.noBounds(ctx, a.An, r.StageRuns[a.As].Release); err != nil {
					return nil, err
				}
			}
			if d := adjusted[p.Stage]; d != nil {
				rels[p.Stage], err = d.Shown(ctx, r.World.Policy.Query.MinPeople, together, r.noValue)
				if err != nil {
					return nil, err
				}
				continue
			}
			if rels[p.Stage], err = finish.Shown(ctx, a.An, r.StageRuns[a.As].Release, r.World.Policy.Query.MinPeople, together, r.noValue); err != nil {
				return nil, err
			}
		}
	}
	return rels, nil
}

// onlyValue is that of a scalar subquery.
func onlyValue(rel *eval.Relation, col plan.ColID) (sqltype.Value, error) {
	if len(rel.Rows) > 1 {
		return nil, sqlerr.New(sqlerr.Cardinality, "more than one row returned by a subquery used as an expression")
	}
	for i, id := range rel.Cols {
		if id != col {
			continue
		}
		if len(rel.Rows) == 0 {
			return nil, nil
		}
		return rel.Rows[0][i], nil
	}
	return nil, sqlerr.New(sqlerr.Internal, "a subquery has no column")
}

// rowsOf are a relation's rows in the order of the input's columns. What the analysis took for a key is one.
func rowsOf(rel *eval.Relation, in divide.Input) ([][]sqltype.Value, error) {
	var places []int
	for _, id := range in.Root.Cols() {
		for i, of := range rel.Cols {
			if of == id {
				places = append(places, i)
				break
			}
		}
	}
	if len(places) != len(in.Rows.Columns) {
		return nil, sqlerr.New(sqlerr.Internal, "a released relation lacks columns")
	}
	rows := make([][]sqltype.Value, len(rel.Rows))
	for i, row := range rel.Rows {
		for _, p := range places {
			rows[i] = append(rows[i], row[p])
		}
	}
	for _, key := range in.Rows.Keys {
		seen := map[string]bool{}
		for _, row := range rows {
			var text []byte
			for _, c := range key {
				text = sqltype.AppendKey(text, unpadded(row[c], in.Rows.Columns[c].Type))
			}
			if seen[string(text)] {
				return nil, sqlerr.New(sqlerr.Internal, "two rows of a released relation agree in its key")
			}
			seen[string(text)] = true
		}
	}
	return rows, nil
}

// unpadded: blanks at the end of char(n) mean nothing.
func unpadded(v sqltype.Value, t sqltype.Type) sqltype.Value {
	if s, ok := v.(string); ok && t.OID == sqltype.OIDBPChar {
		return strings.TrimRight(s, " ")
	}
	return v
}

// checkMultiplicities reads the multiplicities of all stages again, in the snapshot that private rows will be read in. It reads public tables alone, before anything is charged.
func (r *Run) checkMultiplicities(ctx context.Context, tx backend.Tx) error {
	for _, a := range r.open() {
		for _, m := range a.An.Multiplicities {
			st, err := sqlgen.MostOften(m.Of, m.By, r.Session.Engine.Dialect)
			if err != nil {
				return err
			}
			var n uint64
			if err := server.Query(ctx, tx, st, nil, func(rows secret.Rows) error {
				out, err := server.PublicRows(r.World, rows, 1)
				if err == nil {
					n, err = server.MostOften(out)
				}
				return err
			}); err != nil {
				return err
			}
			if n > m.Most {
				return server.ErrGrown
			}
		}
	}
	return nil
}

// ReadPublic reads the public relations that the answer is computed from, and checks that public tables multiply a person's rows by no more than the analysis says.
func (r *Run) ReadPublic(ctx context.Context, tx backend.Tx) error {
	if err := r.checkMultiplicities(ctx, tx); err != nil {
		return err
	}
	for _, l := range r.Program.PublicLeaves() {
		if r.PublicRows[l.At] != nil {
			continue
		}
		st, rel := r.PublicStatements[l.At], &eval.Relation{Cols: l.Cols}
		if err := server.Query(ctx, tx, st, r.args, func(rows secret.Rows) (err error) {
			rel.Rows, err = server.PublicRows(r.World, rows, int(r.World.Policy.Limits.PublicRows))
			return err
		}); err != nil {
			return err
		}
		r.PublicRows[l.At] = rel
	}
	return r.refuseSeveralRows(ctx)
}
