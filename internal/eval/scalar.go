package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

func (c *compiler) scalar(x plan.Scalar, s scope) (scalar, error) {
	switch x := x.(type) {
	case *plan.Col:
		if place, ok := s[x.ID]; ok {
			return func(_ *machine, row []sqltype.Value) (sqltype.Value, error) { return row[place], nil }, nil
		}
		return c.ofAround(x.ID)
	case *plan.Const:
		v := x.Value
		return func(*machine, []sqltype.Value) (sqltype.Value, error) { return v, nil }, nil
	case *plan.Param:
		return param(x), nil
	case *plan.Call:
		return c.call(x, s)
	case *plan.Logic:
		return c.logic(x, s)
	case *plan.Is:
		return c.is(x, s)
	case *plan.In:
		return c.in(x, s)
	case *plan.Case:
		return c.cases(x, s)
	case *plan.Coalesce:
		return c.coalesce(x, s)
	case *plan.MinMax:
		return c.minMax(x, s)
	case *plan.DistinctFrom:
		return c.distinctFrom(x, s)
	case *plan.Subquery:
		return c.subquery(x, s)
	case *plan.ArrayExpr:
		return c.arrayExpr(x, s)
	case *plan.Subscript:
		return c.subscript(x, s)
	case *plan.AnyAll:
		return c.anyAll(x, s)
	case *plan.Slice:
		return c.slice(x, s)
	}
	return nil, unsupported("the expression %T cannot be computed over released values", x)
}

func (c *compiler) scalars(list []plan.Scalar, s scope) ([]scalar, error) {
	out := make([]scalar, len(list))
	for i, x := range list {
		f, err := c.scalar(x, s)
		if err != nil {
			return nil, err
		}
		out[i] = f
	}
	return out, nil
}

func all(m *machine, list []scalar, row []sqltype.Value) ([]sqltype.Value, error) {
	out := make([]sqltype.Value, len(list), len(list)+1)
	for i, f := range list {
		var err error
		if out[i], err = f(m, row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func param(x *plan.Param) scalar {
	return func(m *machine, _ []sqltype.Value) (sqltype.Value, error) {
		if x.N < 1 || x.N > len(m.args) {
			return nil, sqlerr.New(sqlerr.UndefinedParam, "there is no parameter $%d", x.N)
		}
		return m.args[x.N-1], nil
	}
}

// call evaluates all arguments, then is NULL if one of them is: all functions but some of the catalogs are strict.
func (c *compiler) call(x *plan.Call, s scope) (scalar, error) {
	if x.Fn == nil || x.Fn.Eval == nil {
		name := "this function"
		if x.Fn != nil {
			name = string(x.Fn.Kind) + " " + x.Fn.Name
		}
		err := unsupported("%s cannot be computed over released values", name).At(x.Pos)
		if x.Fn != nil && x.Fn.Name == "to_char" {
			return nil, err.WithHint("Write round(x, 1)::text, or let the client format the number.")
		}
		return nil, err
	}
	args, err := c.scalars(x.Args, s)
	if err != nil {
		return nil, err
	}
	types, forgives := typesOfAll(x.Args), c.noisy.forgives(x)
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		vals := make([]sqltype.Value, len(args))
		null := false
		for i, f := range args {
			v, err := f(m, row)
			if err != nil {
				return nil, err
			}
			vals[i] = v
			null = null || v == nil
		}
		if null && !x.Fn.OnNull {
			return nil, nil
		}
		v, err := m.call(x.Fn, vals, types, x.T)
		if err != nil {
			return nil, forgives(err)
		}
		return v, m.hold(v)
	}, nil
}

// logic goes from left to right and stops where the result is certain.
func (c *compiler) logic(x *plan.Logic, s scope) (scalar, error) {
	args, err := c.scalars(x.Args, s)
	if err != nil {
		return nil, err
	}
	switch {
	case x.Op == plan.Not && len(args) == 1:
		return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
			v, err := args[0](m, row)
			if b, ok := v.(bool); ok && err == nil {
				return !b, nil
			}
			return nil, err
		}, nil
	case (x.Op == plan.And || x.Op == plan.Or) && len(args) > 0:
		certain := x.Op == plan.Or // one true decides OR, one false AND
		return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
			null := false
			for _, f := range args {
				v, err := f(m, row)
				if err != nil {
					return nil, err
				}
				switch v {
				case nil:
					null = true
				case certain:
					return certain, nil
				}
			}
			if null {
				return nil, nil
			}
			return !certain, nil
		}, nil
	}
	return nil, unsupported("%s of %d arguments", x.Op, len(args))
}

func (c *compiler) is(x *plan.Is, s scope) (scalar, error) {
	f, err := c.scalar(x.X, s)
	if err != nil {
		return nil, err
	}
	var what sqltype.Value // NULL and UNKNOWN
	switch x.What {
	case "NULL", "UNKNOWN":
	case "TRUE":
		what = true
	case "FALSE":
		what = false
	default:
		return nil, unsupported("IS %s", x.What)
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		v, err := f(m, row)
		if err != nil {
			return nil, err
		}
		if what == nil {
			return (v == nil) != x.Not, nil
		}
		return (v == what) != x.Not, nil
	}, nil
}

// in goes through the list until a match, in PostgreSQL's order (transformAExprIn): two or more items without columns are an
// array, all of which is evaluated first; the others are compared one by one.
func (c *compiler) in(x *plan.In, s scope) (scalar, error) {
	if x.Eq == nil || x.Eq.Eval == nil {
		return nil, unsupported("IN cannot be computed over released values for %s", x.X.Type())
	}
	left, err := c.scalar(x.X, s)
	if err != nil {
		return nil, err
	}
	var array, single []plan.Scalar
	for _, item := range x.List {
		if hasColumn(item) {
			single = append(single, item)
		} else {
			array = append(array, item)
		}
	}
	if len(array) < 2 {
		array, single = nil, x.List
	}
	items, err := c.scalars(slices.Concat(array, single), s)
	if err != nil {
		return nil, err
	}
	var types [][]sqltype.Type
	for _, item := range slices.Concat(array, single) {
		types = append(types, []sqltype.Type{x.X.Type(), item.Type()})
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		v, err := left(m, row)
		if err != nil {
			return nil, err
		}
		first := make([]sqltype.Value, len(array))
		for i := range first {
			if first[i], err = items[i](m, row); err != nil {
				return nil, err
			}
		}
		null := false
		for i, f := range items {
			var item sqltype.Value
			if i < len(first) {
				item = first[i]
			} else if item, err = f(m, row); err != nil {
				return nil, err
			}
			if v == nil || item == nil {
				null = true
				continue
			}
			equal, err := m.call(x.Eq, []sqltype.Value{v, item}, types[i], sqltype.Bool)
			if err != nil {
				return nil, err
			}
			if equal == true {
				return !x.Not, nil
			}
		}
		if null {
			return nil, nil
		}
		return x.Not, nil
	}, nil
}

// hasColumn reports whether an expression depends on the row; what it does not know does.
func hasColumn(x plan.Scalar) bool {
	anyOf := func(list ...plan.Scalar) bool {
		for _, y := range list {
			if y != nil && hasColumn(y) {
				return true
			}
		}
		return false
	}
	switch x := x.(type) {
	case *plan.Const, *plan.Param:
		return false
	case *plan.Call:
		return anyOf(x.Args...)
	case *plan.Logic:
		return anyOf(x.Args...)
	case *plan.Is:
		return anyOf(x.X)
	case *plan.In:
		return anyOf(x.X) || anyOf(x.List...)
	case *plan.Case:
		for _, w := range x.Whens {
			if anyOf(w.Cond, w.Result) {
				return true
			}
		}
		return anyOf(x.Else)
	case *plan.Coalesce:
		return anyOf(x.Args...)
	case *plan.MinMax:
		return anyOf(x.Args...)
	case *plan.DistinctFrom:
		return anyOf(x.X, x.Y)
	case *plan.Subquery:
		return len(x.Free()) > 0 || anyOf(plan.Children(x)...)
	case *plan.ArrayExpr:
		return anyOf(x.Elems...)
	}
	return true
}

func (c *compiler) cases(x *plan.Case, s scope) (scalar, error) {
	type branch struct{ cond, result scalar }
	branches := make([]branch, len(x.Whens))
	for i, w := range x.Whens {
		cond, err := c.scalar(w.Cond, s)
		if err != nil {
			return nil, err
		}
		result, err := c.scalar(w.Result, s)
		if err != nil {
			return nil, err
		}
		branches[i] = branch{cond, result}
	}
	otherwise := func(*machine, []sqltype.Value) (sqltype.Value, error) { return nil, nil }
	if x.Else != nil {
		f, err := c.scalar(x.Else, s)
		if err != nil {
			return nil, err
		}
		otherwise = f
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		for _, b := range branches {
			v, err := b.cond(m, row)
			if err != nil {
				return nil, err
			}
			if v == true {
				return b.result(m, row)
			}
		}
		return otherwise(m, row)
	}, nil
}

func (c *compiler) coalesce(x *plan.Coalesce, s scope) (scalar, error) {
	args, err := c.scalars(x.Args, s)
	if err != nil {
		return nil, err
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		for _, f := range args {
			if v, err := f(m, row); v != nil || err != nil {
				return v, err
			}
		}
		return nil, nil
	}, nil
}

// minMax evaluates all arguments and passes NULLs over.
func (c *compiler) minMax(x *plan.MinMax, s scope) (scalar, error) {
	args, err := c.scalars(x.Args, s)
	if err != nil {
		return nil, err
	}
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		var out sqltype.Value
		for _, f := range args {
			v, err := f(m, row)
			if err != nil {
				return nil, err
			}
			if v == nil {
				continue
			}
			if out == nil {
				out = v
			} else if c := sqltype.CompareAs(v, out, x.T); c != 0 && (c > 0) == x.Greatest { // of equal ones the first stays
				out = v
			}
		}
		return out, nil
	}, nil
}

func (c *compiler) distinctFrom(x *plan.DistinctFrom, s scope) (scalar, error) {
	if x.Eq == nil || x.Eq.Eval == nil {
		return nil, unsupported("IS DISTINCT FROM cannot be computed over released values for %s", x.X.Type())
	}
	sides, err := c.scalars([]plan.Scalar{x.X, x.Y}, s)
	if err != nil {
		return nil, err
	}
	types := typesOfAll([]plan.Scalar{x.X, x.Y})
	return func(m *machine, row []sqltype.Value) (sqltype.Value, error) {
		l, err := sides[0](m, row)
		if err != nil {
			return nil, err
		}
		r, err := sides[1](m, row)
		if err != nil {
			return nil, err
		}
		if l == nil || r == nil {
			return (l == nil && r == nil) == x.Not, nil
		}
		equal, err := m.call(x.Eq, []sqltype.Value{l, r}, types, sqltype.Bool)
		return (equal == true) == x.Not, err
	}, nil
}
