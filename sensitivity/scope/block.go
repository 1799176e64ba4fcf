package scope

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Block is a part of the body in which every condition holds for every row that survives: what is connected by inner joins
// and filters. The padded side of a left join is a block of its own below the one that preserves it.
type Block struct {
	Parent *Block
	Join   *plan.Join    // the left join whose padded side this is; nil for the root
	Eqs    []Equality    // conditions inside
	on     []Equality    // of join
	Conds  []plan.Scalar // what is true in every row in which the block is present
}

// Equality says that two columns are equal, and so not NULL, in every row in which their block is present.
type Equality struct {
	A, B   plan.ColID
	Placed bool // for added ones: printed already
}

// Definition is a computed column and the block that computes it.
type Definition struct {
	Expr plan.Scalar
	In   *Block
}

// ScanInfo is a table in the body.
type ScanInfo struct {
	Scan *plan.Scan
	In   *Block
	Unit plan.ColID // the unit's value: an own column or a hidden path's; 0 where a linked parent has it
	Path *Hidden    // added to reach the unit; nil if none is needed

	Parent   *ScanInfo   // the scan that the declared path leads to, if the statement joins along it
	Children []*ScanInfo // scans whose row determines this one's
	Comp     int         // linked private scans share it
	Fixed    bool        // a public row that the others determine: joined by a unique key
}

// Private reports a scan of a private table.
func (s *ScanInfo) Private() bool { return !s.Scan.Table.Public }

// Nullable reports a scan whose rows may be padding.
func (s *ScanInfo) Nullable() bool { return s.In.Parent != nil }

// Own is the column of the unit in the scan's table, or 0.
func (s *ScanInfo) Own() plan.ColID {
	if u := s.Scan.Table.UnitCol; u >= 0 && u < len(s.Scan.Columns) {
		return s.Scan.Columns[u]
	}
	return 0
}

// Name is what the statement calls the scan.
func (s *ScanInfo) Name() string {
	if s.Scan.Alias != "" {
		return s.Scan.Alias
	}
	return s.Scan.Table.Name
}

// Column is the name of one of its columns.
func (s *ScanInfo) Column(i int) string { return s.Name() + "." + s.Scan.Table.Columns[i].Name }

// Quoted is the column as a statement has it.
func (s *ScanInfo) Quoted(i int) string { return Quoted(s.Name(), s.Scan.Table.Columns[i].Name) }

// Quoted is a column with its alias, in quotes.
func Quoted(alias, column string) string {
	return plan.QuoteIdent(alias) + "." + plan.QuoteIdent(column)
}

// NewBlock adds a block of conditions below a join.
func (z *Scope) NewBlock(parent *Block, join *plan.Join) *Block {
	b := &Block{Parent: parent, Join: join}
	z.Blocks = append(z.Blocks, b)
	return b
}

// Collect walks the body, refuses what may not stand in it (Analyze, (2): scans, filters, projections and joins alone) and notes scans, definitions and equalities.
func (z *Scope) Collect(r plan.Rel, in *Block) error {
	switch n := r.(type) {
	case *plan.OneRow:
		return nil
	case *plan.Scan:
		return z.collectScan(n, in)
	case *plan.Filter:
		in.Eqs = append(in.Eqs, z.Equalities(n.Cond)...)
		in.Conds = append(in.Conds, plan.Conjuncts(n.Cond)...)
		return z.Collect(n.Input, in)
	case *plan.Project:
		for _, it := range n.Items {
			if c, ok := it.Expr.(*plan.Col); !ok || c.ID != it.ID {
				z.Defs[it.ID] = Definition{it.Expr, in}
			}
		}
		return z.Collect(n.Input, in)
	case *plan.Join:
		return z.collectJoin(n, in)
	}
	return relation.BelowError(r, z.Out.Agg.Pos)
}

func (z *Scope) collectScan(n *plan.Scan, in *Block) error {
	s := &ScanInfo{Scan: n, In: in}
	if s.Private() && len(n.Table.Units) != 1 && z.Out.Pairs == nil {
		return sqlerr.New(sqlerr.PrivateShape, "rows of %s do not belong to exactly one privacy unit", n.Table.Name).At(n.Pos).
			WithHint("Two people of one kind are in each. If one of them needs no protection there, the owner can say so in the policy: unprotected: true on the column that leads to that one, in place of also_unit.")
	}
	z.Scans = append(z.Scans, s)
	for _, c := range n.Columns {
		z.Owner[c] = s
	}
	for _, c := range z.Alike[n] {
		in.Eqs = append(in.Eqs, Equality{A: s.Own(), B: c})
	}
	return nil
}

func (z *Scope) collectJoin(n *plan.Join, in *Block) error {
	switch n.Kind {
	case plan.InnerJoin:
		return z.collectInner(n, in)
	case plan.LeftJoin:
		if relation.HasPrivateTable(n.Right) && !relation.HasPrivateTable(n.Left) { // (4) a public row's presence would depend on private rows
			if !z.Whole || in.Parent != nil {
				return PaddedPublic(n.Pos)
			}
			z.Ownerless = append(z.Ownerless, n)
			return z.collectInner(n, in)
		}
		if err := z.Collect(n.Left, in); err != nil {
			return err
		}
		padded := z.NewBlock(in, n)
		padded.on = z.Equalities(n.On)
		padded.Conds = plan.Conjuncts(n.On)
		return z.Collect(n.Right, padded)
	}
	return sqlerr.New(sqlerr.Internal, "a %s join in a body", n.Kind).At(n.Pos)
}

// PaddedPublic refuses public rows beside padded private ones.
func PaddedPublic(pos int) error {
	return sqlerr.New(sqlerr.PrivateShape, "a public table LEFT JOIN a private one is supported directly below the statement's aggregates only").At(pos).
		WithHint("Use an inner join: groups of public values that nobody is in are answered too.")
}

func (z *Scope) collectInner(n *plan.Join, in *Block) error {
	in.Eqs = append(in.Eqs, z.Equalities(n.On)...)
	in.Conds = append(in.Conds, plan.Conjuncts(n.On)...)
	if err := z.Collect(n.Left, in); err != nil {
		return err
	}
	return z.Collect(n.Right, in)
}

// Equalities lists the conjuncts of the form column = column where "=" is an equality.
func Equalities(cond plan.Scalar) []Equality { return equalitiesOf(cond, PlainColumn) }

// Equalities are the equalities of columns among conjuncts.
func (z *Scope) Equalities(cond plan.Scalar) []Equality { return equalitiesOf(cond, z.Column) }

func equalitiesOf(cond plan.Scalar, column func(plan.Scalar) plan.ColID) []Equality {
	var out []Equality
	for _, x := range plan.Conjuncts(cond) {
		c, ok := x.(*plan.Call)
		if !ok || c.Fn.Name != "=" || len(c.Args) != 2 || !relation.HasTransitiveEquality(c.Args[0].Type(), c.Args[1].Type()) {
			continue
		}
		if a, b := column(c.Args[0]), column(c.Args[1]); a != 0 && b != 0 {
			out = append(out, Equality{A: a, B: b})
		}
	}
	return out
}

// Classes are the columns that are equal in every row in which the block is present.
type Classes map[plan.ColID]plan.ColID

// Find is the column that stands for a class.
func (c Classes) Find(x plan.ColID) plan.ColID {
	for c[x] != 0 && c[x] != x {
		x = c[x]
	}
	return x
}

// Same reports columns of one class.
func (c Classes) Same(a, b plan.ColID) bool { return a != 0 && b != 0 && c.Find(a) == c.Find(b) }

// ClassesOf joins the equalities that hold in a block.
func (z *Scope) ClassesOf(b *Block) Classes {
	c := Classes{}
	for _, e := range z.HoldsIn(b) {
		x, y := c.Find(z.Base(e.A)), c.Find(z.Base(e.B))
		if x != y {
			c[x] = y
		}
	}
	return c
}

// HoldsIn lists the equalities of a block, of its left join and of the blocks around it. From around it only those between
// columns of other blocks: whether a row is padded is decided by the ON condition, before any WHERE (4).
func (z *Scope) HoldsIn(b *Block) []Equality {
	out := slices.Clone(b.Eqs)
	for in := b; in.Parent != nil; in = in.Parent {
		out = append(out, in.on...)
		for _, e := range in.Parent.Eqs {
			if !z.within(e.A, in) && !z.within(e.B, in) {
				out = append(out, e)
			}
		}
	}
	return out
}

// within tells whether a column comes from a block or one padded inside it.
func (z *Scope) within(id plan.ColID, b *Block) bool {
	in := z.blockOf(z.Base(id))
	for ; in != nil; in = in.Parent {
		if in == b {
			return true
		}
	}
	return false
}

func (z *Scope) blockOf(id plan.ColID) *Block {
	if d, ok := z.Defs[id]; ok {
		return d.In
	}
	if s, ok := z.Owner[id]; ok {
		return s.In
	}
	return nil
}

// WayEqualities are those of the hidden way to the unit.
func (s *ScanInfo) WayEqualities() (out []Equality) {
	if s.Path != nil && !s.Nullable() {
		for i, x := range s.Path.On {
			if s.Path.Kinds[i] != plan.InnerJoin {
				break
			}
			out = append(out, Equalities(x)...)
		}
	}
	return out
}

// Determined reports that a row of one of the set's scans determines this one's.
func (s *ScanInfo) Determined(set []*ScanInfo) bool {
	return slices.ContainsFunc(s.Children, func(c *ScanInfo) bool { return slices.Contains(set, c) })
}

// NullableFrom reports that the scan's rows may be padding beside a child's row.
func (s *ScanInfo) NullableFrom(child *ScanInfo) bool {
	return s.In != child.In && !IsAround(s.In, child.In)
}

// IsAround reports that a block is around another one.
func IsAround(outer, b *Block) bool {
	for in := b.Parent; in != nil; in = in.Parent {
		if in == outer {
			return true
		}
	}
	return false
}
