package sensitivity

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// block is a part of the body in which every condition holds for every row that survives: what is connected by inner joins
// and filters. The padded side of a left join is a block of its own below the one that preserves it.
type block struct {
	parent *block
	join   *plan.Join    // the left join whose padded side this is; nil for the root
	eqs    []equality    // conditions inside
	on     []equality    // of join
	conds  []plan.Scalar // what is true in every row in which the block is present
}

// equality says that two columns are equal, and so not NULL, in every row in which their block is present.
type equality struct {
	a, b   plan.ColID
	placed bool // for added ones: printed already
}

// definition is a computed column and the block that computes it.
type definition struct {
	expr plan.Scalar
	in   *block
}

// scanInfo is a table in the body.
type scanInfo struct {
	scan *plan.Scan
	in   *block
	unit plan.ColID // the unit's value: an own column or a hidden path's; 0 where a linked parent has it
	path *hidden    // added to reach the unit; nil if none is needed

	parent   *scanInfo   // the scan that the declared path leads to, if the statement joins along it
	children []*scanInfo // scans whose row determines this one's
	comp     int         // linked private scans share it
	fixed    bool        // a public row that the others determine: joined by a unique key
}

func (s *scanInfo) private() bool  { return !s.scan.Table.Public }
func (s *scanInfo) nullable() bool { return s.in.parent != nil }
func (s *scanInfo) own() plan.ColID {
	if u := s.scan.Table.UnitCol; u >= 0 && u < len(s.scan.Columns) {
		return s.scan.Columns[u]
	}
	return 0
}
func (s *scanInfo) name() string {
	if s.scan.Alias != "" {
		return s.scan.Alias
	}
	return s.scan.Table.Name
}
func (s *scanInfo) column(i int) string { return s.name() + "." + s.scan.Table.Columns[i].Name }

// quoted is the column as a statement has it.
func (s *scanInfo) quoted(i int) string { return quoted(s.name(), s.scan.Table.Columns[i].Name) }

func quoted(alias, column string) string {
	return plan.QuoteIdent(alias) + "." + plan.QuoteIdent(column)
}

func (z *scope) newBlock(parent *block, join *plan.Join) *block {
	b := &block{parent: parent, join: join}
	z.blocks = append(z.blocks, b)
	return b
}

// collect walks the body, refuses what may not stand in it (Analyze, (2): scans, filters, projections and joins alone) and notes scans, definitions and equalities.
func (z *scope) collect(r plan.Rel, in *block) error {
	switch n := r.(type) {
	case *plan.OneRow:
		return nil
	case *plan.Scan:
		return z.collectScan(n, in)
	case *plan.Filter:
		in.eqs = append(in.eqs, z.equalities(n.Cond)...)
		in.conds = append(in.conds, plan.Conjuncts(n.Cond)...)
		return z.collect(n.Input, in)
	case *plan.Project:
		for _, it := range n.Items {
			if c, ok := it.Expr.(*plan.Col); !ok || c.ID != it.ID {
				z.defs[it.ID] = definition{it.Expr, in}
			}
		}
		return z.collect(n.Input, in)
	case *plan.Join:
		return z.collectJoin(n, in)
	}
	return relation.BelowError(r, z.out.Agg.Pos)
}

func (z *scope) collectScan(n *plan.Scan, in *block) error {
	s := &scanInfo{scan: n, in: in}
	if s.private() && len(n.Table.Units) != 1 && z.out.Pairs == nil {
		return sqlerr.New(sqlerr.PrivateShape, "rows of %s do not belong to exactly one privacy unit", n.Table.Name).At(n.Pos).
			WithHint("Two people of one kind are in each. If one of them needs no protection there, the owner can say so in the policy: unprotected: true on the column that leads to that one, in place of also_unit.")
	}
	z.scans = append(z.scans, s)
	for _, c := range n.Columns {
		z.owner[c] = s
	}
	for _, c := range z.alike[n] {
		in.eqs = append(in.eqs, equality{a: s.own(), b: c})
	}
	return nil
}

func (z *scope) collectJoin(n *plan.Join, in *block) error {
	switch n.Kind {
	case plan.InnerJoin:
		return z.collectInner(n, in)
	case plan.LeftJoin:
		if relation.HasPrivateTable(n.Right) && !relation.HasPrivateTable(n.Left) { // (4) a public row's presence would depend on private rows
			if !z.whole || in.parent != nil {
				return paddedPublic(n.Pos)
			}
			z.ownerless = append(z.ownerless, n)
			return z.collectInner(n, in)
		}
		if err := z.collect(n.Left, in); err != nil {
			return err
		}
		padded := z.newBlock(in, n)
		padded.on = z.equalities(n.On)
		padded.conds = plan.Conjuncts(n.On)
		return z.collect(n.Right, padded)
	}
	return sqlerr.New(sqlerr.Internal, "a %s join in a body", n.Kind).At(n.Pos)
}

func paddedPublic(pos int) error {
	return sqlerr.New(sqlerr.PrivateShape, "a public table LEFT JOIN a private one is supported directly below the statement's aggregates only").At(pos).
		WithHint("Use an inner join: groups of public values that nobody is in are answered too.")
}

func (z *scope) collectInner(n *plan.Join, in *block) error {
	in.eqs = append(in.eqs, z.equalities(n.On)...)
	in.conds = append(in.conds, plan.Conjuncts(n.On)...)
	if err := z.collect(n.Left, in); err != nil {
		return err
	}
	return z.collect(n.Right, in)
}

// equalities lists the conjuncts of the form column = column where "=" is an equality.
func equalities(cond plan.Scalar) []equality { return equalitiesOf(cond, plainColumn) }

func (z *scope) equalities(cond plan.Scalar) []equality { return equalitiesOf(cond, z.column) }

func equalitiesOf(cond plan.Scalar, column func(plan.Scalar) plan.ColID) []equality {
	var out []equality
	for _, x := range plan.Conjuncts(cond) {
		c, ok := x.(*plan.Call)
		if !ok || c.Fn.Name != "=" || len(c.Args) != 2 || !relation.HasTransitiveEquality(c.Args[0].Type(), c.Args[1].Type()) {
			continue
		}
		if a, b := column(c.Args[0]), column(c.Args[1]); a != 0 && b != 0 {
			out = append(out, equality{a: a, b: b})
		}
	}
	return out
}

// classes are the columns that are equal in every row in which the block is present.
type classes map[plan.ColID]plan.ColID

func (c classes) find(x plan.ColID) plan.ColID {
	for c[x] != 0 && c[x] != x {
		x = c[x]
	}
	return x
}

func (c classes) same(a, b plan.ColID) bool { return a != 0 && b != 0 && c.find(a) == c.find(b) }

// classesOf joins the equalities that hold in a block.
func (z *scope) classesOf(b *block) classes {
	c := classes{}
	for _, e := range z.holdsIn(b) {
		x, y := c.find(z.base(e.a)), c.find(z.base(e.b))
		if x != y {
			c[x] = y
		}
	}
	return c
}

// holdsIn lists the equalities of a block, of its left join and of the blocks around it. From around it only those between
// columns of other blocks: whether a row is padded is decided by the ON condition, before any WHERE (4).
func (z *scope) holdsIn(b *block) []equality {
	out := slices.Clone(b.eqs)
	for in := b; in.parent != nil; in = in.parent {
		out = append(out, in.on...)
		for _, e := range in.parent.eqs {
			if !z.within(e.a, in) && !z.within(e.b, in) {
				out = append(out, e)
			}
		}
	}
	return out
}

// within tells whether a column comes from a block or one padded inside it.
func (z *scope) within(id plan.ColID, b *block) bool {
	in := z.blockOf(z.base(id))
	for ; in != nil; in = in.parent {
		if in == b {
			return true
		}
	}
	return false
}

func (z *scope) blockOf(id plan.ColID) *block {
	if d, ok := z.defs[id]; ok {
		return d.in
	}
	if s, ok := z.owner[id]; ok {
		return s.in
	}
	return nil
}

// wayEqualities are those of the hidden way to the unit.
func (s *scanInfo) wayEqualities() (out []equality) {
	if s.path != nil && !s.nullable() {
		for i, x := range s.path.on {
			if s.path.kinds[i] != plan.InnerJoin {
				break
			}
			out = append(out, equalities(x)...)
		}
	}
	return out
}

func (s *scanInfo) determined(set []*scanInfo) bool {
	return slices.ContainsFunc(s.children, func(c *scanInfo) bool { return slices.Contains(set, c) })
}

func (s *scanInfo) nullableFrom(child *scanInfo) bool {
	return s.in != child.in && !isAround(s.in, child.in)
}

func isAround(outer, b *block) bool {
	for in := b.parent; in != nil; in = in.parent {
		if in == outer {
			return true
		}
	}
	return false
}
