package sensitivity

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// link proves (3): all private scans belong to one unit in every row.
func (z *linker) link() error {
	var first *scanInfo
	for i, s := range z.scans {
		s.comp = i
		if !s.private() {
			continue
		}
		if first == nil {
			first = s
			z.out.Unit = s.scan.Table.Units[0]
		}
		if s.scan.Table.Units[0] != z.out.Unit {
			return sqlerr.New(sqlerr.PrivateShape, "rows of two privacy units cannot be joined").At(s.scan.Pos)
		}
	}
	if first == nil {
		return publicInside(z.out.Agg.Pos)
	}
	for _, b := range z.blocks {
		if err := z.linkBlock(b); err != nil {
			return err
		}
	}
	for _, s := range z.scans {
		if s.private() && s.unit == 0 && s.parent == nil {
			if err := z.hiddenPath(s); err != nil {
				return err
			}
		}
	}
	for _, s := range z.scans {
		for _, c := range s.children { // a padded parent beside the hidden path of its child
			if c.path != nil && s.own() != 0 {
				z.added = append(z.added, &equality{a: c.unit, b: s.own()})
			}
		}
	}
	if z.several {
		return nil
	}
	return z.chooseUnit(first)
}

// linkBlock links the block's private scans with each other and with those of the blocks around it.
func (z *linker) linkBlock(b *block) error {
	eq := z.classesOf(b)
	var here, all []*scanInfo
	for _, s := range z.scans {
		if !s.private() {
			continue
		}
		if s.in == b {
			s.unit = s.own()
			here = append(here, s)
		}
		if s.in == b || isAround(s.in, b) {
			all = append(all, s)
		}
	}
	for _, s := range here {
		for _, p := range all {
			if p != s && z.isLinkedAlongPath(eq, s, p) { // several are one row
				z.join(s, p)
				p.children = append(p.children, s)
				if s.parent == nil {
					s.parent = p
				}
				z.addUnitEquality(s, p)
			}
		}
	}
	for _, s := range here {
		for _, p := range all {
			switch {
			case p == s:
			case s.unit != 0 && p.unit != 0 && eq.same(s.unit, p.unit): // on the unit
				z.join(s, p)
				z.chainToUnitTable(s, p)
			case s.in != p.in && z.isLinkedAlongPath(eq, p, s): // a padded parent
				z.join(s, p)
				s.children = append(s.children, p)
				z.addUnitEquality(s, p)
			}
		}
	}
	m := &missing{}
	for _, s := range here {
		for _, p := range all {
			if s.comp == p.comp {
				continue
			}
			if z.opts.OffUnit == AnyOffUnit && z.whole {
				z.several = true
				continue
			}
			m.add(s, p, z.joinOf(s, p, b))
			z.join(s, p) // with what is missing
		}
	}
	if m.first == nil {
		return nil
	}
	z.lacks = m
	return m.refusal(z.whole && z.opts.OffUnit == OwnerMayOffUnit)
}

func (z *linker) join(a, b *scanInfo) {
	from, to := a.comp, b.comp
	for _, s := range z.scans {
		if s.comp == from {
			s.comp = to
		}
	}
}

// isLinkedAlongPath reports whether the statement joins child to parent on all columns of the declared path but the unit's own,
// of which there must be one at least: a path that is the unit's column alone is a join on the unit.
func (z *linker) isLinkedAlongPath(eq classes, child, parent *scanInfo) bool {
	path := child.scan.Table.Path
	if path == nil || path.Parent != parent.scan.Table || len(path.Columns) != len(path.ParentColumns) {
		return false
	}
	linked := false
	if child.own() == 0 && !hasUniqueParent(path) {
		return false
	}
	for i, c := range path.Columns {
		pc := path.ParentColumns[i]
		if c == child.scan.Table.UnitCol && pc == parent.scan.Table.UnitCol {
			continue
		}
		if !eq.same(child.scan.Columns[c], parent.scan.Columns[pc]) {
			return false
		}
		linked = true
	}
	return linked
}

// chainToUnitTable notes that a join on the unit leads to the unit's own table, where a unit has one row.
func (z *linker) chainToUnitTable(s, p *scanInfo) {
	for _, pair := range [][2]*scanInfo{{s, p}, {p, s}} {
		child, parent := pair[0], pair[1]
		if child.parent == nil && hasUniqueUnit(parent.scan.Table) && !hasUniqueUnit(child.scan.Table) && !parent.nullableFrom(child) {
			child.parent, parent.children = parent, append(parent.children, child)
			return
		}
	}
}

// hasUniqueUnit reports whether the table has one row a unit: its unit column is a key and never NULL.
func hasUniqueUnit(t *plan.Table) bool {
	if t.Public || t.UnitCol < 0 || !t.Columns[t.UnitCol].NotNull {
		return false
	}
	for _, k := range t.Keys {
		if len(k) == 1 && k[0] == t.UnitCol {
			return true
		}
	}
	return false
}

// addUnitEquality asks for the equality of the unit's columns where both sides carry one, so that a row belongs to one unit (3).
func (z *linker) addUnitEquality(a, b *scanInfo) {
	inner := a.in
	if isAround(a.in, b.in) {
		inner = b.in
	}
	if a.own() != 0 && b.own() != 0 && !z.hasStatedEquality(a.own(), b.own(), inner) {
		z.added = append(z.added, &equality{a: a.own(), b: b.own()})
	}
}

// hasStatedEquality reports whether the statement itself has the equality where it holds for every row in which the block is present: in
// the block, in its left join's ON or around it. The ON of another left join only decides that one's padding (3).
func (z *linker) hasStatedEquality(a, b plan.ColID, in *block) bool {
	for _, e := range z.holdsIn(in) {
		x, y := z.base(e.a), z.base(e.b)
		if x == a && y == b || x == b && y == a {
			return true
		}
	}
	return false
}

// joinOf is the lowest join that brings the two scans together.
func (z *linker) joinOf(s, p *scanInfo, b *block) *plan.Join {
	var found *plan.Join
	var walk func(r plan.Rel) bool // whether exactly one of the two is below
	walk = func(r plan.Rel) bool {
		switch n := r.(type) {
		case *plan.Scan:
			return n == s.scan || n == p.scan
		case *plan.Join:
			l, rr := walk(n.Left), walk(n.Right)
			if l && rr && found == nil {
				found = n
			}
			return l || rr
		}
		in := relation.FinishingInput(r)
		return in != nil && walk(in)
	}
	walk(z.input)
	if found == nil && b.join != nil {
		found = b.join
	}
	return found
}

// hiddenPath joins the declared parents of a scan inside until one has the unit's column.
func (z *linker) hiddenPath(s *scanInfo) error {
	h := &hidden{}
	at, kind := s.scan, plan.InnerJoin
	for seen := 0; at.Table.UnitCol < 0; seen++ {
		path := at.Table.Path
		if path == nil || path.Parent == nil || len(path.Columns) == 0 || len(path.Columns) != len(path.ParentColumns) || seen > maxPath {
			return sqlerr.New(sqlerr.PrivateShape, "table %s has no way to the privacy unit", s.scan.Table.Name).At(s.scan.Pos)
		}
		if !hasUniqueParent(path) {
			return sqlerr.New(sqlerr.PrivateShape, "table %s reaches the privacy unit through columns of %s that the database does not keep unique", at.Table.Name, path.Parent.Name).
				At(s.scan.Pos).WithHint("The owner can add a unique constraint there, or the unit's column to %s.", at.Table.Name)
		}
		if z.hasOwnRows(at.Table) {
			kind = plan.LeftJoin
		}
		next := z.newScan(path.Parent)
		var conds []plan.Scalar
		for i, c := range path.Columns {
			conds = append(conds, z.equal(at.Columns[c], next.Columns[path.ParentColumns[i]]))
		}
		h.scans = append(h.scans, next)
		h.on, h.kinds = append(h.on, plan.AllOf(conds)), append(h.kinds, kind)
		at = next
	}
	h.unit = at.Columns[at.Table.UnitCol]
	s.path, s.unit = h, h.unit
	z.pathUnit(s.scan, h)
	return nil
}

// hasUniqueParent reports whether the path's parent columns hold a key, so that a child row has one parent and with it one unit (3).
func hasUniqueParent(path *plan.UnitPath) bool {
	return slices.ContainsFunc(path.Parent.Keys, func(k []int) bool {
		return len(k) > 0 && !slices.ContainsFunc(k, func(c int) bool { return !slices.Contains(path.ParentColumns, c) })
	})
}

func (z *linker) newScan(t *plan.Table) *plan.Scan {
	s := &plan.Scan{Table: t, Pos: -1}
	for i, c := range t.Columns {
		s.Columns = append(s.Columns, plan.ColID(len(z.out.Query.Columns)))
		z.out.Query.Columns = append(z.out.Query.Columns, plan.ColumnInfo{Name: c.Name, Type: c.Type, Table: t, Attr: i})
	}
	return s
}

func (z *linker) equal(a, b plan.ColID) plan.Scalar {
	return relation.EqualScalars(&plan.Col{ID: a, T: z.typeOf(a)}, &plan.Col{ID: b, T: z.typeOf(b)})
}

// chooseUnit takes the unit's value from a scan that is never padded.
func (z *linker) chooseUnit(first *scanInfo) error {
	for s, n := first, 0; s != nil && n <= len(z.scans); s, n = s.parent, n+1 {
		if s.unit != 0 && !s.nullable() {
			z.takeUnit(s.unit)
			return nil
		}
	}
	for _, s := range z.scans {
		if s.private() && s.unit != 0 && !s.nullable() {
			z.takeUnit(s.unit)
			return nil
		}
	}
	return paddedPublic(first.scan.Pos)
}

// buildBody writes paths and unit equalities into the relation; projections pass the unit's columns on.
func (z *linker) buildBody() error {
	z.out.Body.Rel = z.rebuild(z.input)
	for _, e := range z.added {
		if !e.placed {
			return sqlerr.New(sqlerr.Internal, "no join has both sides of a unit equality")
		}
	}
	if !slices.Contains(z.out.Body.Rel.Cols(), z.out.Body.Person) {
		return sqlerr.New(sqlerr.Internal, "the unit's column does not reach the aggregate")
	}
	z.computeUnit()
	if s := z.unitScan(); s != nil {
		z.noteLost(s)
	}
	return nil
}

func (z *linker) rebuild(r plan.Rel) plan.Rel {
	switch n := r.(type) {
	case *plan.Scan:
		var out plan.Rel = n
		at := slices.IndexFunc(z.scans, func(s *scanInfo) bool { return s.scan == n })
		if h := z.scans[at].path; h != nil {
			for i, s := range h.scans {
				out = &plan.Join{Kind: h.kinds[i], Left: out, Right: s, On: h.on[i], Pos: -1}
			}
		}
		return out
	case *plan.Filter:
		return &plan.Filter{Input: z.rebuild(n.Input), Cond: n.Cond}
	case *plan.Project:
		in := z.rebuild(n.Input)
		items := append([]plan.Item(nil), n.Items...)
		for _, c := range z.unitColumns(in) {
			if !slices.ContainsFunc(items, func(it plan.Item) bool { return it.ID == c }) {
				items = append(items, plan.Item{ID: c, Expr: &plan.Col{ID: c, T: z.typeOf(c)}})
			}
		}
		return &plan.Project{Input: in, Items: items}
	case *plan.Join:
		j := *n
		if j.Left, j.Right = z.rebuild(n.Left), z.rebuild(n.Right); slices.Contains(z.ownerless, n) {
			j.Kind = plan.InnerJoin
		}
		for _, e := range z.added {
			if !e.placed && across(e, j.Left.Cols(), j.Right.Cols()) {
				e.placed = true
				j.On = relation.And(j.On, z.equalUnits(e.a, e.b))
			}
		}
		return &j
	}
	return r
}

// unitColumns are the columns of a relation that units or added equalities need.
func (z *linker) unitColumns(r plan.Rel) []plan.ColID {
	need := map[plan.ColID]bool{}
	add := func(units ...plan.ColID) {
		for _, u := range units {
			need[u] = true
			plan.VisitCols(z.unitValue(u), func(c *plan.Col) { need[c.ID] = true })
		}
	}
	add(z.out.Body.Person)
	for _, e := range z.added {
		add(e.a, e.b)
	}
	return slices.DeleteFunc(slices.Clone(r.Cols()), func(c plan.ColID) bool { return !need[c] })
}

func across(e *equality, left, right []plan.ColID) bool {
	return slices.Contains(left, e.a) && slices.Contains(right, e.b) || slices.Contains(left, e.b) && slices.Contains(right, e.a)
}

// hasAddedEquality: equal to the unit by an equality that the analysis added between scans that are never padded.
func (z *linker) hasAddedEquality(eq classes, id, unit plan.ColID) bool {
	for _, e := range z.added {
		x, y := z.owner[e.a], z.owner[e.b]
		if x == nil || y == nil || x.nullable() || y.nullable() { // nil: of a hidden path
			continue
		}
		if (id == e.a || eq.same(id, e.a)) && (unit == e.b || eq.same(unit, e.b)) || (id == e.b || eq.same(id, e.b)) && (unit == e.a || eq.same(unit, e.a)) {
			return true
		}
	}
	return false
}

// publicInside: what is derived of public rows must not depend on the row of a query around it.
func publicInside(pos int) error {
	return sqlerr.New(sqlerr.PrivateShape, "a derived table of public rows that a person's rows keep or leave out is not supported").At(pos).
		WithHint("Name the public table in the FROM of the query around it, and put the condition into the WHERE there.")
}
