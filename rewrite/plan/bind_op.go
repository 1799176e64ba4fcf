package plan

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Operators, bound as PostgreSQL rewrites them (gram.y, parse_expr.c, parse_oper.c).

// signed is the number that minus signs before a literal make, also with parentheses between (gram.y, doNegate): -2147483648 is an integer and
// -(-2147483648) a bigint. nil for anything else.
func signed(x *pgsyntax.Unary) *pgsyntax.Literal {
	if x.Op != "-" {
		return nil
	}
	of := x.X
	for p, ok := of.(*pgsyntax.Paren); ok; p, ok = of.(*pgsyntax.Paren) {
		of = p.X
	}
	lit, _ := of.(*pgsyntax.Literal)
	if u, ok := of.(*pgsyntax.Unary); ok {
		lit = signed(u)
	}
	if lit == nil || lit.Kind != pgsyntax.IntegerLit && lit.Kind != pgsyntax.NumericLit {
		return nil
	}
	text, was := strings.CutPrefix(lit.Text, "-")
	if !was {
		text = "-" + text
	}
	return &pgsyntax.Literal{Pos: x.Pos, Kind: lit.Kind, Text: text}
}

func (e *exprs) unary(x *pgsyntax.Unary) (Scalar, error) {
	if lit := signed(x); lit != nil {
		return literal(lit)
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
	return e.operator(plainOp(x.Op), []Scalar{v}, x.Pos)
}

func (e *exprs) binary(x *pgsyntax.Binary) (Scalar, error) {
	left, rowLeft := x.Left.(*pgsyntax.Row)
	right, rowRight := x.Right.(*pgsyntax.Row)
	query, isQuery := x.Right.(*pgsyntax.Subquery)
	if rowLeft && (rowRight || isQuery && !query.Array && !strings.HasSuffix(x.Op, "DISTINCT FROM")) {
		op := plainOp(x.Op)
		if p, ok := patternOps[op]; ok {
			op = p
		}
		if isQuery {
			return e.rowQuery(op, left, query, x.Pos)
		}
		return e.rows(op, left, right, x.Pos)
	}
	if x.Op == "IS DISTINCT FROM" || x.Op == "IS NOT DISTINCT FROM" {
		return e.distinctFrom(x)
	}
	if one := e.nullCount(x); one != nil {
		return e.aggregate(one)
	}
	l, r, err := e.both(x)
	if err != nil {
		return nil, err
	}
	if x.Op == "AND" || x.Op == "OR" {
		if l, err = e.boolean(l, "argument of "+x.Op, x.Left.Position()); err != nil {
			return nil, err
		}
		if r, err = e.boolean(r, "argument of "+x.Op, x.Right.Position()); err != nil {
			return nil, err
		}
		return logic(LogicOp(x.Op), l, r), nil
	}
	op, isPattern := patternOps[x.Op]
	if !isPattern {
		return e.operator(plainOp(x.Op), []Scalar{l, r}, x.Pos)
	}
	fn := "like_escape"
	if strings.HasSuffix(x.Op, "SIMILAR TO") {
		fn = "similar_to_escape"
	}
	if x.Escape != nil || fn == "similar_to_escape" {
		args := []Scalar{r}
		if x.Escape != nil {
			esc, err := e.expr(x.Escape)
			if err != nil {
				return nil, err
			}
			args = append(args, esc)
		}
		if r, err = e.function(&pgsyntax.FuncCall{Pos: x.Pos, Name: fn, Special: true}, args, nil, false); err != nil {
			return nil, err
		}
		r = folded(r)
	}
	e.written.places[r] = start(x.Right)
	return e.operator(op, []Scalar{l, r}, x.Pos)
}

// both binds an operator's two sides.
func (e *exprs) both(x *pgsyntax.Binary) (l, r Scalar, err error) {
	if l, err = e.expr(x.Left); err == nil {
		r, err = e.expr(x.Right)
	}
	return l, r, err
}

// distinctFrom is NULL-safe inequality; beside a plain NULL it is a test for NULL.
func (e *exprs) distinctFrom(x *pgsyntax.Binary) (Scalar, error) {
	not := x.Op == "IS NOT DISTINCT FROM"
	for _, side := range [][2]pgsyntax.Expr{{x.Right, x.Left}, {x.Left, x.Right}} {
		if lit, ok := side[0].(*pgsyntax.Literal); ok && lit.Kind == pgsyntax.NullLit {
			return e.is(&pgsyntax.Is{Pos: x.Pos, X: side[1], Not: !not, What: "NULL"})
		}
	}
	l, r, err := e.both(x)
	if err != nil {
		return nil, err
	}
	return e.distinct(l, r, not, x.Pos)
}

func (e *exprs) distinct(l, r Scalar, not bool, pos pgsyntax.Pos) (Scalar, error) {
	v, err := e.operator("=", []Scalar{l, r}, pos)
	if err != nil {
		return nil, err
	}
	call, ok := v.(*Call)
	if !ok || call.T.OID != sqltype.OIDBool {
		return nil, mismatch("IS DISTINCT FROM requires = operator to yield boolean").At(int(pos))
	}
	if call.Fn.Zoned {
		return nil, sqlerr.New(sqlerr.UnsupportedOperator, "IS DISTINCT FROM between %s and %s is not supported", typeName(l.Type()), typeName(r.Type())).At(int(pos)).
			WithHint("Cast one side to the type of the other.")
	}
	return &DistinctFrom{X: call.Args[0], Y: call.Args[1], Eq: call.Fn, Not: not}, nil
}

func (e *exprs) is(x *pgsyntax.Is) (Scalar, error) {
	if row, ok := x.X.(*pgsyntax.Row); ok && x.What == "NULL" {
		return e.rowIsNull(row, x)
	}
	v, err := e.expr(x.X)
	if err != nil {
		return nil, err
	}
	if x.What == "NULL" {
		if v, err = e.textLiteral(v, x.Pos); err != nil {
			return nil, err
		}
	} else {
		not := ""
		if x.Not {
			not = "NOT "
		}
		if v, err = e.boolean(v, "argument of IS "+not+x.What, x.Pos); err != nil {
			return nil, err
		}
	}
	return &Is{X: v, What: x.What, Not: x.Not}, nil
}

// between is two comparisons, or with SYMMETRIC those of both orders of the ends.
func (e *exprs) between(x *pgsyntax.Between) (Scalar, error) {
	var v [3]Scalar
	for i, a := range []pgsyntax.Expr{x.X, x.Low, x.High} {
		var err error
		if v[i], err = e.expr(a); err != nil {
			return nil, err
		}
	}
	pair := func(lo, hi Scalar) (Scalar, error) {
		ops, join := [2]string{">=", "<="}, And
		if x.Not {
			ops, join = [2]string{"<", ">"}, Or
		}
		l, err := e.operator(ops[0], []Scalar{v[0], lo}, x.Pos)
		if err != nil {
			return nil, err
		}
		h, err := e.operator(ops[1], []Scalar{v[0], hi}, x.Pos)
		if err != nil {
			return nil, err
		}
		return &Logic{Op: join, Args: []Scalar{l, h}}, nil
	}
	one, err := pair(v[1], v[2])
	if err != nil || !x.Symmetric {
		return one, err
	}
	two, err := pair(v[2], v[1])
	if err != nil {
		return nil, err
	}
	if x.Not {
		return &Logic{Op: And, Args: []Scalar{one, two}}, nil
	}
	return &Logic{Op: Or, Args: []Scalar{one, two}}, nil
}
