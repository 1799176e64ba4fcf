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

// patternOps are what LIKE and its kin stand for.
var patternOps = map[string]string{"LIKE": "~~", "NOT LIKE": "!~~", "ILIKE": "~~*", "NOT ILIKE": "!~~*", "SIMILAR TO": "~", "NOT SIMILAR TO": "!~"}

// textLiteral makes text of an untyped literal where any type will do; a parameter stays without one.
func (b *binder) textLiteral(x Scalar, pos pgsyntax.Pos) (Scalar, error) {
	if c, ok := x.(*Const); ok && c.T.OID == sqltype.OIDUnknown {
		return b.implicit(x, sqltype.Text, pos)
	}
	return x, nil
}

// logic joins conditions, without a nesting for each.
func logic(op LogicOp, l, r Scalar) Scalar {
	args := []Scalar{l, r}
	if ll, ok := l.(*Logic); ok && ll.Op == op {
		args = append(slices.Clone(ll.Args), r)
	}
	return &Logic{Op: op, Args: args}
}
