package owner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// fact is what the schema says of a column's values other than NULL.
type fact struct {
	lo, hi *end
	listed bool
	values []string // where they are listed
}

// end is an end of a range: its text, and its place among the values of the type.
type end struct {
	text string
	at   decimal.Decimal
}

// facts are those of a table's columns, by its enums and its CHECK constraints.
//
// Proof: claim: every stored row has in each column NULL or a value that the column's fact allows. A constraint that the database holds for all rows
// (sqltype.RelationCheck) is true or unknown in each; (1) it follows from "x AND y" for x and for y; (2) from "x OR y" what follows from either; (3) a comparison of the column with
// constants that are not NULL is unknown only where the column is NULL; (4) a cast of either side is passed over only where it changes no value.
// What is read otherwise, or not at all, says nothing.
func (t *table) facts() map[string]fact {
	if t.known != nil {
		return t.known
	}
	t.known = map[string]fact{}
	for _, c := range t.rel.Columns {
		if e, ok := c.Type.Enum(); ok && c.Type.IsEnum() {
			t.known[c.Name] = fact{listed: true, values: e.Labels}
		}
	}
	for _, k := range t.rel.Checks {
		statements, err := pgsyntax.Parse("SELECT " + k.Expr)
		if err != nil || len(statements) != 1 {
			continue
		}
		if sel, ok := statements[0].Node.(*pgsyntax.Select); ok && len(sel.Targets) == 1 {
			t.known = all(t.known, (&constraint{t, k.Column}).of(sel.Targets[0].Expr)) // (1)
		}
	}
	return t.known
}

// constraint is one that is read.
type constraint struct {
	t     *table
	value string // the column that VALUE stands for, of a domain's
}

func (k *constraint) of(x pgsyntax.Expr) map[string]fact {
	switch n := x.(type) {
	case *pgsyntax.Paren:
		return k.of(n.X)
	case *pgsyntax.Binary:
		switch n.Op {
		case "AND":
			return all(k.of(n.Left), k.of(n.Right))
		case "OR":
			return either(k.of(n.Left), k.of(n.Right))
		case "=":
			if out := k.list(n.Left, []pgsyntax.Expr{n.Right}); out != nil {
				return out
			}
			return k.list(n.Right, []pgsyntax.Expr{n.Left})
		}
		turned := map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}
		if turned[n.Op] == "" {
			return nil
		}
		if out := k.bound(n.Left, n.Op, n.Right); out != nil {
			return out
		}
		return k.bound(n.Right, turned[n.Op], n.Left)
	case *pgsyntax.Between:
		if !n.Not && !n.Symmetric {
			return all(k.bound(n.X, ">=", n.Low), k.bound(n.X, "<=", n.High))
		}
	case *pgsyntax.In:
		if !n.Not && n.Query == nil {
			return k.list(n.X, n.List)
		}
	case *pgsyntax.Quantified:
		if a, ok := bare(n.Array).(*pgsyntax.Array); ok && n.Op == "=" && !n.All {
			return k.list(n.X, a.Elems)
		}
	case *pgsyntax.Is:
		if c, ok := k.column(n.X); ok && n.What == "NULL" && !n.Not {
			return map[string]fact{c.Name: {listed: true}}
		}
	}
	return nil
}

// column is the column that one side of a comparison is.
func (k *constraint) column(x pgsyntax.Expr) (sqltype.RelationColumn, bool) {
	for {
		switch n := x.(type) {
		case *pgsyntax.Paren:
			x = n.X
			continue
		case *pgsyntax.Cast: // (4)
			c, ok := k.column(n.X)
			return c, ok && c.Type.IsString() && c.Type.OID != sqltype.OIDBPChar && n.Type.Name == "text" && n.Type.Dims == 0
		case *pgsyntax.ColumnRef:
			name := n.Path[len(n.Path)-1]
			if k.value != "" && strings.EqualFold(name, "value") {
				name = k.value
			}
			c, ok := k.t.rel.Column(name)
			return c, ok && len(n.Path) == 1
		}
		return sqltype.RelationColumn{}, false
	}
}

// plainTypes are those to which a cast of a constant changes nothing that its text says, if it is one of them.
var plainTypes = []string{"text", "varchar", "character varying", "bpchar", "numeric", "decimal", "int2", "smallint", "int4", "integer", "int", "int8", "bigint", "float8", "double precision", "double",
	"date", "timestamp", "timestamp without time zone", "uuid"}

// bare takes brackets and such casts off.
func bare(x pgsyntax.Expr) pgsyntax.Expr {
	for {
		switch n := x.(type) {
		case *pgsyntax.Paren:
			x = n.X
		case *pgsyntax.Cast:
			if len(n.Type.Mods) > 0 || !slices.Contains(plainTypes, strings.ToLower(n.Type.Name)) {
				return x
			}
			x = n.X
		default:
			return x
		}
	}
}

// constantOf is the text of a constant that is not NULL.
func constantOf(x pgsyntax.Expr) (string, bool) {
	x = bare(x)
	sign := ""
	if n, ok := x.(*pgsyntax.Unary); ok && n.Op == "-" {
		sign, x = "-", bare(n.X)
	}
	l, ok := x.(*pgsyntax.Literal)
	switch {
	case !ok:
		return "", false
	case l.Kind == pgsyntax.IntegerLit, l.Kind == pgsyntax.NumericLit:
		return sign + l.Text, true
	}
	return l.Text, l.Kind == pgsyntax.StringLit && sign == ""
}

// list: the column is one of the constants.
func (k *constraint) list(x pgsyntax.Expr, of []pgsyntax.Expr) map[string]fact {
	c, ok := k.column(x)
	out := fact{listed: true}
	for _, e := range of {
		v, is := constantOf(e)
		if !is || policy.CheckValue(v, c.Type) != nil { // (3)
			return nil
		}
		if !slices.Contains(out.values, v) {
			out.values = append(out.values, v)
		}
	}
	if !ok || c.Type.IsFloat() { // whose constants are rounded
		return nil
	}
	return map[string]fact{c.Name: out}
}

// bound: the column is on one side of a constant. Of whole numbers and days, what is strictly on a side of one is at most its neighbour.
func (k *constraint) bound(x pgsyntax.Expr, op string, of pgsyntax.Expr) map[string]fact {
	c, ok := k.column(x)
	text, is := constantOf(of)
	if !ok || !is { // (3)
		return nil
	}
	at, err := policy.Place(text, c.Type)
	if err != nil {
		return nil
	}
	if whole := c.Type.IsInteger(); whole {
		one := decimal.NewFromInt(1)
		switch {
		case op == ">" && at.IsInteger():
			at = at.Add(one)
		case op == "<" && at.IsInteger():
			at = at.Sub(one)
		case op[0] == '>':
			at = at.Ceil()
		default:
			at = at.Floor()
		}
		text = at.String()
	}
	if op[0] == '>' {
		return map[string]fact{c.Name: {lo: &end{text, at}}}
	}
	return map[string]fact{c.Name: {hi: &end{text, at}}}
}

// all: both hold.
func all(a, b map[string]fact) map[string]fact {
	out := map[string]fact{}
	for c, f := range a {
		out[c] = f
	}
	for c, g := range b {
		f, ok := out[c]
		if !ok {
			out[c] = g
			continue
		}
		if f.lo == nil || g.lo != nil && g.lo.at.GreaterThan(f.lo.at) {
			f.lo = g.lo
		}
		if f.hi == nil || g.hi != nil && g.hi.at.LessThan(f.hi.at) {
			f.hi = g.hi
		}
		switch {
		case f.listed && g.listed:
			f.values = slices.DeleteFunc(slices.Clone(f.values), func(v string) bool { return !slices.Contains(g.values, v) })
		case g.listed:
			f.listed, f.values = true, g.values
		}
		out[c] = f
	}
	return out
}

// either: one of both holds (2).
func either(a, b map[string]fact) map[string]fact {
	out := map[string]fact{}
	for c, f := range a {
		g, ok := b[c]
		switch {
		case !ok:
		case f.listed && len(f.values) == 0: // NULL alone
			out[c] = g
		case g.listed && len(g.values) == 0:
			out[c] = f
		case f.listed && g.listed:
			h := fact{listed: true, values: slices.Clone(f.values)}
			for _, v := range g.values {
				if !slices.Contains(h.values, v) {
					h.values = append(h.values, v)
				}
			}
			out[c] = h
		case !f.listed && !g.listed:
			var h fact
			if f.lo != nil && g.lo != nil {
				if h.lo = f.lo; g.lo.at.LessThan(f.lo.at) {
					h.lo = g.lo
				}
			}
			if f.hi != nil && g.hi != nil {
				if h.hi = f.hi; g.hi.at.GreaterThan(f.hi.at) {
					h.hi = g.hi
				}
			}
			out[c] = h
		}
	}
	return out
}

// What is proposed as it is. Longer lists are the owner's choice. Where a person has one row, noise is for the whole range, and where its leaves are wide, MIN and MAX tell values of them less finely.
const (
	mostValues = 50
	wholeRange = 20      // values of a range that are listed too
	wideRange  = 10_000  // where a person has one row
	mostSteps  = 1 << 20 // of the type, where bounds are chosen within a range
)

// spelled is an end as a policy has it: a time of day is written with signs of YAML's.
func (e *end) spelled() string {
	if strings.Contains(e.text, ":") {
		return scalar(e.text)
	}
	return e.text
}

// otherEnd says what a range of which the schema knows one end is for; of types that need one, the column's line says so.
func otherEnd(t sqltype.Type, text, other string) string {
	if policy.NeedsRange(t) {
		return ""
	}
	return fmt.Sprintf("; range: %s with the %s value that makes sense ends the intervals of MIN and MAX", text, other)
}

// spelled are the policy's keys for what the schema says of a column, and what else is to be said of it. isChosen says that statements choose bounds within a range.
func (f fact) spelled(c sqltype.RelationColumn, isChosen bool) (keys []string, note string) {
	var values []string
	switch lo, hi := f.lo, f.hi; {
	case f.listed && len(f.values) > 0 && len(f.values) <= mostValues:
		for _, v := range f.values {
			if c.Type.IsNumber() {
				values = append(values, v)
			} else {
				values = append(values, scalar(v))
			}
		}
		note = "the database allows no others"
	case f.listed:
	case lo != nil && hi != nil && policy.CheckRange(lo.text, hi.text, c.Type) == nil:
		text := fmt.Sprintf("range: [%s, %s]", lo.spelled(), hi.spelled())
		width := hi.at.Sub(lo.at)
		isWide := width.GreaterThan(decimal.NewFromInt(wideRange))
		if isChosen {
			_, scale, _ := c.Type.NumericMod()
			isWide = width.Shift(int32(scale)).GreaterThan(decimal.NewFromInt(mostSteps)) //nolint:gosec // at most 1,000
		}
		if c.Type.IsNumber() && !policy.NeedsRange(c.Type) && isWide {
			return nil, text + " is what the database allows, and ends the intervals of MIN and MAX; left out, each statement finds a tighter bound"
		}
		keys, note = append(keys, text), "the database allows no others"
		if n := width.IntPart(); c.Type.IsInteger() && n < wholeRange {
			for i := range n + 1 {
				values = append(values, lo.at.Add(decimal.NewFromInt(i)).String())
			}
		}
	case lo != nil && !c.Type.IsString():
		note = "the database allows nothing below " + inComment(lo.text) + otherEnd(c.Type, "["+lo.spelled()+", ]", "highest")
	case hi != nil && !c.Type.IsString():
		note = "the database allows nothing above " + inComment(hi.text) + otherEnd(c.Type, "[ , "+hi.spelled()+"]", "lowest")
	}
	if len(values) > 0 {
		if !c.NotNull {
			values = append(values, "null")
		}
		keys = append(keys, "values: ["+strings.Join(values, ", ")+"]")
	}
	return keys, note
}
