package unit

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// link proves (3): all private scans belong to one unit in every row.
func (z *Linker) link() error {
	var first *scope.ScanInfo
	for i, s := range z.Scans {
		s.Comp = i
		if !s.Private() {
			continue
		}
		if first == nil {
			first = s
			z.Out.Unit = s.Scan.Table.Units[0]
		}
		if s.Scan.Table.Units[0] != z.Out.Unit {
			return sqlerr.New(sqlerr.PrivateShape, "rows of two privacy units cannot be joined").At(s.Scan.Pos)
		}
	}
	if first == nil {
		return publicInside(z.Out.Agg.Pos)
	}
	for _, b := range z.Blocks {
		if err := z.linkBlock(b); err != nil {
			return err
		}
	}
	for _, s := range z.Scans {
		if s.Private() && s.Unit == 0 && s.Parent == nil {
			if err := z.hiddenPath(s); err != nil {
				return err
			}
		}
	}
	for _, s := range z.Scans {
		for _, c := range s.Children { // a padded parent beside the hidden path of its child
			if c.Path != nil && s.Own() != 0 {
				z.added = append(z.added, &scope.Equality{A: c.Unit, B: s.Own()})
			}
		}
	}
	if z.Several {
		return nil
	}
	return z.chooseUnit(first)
}

// linkBlock links the block's private scans with each other and with those of the blocks around it.
func (z *Linker) linkBlock(b *scope.Block) error {
	eq := z.ClassesOf(b)
	var here, all []*scope.ScanInfo
	for _, s := range z.Scans {
		if !s.Private() {
			continue
		}
		if s.In == b {
			s.Unit = s.Own()
			here = append(here, s)
		}
		if s.In == b || scope.IsAround(s.In, b) {
			all = append(all, s)
		}
	}
	for _, s := range here {
		for _, p := range all {
			if p != s && z.isLinkedAlongPath(eq, s, p) { // several are one row
				z.join(s, p)
				p.Children = append(p.Children, s)
				if s.Parent == nil {
					s.Parent = p
				}
				z.addUnitEquality(s, p)
			}
		}
	}
	for _, s := range here {
		for _, p := range all {
			switch {
			case p == s:
			case s.Unit != 0 && p.Unit != 0 && eq.Same(s.Unit, p.Unit): // on the unit
				z.join(s, p)
				z.chainToUnitTable(s, p)
			case s.In != p.In && z.isLinkedAlongPath(eq, p, s): // a padded parent
				z.join(s, p)
				s.Children = append(s.Children, p)
				z.addUnitEquality(s, p)
			}
		}
	}
	m := &missing{}
	for _, s := range here {
		for _, p := range all {
			if s.Comp == p.Comp {
				continue
			}
			if z.Opts.OffUnit == sensitivity.AnyOffUnit && z.Whole {
				z.Several = true
				continue
			}
			m.add(s, p, z.JoinOf(s, p, b))
			z.join(s, p) // with what is missing
		}
	}
	if m.first == nil {
		return nil
	}
	z.lacks = m
	return m.refusal(z.Whole && z.Opts.OffUnit == sensitivity.OwnerMayOffUnit)
}

func (z *Linker) join(a, b *scope.ScanInfo) {
	from, to := a.Comp, b.Comp
	for _, s := range z.Scans {
		if s.Comp == from {
			s.Comp = to
		}
	}
}

// isLinkedAlongPath reports whether the statement joins child to parent on all columns of the declared path but the unit's own,
// of which there must be one at least: a path that is the unit's column alone is a join on the unit.
func (z *Linker) isLinkedAlongPath(eq scope.Classes, child, parent *scope.ScanInfo) bool {
	path := child.Scan.Table.Path
	if path == nil || path.Parent != parent.Scan.Table || len(path.Columns) != len(path.ParentColumns) {
		return false
	}
	linked := false
	if child.Own() == 0 && !hasUniqueParent(path) {
		return false
	}
	for i, c := range path.Columns {
		pc := path.ParentColumns[i]
		if c == child.Scan.Table.UnitCol && pc == parent.Scan.Table.UnitCol {
			continue
		}
		if !eq.Same(child.Scan.Columns[c], parent.Scan.Columns[pc]) {
			return false
		}
		linked = true
	}
	return linked
}

// chainToUnitTable notes that a join on the unit leads to the unit's own table, where a unit has one row.
func (z *Linker) chainToUnitTable(s, p *scope.ScanInfo) {
	for _, pair := range [][2]*scope.ScanInfo{{s, p}, {p, s}} {
		child, parent := pair[0], pair[1]
		if child.Parent == nil && HasUniqueUnit(parent.Scan.Table) && !HasUniqueUnit(child.Scan.Table) && !parent.NullableFrom(child) {
			child.Parent, parent.Children = parent, append(parent.Children, child)
			return
		}
	}
}

// HasUniqueUnit reports whether the table has one row a unit: its unit column is a key.
//
// Proof: of (6'). A key has each value once, but NULL any number of times. Rows with NULL are dropped before anything is counted (5), or each is a unit of its own, of one row (U1). Of units that
// other columns name (UnitElse) neither holds: there the column is never NULL.
func HasUniqueUnit(t *plan.Table) bool {
	if t.Public || t.UnitCol < 0 || len(t.UnitElse) > 0 && !t.Columns[t.UnitCol].NotNull {
		return false
	}
	return slices.ContainsFunc(t.Keys, func(k []int) bool { return len(k) == 1 && k[0] == t.UnitCol })
}

// addUnitEquality asks for the equality of the unit's columns where both sides carry one, so that a row belongs to one unit (3).
func (z *Linker) addUnitEquality(a, b *scope.ScanInfo) {
	inner := a.In
	if scope.IsAround(a.In, b.In) {
		inner = b.In
	}
	if a.Own() != 0 && b.Own() != 0 && !z.hasStatedEquality(a.Own(), b.Own(), inner) {
		z.added = append(z.added, &scope.Equality{A: a.Own(), B: b.Own()})
	}
}

// hasStatedEquality reports whether the statement itself has the equality where it holds for every row in which the block is present: in
// the block, in its left join's ON or around it. The ON of another left join only decides that one's padding (3).
func (z *Linker) hasStatedEquality(a, b plan.ColID, in *scope.Block) bool {
	for _, e := range z.HoldsIn(in) {
		x, y := z.Base(e.A), z.Base(e.B)
		if x == a && y == b || x == b && y == a {
			return true
		}
	}
	return false
}

// JoinOf is the lowest join that brings the two scans together.
func (z *Linker) JoinOf(s, p *scope.ScanInfo, b *scope.Block) *plan.Join {
	var found *plan.Join
	var walk func(r plan.Rel) bool // whether exactly one of the two is below
	walk = func(r plan.Rel) bool {
		switch n := r.(type) {
		case *plan.Scan:
			return n == s.Scan || n == p.Scan
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
	walk(z.Input)
	if found == nil && b.Join != nil {
		found = b.Join
	}
	return found
}

// hiddenPath joins the declared parents of a scan inside until one has the unit's column.
func (z *Linker) hiddenPath(s *scope.ScanInfo) error {
	h := &scope.Hidden{}
	at, kind := s.Scan, plan.InnerJoin
	for seen := 0; at.Table.UnitCol < 0; seen++ {
		path := at.Table.Path
		if path == nil || path.Parent == nil || len(path.Columns) == 0 || len(path.Columns) != len(path.ParentColumns) || seen > scope.MaxPath {
			return sqlerr.New(sqlerr.PrivateShape, "table %s has no way to the privacy unit", s.Scan.Table.Name).At(s.Scan.Pos)
		}
		if !hasUniqueParent(path) {
			return sqlerr.New(sqlerr.PrivateShape, "table %s reaches the privacy unit through columns of %s that the database does not keep unique", at.Table.Name, path.Parent.Name).
				At(s.Scan.Pos).WithHint("The owner can add a unique constraint there, or the unit's column to %s.", at.Table.Name)
		}
		if z.hasOwnRows(at.Table) {
			kind = plan.LeftJoin
		}
		next := z.newScan(path.Parent)
		var conds []plan.Scalar
		for i, c := range path.Columns {
			conds = append(conds, z.Equal(at.Columns[c], next.Columns[path.ParentColumns[i]]))
		}
		h.Scans = append(h.Scans, next)
		h.On, h.Kinds = append(h.On, plan.AllOf(conds)), append(h.Kinds, kind)
		at = next
	}
	h.Unit = at.Columns[at.Table.UnitCol]
	s.Path, s.Unit = h, h.Unit
	z.pathUnit(s.Scan, h)
	return nil
}

// hasUniqueParent reports whether the path's parent columns hold a key, so that a child row has one parent and with it one unit (3).
func hasUniqueParent(path *plan.UnitPath) bool {
	return slices.ContainsFunc(path.Parent.Keys, func(k []int) bool {
		return len(k) > 0 && !slices.ContainsFunc(k, func(c int) bool { return !slices.Contains(path.ParentColumns, c) })
	})
}

func (z *Linker) newScan(t *plan.Table) *plan.Scan {
	s := &plan.Scan{Table: t, Pos: -1}
	for i, c := range t.Columns {
		s.Columns = append(s.Columns, plan.ColID(len(z.Out.Query.Columns)))
		z.Out.Query.Columns = append(z.Out.Query.Columns, plan.ColumnInfo{Name: c.Name, Type: c.Type, Table: t, Attr: i})
	}
	return s
}

// Equal is the condition that two columns are equal.
func (z *Linker) Equal(a, b plan.ColID) plan.Scalar {
	return relation.EqualScalars(&plan.Col{ID: a, T: z.TypeOf(a)}, &plan.Col{ID: b, T: z.TypeOf(b)})
}

// chooseUnit takes the unit's value from a scan that is never padded.
func (z *Linker) chooseUnit(first *scope.ScanInfo) error {
	for s, n := first, 0; s != nil && n <= len(z.Scans); s, n = s.Parent, n+1 {
		if s.Unit != 0 && !s.Nullable() {
			z.takeUnit(s.Unit)
			return nil
		}
	}
	for _, s := range z.Scans {
		if s.Private() && s.Unit != 0 && !s.Nullable() {
			z.takeUnit(s.Unit)
			return nil
		}
	}
	return scope.PaddedPublic(first.Scan.Pos)
}

// buildBody writes paths and unit equalities into the relation; projections pass the unit's columns on.
func (z *Linker) buildBody() error {
	z.Out.Body.Rel = z.rebuild(z.Input)
	for _, e := range z.added {
		if !e.Placed {
			return sqlerr.New(sqlerr.Internal, "no join has both sides of a unit equality")
		}
	}
	if !slices.Contains(z.Out.Body.Rel.Cols(), z.Out.Body.Person) {
		return sqlerr.New(sqlerr.Internal, "the unit's column does not reach the aggregate")
	}
	z.computeUnit()
	if s := z.unitScan(); s != nil {
		z.NoteLost(s)
	}
	return nil
}

func (z *Linker) rebuild(r plan.Rel) plan.Rel {
	switch n := r.(type) {
	case *plan.Scan:
		var out plan.Rel = n
		at := slices.IndexFunc(z.Scans, func(s *scope.ScanInfo) bool { return s.Scan == n })
		if h := z.Scans[at].Path; h != nil {
			for i, s := range h.Scans {
				out = &plan.Join{Kind: h.Kinds[i], Left: out, Right: s, On: h.On[i], Pos: -1}
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
				items = append(items, plan.Item{ID: c, Expr: &plan.Col{ID: c, T: z.TypeOf(c)}})
			}
		}
		return &plan.Project{Input: in, Items: items}
	case *plan.Join:
		j := *n
		if j.Left, j.Right = z.rebuild(n.Left), z.rebuild(n.Right); slices.Contains(z.Ownerless, n) {
			j.Kind = plan.InnerJoin
		}
		for _, e := range z.added {
			if !e.Placed && across(e, j.Left.Cols(), j.Right.Cols()) {
				e.Placed = true
				j.On = relation.And(j.On, z.EqualUnits(e.A, e.B))
			}
		}
		return &j
	}
	return r
}

// unitColumns are the columns of a relation that units or added equalities need.
func (z *Linker) unitColumns(r plan.Rel) []plan.ColID {
	need := map[plan.ColID]bool{}
	add := func(units ...plan.ColID) {
		for _, u := range units {
			need[u] = true
			plan.VisitCols(z.unitValue(u), func(c *plan.Col) { need[c.ID] = true })
		}
	}
	add(z.Out.Body.Person)
	for _, e := range z.added {
		add(e.A, e.B)
	}
	return slices.DeleteFunc(slices.Clone(r.Cols()), func(c plan.ColID) bool { return !need[c] })
}

func across(e *scope.Equality, left, right []plan.ColID) bool {
	return slices.Contains(left, e.A) && slices.Contains(right, e.B) || slices.Contains(left, e.B) && slices.Contains(right, e.A)
}

// hasAddedEquality: equal to the unit by an equality that the analysis added between scans that are never padded.
func (z *Linker) hasAddedEquality(eq scope.Classes, id, unit plan.ColID) bool {
	for _, e := range z.added {
		x, y := z.Owner[e.A], z.Owner[e.B]
		if x == nil || y == nil || x.Nullable() || y.Nullable() { // nil: of a hidden path
			continue
		}
		if (id == e.A || eq.Same(id, e.A)) && (unit == e.B || eq.Same(unit, e.B)) || (id == e.B || eq.Same(id, e.B)) && (unit == e.A || eq.Same(unit, e.A)) {
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
