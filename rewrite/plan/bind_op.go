package plan

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Operators, bound as PostgreSQL rewrites them (gram.y, parse_expr.c, parse_oper.c).

// negated has the operators whose negator the registry has.
var negated = map[string]string{"!~~": "~~", "!~~*": "~~*", "!~": "~", "!~*": "~*"}

// plainOp is an operator without the OPERATOR(pg_catalog. ...) around it.
func plainOp(op string) string {
	if name, ok := strings.CutPrefix(op, "OPERATOR("); ok {
		return strings.TrimPrefix(strings.TrimSuffix(name, ")"), "pg_catalog.")
	}
	return op
}

// resolvedOper is an operator for some argument types: what to bring the arguments to, and what it gives.
type resolvedOper struct {
	*pgcat.Oper
	args   []sqltype.OID // after polymorphic types were found
	result sqltype.OID
}

// resolveOper chooses an operator for two types, or with left 0 a prefix one.
func (b *binder) resolveOper(op string, left, right sqltype.OID, pos pgsyntax.Pos) (*resolvedOper, error) {
	o, v := b.chooseOper(op, left, right)
	if v != chosen {
		text := op + " " + b.name(right)
		if left != 0 {
			text = b.name(left) + " " + text
		}
		switch {
		case v == ambiguous:
			return nil, sqlerr.New(sqlerr.AmbiguousFunction, "operator is not unique: %s", text).At(int(pos)).
				WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.")
		case left == 0:
			return nil, sqlerr.New(sqlerr.UndefinedFunction, "operator does not exist: %s", text).At(int(pos)).
				WithHint("No operator matches the given name and argument type. You might need to add an explicit type cast.")
		}
		return nil, sqlerr.New(sqlerr.UndefinedFunction, "operator does not exist: %s", text).At(int(pos)).
			WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.")
	}
	actual, declared := []sqltype.OID{left, right}, []sqltype.OID{o.Left, o.Right}
	if left == 0 {
		actual, declared = actual[1:], declared[1:]
	}
	args, result, err := b.enforce(actual, declared, o.Result)
	if err != nil {
		return nil, err.At(int(pos))
	}
	return &resolvedOper{Oper: o, args: args, result: result}, nil
}

// operator is make_op.
func (b *binder) operator(op string, args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	left, right := sqltype.OID(0), args[len(args)-1].Type().OID
	if len(args) == 2 {
		left = args[0].Type().OID
	}
	o, err := b.resolveOper(op, left, right, pos)
	if err != nil {
		return nil, err
	}
	return b.applyOper(o, args, pos)
}

func (b *binder) applyOper(o *resolvedOper, args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	if o.Name == "||" && (o.Left == oidAnyNonArray || o.Right == oidAnyNonArray) {
		return b.concatText(args, pos)
	}
	list := make([]Scalar, len(args))
	for i, a := range args {
		v, err := b.coerce(a, b.of(o.args[i]), implicitly, pos)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	if err := b.pattern(o.Name, list, pos); err != nil {
		return nil, err
	}
	if fn := b.operRow(o, o.Name, oidsOf(list)); fn != nil {
		fn, err := b.special(fn, list, pos)
		return &Call{Fn: fn, Args: list, T: b.of(o.result), Pos: int(pos)}, err
	}
	if positive := negated[o.Name]; positive != "" {
		if fn := b.operRow(o, positive, oidsOf(list)); fn != nil {
			fn, err := b.special(fn, list, pos)
			return &Logic{Op: Not, Args: []Scalar{&Call{Fn: fn, Args: list, T: sqltype.Bool, Pos: int(pos)}}}, err
		}
	}
	text := o.Name + " " + b.name(o.args[len(o.args)-1])
	if len(args) == 2 {
		text = b.name(o.args[0]) + " " + text
	}
	return nil, sqlerr.New(sqlerr.UnsupportedOperator, "the operator %s is not supported", text).At(int(pos)).
		WithHint("docs/sql.md lists the operators and their types.")
}

// pattern checks the operators of patterns: what a pattern costs follows from it, so it may not depend on the row; and what is a
// letter, and its other case, follows from the collation.
func (b *binder) pattern(op string, args []Scalar, pos pgsyntax.Pos) error {
	switch op {
	case "~~", "!~~", "~~*", "!~~*", "~", "!~", "~*", "!~*":
	default:
		return nil
	}
	if len(args) < 2 || b.find.free() {
		return nil
	}
	if hasCols(args[1]) {
		return unsupported(b.place(args[1], pos), "a pattern made of columns is").WithHint("Write the pattern, or make it a parameter.")
	}
	if op == "~~" || op == "!~~" {
		return nil
	}
	return b.collatedArgs(args)
}

// operRow looks for the row of the types at hand, then for that of the types as declared.
func (b *binder) operRow(o *resolvedOper, name string, actual []sqltype.OID) *funcs.Func {
	declared := []sqltype.OID{o.Left, o.Right}
	if o.Left == 0 {
		declared = declared[1:]
	}
	return b.find.call(funcs.Operator, name, actual, declared, o.result)
}

// concatText is text || anything and anything || text: the other operand is written as text first (textanycat).
func (b *binder) concatText(args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	list := make([]Scalar, len(args))
	for i, a := range args {
		v, err := b.explicit(a, sqltype.Text, pos)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return b.operator("||", list, pos)
}

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

// patternOps are what LIKE and its kin stand for.
var patternOps = map[string]string{"LIKE": "~~", "NOT LIKE": "!~~", "ILIKE": "~~*", "NOT ILIKE": "!~~*", "SIMILAR TO": "~", "NOT SIMILAR TO": "!~"}

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
	e.places[r] = start(x.Right)
	return e.operator(op, []Scalar{l, r}, x.Pos)
}

// folded evaluates a call of constants, if that does not fail.
func folded(x Scalar) Scalar {
	call, ok := x.(*Call)
	if !ok || call.Fn.Eval == nil {
		return x
	}
	var vals []sqltype.Value
	var ts []sqltype.Type
	for _, a := range call.Args {
		c, ok := a.(*Const)
		if !ok || c.Value == nil {
			return x
		}
		vals, ts = append(vals, c.Value), append(ts, c.T)
	}
	v, err := call.Fn.Eval(vals, ts, call.T)
	if err != nil {
		return x
	}
	return &Const{Value: v, T: call.T}
}

// logic joins conditions, without a nesting for each.
func logic(op LogicOp, l, r Scalar) Scalar {
	args := []Scalar{l, r}
	if ll, ok := l.(*Logic); ok && ll.Op == op {
		args = append(slices.Clone(ll.Args), r)
	}
	return &Logic{Op: op, Args: args}
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

// textLiteral makes text of an untyped literal where any type will do; a parameter stays without one.
func (b *binder) textLiteral(x Scalar, pos pgsyntax.Pos) (Scalar, error) {
	if c, ok := x.(*Const); ok && c.T.OID == sqltype.OIDUnknown {
		return b.implicit(x, sqltype.Text, pos)
	}
	return x, nil
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
