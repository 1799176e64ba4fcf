package divide

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/groups"
)

// Program is a statement as releases and what is computed from them (design section 3).
type Program struct {
	Class  sensitivity.Class
	Query  *plan.Query // the statement; without its tables where it has no rows whatever they hold
	Stages []*Stage    // what is released, each after those that it reads; none of a public statement
	Answer Computed
	// Warnings are what follows from the statement alone.
	Warnings []string

	near groups.NearValues
}

// Stage is one aggregate over private rows that is released.
type Stage struct {
	Agg    *plan.Aggregate
	Params []sqltype.Type // the statement's, then those of Inputs that are values
	Inputs []Input
}

// Input is a relation that is computed from releases before a stage, which reads it: a value, as its parameter of number Param, or rows.
type Input struct {
	Computed
	Param int         // 0: rows
	Col   plan.ColID  // of the value
	Rows  *plan.Table // what is known of the rows; nil for a value
}

// Computed is a relation that is made of released values and public tables.
type Computed struct {
	Root   plan.Rel
	Leaves []Leaf
}

// Leaf is a node of a computation whose rows are given.
type Leaf struct {
	At    plan.Rel
	Parts []Part // of releases; nil: a public relation
	Cols  []plan.ColID
}

// Part are the rows of one stage, as a leaf has them.
type Part struct {
	Stage  int
	Values []PartValue // one for each of the leaf's columns
}

// PartValue is a column of the stage, or a constant where From is negative.
type PartValue struct {
	From  int
	Const sqltype.Value
}

// counts are the columns of the answer's released relations that are counts.
func (p *Program) counts() map[plan.Rel]map[plan.ColID]plan.AggItem {
	out := map[plan.Rel]map[plan.ColID]plan.AggItem{}
	for _, l := range p.Answer.Leaves {
		out[l.At] = map[plan.ColID]plan.AggItem{}
		if len(l.Parts) != 1 {
			continue
		}
		agg := p.Stages[l.Parts[0].Stage].Agg
		for i, v := range l.Parts[0].Values {
			if k := v.From - len(agg.Keys); k >= 0 && k < len(agg.Aggs) {
				out[l.At][l.Cols[i]] = agg.Aggs[k]
			}
		}
	}
	return out
}

// PublicValues are the scalar subqueries of a computation that read neither a release nor the row around them.
func (c Computed) PublicValues() (list []*plan.Subquery) {
	var reads func(r plan.Rel) bool // a release; notes the subqueries that do not
	reads = func(r plan.Rel) (released bool) {
		if i := slices.IndexFunc(c.Leaves, func(l Leaf) bool { return l.At == r }); i >= 0 {
			return c.Leaves[i].Parts != nil
		}
		for _, x := range plan.Scalars(r) {
			plan.VisitQueries(x, func(s *plan.Subquery) bool {
				inside := reads(s.Query)
				if !inside && s.Kind == plan.ScalarQuery && len(s.Free()) == 0 {
					list = append(list, s)
				}
				released = released || inside
				return true
			})
		}
		for _, in := range plan.Inputs(r) {
			released = reads(in) || released
		}
		return released
	}
	reads(c.Root)
	return list
}

// PublicLeaves are all public relations that are read.
func (p *Program) PublicLeaves() []Leaf {
	var out []Leaf
	add := func(c Computed) {
		for _, l := range c.Leaves {
			if l.Parts == nil {
				out = append(out, l)
			}
		}
	}
	for _, st := range p.Stages {
		for _, in := range st.Inputs {
			add(in.Computed)
		}
	}
	add(p.Answer)
	return out
}
