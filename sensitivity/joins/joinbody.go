package joins

import (
	"maps"
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/elastic"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// build makes the body's relation: leaves, their joins, what is computed of their rows, and the conditions that are left, which it gives.
func (j *joining) build() (all []plan.Scalar, err error) {
	left := j.share()
	all = slices.Clone(left)
	above, items := j.reads(left)
	read := maps.Clone(above)
	for _, c := range j.same { // joins are told by them
		read[c] = true
	}
	for _, p := range j.list {
		if err := j.sideOf(p, read); err != nil {
			return nil, err
		}
	}
	if j.Opts.Truncate {
		if err := j.cut(above, read); err != nil {
			return nil, err
		}
	}
	rel := j.list[0].rel
	for _, p := range j.list[1:] {
		join := &plan.Join{Kind: plan.InnerJoin, Left: rel, Right: p.rel, Pos: -1}
		left = slices.DeleteFunc(left, func(x plan.Scalar) bool {
			own := !relation.HasSubquery(x) && j.within(x, join.Cols())
			if own {
				join.On = relation.And(join.On, x)
			}
			return own
		})
		rel = join
	}
	for _, list := range items {
		pass := make([]plan.Item, 0, len(list))
		for _, c := range rel.Cols() {
			pass = append(pass, plan.Item{ID: c, Expr: &plan.Col{ID: c, T: j.TypeOf(c)}})
		}
		rel = &plan.Project{Input: rel, Items: append(pass, list...)}
	}
	if len(left) > 0 {
		rel = &plan.Filter{Input: rel, Cond: plan.AllOf(left)}
	}
	j.Out.Body.Rel = rel
	return all, nil
}

// within: an expression reads nothing but these columns.
func (j *joining) within(x plan.Scalar, cols []plan.ColID) bool {
	in := true
	plan.VisitCols(x, func(c *plan.Col) { in = in && slices.Contains(cols, c.ID) })
	return in
}

// share gives each leaf the conditions that read it alone, and gives those that are left.
func (j *joining) share() (left []plan.Scalar) {
	for _, x := range j.Blocks[0].Conds {
		if relation.HasSubquery(x) {
			left = append(left, x)
			continue
		}
		y, ok := j.expanded(x)
		if !ok {
			left = append(left, x)
			continue
		}
		var of *joinSide
		alone := true
		plan.VisitCols(y, func(c *plan.Col) {
			at := slices.IndexFunc(j.list, func(p *joinSide) bool { return p.hasScan(j.Owner[c.ID]) })
			alone = alone && at >= 0 && (of == nil || of == j.list[at])
			if at >= 0 {
				of = j.list[at]
			}
		})
		switch {
		case alone && of != nil:
			of.conds = append(of.conds, y)
		default:
			left = append(left, y)
		}
	}
	return left
}

// mostExpanded limits what a condition becomes once computed columns are written out in it.
const mostExpanded = 1 << 10

// expanded is a condition over columns of scans; false: it would be too long, or reads what cannot be written out.
func (j *joining) expanded(x plan.Scalar) (plan.Scalar, bool) {
	nodes, ok := 0, true
	var expand func(x plan.Scalar) plan.Scalar
	expand = func(x plan.Scalar) plan.Scalar {
		return plan.Substitute(x, func(c *plan.Col) plan.Scalar {
			d, defined := j.Defs[c.ID]
			if nodes++; nodes > mostExpanded || defined && relation.HasSubquery(d.Expr) {
				ok = false
				return c
			}
			if !defined || !ok {
				return c
			}
			return expand(d.Expr)
		})
	}
	y := expand(x)
	return y, ok
}

// reads are the scans' columns that the statement reads above the leaves, and the computed columns that it needs, those that others read first.
func (j *joining) reads(left []plan.Scalar) (read map[plan.ColID]bool, items [][]plan.Item) {
	read = map[plan.ColID]bool{}
	needed := map[plan.ColID]bool{}
	var visit func(x plan.Scalar)
	visit = func(x plan.Scalar) {
		plan.VisitCols(x, func(c *plan.Col) {
			d, ok := j.Defs[c.ID]
			switch {
			case !ok:
				read[c.ID] = true
			case !needed[c.ID]:
				needed[c.ID] = true
				visit(d.Expr)
			}
		})
	}
	for _, x := range left {
		visit(x)
	}
	for _, k := range j.Out.Agg.Keys {
		visit(&plan.Col{ID: k, T: j.TypeOf(k)})
	}
	for _, g := range j.Aggs {
		for _, x := range append([]plan.Scalar{g.Arg, g.Filter}, g.More...) {
			if x != nil {
				visit(x)
			}
		}
	}
	var walk func(r plan.Rel)
	walk = func(r plan.Rel) {
		if s, ok := r.(*plan.Scan); ok && s.Rows != nil {
			return
		}
		for _, in := range plan.Inputs(r) {
			walk(in)
		}
		if p, ok := r.(*plan.Project); ok {
			var list []plan.Item
			for _, it := range p.Items {
				if c, same := it.Expr.(*plan.Col); needed[it.ID] && (!same || c.ID != it.ID) {
					list = append(list, it)
				}
			}
			if len(list) > 0 {
				items = append(items, list)
			}
		}
	}
	walk(j.Input)
	return read, items
}

// sideOf makes a leaf's relation and its table of the formula (J1), (J2), (J4).
func (j *joining) sideOf(p *joinSide, read map[plan.ColID]bool) error {
	var rel plan.Rel
	scans := make([]*plan.Scan, 0, len(p.scans))
	var conds []plan.Scalar
	for _, s := range p.scans {
		scans = append(scans, s.Scan)
		if s.Path != nil {
			scans = append(scans, s.Path.Scans...)
			conds = append(conds, s.Path.On...)
		}
	}
	conds = append(conds, p.conds...)
	conds = append(conds, j.sameUnit(p, conds)...) // (J1) all scans of a leaf are of one unit
	p.unique(j, scans, equalIn(conds))
	for _, s := range scans {
		if rel == nil {
			rel = s
			continue
		}
		join := &plan.Join{Kind: plan.InnerJoin, Left: rel, Right: s, Pos: -1}
		conds = slices.DeleteFunc(conds, func(x plan.Scalar) bool {
			own := !j.within(x, rel.Cols()) && j.within(x, join.Cols())
			if own {
				join.On = relation.And(join.On, x)
			}
			return own
		})
		rel = join
	}
	if p.unit != 0 && p.keyed {
		conds = append(conds, &plan.Is{X: &plan.Col{ID: p.unit, T: j.TypeOf(p.unit)}, What: "NULL", Not: true})
	}
	if len(conds) > 0 {
		rel = &plan.Filter{Input: rel, Cond: plan.AllOf(conds)}
	}
	p.rel = rel
	if p.unit != 0 && !p.keyed { // (J2) the print keeps few rows of a unit in a leaf
		c := &plan.Capped{Input: rel, By: []plan.ColID{p.unit}, Most: p.rows, Pos: p.scans[0].Scan.Pos}
		for _, s := range p.scans {
			for _, id := range s.Scan.Columns {
				if read[id] && id != p.unit {
					c.Order = append(c.Order, id)
				}
			}
		}
		p.rel = c
	}
	return nil
}

// sameUnit are the equalities that (3) rests on and that the leaf's own conditions do not say: the statement may say them by way of other tables.
func (j *joining) sameUnit(p *joinSide, conds []plan.Scalar) (out []plan.Scalar) {
	say := func(a, b plan.ColID) {
		if eq := equalIn(append(slices.Clone(conds), out...)); !eq.Same(a, b) {
			x := j.Equal(a, b)
			if j.IsTagged(a) != j.IsTagged(b) {
				x = j.EqualUnits(a, b)
			}
			out = append(out, x)
		}
	}
	for _, s := range p.scans {
		if s.Unit != 0 && s.Unit != p.unit {
			say(p.unit, s.Unit)
		}
		for _, parent := range p.scans {
			if path := s.Scan.Table.Path; path != nil && path.Parent == parent.Scan.Table && slices.Contains(parent.Children, s) {
				for i, c := range path.Columns {
					if a, b := s.Scan.Columns[c], parent.Scan.Columns[path.ParentColumns[i]]; j.eq.Same(a, b) {
						say(a, b)
					}
				}
			}
		}
	}
	return out
}

// equalIn are the columns that conditions alone make equal.
func equalIn(conds []plan.Scalar) scope.Classes {
	c := scope.Classes{}
	for _, x := range conds {
		for _, e := range scope.Equalities(x) {
			if a, b := c.Find(e.A), c.Find(e.B); a != b {
				c[a] = b
			}
		}
	}
	return c
}

// unique notes the keys of a leaf (J4): a key of one scan, from which equalities of the leaf lead to a key of each other scan.
func (p *joinSide) unique(j *joining, scans []*plan.Scan, eq scope.Classes) {
	p.side = &elastic.Side{Name: p.name, Rows: p.rows}
	for _, s := range scans {
		if j.Owner[s.Columns[0]] == nil { // of a hidden path: no key of the formula's
			continue
		}
		for _, k := range s.Table.Keys {
			if len(k) == 0 || !reaches(scans, s, eq) {
				continue
			}
			var names []string
			for _, c := range k {
				names = append(names, j.columnName(p, s.Columns[c]))
			}
			p.side.Unique = append(p.side.Unique, names)
		}
	}
}

// reaches: from a row of one scan equalities lead to one row of each other, by keys.
func reaches(scans []*plan.Scan, from *plan.Scan, eq scope.Classes) bool {
	in := []*plan.Scan{from}
	for grown := true; grown; {
		grown = false
		for _, t := range scans {
			if slices.Contains(in, t) {
				continue
			}
			known := func(c int) bool {
				return slices.ContainsFunc(in, func(s *plan.Scan) bool {
					return slices.ContainsFunc(s.Columns, func(id plan.ColID) bool { return eq.Same(id, t.Columns[c]) })
				})
			}
			if slices.ContainsFunc(t.Table.Keys, func(k []int) bool {
				return len(k) > 0 && !slices.ContainsFunc(k, func(c int) bool { return !known(c) })
			}) {
				in, grown = append(in, t), true
			}
		}
	}
	return len(in) == len(scans)
}

// columnOf is a column of the formula.
func (j *joining) columnOf(id plan.ColID) elastic.Column {
	at := slices.IndexFunc(j.list, func(p *joinSide) bool { return p.hasScan(j.Owner[id]) })
	return elastic.Column{Side: j.list[at].side, Name: j.columnName(j.list[at], id)}
}
