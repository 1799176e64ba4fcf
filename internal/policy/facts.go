package policy

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Fact is what the schema says of a column's values other than NULL.
type Fact struct {
	Lo, Hi *End
	Listed bool
	Values []string // where they are listed
}

// End is an end of a range: its text, and its place among the values of the type.
type End struct {
	Text string
	At   decimal.Decimal
}

// Facts are those of a table's columns, by its enums and its CHECK constraints.
//
// Proof: claim: every stored row has in each column NULL or a value that the column's fact allows. A constraint that the database holds for all rows
// (sqltype.RelationCheck) is true or unknown in each; (1) it follows from "x AND y" for x and for y; (2) from "x OR y" what follows from either; (3) a comparison of the column with
// constants that are not NULL is unknown only where the column is NULL; (4) a cast of either side is passed over only where it changes no value.
// What is read otherwise, or not at all, says nothing.
func Facts(r *sqltype.Relation) map[string]Fact {
	known := map[string]Fact{}
	for _, c := range r.Columns {
		if e, ok := c.Type.Enum(); ok && c.Type.IsEnum() {
			known[c.Name] = Fact{Listed: true, Values: e.Labels}
		}
	}
	for _, k := range r.Checks {
		statements, err := pgsyntax.Parse("SELECT " + k.Expr)
		if err != nil || len(statements) != 1 {
			continue
		}
		if sel, ok := statements[0].Node.(*pgsyntax.Select); ok && len(sel.Targets) == 1 {
			known = allFacts(known, (&constraint{r, k.Column}).of(sel.Targets[0].Expr)) // (1) both sides of AND
		}
	}
	return known
}

// constraint is one that is read.
type constraint struct {
	rel   *sqltype.Relation
	value string // the column that VALUE stands for, of a domain's
}

func (k *constraint) of(x pgsyntax.Expr) map[string]Fact {
	switch n := x.(type) {
	case *pgsyntax.Paren:
		return k.of(n.X)
	case *pgsyntax.Binary:
		switch n.Op {
		case "AND":
			return allFacts(k.of(n.Left), k.of(n.Right))
		case "OR":
			return eitherFact(k.of(n.Left), k.of(n.Right))
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
			return allFacts(k.bound(n.X, ">=", n.Low), k.bound(n.X, "<=", n.High))
		}
	case *pgsyntax.In:
		if !n.Not && n.Query == nil {
			return k.list(n.X, n.List)
		}
	case *pgsyntax.Quantified:
		if list, ok := elements(n.Array); ok && n.Op == "=" && !n.All {
			return k.list(n.X, list)
		}
	case *pgsyntax.Is:
		if c, ok := k.column(n.X); ok && n.What == "NULL" && !n.Not {
			return map[string]Fact{c.Name: {Listed: true}}
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
		case *pgsyntax.Cast: // (4) a cast that changes no value
			c, ok := k.column(n.X)
			return c, ok && c.Type.IsString() && c.Type.OID != sqltype.OIDBPChar && n.Type.Name == "text" && n.Type.Dims == 0
		case *pgsyntax.ColumnRef:
			name := n.Path[len(n.Path)-1]
			if k.value != "" && strings.EqualFold(name, "value") {
				name = k.value
			}
			c, ok := k.rel.Column(name)
			return c, ok && len(n.Path) == 1
		}
		return sqltype.RelationColumn{}, false
	}
}

// literal is a constant: a text, a number, or a number that is rounded to a float.
type literal struct {
	text            string
	isText, isFloat bool
}

// literalOf reads a constant that is not NULL. A cast of it is passed over only where it changes no value (4).
func literalOf(x pgsyntax.Expr) (literal, bool) {
	switch n := x.(type) {
	case *pgsyntax.Paren:
		return literalOf(n.X)
	case *pgsyntax.Unary:
		l, ok := literalOf(n.X)
		l.text = "-" + l.text
		return l, ok && n.Op == "-" && !l.isText && !strings.HasPrefix(l.text, "--")
	case *pgsyntax.Literal:
		isNumber := n.Kind == pgsyntax.IntegerLit || n.Kind == pgsyntax.NumericLit
		return literal{text: n.Text, isText: !isNumber}, isNumber || n.Kind == pgsyntax.StringLit
	case *pgsyntax.Cast:
		l, ok := literalOf(n.X)
		if !ok || len(n.Type.Mods) > 0 || n.Type.Dims > 0 {
			return literal{}, false
		}
		return l.cast(strings.ToLower(n.Type.Name))
	}
	return literal{}, false
}

// cast is the constant as another type, if that has the same value.
func (l literal) cast(to string) (literal, bool) {
	number, err := decimal.NewFromString(l.text)
	isNumber := err == nil
	switch to {
	case "text", "varchar", "character varying", "bpchar", "uuid", "timestamp", "timestamp without time zone":
		return l, l.isText
	case "date": // the time of day would go
		return l, l.isText && len(l.text) == len("2020-02-09")
	case "numeric", "decimal":
		return literal{text: l.text, isFloat: l.isFloat}, isNumber
	case "int2", "smallint", "int4", "integer", "int", "int8", "bigint":
		return literal{text: l.text, isFloat: l.isFloat}, isNumber && number.IsInteger()
	case "float8", "double precision", "double":
		return literal{text: l.text, isFloat: true}, isNumber
	}
	return literal{}, false
}

// constantFor is the text of a constant that a column is compared with as a value of the column's own type. DuckDB compares a text with a number as numbers.
func constantFor(c sqltype.Type, x pgsyntax.Expr) (string, bool) {
	l, ok := literalOf(x)
	return l.text, ok && (l.isText || !c.IsString()) && (!l.isFloat || c.IsFloat())
}

// elements are those of ARRAY[...] of texts or whole numbers, which a cast of the array leaves as they are.
func elements(x pgsyntax.Expr) ([]pgsyntax.Expr, bool) {
	switch n := x.(type) {
	case *pgsyntax.Paren:
		return elements(n.X)
	case *pgsyntax.Array:
		return n.Elems, true
	case *pgsyntax.Cast:
		list, ok := elements(n.X)
		for _, e := range list {
			l, is := literalOf(e)
			_, keeps := l.cast(strings.ToLower(n.Type.Name))
			ok = ok && is && keeps && len(n.Type.Mods) == 0
		}
		return list, ok
	}
	return nil, false
}

// list: the column is one of the constants.
func (k *constraint) list(x pgsyntax.Expr, of []pgsyntax.Expr) map[string]Fact {
	c, ok := k.column(x)
	out := Fact{Listed: true}
	for _, e := range of {
		v, is := constantFor(c.Type, e)
		if !is || checkValue(v, c.Type) != nil { // (3) constants that are not NULL
			return nil
		}
		if !slices.Contains(out.Values, v) {
			out.Values = append(out.Values, v)
		}
	}
	if !ok || c.Type.IsFloat() { // whose constants are rounded
		return nil
	}
	return map[string]Fact{c.Name: out}
}

// bound: the column is on one side of a constant. Of whole numbers and days, what is strictly on a side of one is at most its neighbour.
func (k *constraint) bound(x pgsyntax.Expr, op string, of pgsyntax.Expr) map[string]Fact {
	c, ok := k.column(x)
	text, is := constantFor(c.Type, of)
	if !ok || !is { // (3) a constant that is not NULL
		return nil
	}
	at, err := Place(text, c.Type)
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
		return map[string]Fact{c.Name: {Lo: &End{text, at}}}
	}
	return map[string]Fact{c.Name: {Hi: &End{text, at}}}
}

// allFacts: both hold.
func allFacts(a, b map[string]Fact) map[string]Fact {
	out := map[string]Fact{}
	for c, f := range a {
		out[c] = f
	}
	for c, g := range b {
		f, ok := out[c]
		if !ok {
			out[c] = g
			continue
		}
		if f.Lo == nil || g.Lo != nil && g.Lo.At.GreaterThan(f.Lo.At) {
			f.Lo = g.Lo
		}
		if f.Hi == nil || g.Hi != nil && g.Hi.At.LessThan(f.Hi.At) {
			f.Hi = g.Hi
		}
		switch {
		case f.Listed && g.Listed:
			f.Values = slices.DeleteFunc(slices.Clone(f.Values), func(v string) bool { return !slices.Contains(g.Values, v) })
		case g.Listed:
			f.Listed, f.Values = true, g.Values
		}
		out[c] = f
	}
	return out
}

// eitherFact: one of both holds (2).
func eitherFact(a, b map[string]Fact) map[string]Fact {
	out := map[string]Fact{}
	for c, f := range a {
		g, ok := b[c]
		switch {
		case !ok:
		case f.Listed && len(f.Values) == 0: // NULL alone
			out[c] = g
		case g.Listed && len(g.Values) == 0:
			out[c] = f
		case f.Listed && g.Listed:
			h := Fact{Listed: true, Values: slices.Clone(f.Values)}
			for _, v := range g.Values {
				if !slices.Contains(h.Values, v) {
					h.Values = append(h.Values, v)
				}
			}
			out[c] = h
		case !f.Listed && !g.Listed:
			var h Fact
			if f.Lo != nil && g.Lo != nil {
				if h.Lo = f.Lo; g.Lo.At.LessThan(f.Lo.At) {
					h.Lo = g.Lo
				}
			}
			if f.Hi != nil && g.Hi != nil {
				if h.Hi = f.Hi; g.Hi.At.GreaterThan(f.Hi.At) {
					h.Hi = g.Hi
				}
			}
			out[c] = h
		}
	}
	return out
}

// isEnforced: the database holds a column to its listed values and NULL (Facts). A collation of its own may find other texts equal, and how a time with a zone is written depends on the session.
func isEnforced(r *sqltype.Relation, pc *plan.TableColumn) bool {
	f, known := Facts(r)[pc.Name]
	if !known || pc.Collate || pc.Type.OID == sqltype.OIDTimestamptz {
		return false
	}
	if !f.Listed {
		if f.Lo == nil || f.Hi == nil || !pc.Type.IsInteger() || f.Hi.At.Sub(f.Lo.At).GreaterThanOrEqual(decimal.NewFromInt(int64(len(pc.Domain.Values)))) {
			return false
		}
		for at := f.Lo.At; !at.GreaterThan(f.Hi.At); at = at.Add(decimal.NewFromInt(1)) {
			f.Values = append(f.Values, at.String())
		}
	}
	listed := map[string]bool{}
	for _, v := range pc.Domain.Values {
		if v != nil {
			listed[canonicalText(v, pc.Type)] = true
		}
	}
	return !slices.ContainsFunc(f.Values, func(text string) bool {
		v, err := domainValue(text, pc.Type)
		return err != nil || !listed[canonicalText(v, pc.Type)]
	})
}
