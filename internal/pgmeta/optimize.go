package pgmeta

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// The catalogs have thousands of rows and statements join many of them: conditions are brought to the relations that they are about, and relations joined in an order in
// which each is found by an equality. Rows come in another order for it, where the statement asks for none.

// optimized is a plan that gives the same rows.
func optimized(r plan.Rel) (plan.Rel, error) {
	return plan.MapParts(r, optimizedRel, optimizedScalar)
}

func optimizedScalar(x plan.Scalar) (plan.Scalar, error) { return plan.InQueries(optimizedRel)(x) }

func optimizedRel(r plan.Rel) (plan.Rel, error) {
	var conds []plan.Scalar
	switch n := r.(type) {
	case *plan.Filter:
		cond, err := optimizedScalar(n.Cond)
		if err != nil {
			return nil, err
		}
		conds, r = plan.Conjuncts(cond), n.Input
	case *plan.Join, *plan.SetOp:
	default:
		return plan.MapParts(r, optimizedRel, optimizedScalar)
	}
	r, err := pushed(r, conds)
	return r, err
}

// pushed brings conditions down into a relation, and optimizes it.
func pushed(r plan.Rel, conds []plan.Scalar) (plan.Rel, error) {
	switch n := r.(type) {
	case *plan.Filter:
		cond, err := optimizedScalar(n.Cond)
		if err != nil {
			return nil, err
		}
		return pushed(n.Input, append(plan.Conjuncts(cond), conds...))
	case *plan.Project:
		below, above := []plan.Scalar{}, []plan.Scalar{}
		of := map[plan.ColID]plan.Scalar{}
		for _, it := range n.Items {
			if plan.FirstQuery(it.Expr) == nil {
				of[it.ID] = it.Expr
			}
		}
		for _, x := range conds {
			movable := plan.FirstQuery(x) == nil
			plan.VisitCols(x, func(c *plan.Col) {
				if _, known := of[c.ID]; !known && slices.Contains(n.Cols(), c.ID) {
					movable = false
				}
			})
			if !movable {
				above = append(above, x)
				continue
			}
			below = append(below, plan.Substitute(x, func(c *plan.Col) plan.Scalar {
				y, ok := of[c.ID]
				if col, is := y.(*plan.Col); ok && is && col.T.OID != c.T.OID { // under another name of its type
					return &plan.Col{ID: col.ID, T: c.T}
				}
				if !ok {
					return nil
				}
				return y
			}))
		}
		in, err := pushed(n.Input, below)
		if err != nil {
			return nil, err
		}
		items := slices.Clone(n.Items)
		for i := range items {
			if items[i].Expr, err = optimizedScalar(items[i].Expr); err != nil {
				return nil, err
			}
		}
		return filtered(&plan.Project{Input: in, Items: items}, above), nil
	case *plan.SetOp:
		var above, below []plan.Scalar
		for _, x := range conds {
			if plan.FirstQuery(x) == nil {
				below = append(below, x)
			} else {
				above = append(above, x)
			}
		}
		side := func(r plan.Rel, cols []plan.ColID) (plan.Rel, error) {
			own := make([]plan.Scalar, len(below))
			for i, x := range below {
				own[i] = plan.Substitute(x, func(c *plan.Col) plan.Scalar {
					if k := slices.Index(n.Columns, c.ID); k >= 0 {
						return &plan.Col{ID: cols[k], T: c.T}
					}
					return nil
				})
			}
			return pushed(r, own)
		}
		s := *n
		var err error
		if s.Left, err = side(n.Left, n.LeftCols); err != nil {
			return nil, err
		}
		if s.Right, err = side(n.Right, n.RightCols); err != nil {
			return nil, err
		}
		return filtered(&s, above), nil
	case *plan.Join:
		if n.Kind == plan.InnerJoin && !dependent(n) {
			return ordered(n, conds)
		}
		if n.Kind != plan.LeftJoin || n.Lateral {
			break
		}
		var left, above []plan.Scalar
		right := n.Right.Cols()
		for _, x := range conds {
			if plan.FirstQuery(x) == nil && !reads(x, right) {
				left = append(left, x)
			} else {
				above = append(above, x)
			}
		}
		j := *n
		var err error
		if j.Left, err = pushed(n.Left, left); err != nil {
			return nil, err
		}
		var on, inner []plan.Scalar
		cols := n.Left.Cols()
		if n.On != nil {
			cond, err := optimizedScalar(n.On)
			if err != nil {
				return nil, err
			}
			for _, x := range plan.Conjuncts(cond) { // what is about the right side alone filters it
				if plan.FirstQuery(x) == nil && !reads(x, cols) && reads(x, right) {
					inner = append(inner, x)
				} else {
					on = append(on, x)
				}
			}
		}
		if j.Right, err = pushed(n.Right, append(inner, derived(on, left, right)...)); err != nil {
			return nil, err
		}
		j.On = plan.AllOf(on)
		return filtered(&j, above), nil
	}
	in, err := plan.MapParts(r, optimizedRel, optimizedScalar)
	return filtered(in, conds), err
}

func filtered(r plan.Rel, conds []plan.Scalar) plan.Rel {
	if len(conds) == 0 {
		return r
	}
	return &plan.Filter{Input: r, Cond: plan.AllOf(conds)}
}

// reads reports that an expression reads one of some columns.
func reads(x plan.Scalar, cols []plan.ColID) bool {
	some := false
	plan.VisitCols(x, func(c *plan.Col) { some = some || slices.Contains(cols, c.ID) })
	return some
}

// part is one relation of a chain of inner joins.
type part struct {
	rel   plan.Rel
	cols  []plan.ColID
	conds []plan.Scalar // about it alone
	fixed bool          // one of them is an equality
}

// ordered joins the relations of a chain of inner joins one by one, each where an equality finds its rows.
func ordered(n *plan.Join, conds []plan.Scalar) (plan.Rel, error) {
	var parts []*part
	var all []plan.Scalar
	var flatten func(r plan.Rel) error
	flatten = func(r plan.Rel) error {
		if j, ok := r.(*plan.Join); ok && j.Kind == plan.InnerJoin && !dependent(j) {
			if err := flatten(j.Left); err != nil {
				return err
			}
			if err := flatten(j.Right); err != nil {
				return err
			}
			if j.On == nil {
				return nil
			}
			on, err := optimizedScalar(j.On)
			all = append(all, plan.Conjuncts(on)...)
			return err
		}
		parts = append(parts, &part{rel: r, cols: r.Cols()})
		return nil
	}
	if err := flatten(n); err != nil {
		return nil, err
	}
	all = append(all, conds...)
	var between, above []plan.Scalar
	for _, x := range all {
		var of []*part
		for _, p := range parts {
			if reads(x, p.cols) {
				of = append(of, p)
			}
		}
		switch {
		case plan.FirstQuery(x) != nil || len(of) == 0:
			above = append(above, x)
		case len(of) == 1:
			of[0].conds = append(of[0].conds, x)
			of[0].fixed = of[0].fixed || isEquality(x)
		default:
			between = append(between, x)
		}
	}
	for range parts { // from one to the next
		some := false
		for _, p := range parts {
			if p.fixed {
				continue
			}
			for _, o := range parts {
				more := derived(between, o.conds, p.cols)
				p.conds, some = append(p.conds, more...), some || len(more) > 0
				p.fixed = p.fixed || len(more) > 0
			}
		}
		if !some {
			break
		}
	}
	first := slices.IndexFunc(parts, func(p *part) bool { return p.fixed })
	acc, err := pushed(parts[max(first, 0)].rel, parts[max(first, 0)].conds)
	if err != nil {
		return nil, err
	}
	have := parts[max(first, 0)].cols
	parts = slices.Delete(parts, max(first, 0), max(first, 0)+1)
	for len(parts) > 0 {
		best, score := 0, -1
		for i, p := range parts {
			s := 0
			for _, x := range between {
				if isEquality(x) && reads(x, p.cols) && reads(x, have) && covered(x, slices.DeleteFunc(slices.Clone(parts), func(o *part) bool { return o == p })) {
					s = 2
				}
			}
			if p.fixed {
				s++
			}
			if s > score {
				best, score = i, s
			}
		}
		p := parts[best]
		parts = slices.Delete(parts, best, best+1)
		right, err := pushed(p.rel, p.conds)
		if err != nil {
			return nil, err
		}
		both := slices.Concat(have, p.cols)
		var on, rest []plan.Scalar
		for _, x := range between {
			if covered(x, parts) {
				on = append(on, x)
			} else {
				rest = append(rest, x)
			}
		}
		acc = &plan.Join{Kind: plan.InnerJoin, Left: acc, Right: right, On: plan.AllOf(on), Pos: n.Pos}
		have, between = both, rest
	}
	return filtered(acc, above), nil
}

// covered: an expression reads no column of the relations that are not joined yet.
func covered(x plan.Scalar, left []*part) bool {
	return !slices.ContainsFunc(left, func(p *part) bool { return reads(x, p.cols) })
}

// dependent: a join whose right side reads the left one's rows. A function in FROM may, and mostly does not.
func dependent(j *plan.Join) bool {
	left := j.Left.Cols()
	return j.Lateral && slices.ContainsFunc(plan.Free(j.Right), func(c *plan.Col) bool { return slices.Contains(left, c.ID) })
}

// isEquality reports an equality.
func isEquality(x plan.Scalar) bool {
	c, ok := x.(*plan.Call)
	return ok && c.Fn.Name == "=" && len(c.Args) == 2
}

// used are the columns that anything in a statement reads.
func used(q *plan.Query, root plan.Rel) map[plan.ColID]bool {
	out := map[plan.ColID]bool{}
	var scalar func(plan.Scalar)
	plan.VisitRels(root, func(r plan.Rel) bool {
		for _, x := range plan.Scalars(r) {
			scalar = func(x plan.Scalar) {
				switch y := x.(type) {
				case *plan.Col:
					out[y.ID] = true
				case *plan.Subquery:
					for _, c := range y.Cols {
						out[c] = true
					}
					if y.Cond != nil {
						scalar(y.Cond)
					}
				}
				for _, y := range plan.Children(x) {
					scalar(y)
				}
			}
			scalar(x)
		}
		for _, id := range plan.Reads(r) {
			out[id] = true
		}
		if d, ok := r.(*plan.Distinct); ok {
			for _, id := range d.Cols() {
				out[id] = true
			}
		}
		return true
	})
	for _, o := range q.Outputs {
		out[o.Col] = true
	}
	return out
}

// narrowed is a table with the columns that are read.
func narrowed(cols []plan.ColID, rows [][]sqltype.Value, used map[plan.ColID]bool) ([]plan.ColID, [][]sqltype.Value) {
	var places []int
	var kept []plan.ColID
	for i, c := range cols {
		if used[c] {
			places, kept = append(places, i), append(kept, c)
		}
	}
	if len(kept) == len(cols) {
		return cols, rows
	}
	out, all := make([][]sqltype.Value, len(rows)), make([]sqltype.Value, len(rows)*len(kept))
	for i, row := range rows {
		out[i], all = all[:len(kept):len(kept)], all[len(kept):]
		for k, p := range places {
			out[i][k] = row[p]
		}
	}
	return kept, out
}
