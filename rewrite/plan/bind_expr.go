package plan

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// exprs binds the expressions of one clause over a scope. Aggregates may stand where aggs is set.
type exprs struct {
	*binder
	scope  *scope
	clause string
	aggs   *selecting
	within bool // an aggregate's argument
}

func (e *exprs) condition(x pgsyntax.Expr, clause string) (Scalar, error) {
	v, err := e.expr(x)
	if err != nil {
		return nil, err
	}
	return e.boolean(v, "argument of "+clause, x.Position())
}

// boolean takes a boolean, or an untyped literal as one.
func (e *exprs) boolean(v Scalar, what string, pos pgsyntax.Pos) (Scalar, error) {
	if v.Type().OID == sqltype.OIDUnknown {
		return e.coerce(v, sqltype.Bool, pos)
	}
	if v.Type().OID != sqltype.OIDBool {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "%s must be type boolean, not type %s", what, typeName(v.Type())).At(int(e.place(v, pos)))
	}
	return v, nil
}

func (e *exprs) expr(x pgsyntax.Expr) (Scalar, error) {
	v, err := e.bind(x)
	if err == nil {
		e.places[v] = start(x)
	}
	return v, err
}

// start is where an expression starts; an infix operator's own position is the operator's.
func start(x pgsyntax.Expr) pgsyntax.Pos {
	switch x := x.(type) {
	case *pgsyntax.Binary:
		return min(x.Pos, start(x.Left))
	case *pgsyntax.Is:
		return min(x.Pos, start(x.X))
	case *pgsyntax.In:
		return min(x.Pos, start(x.X))
	case *pgsyntax.Between:
		return min(x.Pos, start(x.X))
	case *pgsyntax.Cast:
		return min(x.Pos, start(x.X))
	}
	return x.Position()
}

func (e *exprs) bind(x pgsyntax.Expr) (Scalar, error) {
	switch x := x.(type) {
	case *pgsyntax.ColumnRef:
		c, err := e.scope.column(x.Path, x.Pos)
		if err != nil && len(x.Path) == 1 && slices.Contains(e.scope.tables, x.Path[0]) {
			return nil, unsupported(x.Pos, "a whole row as a value is").WithHint("Name its columns.")
		}
		if err != nil {
			return nil, err
		}
		return e.named(c, x.Pos), nil
	case *pgsyntax.Literal:
		return literal(x)
	case *pgsyntax.Param:
		return e.param(x)
	case *pgsyntax.Unary:
		return e.unary(x)
	case *pgsyntax.Binary:
		return e.binary(x)
	case *pgsyntax.Is:
		return e.is(x)
	case *pgsyntax.Between:
		return e.between(x)
	case *pgsyntax.In:
		return e.in(x)
	case *pgsyntax.Case:
		return e.caseExpr(x)
	case *pgsyntax.Cast:
		return e.cast(x)
	case *pgsyntax.FuncCall:
		return e.call(x)
	case *pgsyntax.Exists, *pgsyntax.Subquery:
		return nil, unsupported(x.Position(), "a subquery in an expression is")
	case *pgsyntax.Quantified:
		return nil, unsupported(x.Pos, "ANY and ALL are").WithHint("Use IN (list).")
	case *pgsyntax.Array, *pgsyntax.Subscript:
		return nil, unsupported(x.Position(), "an array is")
	case *pgsyntax.Row:
		return nil, unsupported(x.Pos, "a row value is")
	case *pgsyntax.Collate:
		return nil, unsupported(x.Pos, "COLLATE is").WithHint("Text is compared and sorted by its bytes (C).")
	case *pgsyntax.Star:
		return nil, sqlerr.New(sqlerr.Syntax, "* cannot stand in an expression").At(int(x.Pos))
	}
	return nil, unsupported(x.Position(), "this expression is")
}

// named is a column of the scope, with the place where it was named.
func (b *binder) named(c scopeCol, pos pgsyntax.Pos) Scalar {
	if c.expr != nil {
		return Substitute(c.expr, func(inner *Col) Scalar {
			out := &Col{ID: inner.ID, T: inner.T}
			b.refs[out] = ref{qualified(c), pos}
			return out
		})
	}
	out := b.col(c.id)
	b.refs[out] = ref{qualified(c), pos}
	return out
}

func literal(x *pgsyntax.Literal) (Scalar, error) {
	switch x.Kind {
	case pgsyntax.NullLit:
		return &Const{T: sqltype.Unknown}, nil
	case pgsyntax.BoolLit:
		return &Const{Value: strings.EqualFold(x.Text, "true"), T: sqltype.Bool}, nil
	case pgsyntax.StringLit:
		return &Const{Value: x.Text, T: sqltype.Unknown}, nil
	case pgsyntax.IntegerLit:
		for _, t := range []sqltype.Type{sqltype.Int4, sqltype.Int8} {
			if v, err := sqltype.ParseText(x.Text, t); err == nil {
				return &Const{Value: v, T: t}, nil
			}
		}
	case pgsyntax.NumericLit:
	default:
		return nil, unsupported(x.Pos, "a bit string is")
	}
	v, err := sqltype.ParseText(x.Text, sqltype.Numeric)
	if err != nil {
		return nil, at(err, x.Pos)
	}
	return &Const{Value: v, T: sqltype.Numeric}, nil
}

// at gives a user error a position if it has none.
func at(err error, pos pgsyntax.Pos) error {
	if e, ok := err.(*sqlerr.Error); ok && e.Pos == 0 {
		return e.At(int(pos))
	}
	return err
}

func (e *exprs) param(x *pgsyntax.Param) (Scalar, error) {
	for len(e.params) < x.N {
		e.params = append(e.params, param{t: sqltype.Unknown})
	}
	p := &e.params[x.N-1]
	out := &Param{N: x.N, T: sqltype.Unknown}
	if p.known {
		out.T = p.t
	}
	p.uses = append(p.uses, out)
	return out, nil
}

// setParam fixes a parameter's type where it is first used with one.
func (b *binder) setParam(x *Param, t sqltype.Type, pos pgsyntax.Pos) error {
	p := &b.params[x.N-1]
	if p.known && p.t.OID != t.OID {
		return sqlerr.New(sqlerr.AmbiguousParam, "inconsistent types deduced for parameter $%d", x.N).At(int(pos)).
			WithDetail("%s versus %s", typeName(p.t), typeName(t))
	}
	p.t, p.known = sqltype.Type{OID: t.OID, Typmod: -1}, true
	x.T = p.t
	return nil
}

func (e *exprs) unary(x *pgsyntax.Unary) (Scalar, error) {
	if lit, ok := x.X.(*pgsyntax.Literal); ok && x.Op == "-" && (lit.Kind == pgsyntax.IntegerLit || lit.Kind == pgsyntax.NumericLit) {
		return literal(&pgsyntax.Literal{Pos: x.Pos, Kind: lit.Kind, Text: "-" + lit.Text}) // -2147483648 is an integer
	}
	v, err := e.expr(x.X)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(x.Op, "NOT") {
		if v, err = e.boolean(v, "argument of NOT", x.Pos); err != nil {
			return nil, err
		}
		return &Logic{Op: Not, Args: []Scalar{v}}, nil
	}
	return e.operator(x.Op, []Scalar{v}, x.Pos)
}

func (e *exprs) binary(x *pgsyntax.Binary) (Scalar, error) {
	l, err := e.expr(x.Left)
	if err != nil {
		return nil, err
	}
	r, err := e.expr(x.Right)
	if err != nil {
		return nil, err
	}
	switch x.Op {
	case "AND", "OR":
		op := LogicOp(x.Op)
		if l, err = e.boolean(l, "argument of "+x.Op, x.Left.Position()); err != nil {
			return nil, err
		}
		if r, err = e.boolean(r, "argument of "+x.Op, x.Right.Position()); err != nil {
			return nil, err
		}
		args := []Scalar{l, r}
		if ll, ok := l.(*Logic); ok && ll.Op == op {
			args = append(slices.Clone(ll.Args), r)
		}
		return &Logic{Op: op, Args: args}, nil
	case "LIKE", "NOT LIKE":
		if x.Escape != nil {
			break
		}
		if hasCols(r) {
			return nil, unsupported(x.Right.Position(), "a pattern made of columns is").WithHint("Write the pattern, or make it a parameter.")
		}
		if x.Op == "LIKE" {
			break
		}
		v, err := e.operator("LIKE", []Scalar{l, r}, x.Pos)
		if err != nil {
			return nil, err
		}
		return &Logic{Op: Not, Args: []Scalar{v}}, nil
	case "IS DISTINCT FROM", "IS NOT DISTINCT FROM":
		return nil, unsupported(x.Pos, x.Op+" is").WithHint("Use = with IS NULL.")
	}
	if x.Escape != nil {
		return nil, unsupported(x.Pos, "ESCAPE is")
	}
	if x.Op == "||" {
		if l, r, err = e.asTexts(l, r, x.Pos); err != nil {
			return nil, err
		}
	}
	return e.operator(x.Op, []Scalar{l, r}, x.Pos)
}

// asTexts makes text of the operand of || that is none, where the other is one.
func (e *exprs) asTexts(l, r Scalar, pos pgsyntax.Pos) (Scalar, Scalar, error) {
	text := func(x Scalar) bool { c := category(x.Type().OID); return c == 'S' || c == 'X' }
	var err error
	switch {
	case text(l) && !text(r):
		r, err = e.explicit(r, sqltype.Text, pos)
	case text(r) && !text(l):
		l, err = e.explicit(l, sqltype.Text, pos)
	}
	return l, r, err
}

func (e *exprs) is(x *pgsyntax.Is) (Scalar, error) {
	v, err := e.expr(x.X)
	if err != nil {
		return nil, err
	}
	if x.What == "NULL" {
		if v, err = e.textLiteral(v, x.Pos); err != nil {
			return nil, err
		}
	} else if v, err = e.boolean(v, "argument of IS "+x.What, x.Pos); err != nil {
		return nil, err
	}
	return &Is{X: v, What: x.What, Not: x.Not}, nil
}

// textLiteral makes text of an untyped literal where any type will do; a parameter stays without one.
func (b *binder) textLiteral(x Scalar, pos pgsyntax.Pos) (Scalar, error) {
	if c, ok := x.(*Const); ok && c.T.OID == sqltype.OIDUnknown {
		return b.coerce(x, sqltype.Text, pos)
	}
	return x, nil
}

func (e *exprs) between(x *pgsyntax.Between) (Scalar, error) {
	if x.Symmetric {
		return nil, unsupported(x.Pos, "BETWEEN SYMMETRIC is")
	}
	var v [3]Scalar
	for i, a := range []pgsyntax.Expr{x.X, x.Low, x.High} {
		var err error
		if v[i], err = e.expr(a); err != nil {
			return nil, err
		}
	}
	lo, err := e.operator(">=", []Scalar{v[0], v[1]}, x.Pos)
	if err != nil {
		return nil, err
	}
	hi, err := e.operator("<=", []Scalar{v[0], v[2]}, x.Pos)
	if err != nil {
		return nil, err
	}
	out := Scalar(&Logic{Op: And, Args: []Scalar{lo, hi}})
	if x.Not {
		out = &Logic{Op: Not, Args: []Scalar{out}}
	}
	return out, nil
}

func (e *exprs) in(x *pgsyntax.In) (Scalar, error) {
	if x.Query != nil {
		return nil, unsupported(x.Pos, "IN (subquery) is").WithHint("Join along the foreign key, or list the values.")
	}
	args := make([]Scalar, 0, len(x.List)+1)
	for _, a := range append([]pgsyntax.Expr{x.X}, x.List...) {
		v, err := e.expr(a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	out, err := e.inList(args, x.Pos)
	if err != nil || !x.Not {
		return out, err
	}
	if in, ok := out.(*In); ok {
		in.Not = true
		return in, nil
	}
	return &Logic{Op: Not, Args: []Scalar{out}}, nil
}

// inList follows PostgreSQL (parse_expr.c, transformAExprIn): several items without columns are brought to one type with x, if
// they have one; every other item is compared on its own. args[0] is x.
func (e *exprs) inList(args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	var plain, single []int
	for i := range args[1:] {
		if hasCols(args[i+1]) {
			single = append(single, i+1)
		} else {
			plain = append(plain, i+1)
		}
	}
	right := slices.Clone(args)
	if len(plain) > 1 {
		list := []Scalar{args[0]}
		for _, i := range plain {
			list = append(list, args[i])
		}
		if t, err := e.common(list, "IN", pos); err == nil {
			for _, i := range plain {
				if right[i], err = e.coerce(args[i], sqltype.Type{OID: t.OID, Typmod: -1}, pos); err != nil {
					return nil, err
				}
			}
		}
	}
	in, parts, untyped := &In{}, []Scalar{}, args[0].Type().OID == sqltype.OIDUnknown
	for _, i := range append(plain, single...) {
		v, err := e.operator("=", []Scalar{e.again(args[0], untyped), right[i]}, pos)
		if err != nil {
			return nil, err
		}
		call, ok := v.(*Call)
		if !ok {
			return nil, unsupported(pos, "IN over this type is")
		}
		switch in.Eq {
		case nil:
			in.Eq, in.X, in.List = call.Fn, call.Args[0], []Scalar{call.Args[1]}
		case call.Fn:
			in.List = append(in.List, call.Args[1])
		default:
			parts = append(parts, call)
		}
	}
	if len(parts) == 0 {
		return in, nil
	}
	return &Logic{Op: Or, Args: append([]Scalar{in}, parts...)}, nil
}

// again is x for one more comparison: a parameter that had no type before the first is to get the same from each.
func (e *exprs) again(x Scalar, untyped bool) Scalar {
	p, ok := x.(*Param)
	if !ok || !untyped || p.T.OID == sqltype.OIDUnknown {
		return x
	}
	out := &Param{N: p.N, T: sqltype.Unknown}
	e.params[p.N-1].uses = append(e.params[p.N-1].uses, out)
	e.places[out] = e.places[p]
	return out
}

func hasCols(x Scalar) bool {
	found := false
	VisitCols(x, func(*Col) { found = true })
	return found
}

func (e *exprs) caseExpr(x *pgsyntax.Case) (Scalar, error) {
	var operand Scalar
	var err error
	if x.Operand != nil {
		if operand, err = e.expr(x.Operand); err != nil {
			return nil, err
		}
		if operand.Type().OID == sqltype.OIDUnknown {
			if operand, err = e.coerce(operand, sqltype.Text, x.Pos); err != nil {
				return nil, err
			}
		}
	}
	out := &Case{}
	var results []Scalar
	for _, w := range x.Whens {
		var cond Scalar
		if operand != nil {
			v, err := e.expr(w.Cond)
			if err != nil {
				return nil, err
			}
			if cond, err = e.operator("=", []Scalar{operand, v}, w.Cond.Position()); err != nil {
				return nil, err
			}
		} else if cond, err = e.condition(w.Cond, "CASE/WHEN"); err != nil {
			return nil, err
		}
		r, err := e.expr(w.Result)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, When{Cond: cond})
		results = append(results, r)
	}
	if x.Else != nil {
		r, err := e.expr(x.Else)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	first := results // PostgreSQL looks at ELSE first
	if x.Else != nil {
		n := len(results) - 1
		first = append([]Scalar{results[n]}, results[:n]...)
	}
	if out.T, err = e.common(first, "CASE", x.Pos); err != nil {
		return nil, err
	}
	if x.Else == nil {
		out.T.Typmod = -1
	}
	for i, r := range results {
		if r, err = e.coerce(r, out.T, x.Pos); err != nil {
			return nil, err
		}
		if i < len(out.Whens) {
			out.Whens[i].Result = r
		} else {
			out.Else = r
		}
	}
	return out, nil
}

func (e *exprs) cast(x *pgsyntax.Cast) (Scalar, error) {
	t, _, err := castType(x.Type)
	if err != nil {
		return nil, err
	}
	v, err := e.expr(x.X)
	if err != nil {
		return nil, err
	}
	return e.explicit(v, t, x.Pos)
}

func (e *exprs) args(list []pgsyntax.Expr) ([]Scalar, error) {
	out := make([]Scalar, len(list))
	for i, a := range list {
		v, err := e.expr(a)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}
