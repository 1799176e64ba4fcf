package plan

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func (e *exprs) condition(x pgsyntax.Expr, clause string) (Scalar, error) {
	v, err := e.expr(x)
	if err != nil {
		return nil, err
	}
	return e.boolean(v, "argument of "+clause, x.Position())
}

// boolean is coerce_to_boolean.
func (e *exprs) boolean(v Scalar, what string, pos pgsyntax.Pos) (Scalar, error) {
	out, err := e.coerceTo(v, sqltype.Bool, assigning, pos)
	if out == nil && err == nil {
		return nil, mismatch("%s must be type boolean, not type %s", what, typeName(v.Type())).At(int(e.place(v, pos)))
	}
	return out, err
}

// maxRepeated bounds what a WITH query that is read many times makes of a short text.
const maxRepeated = 1 << 17

func (e *exprs) expr(x pgsyntax.Expr) (Scalar, error) {
	if e.around.rebinding > 0 {
		if e.exprSizes.repeated++; e.exprSizes.repeated > maxRepeated {
			return nil, sqlerr.New(sqlerr.TooComplex, "the WITH queries of a statement, each as often as it is read, have at most %d expressions", maxRepeated).At(int(x.Position())).
				WithHint("Ask for less at a time. A WITH query is read again wherever it is named: name it once, with CASE or FILTER in place of joining it with itself.")
		}
	}
	v, err := e.ofKind(e, x)
	if err != nil {
		return nil, err
	}
	if c, ok := v.(*Const); ok && c.pos > 0 { // a long list of literals needs no map of their places
		return v, nil
	}
	e.written.places[v] = start(x)
	return v, e.checkRepeats(v, x)
}

// mostRepeats is how many operators an expression has at most beside those that stand in it once. NULLIF, BETWEEN and the like hold an operand several times, so nested ones double what everything after this looks at.
const mostRepeats = 2000

func (b *binder) checkRepeats(v Scalar, x pgsyntax.Expr) error {
	n := b.sizeOf(v)
	if b.around.modelled > 0 || n <= mostRepeats || n < 2*b.exprSizes.checked {
		return nil
	}
	b.exprSizes.checked = n
	once := map[Scalar]bool{}
	var count func(Scalar)
	count = func(y Scalar) {
		if !once[y] {
			once[y] = true
			for _, z := range Children(y) {
				count(z)
			}
		}
	}
	if count(v); n > mostRepeats+4*len(once) {
		return sqlerr.New(sqlerr.TooComplex, "an expression repeats its operands more than %d times once it is written out", mostRepeats).At(int(x.Position())).
			WithHint("Use fewer NULLIF, BETWEEN, comparisons of rows and CASE with an operand in each other.")
	}
	return nil
}

// sizeOf is how many operators an expression has, each as often as it is read.
func (b *binder) sizeOf(x Scalar) int {
	switch x.(type) {
	case *Const, *Col, *Param:
		return 1
	}
	if n, ok := b.exprSizes.of[x]; ok {
		return n
	}
	n := 1
	for _, y := range Children(x) {
		n = min(n+b.sizeOf(y), 1<<40)
	}
	b.exprSizes.of[x] = n
	return n
}

// countOnce takes what a model or an interval writes for one operator: it has limits of its own.
func (b *binder) countOnce(x Scalar) { b.exprSizes.of[x] = 1 }

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

// named is a column of the scope, with the place where it was named.
func (b *binder) named(c scopeCol, pos pgsyntax.Pos) Scalar {
	if c.expr != nil {
		return Substitute(c.expr, func(inner *Col) Scalar {
			out := &Col{ID: inner.ID, T: inner.T}
			b.written.refs[out] = ref{qualified(c), pos}
			return out
		})
	}
	out := b.col(c.id)
	b.written.refs[out] = ref{qualified(c), pos}
	return out
}

func literal(x *pgsyntax.Literal) (Scalar, error) {
	switch x.Kind {
	case pgsyntax.NullLit:
		return &Const{T: sqltype.Unknown, pos: x.Pos + 1}, nil
	case pgsyntax.BoolLit:
		return &Const{Value: strings.EqualFold(x.Text, "true"), T: sqltype.Bool, pos: x.Pos + 1}, nil
	case pgsyntax.StringLit:
		return &Const{Value: x.Text, T: sqltype.Unknown, pos: x.Pos + 1}, nil
	case pgsyntax.IntegerLit:
		for _, t := range []sqltype.Type{sqltype.Int4, sqltype.Int8} {
			if v, err := sqltype.ParseText(x.Text, t); err == nil {
				return &Const{Value: v, T: t, pos: x.Pos + 1}, nil
			}
		}
	}
	v, err := sqltype.ParseText(x.Text, sqltype.Numeric)
	if err != nil {
		return nil, at(err, x.Pos)
	}
	return &Const{Value: v, T: sqltype.Numeric, pos: x.Pos + 1}, nil
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

func qualified(c scopeCol) string {
	if c.table == "" {
		return c.name
	}
	return c.table + "." + c.name
}
