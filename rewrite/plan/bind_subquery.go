package plan

import (
	"strconv"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func itoa(n int) string { return strconv.Itoa(n) }

// subquery binds a subquery of an expression, for its types.
func (e *exprs) subquery(s *pgsyntax.Select, pos pgsyntax.Pos) (*bound, error) {
	e.later(unsupported(pos, "a subquery in an expression is"))
	return e.query(s, e.scope, false)
}

func (e *exprs) exists(x *pgsyntax.Exists) (Scalar, error) {
	r, err := e.subquery(x.Query, x.Pos)
	if err != nil {
		return nil, err
	}
	return &Unplanned{Name: "EXISTS " + itoa(int(x.Pos)), T: sqltype.Bool, From: []Rel{r.rel}}, nil
}

// scalarQuery is (SELECT ...) as a value, or ARRAY(SELECT ...).
func (e *exprs) scalarQuery(x *pgsyntax.Subquery) (Scalar, error) {
	r, err := e.subquery(x.Query, x.Pos)
	if err != nil {
		return nil, err
	}
	if len(r.outputs) != 1 {
		return nil, sqlerr.New(sqlerr.Syntax, "subquery must return only one column").At(int(x.Pos))
	}
	t := e.columns[r.outputs[0].col].Type
	if x.Array {
		elem := t
		if t = e.of(e.array(elem.OID)); e.elem(elem.OID) != 0 {
			t = elem
		}
		if t.OID == 0 {
			return nil, sqlerr.New(sqlerr.UndefinedObject, "could not find array type for data type %s", typeName(elem)).At(int(x.Pos))
		}
		t.Typmod = elem.Typmod
	}
	return &Unplanned{Name: "subquery " + itoa(int(x.Pos)), T: t, From: []Rel{r.rel}}, nil
}

// quantifiedQuery is x op ANY|ALL (SELECT ...), also of rows; IN is = ANY.
func (e *exprs) quantifiedQuery(left pgsyntax.Expr, op string, s *pgsyntax.Select, pos pgsyntax.Pos) (Scalar, error) {
	list := []pgsyntax.Expr{left}
	if row, ok := left.(*pgsyntax.Row); ok {
		list = row.Elems
	}
	l, err := e.args(list)
	if err != nil {
		return nil, err
	}
	r, err := e.subquery(s, pos)
	if err != nil {
		return nil, err
	}
	switch {
	case len(l) < len(r.outputs):
		return nil, sqlerr.New(sqlerr.Syntax, "subquery has too many columns").At(int(pos))
	case len(l) > len(r.outputs):
		return nil, sqlerr.New(sqlerr.Syntax, "subquery has too few columns").At(int(pos))
	}
	right := make([]Scalar, len(r.outputs))
	for i, o := range r.outputs {
		right[i] = e.col(o.col)
	}
	cond, err := e.compareRows(op, l, right, pos)
	if err != nil {
		return nil, err
	}
	return &Unplanned{Name: "subquery " + itoa(int(pos)), T: sqltype.Bool, Args: l, From: []Rel{&Filter{Input: r.rel, Cond: cond}}}, nil
}

// window is a call with OVER.
func (e *exprs) window(x *pgsyntax.FuncCall) (Scalar, error) {
	switch {
	case e.aggs == nil || !e.aggs.windows[e.clause]:
		return nil, sqlerr.New(sqlerr.Windowing, "window functions are not allowed in %s", e.clause).At(int(x.Pos))
	case e.inWindow:
		return nil, sqlerr.New(sqlerr.Windowing, "window function calls cannot be nested").At(int(x.Pos))
	case e.within:
		return nil, sqlerr.New(sqlerr.Grouping, "aggregate function calls cannot contain window function calls").At(int(x.Pos))
	}
	e.later(unsupported(x.Pos, "window functions are"))
	inner := *e
	inner.inWindow = true
	args, names, variadic, err := inner.callArgs(x)
	if err != nil {
		return nil, err
	}
	inputs := oidsOf(args)
	c, v := e.chooseProc(x.Name, args, names, variadic)
	switch {
	case v == ambiguous:
		return nil, sqlerr.New(sqlerr.AmbiguousFunction, "function %s is not unique", e.signature(x.Name, inputs, names)).At(int(x.Pos)).
			WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
	case v == notFound:
		return nil, undefinedFunction(x.Name, e.signature(x.Name, inputs, names), x.Pos)
	case v == coercion || c.proc.Kind != 'w' && c.proc.Kind != 'a':
		return nil, sqlerr.New(sqlerr.WrongObjectType, "OVER specified, but %s is not a window function nor an aggregate function", x.Name).At(int(x.Pos))
	case c.proc.AggKind == 'o' || c.proc.AggKind == 'h':
		return nil, sqlerr.New(sqlerr.Unsupported, "OVER is not supported for ordered-set aggregate %s", x.Name).At(int(x.Pos))
	case x.Distinct:
		return nil, sqlerr.New(sqlerr.Unsupported, "DISTINCT is not implemented for window functions").At(int(x.Pos))
	case len(x.OrderBy) > 0:
		return nil, sqlerr.New(sqlerr.Unsupported, "aggregate ORDER BY is not implemented for window functions").At(int(x.Pos))
	}
	args, _, result, err := e.arguments(c, args, x.Pos)
	if err != nil {
		return nil, err
	}
	if x.Filter != nil {
		cond, err := inner.condition(x.Filter, "FILTER")
		if err != nil {
			return nil, err
		}
		args = append(args, cond)
	}
	spec, err := inner.windowSpec(x.Over, x.Pos)
	if err != nil {
		return nil, err
	}
	return &Unplanned{Name: "window " + itoa(int(x.Pos)), T: e.of(result), Args: append(args, spec...)}, nil
}

// windowSpec binds PARTITION BY and ORDER BY of a window.
func (e *exprs) windowSpec(w *pgsyntax.Window, pos pgsyntax.Pos) ([]Scalar, error) {
	if w.Name != "" {
		found := false
		for _, n := range e.aggs.stmt.Windows {
			found = found || n.Name == w.Name
		}
		if !found {
			return nil, sqlerr.New(sqlerr.UndefinedObject, "window %q does not exist", w.Name).At(int(pos))
		}
	}
	var out []Scalar
	list := w.PartitionBy
	for _, o := range w.OrderBy {
		list = append(list[:len(list):len(list)], o.Expr)
	}
	for i, p := range list {
		v, err := e.expr(p)
		if err != nil {
			return nil, err
		}
		if v, err = e.textLiteral(v, p.Position()); err != nil {
			return nil, err
		}
		if err := e.comparable(v, i >= len(w.PartitionBy), p.Position()); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	if w.Frame == nil {
		return out, nil
	}
	for _, f := range []pgsyntax.FrameBound{w.Frame.Start, w.Frame.End} {
		if f.Offset == nil {
			continue
		}
		v, err := e.expr(f.Offset)
		if err != nil {
			return nil, err
		}
		if w.Frame.Mode != "RANGE" {
			v, err = e.assign(v, sqltype.Int8, w.Frame.Mode, f.Offset.Position())
		} else {
			v, err = e.textLiteral(v, f.Offset.Position())
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// tableFunc is a function in FROM.
func (b *binder) tableFunc(t *pgsyntax.TableFunc, siblings *scope) (Rel, *scope, error) {
	b.later(unsupported(t.Pos, "functions in FROM are"))
	if err := b.room(0, t.Pos); err != nil {
		return nil, nil, err
	}
	e := &exprs{binder: b, scope: &scope{outer: siblings}, clause: "functions in FROM"}
	v, err := e.expr(t.Call)
	if err != nil {
		return nil, nil, err
	}
	alias := t.Alias
	if alias == "" {
		alias = t.Call.Name
	}
	out := &Unplanned{Name: "function"}
	sc := &scope{tables: []string{alias}, schemas: []string{""}, names: []string{""}}
	add := func(name string, typ sqltype.Type) {
		id := b.newCol(ColumnInfo{Name: name, Type: typ})
		out.Columns = append(out.Columns, id)
		sc.cols = append(sc.cols, scopeCol{table: alias, name: name, id: id})
	}
	outs := outArgs(t.Call.Name, v.Type().OID)
	switch {
	case len(outs) == 1:
		add(outs[0].Name, v.Type())
	case len(outs) > 1:
		for _, o := range outs {
			add(o.Name, b.of(o.OID))
		}
	case v.Type().OID == oidRecord:
		return nil, nil, sqlerr.New(sqlerr.Syntax, "a column definition list is required for functions returning \"record\"").At(int(t.Pos))
	case t.Alias != "":
		add(t.Alias, v.Type())
	default:
		add(outputName(t.Call), v.Type())
	}
	if t.Ordinality {
		add("ordinality", sqltype.Int8)
	}
	return out, sc, sc.rename(t.Columns, alias, t.Pos)
}

// outArgs are the columns of a function that gives rows of several: overloads of one name have the same.
func outArgs(name string, result sqltype.OID) []pgcat.OutArg {
	for _, p := range pgcat.Procs(name) {
		if p.Result == result && len(p.Outs) > 0 {
			return p.Outs
		}
	}
	return nil
}
