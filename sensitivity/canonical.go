package sensitivity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"

	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Canonical is a stable text of all that determines what is measured: body, unit, keys with the values of public groups, limit,
// measures and bounds. Names, aliases, the order of conjuncts and the finishing part are not in it: statements of the same text
// can be answered from one release, keys and measures by index. Parameters stand in it as $n.
func Canonical(a *Analysis) string {
	if a.Class != Private {
		return string(a.Class)
	}
	c := &canon{names: map[plan.ColID]string{}, defs: map[plan.ColID]plan.Scalar{}}
	body := c.rel(a.Body.Rel)
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("body %s", body)
	say("unit %s %s", a.Unit, c.column(a.Body.UnitCol))
	var clamps []string
	for id, cl := range a.Body.Clamped {
		clamps = append(clamps, fmt.Sprintf("%s in [%s, %s]", c.column(id), cl.Lo, cl.Hi))
	}
	sort.Strings(clamps)
	say("clamps %s", strings.Join(clamps, "; "))
	for _, k := range a.Keys {
		say("key %s %d.%d of unit %t", c.column(k.Col), k.Type.OID, k.Type.Typmod, k.OfUnit)
	}
	say("groups public %t", a.Groups.Public)
	for _, s := range a.Groups.Sources {
		say("source %v fixed %t counts %t joined %t %s", s.Keys, s.Fixed, s.Counts, s.Joined, digest(s.Tuples))
	}
	say("limit %d capped %t", a.Limit.PerUnit, a.Limit.Capped)
	say("rows %d", a.MaxRows)
	for _, m := range a.Measures {
		arg := ""
		if m.Arg != nil {
			arg = c.scalar(m.Arg)
		}
		say("measure %s %s grid %s rounded %t row [%d, %d] partial [%d, %d] single %t", m.Kind, arg, m.Grid, m.Rounded, m.RowLo, m.RowHi, m.Lo, m.Hi, m.Single)
	}
	return strings.Join(append(c.lines, lines...), "\n")
}

func digest(tuples [][]sqltype.Value) string {
	h := sha256.New()
	for _, t := range tuples {
		fmt.Fprintf(h, "(%s)", tupleText(t))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canon names columns by where they stand: s<i>.<attribute> of the i-th scan, d<i> of the i-th computed column.
type canon struct {
	names map[plan.ColID]string
	defs  map[plan.ColID]plan.Scalar
	scans int
	ndefs int
	lines []string // definitions, in order of first use
}

// rel is the relation as its scans in order, with inner joins and filters as one sorted list of conditions.
func (c *canon) rel(r plan.Rel) string {
	items, conds := c.parts(r)
	texts := make([]string, len(conds))
	for i, x := range conds {
		texts[i] = c.scalar(x)
	}
	sort.Strings(texts)
	return fmt.Sprintf("{%s | %s}", strings.Join(items, ", "), strings.Join(texts, " & "))
}

func (c *canon) parts(r plan.Rel) (items []string, conds []plan.Scalar) {
	switch n := r.(type) {
	case *plan.Scan:
		s := fmt.Sprintf("s%d", c.scans)
		c.scans++
		for i, id := range n.Columns {
			c.names[id] = fmt.Sprintf("%s.%d", s, i)
		}
		return []string{fmt.Sprintf("%s=%q.%q", s, n.Table.Schema, n.Table.Name)}, nil
	case *plan.Filter:
		items, conds = c.parts(n.Input)
		return items, append(conds, conjuncts(n.Cond)...)
	case *plan.Project:
		items, conds = c.parts(n.Input)
		for _, it := range n.Items {
			switch col, ok := it.Expr.(*plan.Col); {
			case ok && col.ID == it.ID:
			case ok:
				c.names[it.ID] = c.column(col.ID)
			default:
				c.defs[it.ID] = it.Expr
			}
		}
		return items, conds
	case *plan.Join:
		items, conds = c.parts(n.Left)
		if n.Kind == plan.InnerJoin {
			ri, rc := c.parts(n.Right)
			return append(items, ri...), append(append(conds, rc...), conjuncts(n.On)...)
		}
		right := c.rel(n.Right)
		var on []string
		for _, x := range conjuncts(n.On) {
			on = append(on, c.scalar(x))
		}
		sort.Strings(on)
		return append(items, fmt.Sprintf("%s %s on %s", n.Kind, right, strings.Join(on, " & "))), conds
	}
	return []string{fmt.Sprintf("%T", r)}, nil
}

func conjuncts(x plan.Scalar) []plan.Scalar {
	if x == nil {
		return nil
	}
	if l, ok := x.(*plan.Logic); ok && l.Op == plan.And {
		var out []plan.Scalar
		for _, a := range l.Args {
			out = append(out, conjuncts(a)...)
		}
		return out
	}
	return []plan.Scalar{x}
}

// column is a column's name; a computed one is written out once.
func (c *canon) column(id plan.ColID) string {
	if s, ok := c.names[id]; ok {
		return s
	}
	x, ok := c.defs[id]
	if !ok {
		return fmt.Sprintf("?%d", id)
	}
	text := c.scalar(x)
	name := fmt.Sprintf("d%d", c.ndefs)
	c.ndefs++
	c.names[id] = name
	c.lines = append(c.lines, name+" := "+text)
	return name
}

func (c *canon) scalar(x plan.Scalar) string { return scalarText(x, c.column) }

// scalarText writes an expression as an s-expression with its types, columns named by f.
func scalarText(x plan.Scalar, f func(plan.ColID) string) string {
	list := func(xs []plan.Scalar) string {
		out := make([]string, len(xs))
		for i, a := range xs {
			out[i] = scalarText(a, f)
		}
		return strings.Join(out, " ")
	}
	switch n := x.(type) {
	case nil:
		return ""
	case *plan.Col:
		return f(n.ID)
	case *plan.Const:
		return fmt.Sprintf("(const %d.%d %s)", n.T.OID, n.T.Typmod, tupleText([]sqltype.Value{n.Value}))
	case *plan.Param:
		return fmt.Sprintf("($%d %d.%d)", n.N, n.T.OID, n.T.Typmod)
	case *plan.Call:
		args := n.Args
		if n.Fn.Name == "=" && len(args) == 2 && args[0].Type() == args[1].Type() && scalarText(args[0], f) > scalarText(args[1], f) {
			args = []plan.Scalar{args[1], args[0]}
		}
		return fmt.Sprintf("(%q%v:%d.%d %s)", n.Fn.Name, n.Fn.Args, n.T.OID, n.T.Typmod, list(args))
	case *plan.Logic:
		return fmt.Sprintf("(%s %s)", n.Op, list(n.Args))
	case *plan.Is:
		return fmt.Sprintf("(is %q %t %s)", n.What, n.Not, scalarText(n.X, f))
	case *plan.In:
		return fmt.Sprintf("(in %t %s : %s)", n.Not, scalarText(n.X, f), list(n.List))
	case *plan.Coalesce:
		return fmt.Sprintf("(coalesce %s)", list(n.Args))
	case *plan.Case:
		var b strings.Builder
		fmt.Fprintf(&b, "(case %d.%d", n.T.OID, n.T.Typmod)
		for _, w := range n.Whens {
			fmt.Fprintf(&b, " [%s -> %s]", scalarText(w.Cond, f), scalarText(w.Result, f))
		}
		if n.Else != nil {
			fmt.Fprintf(&b, " [%s]", scalarText(n.Else, f))
		}
		return b.String() + ")"
	}
	return fmt.Sprintf("(%T)", x)
}

// scalarText is equal for expressions of the statement that are equal in every row.
func (z *analyzer) scalarText(x plan.Scalar) string {
	return scalarText(x, func(id plan.ColID) string { return fmt.Sprintf("c%d", z.base(id)) })
}
