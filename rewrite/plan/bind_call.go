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

func (e *exprs) call(x *pgsyntax.FuncCall) (Scalar, error) {
	if inOwnSchema(x) && x.Over == nil && noAggregate(x) == nil && e.opts.Models != nil {
		if says, err := e.opts.Models.Predict(x); err != nil {
			return nil, err
		} else if says != nil {
			e.around.modelled++
			v, err := e.expr(says)
			if e.around.modelled--; err != nil {
				return nil, e.notPredicted(x, err)
			}
			e.countOnce(v)
			return v, nil
		}
	}
	switch {
	case x.Special && x.Name == ScoresCall:
		v, err := e.scores(x)
		if err == nil {
			e.countOnce(v)
		}
		return v, err
	case !builtinSchema(x.Schema) && !isAggregate(x) && !isErrorFunction(x) && (e.find.meta == nil || e.find.meta.Procs(x.Schema, x.Name) == nil):
		return nil, sqlerr.New(sqlerr.UndefinedSchema, "schema %q does not exist", x.Schema).At(int(x.Pos)).WithHint("Functions are in pg_catalog.")
	case x.Over != nil:
		return e.window(x)
	case isErrorFunction(x):
		return e.errorOf(errorNames[x.Name], x)
	case isAggregate(x):
		return e.aggregate(x)
	case x.Bare:
		return e.bare(x)
	case x.Name == "grouping" && x.Schema == "":
		return e.groupingCall(x)
	}
	if err := noAggregate(x); err != nil {
		return nil, err
	}
	args, names, variadic, err := e.callArgs(x)
	if err != nil {
		return nil, err
	}
	if x.Schema == "" {
		switch x.Name {
		case "coalesce":
			return e.coalesce(x, args)
		case "greatest", "least":
			return e.minMax(x, args)
		case "nullif":
			return e.nullif(x, args)
		case "position":
			if x.Special { // position(part IN whole)
				slices.Reverse(args)
			}
		}
	}
	if len(args) == 1 && isRow(args[0]) && x.Name != "to_jsonb" {
		return args[0], nil
	}
	if v, ok := e.session(x.Name, len(args)); ok {
		return v, nil
	}
	v, err := e.function(x, args, names, variadic)
	if c, ok := v.(*Call); ok && err == nil && c.Fn.Rows != nil && !e.from {
		return e.setCall(c)
	}
	return v, err
}

// noAggregate refuses what only aggregates have.
func noAggregate(x *pgsyntax.FuncCall) error {
	for _, c := range []struct {
		is   bool
		what string
	}{{x.Star, x.Name + "(*)"}, {x.Distinct, "DISTINCT"}, {len(x.WithinGroup) > 0, "WITHIN GROUP"}, {len(x.OrderBy) > 0, "ORDER BY"}, {x.Filter != nil, "FILTER"}} {
		if !c.is {
			continue
		}
		if !slices.ContainsFunc(pgcat.Procs(x.Name), func(p *pgcat.Proc) bool { return !x.Star || len(p.Args) == 0 }) {
			takes := anyFunction
			if x.Star {
				takes = takesStar
			}
			return undefinedFunction(x.Name, "", x.Pos, takes)
		}
		return sqlerr.New(sqlerr.WrongObjectType, "%s specified, but %s is not an aggregate function", c.what, x.Name).At(int(x.Pos))
	}
	return nil
}

// callArgs binds a call's arguments; names are of the last ones.
func (e *exprs) callArgs(x *pgsyntax.FuncCall) (args []Scalar, names []string, variadic bool, err error) {
	for _, a := range x.Args {
		switch n := a.(type) {
		case *pgsyntax.NamedArg:
			if slices.Contains(names, n.Name) {
				return nil, nil, false, sqlerr.New(sqlerr.Syntax, "argument name %q used more than once", n.Name).At(int(n.Pos))
			}
			names, a = append(names, n.Name), n.X
		case *pgsyntax.Variadic:
			variadic, a = true, n.X
		default:
			if len(names) > 0 {
				return nil, nil, false, sqlerr.New(sqlerr.Syntax, "positional argument cannot follow named argument").At(int(a.Position()))
			}
		}
		if row := e.wholeRow(x.Name, a); row != nil {
			args = append(args, row)
			continue
		}
		v, err := e.expr(a)
		if err != nil {
			return nil, nil, false, err
		}
		if p, ok := v.(*Param); ok && p.T.OID == sqltype.OIDVoid && len(names) == 0 { // JDBC's place of what {? = call f()} gives
			continue
		}
		args = append(args, v)
	}
	return args, names, variadic, nil
}

// bare is current_date and the like; a number behind it is a precision.
func (e *exprs) bare(x *pgsyntax.FuncCall) (Scalar, error) {
	t, known := bareTypes[x.Name]
	if !known {
		return nil, undefinedFunction(x.Name, "", x.Pos, anyFunction)
	}
	if len(x.Args) == 1 {
		lit, ok := x.Args[0].(*pgsyntax.Literal)
		n, err := sqltype.ParseText(lit.Text, sqltype.Int4)
		if !ok || err != nil {
			return nil, sqlerr.New(sqlerr.Syntax, "a precision is a number").At(int(x.Pos))
		}
		t.Typmod = int32(min(n.(int64), 6))
	}
	name := x.Name
	if t.OID != sqltype.OIDName {
		name = Now
	}
	v, ok := e.session(name, 0)
	switch {
	case ok:
		return e.explicit(v, t, x.Pos)
	case e.find.open:
		return &Const{T: t}, nil
	}
	return nil, sqlerr.New(sqlerr.UnsupportedFunction, "%s is not supported here", x.Name).At(int(x.Pos))
}

func (e *exprs) coalesce(x *pgsyntax.FuncCall, args []Scalar) (Scalar, error) {
	if len(args) == 0 {
		return nil, sqlerr.New(sqlerr.Syntax, "COALESCE needs an argument").At(int(x.Pos))
	}
	list, t, err := e.allCommon(args, "COALESCE", x.Pos)
	if err != nil {
		return nil, err
	}
	return &Coalesce{Args: list, T: t}, nil
}

func (e *exprs) minMax(x *pgsyntax.FuncCall, args []Scalar) (Scalar, error) {
	if len(args) == 0 {
		return nil, sqlerr.New(sqlerr.Syntax, "%s needs an argument", strings.ToUpper(x.Name)).At(int(x.Pos))
	}
	list, t, err := e.allCommon(args, strings.ToUpper(x.Name), x.Pos)
	if err != nil {
		return nil, err
	}
	if b := e.find.call(funcs.Operator, "<", []sqltype.OID{t.OID, t.OID}, nil, sqltype.OIDBool); b == nil && !sameForm(t.OID, sqltype.OIDText) {
		return nil, sqlerr.New(sqlerr.UnsupportedOperator, "%s of %s is not supported", strings.ToUpper(x.Name), typeName(t)).At(int(x.Pos))
	}
	return &MinMax{Greatest: x.Name == "greatest", Args: list, T: t}, nil
}

// nullif is CASE WHEN a = b THEN NULL ELSE a END; its type is a's as the comparison takes it.
func (e *exprs) nullif(x *pgsyntax.FuncCall, args []Scalar) (Scalar, error) {
	if len(args) != 2 {
		return nil, sqlerr.New(sqlerr.Syntax, "NULLIF needs two arguments").At(int(x.Pos))
	}
	eq, err := e.operator("=", args, x.Pos)
	if err != nil {
		return nil, err
	}
	if eq.Type().OID != sqltype.OIDBool {
		return nil, mismatch("NULLIF requires = operator to yield boolean").At(int(x.Pos))
	}
	a := args[0]
	if call, ok := eq.(*Call); ok {
		a = call.Args[0]
	}
	return &Case{Whens: []When{{Cond: eq, Result: &Const{T: a.Type()}}}, Else: a, T: a.Type()}, nil
}
