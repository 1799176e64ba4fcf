package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// IN, ANY, ALL and comparisons of rows.

func (e *exprs) in(x *pgsyntax.In) (Scalar, error) {
	if x.Query != nil {
		v, err := e.quantifiedQuery(x.X, "=", AnyQuery, x.Query, x.Pos)
		if err != nil || !x.Not {
			return v, err
		}
		return &Logic{Op: Not, Args: []Scalar{v}}, nil
	}
	if row, ok := x.X.(*pgsyntax.Row); ok {
		return e.inRows(row, x)
	}
	args := make([]Scalar, 1, len(x.List)+1)
	var err error
	if args[0], err = e.expr(x.X); err != nil {
		return nil, err
	}
	for _, a := range x.List {
		v, err := e.expr(a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return e.inList(args, x.Not, x.Pos)
}

// inList follows PostgreSQL (parse_expr.c, transformAExprIn): several items without columns are an array of one type with x, if
// they have one; every other item is compared on its own. args[0] is x.
func (e *exprs) inList(args []Scalar, not bool, pos pgsyntax.Pos) (Scalar, error) {
	op, join := "=", Or
	if not {
		op, join = "<>", And
	}
	rest := args[1:]
	plain := make([]Scalar, 0, len(rest))
	var single []Scalar
	for _, a := range rest {
		if hasCols(a) {
			single = append(single, a)
		} else {
			plain = append(plain, a)
		}
	}
	untyped := args[0].Type().OID == sqltype.OIDUnknown
	var parts []Scalar
	list := &In{Not: not}
	add := func(x, item Scalar, eq *funcs.Func) bool {
		switch {
		case eq == nil:
			return false
		case list.Eq == nil:
			list.Eq, list.X = eq, x
			parts = append(parts, list)
		case list.Eq != eq || list.X.Type() != x.Type():
			return false
		}
		if list.List == nil {
			list.List = make([]Scalar, 0, len(args)-1)
		}
		list.List = append(list.List, item)
		return true
	}
	if t, ok := e.arrayType(append([]Scalar{args[0]}, plain...)); ok && len(plain) > 1 {
		for i, a := range plain {
			var err error
			if plain[i], err = e.toCommon(a, t, "IN", pos); err != nil {
				return nil, err
			}
		}
		o, err := e.resolveOper(op, args[0].Type().OID, t.OID, pos)
		if err != nil {
			return nil, err
		}
		x, items, err := e.elements(o, args[0], plain, pos)
		if err != nil {
			return nil, err
		}
		eq := e.equality(x.Type().OID, items[0].Type().OID)
		for _, item := range items {
			if add(x, item, eq) {
				continue
			}
			v, err := e.applyOper(o, []Scalar{x, item}, pos)
			if err != nil {
				return nil, err
			}
			parts = append(parts, v)
		}
		rest, untyped = single, false
	}
	for _, item := range rest {
		v, err := e.operator(op, []Scalar{e.again(args[0], untyped), item}, pos)
		if err != nil {
			return nil, err
		}
		call, ok := v.(*Call)
		if !ok || !add(call.Args[0], call.Args[1], e.equality(call.Args[0].Type().OID, call.Args[1].Type().OID)) {
			parts = append(parts, v)
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return &Logic{Op: join, Args: parts}, nil
}

// equality is the row of "=" over two types, unless the time zone has a say in it: such are compared one by one.
func (b *binder) equality(l, r sqltype.OID) *funcs.Func {
	o, err := b.resolveOper("=", l, r, -1)
	if err != nil {
		return nil
	}
	fn := b.operRow(o, "=", []sqltype.OID{l, r})
	if fn == nil || fn.With != nil {
		return nil
	}
	return fn
}

// arrayType is the type of an array of such values, if they have one.
func (b *binder) arrayType(args []Scalar) (sqltype.Type, bool) {
	t, err := b.common(args, "IN", -1)
	if err != nil || b.array(t.OID) == 0 {
		return t, false
	}
	last := sqltype.OID(0)
	for _, a := range args {
		o := a.Type().OID
		if o != last && !b.canCoerce([]sqltype.OID{o}, []sqltype.OID{t.OID}, implicitly) {
			return t, false
		}
		last = o
	}
	return t, true
}

// elements coerces x and the elements of a list to what an operator wants.
func (b *binder) elements(o *resolvedOper, x Scalar, list []Scalar, pos pgsyntax.Pos) (Scalar, []Scalar, error) {
	x, err := b.coerce(x, b.of(o.args[0]), implicitly, pos)
	if err != nil {
		return nil, nil, err
	}
	out := make([]Scalar, len(list))
	for i, item := range list {
		if out[i], err = b.coerce(item, b.of(o.args[1]), implicitly, pos); err != nil {
			return nil, nil, err
		}
	}
	return x, out, nil
}

// again is x for one more comparison: a parameter that had no type before the first is to get the same from each.
func (e *exprs) again(x Scalar, untyped bool) Scalar {
	p, ok := x.(*Param)
	if !ok || !untyped || p.T.OID == sqltype.OIDUnknown {
		return x
	}
	out := &Param{N: p.N, T: sqltype.Unknown}
	e.params[p.N-1].uses = append(e.params[p.N-1].uses, out)
	e.written.places[out] = e.written.places[p]
	return out
}

// quantified is x op ANY|ALL (array): make_scalar_array_op. What the statement lists is compared item by item.
func (e *exprs) quantified(x *pgsyntax.Quantified) (Scalar, error) {
	if x.Query != nil {
		op, kind := plainOp(x.Op), AnyQuery
		if p, ok := patternOps[x.Op]; ok {
			op = p
		}
		if x.All {
			kind = AllQuery
		}
		return e.quantifiedQuery(x.X, op, kind, x.Query, x.Pos)
	}
	l, err := e.expr(x.X)
	if err != nil {
		return nil, err
	}
	array, err := e.expr(x.Array)
	if err != nil {
		return nil, err
	}
	op := plainOp(x.Op)
	if p, ok := patternOps[op]; ok {
		op = p
	}
	elem := sqltype.OIDUnknown
	if at := array.Type().OID; at != sqltype.OIDUnknown {
		if elem = e.elem(e.base(at)); elem == 0 {
			return nil, sqlerr.New(sqlerr.WrongObjectType, "op ANY/ALL (array) requires array on right side").At(int(x.Pos))
		}
	}
	o, err := e.resolveOper(op, l.Type().OID, elem, x.Pos)
	if err != nil {
		return nil, err
	}
	if o.result != sqltype.OIDBool {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "op ANY/ALL (array) requires operator to yield boolean").At(int(x.Pos))
	}
	wanted := e.array(o.args[1])
	switch {
	case polymorphic(o.args[1]):
		wanted = array.Type().OID
	case wanted == 0:
		return nil, sqlerr.New(sqlerr.UndefinedObject, "could not find array type for data type %s", e.name(o.args[1])).At(int(x.Pos))
	}
	if l, err = e.coerce(l, e.of(o.args[0]), implicitly, x.Pos); err != nil {
		return nil, err
	}
	if array, err = e.coerce(array, e.of(wanted), implicitly, x.Pos); err != nil {
		return nil, err
	}
	return e.eachElement(o, l, array, x)
}

// comparing are the operators that never raise.
var comparing = []string{"=", "<>", "<", "<=", ">", ">="}

// eachElement compares with each element of a listed array.
func (e *exprs) eachElement(o *resolvedOper, l, array Scalar, x *pgsyntax.Quantified) (Scalar, error) {
	items, null, ok := listed(array, e.of(e.elem(array.Type().OID)))
	in := o.Name == "=" && !x.All || o.Name == "<>" && x.All
	switch {
	case !ok:
		fn := e.operRow(o, o.Name, []sqltype.OID{l.Type().OID, e.elem(array.Type().OID)})
		if fn == nil || e.find.meta == nil && (fn.With != nil || !slices.Contains(comparing, o.Name)) || e.find.meta != nil && fn.Eval == nil {
			e.later(unsupported(x.Pos, "the operator "+o.Name+" with ANY or ALL of an array that the statement does not list is").WithHint("List the values: ANY(ARRAY[...])."))
			return &Unplanned{Name: o.Name + " " + itoa(int(x.Pos)), T: sqltype.Bool, Args: []Scalar{l, array}}, nil
		}
		out := &AnyAll{X: l, Array: array, Fn: fn, All: x.All, Pos: int(x.Pos)}
		if in {
			out.Eq = e.equality(l.Type().OID, e.elem(array.Type().OID))
		}
		return out, nil
	case null:
		return &Const{T: sqltype.Bool}, nil
	case len(items) == 0:
		return &Const{Value: x.All, T: sqltype.Bool}, nil
	}
	if in {
		if eq := e.equality(l.Type().OID, items[0].Type().OID); eq != nil {
			return &In{X: l, List: items, Not: x.All, Eq: eq}, nil
		}
	}
	out := &Logic{Op: Or}
	if x.All {
		out.Op = And
	}
	for _, item := range items {
		v, err := e.applyOper(o, []Scalar{l, item}, x.Pos)
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, v)
	}
	if len(items) == 1 {
		return out.Args[0], nil
	}
	return out, nil
}

// listed are the elements of an array that the statement writes; null says that it writes NULL for the whole.
func listed(array Scalar, elem sqltype.Type) (items []Scalar, null, ok bool) {
	switch a := array.(type) {
	case *ArrayExpr:
		for _, x := range a.Elems {
			inner, _, ok := listed(x, elem)
			if a.Nested && !ok {
				return nil, false, false
			}
			if !a.Nested {
				inner = []Scalar{x}
			}
			items = append(items, inner...)
		}
		return items, false, true
	case *Const:
		if a.Value == nil {
			return nil, true, true
		}
		if v, isArray := a.Value.(*sqltype.Array); isArray {
			for _, y := range v.Values {
				items = append(items, &Const{Value: y, T: elem})
			}
			return items, false, true
		}
	}
	return nil, false, false
}

// rows compares (a, b) with (c, d) (make_row_comparison_op).
func (e *exprs) rows(op string, left, right *pgsyntax.Row, pos pgsyntax.Pos) (Scalar, error) {
	l, err := e.args(left.Elems)
	if err != nil {
		return nil, err
	}
	r, err := e.args(right.Elems)
	if err != nil {
		return nil, err
	}
	return e.compareRows(op, l, r, pos)
}

func (e *exprs) compareRows(op string, l, r []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	switch {
	case len(l) != len(r):
		return nil, sqlerr.New(sqlerr.Syntax, "unequal number of entries in row expressions").At(int(pos))
	case len(l) == 0:
		return nil, sqlerr.New(sqlerr.Unsupported, "cannot compare rows of zero length").At(int(pos))
	}
	pair := func(op string, i int) (Scalar, error) {
		if op == "IS DISTINCT FROM" || op == "IS NOT DISTINCT FROM" {
			return e.distinct(l[i], r[i], op == "IS NOT DISTINCT FROM", pos)
		}
		v, err := e.operator(op, []Scalar{l[i], r[i]}, pos)
		if err == nil && v.Type().OID != sqltype.OIDBool {
			err = mismatch("row comparison operator must yield type boolean, not type %s", typeName(v.Type())).At(int(pos))
		}
		return v, err
	}
	strict := map[string]string{"<": "<", "<=": "<", ">": ">", ">=": ">"}[op]
	last := len(l) - 1
	out, err := pair(op, last)
	if err != nil {
		return nil, err
	}
	for i := last - 1; i >= 0; i-- {
		switch {
		case op == "=" || op == "IS NOT DISTINCT FROM" || op == "<>" || op == "IS DISTINCT FROM":
			v, err := pair(op, i)
			if err != nil {
				return nil, err
			}
			join := And
			if op == "<>" || op == "IS DISTINCT FROM" {
				join = Or
			}
			out = &Logic{Op: join, Args: []Scalar{v, out}}
		case strict != "":
			// Proof: a < c OR (a = c AND rest) is NULL where a or c is, whatever the rest, and the rest where they are equal.
			first, err := pair(strict, i)
			if err != nil {
				return nil, err
			}
			same, err := pair("=", i)
			if err != nil {
				return nil, err
			}
			out = &Logic{Op: Or, Args: []Scalar{first, &Logic{Op: And, Args: []Scalar{same, out}}}}
		default:
			return nil, sqlerr.New(sqlerr.Unsupported, "could not determine interpretation of row comparison operator %s", op).At(int(pos)).
				WithHint("Row comparison operators must be associated with btree operator families.")
		}
	}
	return out, nil
}

func (e *exprs) inRows(row *pgsyntax.Row, x *pgsyntax.In) (Scalar, error) {
	out := &Logic{Op: Or}
	op := "="
	if x.Not {
		out.Op, op = And, "<>"
	}
	left, err := e.args(row.Elems)
	if err != nil {
		return nil, err
	}
	untyped := make([]bool, len(left))
	for i, l := range left {
		untyped[i] = l.Type().OID == sqltype.OIDUnknown
	}
	for _, item := range x.List {
		r, ok := item.(*pgsyntax.Row)
		if !ok {
			return nil, unsupported(item.Position(), "a row beside a single value is")
		}
		right, err := e.args(r.Elems)
		if err != nil {
			return nil, err
		}
		again := make([]Scalar, len(left))
		for i, l := range left {
			again[i] = e.again(l, untyped[i])
		}
		v, err := e.compareRows(op, again, right, x.Pos)
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, v)
	}
	if len(out.Args) == 1 {
		return out.Args[0], nil
	}
	return out, nil
}

// rowIsNull: all fields are NULL, or with NOT none is.
func (e *exprs) rowIsNull(row *pgsyntax.Row, x *pgsyntax.Is) (Scalar, error) {
	out := &Logic{Op: And}
	for _, item := range row.Elems {
		v, err := e.is(&pgsyntax.Is{Pos: x.Pos, X: item, Not: x.Not, What: "NULL"})
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, v)
	}
	switch len(out.Args) {
	case 0:
		return &Const{Value: true, T: sqltype.Bool}, nil
	case 1:
		return out.Args[0], nil
	}
	return out, nil
}
