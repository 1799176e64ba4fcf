package pgsyntax

import (
	"strconv"
	"strings"
)

// levelOf is the precedence of an expression's outermost operator.
func levelOf(e Expr) int {
	switch x := e.(type) {
	case *Binary:
		return level(x.Op)
	case *Unary:
		return prefixLevelOf(x.Op)
	case *Is:
		return levIs
	case *Between, *In:
		return levIn
	case *Quantified:
		return level(x.Op)
	case *Collate:
		return levCollate
	case *Subscript:
		return levIndex
	case *Cast:
		if x.Literal {
			return levPrimary
		}
		return levCast
	case *FuncCall:
		switch {
		case x.Special && x.Name == "timezone":
			return levAt
		case x.Special && x.Name == "is_normalized":
			return levIs
		}
	case *Field:
		return levIndex
	}
	return levPrimary
}

// prefixLevelOf is the precedence of a prefix operator.
func prefixLevelOf(op string) int {
	if lev := prefixLevel(op); lev != levOp+1 {
		return lev
	}
	return levOp
}

// closed says whether an expression of its level may stand left of an operator of the same level that does not chain: it
// ends in no operand.
func closed(e Expr) bool {
	switch x := e.(type) {
	case *Is, *In, *Quantified:
		return true
	case *FuncCall:
		return x.Name == "is_normalized"
	}
	return false
}

// at writes an expression, in parentheses if it binds less than a level.
func (p *printer) at(e Expr, least int) {
	if levelOf(e) < least {
		p.paren(e)
		return
	}
	p.expr(e)
}

func (p *printer) paren(e Expr) {
	p.str("(")
	p.expr(e)
	p.str(")")
}

// left writes the left operand of an operator of a level.
func (p *printer) left(e Expr, lev int) {
	if u, ok := e.(*Unary); ok && prefixLevelOf(u.Op) <= lev && lev != levMinus {
		p.paren(e) // a prefix operator would take the operator into its operand
		return
	}
	if openRight(e) < lev {
		p.paren(e)
		return
	}
	if !chains(lev) && levelOf(e) == lev && !closed(e) {
		p.paren(e)
		return
	}
	p.at(e, lev)
}

// openRight is the least level of the prefix operators at the right end of an expression, printed without parentheses: what
// follows must bind less, else it would belong to them.
func openRight(e Expr) int {
	least := levPrimary
	for {
		switch x := e.(type) {
		case *Unary:
			least = min(least, prefixLevelOf(x.Op))
			e = x.X
			continue
		case *Binary:
			if x.Escape != nil {
				e = x.Escape
			} else {
				e = x.Right
			}
			if u, ok := e.(*Unary); !ok || prefixLevelOf(u.Op) < levAdd {
				return least // printed in parentheses
			}
			continue
		}
		return least
	}
}

// right writes the right operand of an operator of a level.
func (p *printer) right(e Expr, lev int) {
	if u, ok := e.(*Unary); ok && prefixLevelOf(u.Op) < levAdd {
		p.paren(e)
		return
	}
	p.at(e, lev+1)
}

// expr writes an expression.
func (p *printer) expr(e Expr) {
	switch x := e.(type) {
	case *Star:
		for _, n := range x.Table {
			p.str(ident(n), ".")
		}
		p.str("*")
	case *ColumnRef:
		p.idents(x.Path, ".")
	case *Literal:
		p.literal(x)
	case *Param:
		p.str("$", strconv.Itoa(x.N))
	case *Unary:
		p.str(x.Op, " ")
		p.at(x.X, prefixLevel(x.Op))
	case *Binary:
		p.binary(x)
	case *Is:
		p.left(x.X, levIs)
		p.str(" IS ", not(x.Not), x.What)
	case *Between:
		p.left(x.X, levIn)
		p.str(" ", not(x.Not), "BETWEEN ")
		if x.Symmetric {
			p.str("SYMMETRIC ")
		}
		p.bounded(x.Low)
		p.str(" AND ")
		p.bounded(x.High)
	case *In:
		p.left(x.X, levIn)
		p.str(" ", not(x.Not), "IN (")
		if x.Query != nil {
			p.query(x.Query)
		} else {
			p.exprs(x.List)
		}
		p.str(")")
	case *Quantified:
		p.left(x.X, level(x.Op))
		p.str(" ", x.Op, map[bool]string{true: " ALL (", false: " ANY ("}[x.All])
		if x.Query != nil {
			p.query(x.Query)
		} else {
			p.expr(x.Array)
		}
		p.str(")")
	case *Exists:
		p.str("EXISTS ")
		p.sub(x.Query)
	case *Subquery:
		if x.Array {
			p.str("ARRAY")
		}
		p.sub(x.Query)
	case *Case:
		p.caseExpr(x)
	case *Cast:
		p.cast(x)
	case *FuncCall:
		p.call(x)
	case *Array:
		p.str("ARRAY[")
		p.exprs(x.Elems)
		p.str("]")
	case *Row:
		if x.Explicit {
			p.str("ROW")
		}
		p.str("(")
		p.exprs(x.Elems)
		p.str(")")
	case *Subscript:
		p.subscript(x)
	case *Grouping:
		p.groupItem(x)
	case *Collate:
		p.left(x.X, levCollate)
		p.str(" COLLATE ")
		p.idents(x.Name, ".")
	case *Field:
		p.indirect(x.X)
		p.str(".")
		if x.Name == "" {
			p.str("*")
		} else {
			p.str(ident(x.Name))
		}
	case *Paren:
		p.paren(x.X)
	case *NamedArg:
		p.str(ident(x.Name), " => ")
		p.expr(x.X)
	case *Variadic:
		p.str("VARIADIC ")
		p.expr(x.X)
	}
}

func not(n bool) string {
	if n {
		return "NOT "
	}
	return ""
}

func (p *printer) literal(x *Literal) {
	switch x.Kind {
	case NullLit:
		p.str("NULL")
	case BoolLit:
		p.str(strings.ToUpper(x.Text))
	case StringLit:
		p.str(quote(x.Text))
	case BitLit:
		p.str("B", quote(x.Text))
	case HexLit:
		p.str("X", quote(x.Text))
	default:
		p.str(x.Text)
	}
}

// binary writes an infix operator. A long chain from the left needs no parentheses, and none are nested for it.
func (p *printer) binary(x *Binary) {
	lev := level(x.Op)
	p.left(x.Left, lev)
	p.str(" ", x.Op, " ")
	p.right(x.Right, lev)
	if x.Escape != nil {
		p.str(" ESCAPE ")
		p.right(x.Escape, levIn)
	}
}

// bounded writes a bound of BETWEEN: what PostgreSQL's b_expr has, bare, else in parentheses.
func (p *printer) bounded(e Expr) {
	if lev := levelOf(e); lev < levOp || lev == levAt || lev == levCollate || openRight(e) < levOp || !plainOperands(e) {
		p.paren(e)
		return
	}
	p.expr(e)
}

// plainOperands says whether no operand that is printed bare is outside b_expr.
func plainOperands(e Expr) bool {
	for {
		switch x := e.(type) {
		case *Binary:
			if !plainOperands(x.Right) {
				return false
			}
			e = x.Left
		case *Unary:
			e = x.X
		case *Cast:
			e = x.X
		case *Collate, *Quantified:
			return false
		case *FuncCall:
			return !x.Special || x.Name != "timezone" && x.Name != "overlaps" && x.Name != "is_normalized"
		default:
			return true
		}
	}
}

func (p *printer) caseExpr(x *Case) {
	p.str("CASE ")
	if x.Operand != nil {
		p.expr(x.Operand)
		p.str(" ")
	}
	for _, w := range x.Whens {
		p.str("WHEN ")
		p.expr(w.Cond)
		p.str(" THEN ")
		p.expr(w.Result)
		p.str(" ")
	}
	if x.Else != nil {
		p.str("ELSE ")
		p.expr(x.Else)
		p.str(" ")
	}
	p.str("END")
}

func (p *printer) cast(x *Cast) {
	lit, ok := x.X.(*Literal)
	if !x.Literal || !ok {
		p.left(x.X, levCast)
		p.str("::", x.Type.String())
		return
	}
	if t := x.Type; t.Fields != "" {
		t.Fields, t.Mods = "", nil
		p.str(t.String(), " ", quote(lit.Text))
		p.str(strings.TrimPrefix(x.Type.String(), t.String()))
		return
	}
	p.str(x.Type.String(), " ", quote(lit.Text))
}

func (p *printer) subscript(x *Subscript) {
	if c, ok := x.X.(*ColumnRef); ok {
		p.expr(c)
	} else {
		p.indirect(x.X)
	}
	p.str("[")
	for i, e := range x.Index {
		if i > 0 {
			p.str(":")
		}
		if e != nil {
			p.expr(e)
		}
	}
	p.str("]")
}

// indirect writes what has elements or fields. A name with a point behind it would be a longer name.
func (p *printer) indirect(e Expr) {
	switch v := e.(type) {
	case *Param, *Subscript, *Field, *Paren:
		p.expr(v)
	case *Subquery:
		if v.Array {
			p.paren(v)
		} else {
			p.expr(v)
		}
	default:
		p.paren(v)
	}
}

// call writes a function call, or the construct that it stands for.
func (p *printer) call(c *FuncCall) {
	if c.Special && p.special(c) {
		return
	}
	switch {
	case c.Special:
		p.str(strings.ToUpper(c.Name))
	case c.Schema != "":
		p.str(ident(c.Schema), ".", ident(c.Name))
	default:
		p.str(ident(c.Name))
	}
	if c.Bare {
		if len(c.Args) > 0 {
			p.str("(")
			p.exprs(c.Args)
			p.str(")")
		}
		return
	}
	p.str("(")
	if c.Distinct {
		p.str("DISTINCT ")
	}
	if c.Star {
		p.str("*")
	}
	p.exprs(c.Args)
	if len(c.OrderBy) > 0 {
		p.str(" ORDER BY ")
		p.sort(c.OrderBy)
	}
	p.str(")")
	if len(c.WithinGroup) > 0 {
		p.str(" WITHIN GROUP (ORDER BY ")
		p.sort(c.WithinGroup)
		p.str(")")
	}
	if c.Filter != nil {
		p.str(" FILTER (WHERE ")
		p.expr(c.Filter)
		p.str(")")
	}
	if c.Over != nil {
		p.str(" OVER ")
		p.window(c.Over)
	}
}

// special writes the constructs with words between their arguments; done is false if the call has none.
func (p *printer) special(c *FuncCall) (done bool) {
	words := func(name string, between ...string) bool {
		p.str(name, "(")
		for i, a := range c.Args {
			if i > 0 {
				p.str(" ", between[i-1], " ")
			}
			if name == "POSITION" {
				p.bounded(a)
			} else {
				p.expr(a)
			}
		}
		p.str(")")
		return true
	}
	trim := map[string]string{"btrim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}
	switch c.Name {
	case "timezone":
		p.left(c.Args[1], levAt)
		p.str(" AT TIME ZONE ")
		p.right(c.Args[0], levAt)
		return true
	case "overlaps":
		p.str("(")
		p.exprs(c.Args[:2])
		p.str(") OVERLAPS (")
		p.exprs(c.Args[2:])
		p.str(")")
		return true
	case "is_normalized":
		p.left(c.Args[0], levIs)
		p.str(" IS ", form(c.Args[1:]), "NORMALIZED")
		return true
	case "normalize":
		p.str("NORMALIZE(")
		p.expr(c.Args[0])
		if f := form(c.Args[1:]); f != "" {
			p.str(", ", f)
		}
		p.str(")")
		return true
	case "pg_collation_for":
		return words("COLLATION FOR ")
	case "extract":
		return words("EXTRACT", "FROM")
	case "position":
		return words("POSITION", "IN")
	case "substring":
		return words("SUBSTRING", "FROM", "FOR")
	case "overlay":
		return words("OVERLAY", "PLACING", "FROM", "FOR")
	case "btrim", "ltrim", "rtrim":
		p.str("TRIM(", trim[c.Name], " ")
		if len(c.Args) > 1 {
			p.expr(c.Args[1])
			p.str(" ")
		}
		p.str("FROM ")
		p.expr(c.Args[0])
		p.str(")")
		return true
	}
	return false
}

// form is the word of a normal form, if there is one, and a blank.
func form(args []Expr) string {
	if len(args) == 1 {
		if l, ok := args[0].(*Literal); ok {
			return l.Text + " "
		}
	}
	return ""
}
