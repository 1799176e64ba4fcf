package stage

import (
	"slices"

	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// BackendFinishing is an answer that internal/eval cannot compute from the releases: the database does, whose rows of private tables it does not read. The print has the given rows as parameters.
type BackendFinishing struct {
	Query *plan.Query // over plan.Released for each of the answer's leaves; its outputs are the columns that are shown, and those that say how
	Cols  []plan.ColID
}

// finishedBy has the answer computed by the database, or says why that cannot be printed for it either.
func finishedBy(s *session.Session, program *divide.Program, shown *Displayed) (*BackendFinishing, error) {
	root, err := overGiven(program.Answer, program.Query.Columns)
	if err != nil {
		return nil, err
	}
	q, b := *program.Query, &BackendFinishing{}
	q.Root, q.Outputs = root, nil
	add := func(id plan.ColID) {
		if !slices.Contains(b.Cols, id) {
			b.Cols = append(b.Cols, id)
			q.Outputs = append(q.Outputs, plan.Output{Col: id, Type: q.Columns[id].Type})
		}
	}
	for _, o := range program.Query.Outputs {
		add(o.Col)
	}
	if shown != nil {
		for _, m := range shown.Marks {
			if m.Of != 0 {
				add(m.Width)
			}
			add(m.Ends[0])
			add(m.Ends[1])
		}
		for _, c := range shown.Plain {
			if c.Unknown == "" && !c.IsPart {
				add(c.Ends[0])
				add(c.Ends[1])
			}
		}
	}
	b.Query = &q
	for _, noisy := range []map[plan.ColID]bool{nil, program.Noisy(program.Answer)} { // both are run, perhaps
		if _, err := sqlgen.Finishing(b.Query, nil, noisy, s.Engine.Dialect); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// overGiven puts rows that will be given in place of a computation's leaves.
func overGiven(c divide.Computed, columns []plan.ColumnInfo) (plan.Rel, error) {
	given := make([]*plan.Released, len(c.Leaves))
	for i, l := range c.Leaves {
		given[i] = &plan.Released{N: i, Columns: l.Cols}
		for _, id := range l.Cols {
			given[i].Types = append(given[i].Types, columns[id].Type)
		}
	}
	var rel func(plan.Rel) (plan.Rel, error)
	rel = func(r plan.Rel) (plan.Rel, error) {
		if i := slices.IndexFunc(c.Leaves, func(l divide.Leaf) bool { return l.At == r }); i >= 0 {
			return given[i], nil
		}
		return plan.MapParts(r, rel, plan.InQueries(rel))
	}
	return rel(c.Root)
}
