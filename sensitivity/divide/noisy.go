package divide

import (
	"maps"
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// Noisy are the columns of a computation that follow from released numbers: aggregates of its stages, and what is computed from them. Keys, public tables and literals are not.
func (p *Program) Noisy(c Computed) map[plan.ColID]bool {
	n := plan.NoisyColumns{Cols: map[plan.ColID]bool{}, Released: map[plan.Rel]bool{}}
	for _, l := range c.Leaves {
		n.Released[l.At] = l.Parts != nil
		for _, part := range l.Parts {
			for i, v := range part.Values {
				if v.From >= len(p.Stages[part.Stage].Agg.Keys) {
					n.Cols[l.Cols[i]] = true
				}
			}
		}
	}
	n.Visit(c.Root)
	return n.Cols
}

// HasNoisyRowChoice reports an answer whose rows, or values in them, are chosen by released numbers: by a condition that reads some, as of HAVING, FILTER or CASE, as the first in their order, or as their least or largest. A rank or a label that is computed from some chooses nothing.
func (p *Program) HasNoisyRowChoice() bool {
	cols := p.Noisy(p.Answer)
	reads := func(x plan.Scalar) bool { return x != nil && plan.ReadsAny(x, cols) }
	values := p.values(cols)
	var sorted func(r plan.Rel) bool // by some
	sorted = func(r plan.Rel) bool {
		if s, ok := r.(*plan.Sort); ok {
			return slices.ContainsFunc(s.Keys, func(k plan.SortKey) bool { return cols[k.Col] })
		}
		in := plan.Inputs(r)
		return len(in) == 1 && sorted(in[0])
	}
	return !plan.VisitRels(p.Answer.Root, func(r plan.Rel) bool {
		switch n := r.(type) {
		case *plan.Filter:
			return !reads(n.Cond)
		case *plan.Join:
			return !reads(n.On)
		case *plan.Limit:
			return !sorted(n.Input)
		case *plan.DistinctOn:
			return !sorted(n.Input)
		case *plan.Aggregate:
			grouped := slices.ContainsFunc(n.Keys, func(id plan.ColID) bool { return cols[id] })
			if slices.ContainsFunc(n.Aggs, func(g plan.AggItem) bool {
				of := append([]plan.Scalar{g.Arg}, g.More...)
				for _, o := range g.Order {
					of = append(of, o.Expr)
				}
				return slices.ContainsFunc(of, reads) && (grouped || g.Fn.Facts().IsPick || reads(g.Filter))
			}) {
				return false
			}
		case *plan.Window:
			if slices.ContainsFunc(n.Items, func(g plan.WindowItem) bool {
				return slices.ContainsFunc(g.Args, reads) && (g.Fn.Facts().IsPick || reads(g.Filter) || slices.ContainsFunc(g.Partition, reads) || slices.ContainsFunc(g.Order, func(o plan.AggOrder) bool { return reads(o.Expr) }))
			}) {
				return false
			}
		}
		return !slices.ContainsFunc(plan.Scalars(r), func(x plan.Scalar) bool { return hasNoisyValueChoice(x, cols, values) })
	})
}

// values are the noisy columns without the ends of intervals, and without what is computed from ends alone.
func (p *Program) values(noisy map[plan.ColID]bool) map[plan.ColID]bool {
	values := maps.Clone(noisy)
	maps.DeleteFunc(values, func(id plan.ColID, _ bool) bool { return p.Query.Columns[id].IsEnd })
	for _, l := range p.Answer.Leaves {
		for _, part := range l.Parts {
			agg := p.Stages[part.Stage].Agg
			for i, v := range part.Values {
				if v.From >= len(agg.Keys)+len(agg.Aggs) {
					delete(values, l.Cols[i])
				}
			}
		}
	}
	var rels []plan.Rel
	plan.VisitRels(p.Answer.Root, func(r plan.Rel) bool {
		rels = append(rels, r)
		return true
	})
	for _, r := range slices.Backward(rels) {
		switch n := r.(type) {
		case *plan.Project:
			for _, it := range n.Items {
				if plan.ReadsAny(it.Expr, noisy) && !plan.ReadsAny(it.Expr, values) {
					delete(values, it.ID)
				}
			}
		case *plan.Window:
			for _, it := range n.Items {
				if len(it.Args) == 1 && plan.ReadsAny(it.Args[0], noisy) && !plan.ReadsAny(it.Args[0], values) {
					delete(values, it.ID)
				}
			}
		case *plan.Aggregate:
			for _, g := range n.Aggs {
				if g.Arg != nil && plan.ReadsAny(g.Arg, noisy) && !plan.ReadsAny(g.Arg, values) {
					delete(values, g.ID)
				}
			}
		}
	}
	return values
}

// isNullifs reports a branch as NULLIF has it, which hides one value: no more than a division by 0 does. Nor does one of what is not NULL.
func isNullifs(w plan.When) bool {
	if is, ok := w.Cond.(*plan.Is); ok && is.What == "NULL" {
		return true
	}
	c, ok := w.Result.(*plan.Const)
	eq, is := w.Cond.(*plan.Call)
	return ok && c.Value == nil && is && eq.Fn.Name == "="
}

// hasNoisyValueChoice reports a CASE that chooses among noisy columns by noisy columns. One over nothing but ends of intervals belongs to an interval itself, as plan.Bind writes that of a quotient.
func hasNoisyValueChoice(x plan.Scalar, noisy, values map[plan.ColID]bool) bool {
	if c, ok := x.(*plan.Case); ok {
		reads := func(cols map[plan.ColID]bool) (when, then bool) {
			then = c.Else != nil && plan.ReadsAny(c.Else, cols)
			for _, w := range c.Whens {
				if isNullifs(w) {
					continue
				}
				when, then = when || plan.ReadsAny(w.Cond, cols), then || plan.ReadsAny(w.Result, cols)
			}
			return when, then
		}
		when, then := reads(noisy)
		if whenValue, thenValue := reads(values); when && then && (whenValue || thenValue) {
			return true
		}
	}
	return slices.ContainsFunc(plan.Children(x), func(y plan.Scalar) bool { return hasNoisyValueChoice(y, noisy, values) })
}

// First are the rows that an answer shows of its one release: those that are first by an aggregate.
type First struct {
	Agg  int    // in the stage's Agg.Aggs
	Rows uint64 // with those before OFFSET
	Desc bool
}

// NoisyRowChoice is how noisy numbers choose an answer's rows, where that is ORDER BY an aggregate LIMIT n and nothing else.
func (p *Program) NoisyRowChoice() (f First, ok bool) {
	if len(p.Stages) != 1 || len(p.Answer.Leaves) != 1 || len(p.Answer.Leaves[0].Parts) != 1 {
		return f, false
	}
	leaf, cols := p.Answer.Leaves[0], p.Noisy(p.Answer)
	values := p.values(cols)
	var by plan.ColID
	limited, sorted := false, false
	for r := p.Answer.Root; r != leaf.At; {
		if slices.ContainsFunc(plan.Scalars(r), func(x plan.Scalar) bool { return plan.FirstQuery(x) != nil || hasNoisyValueChoice(x, cols, values) }) {
			return f, false
		}
		switch n := r.(type) {
		case *plan.Limit:
			rows, is := constantRows(n.Count)
			skipped, has := constantRows(n.Offset)
			if limited || sorted || !is || n.Offset != nil && !has || rows+skipped < rows {
				return f, false
			}
			limited, f.Rows, r = true, rows+skipped, n.Input
		case *plan.Sort:
			if sorted || !limited {
				r = n.Input
				continue
			}
			sorted, by, f.Desc, r = true, n.Keys[0].Col, n.Keys[0].Desc, n.Input
		case *plan.Project:
			for _, it := range n.Items {
				if x, is := it.Expr.(*plan.Col); is && sorted && it.ID == by {
					by = x.ID
					break
				}
			}
			r = n.Input
		default:
			return f, false
		}
	}
	agg := p.Stages[0].Agg
	for i, v := range leaf.Parts[0].Values {
		if leaf.Cols[i] == by && v.From >= len(agg.Keys) && v.From < len(agg.Keys)+len(agg.Aggs) {
			f.Agg = v.From - len(agg.Keys)
			return f, limited && sorted
		}
	}
	return f, false
}

// constantRows is a constant LIMIT or OFFSET.
func constantRows(x plan.Scalar) (uint64, bool) {
	c, ok := x.(*plan.Const)
	if !ok {
		return 0, false
	}
	n, ok := c.Value.(int64)
	return uint64(n), ok && n > 0 //nolint:gosec // positive
}
