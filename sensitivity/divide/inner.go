package divide

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// InnerStages are the stages whose released groups another aggregate reads, of the answer or of another stage: its rows are noisy, and small groups are not among them.
func (p *Program) InnerStages() (out []int) {
	for _, st := range p.Stages {
		for _, in := range st.Inputs {
			out = in.inner(in.Root, in.Rows != nil, out)
		}
	}
	out = p.Answer.inner(p.Answer.Root, false, out)
	out = slices.DeleteFunc(out, func(i int) bool { return len(p.Stages[i].Agg.Keys) == 0 })
	slices.Sort(out)
	return slices.Compact(out)
}

// ReadsNoisyNumbers reports that a stage goes by released numbers that are of no group, as count(*) of rows above a noisy average does.
func (p *Program) ReadsNoisyNumbers() bool {
	return slices.ContainsFunc(p.Stages, func(st *Stage) bool {
		return slices.ContainsFunc(st.Inputs, func(in Input) bool {
			return slices.ContainsFunc(in.Leaves, func(l Leaf) bool {
				return slices.ContainsFunc(l.Parts, func(part Part) bool { return len(p.Stages[part.Stage].Agg.Keys) == 0 })
			})
		})
	})
}

// inner adds the stages that a relation reads; read says that an aggregate reads its rows.
func (c *Computed) inner(r plan.Rel, read bool, out []int) []int {
	for _, l := range c.Leaves {
		if l.At != r {
			continue
		}
		for _, p := range l.Parts {
			if read {
				out = append(out, p.Stage)
			}
		}
		return out
	}
	if _, ok := r.(*plan.Aggregate); ok {
		read = true
	}
	for _, x := range plan.Scalars(r) {
		plan.VisitQueries(x, func(s *plan.Subquery) bool {
			out = c.inner(s.Query, read, out)
			return true
		})
	}
	for _, in := range plan.Inputs(r) {
		out = c.inner(in, read, out)
	}
	return out
}
