package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

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
	inner := *e
	inner.inWindow = true
	item := WindowItem{Fn: AggFunc(x.Name), Pos: int(x.Pos)}
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
		return nil, undefinedFunction(x.Name, e.signature(x.Name, inputs, names), x.Pos, e.takes(args, names, variadic))
	case v == coercion || c.proc.Kind != 'w' && c.proc.Kind != 'a':
		return nil, sqlerr.New(sqlerr.WrongObjectType, "OVER specified, but %s is not a window function nor an aggregate function", x.Name).At(int(x.Pos))
	case c.proc.AggKind == 'o' || c.proc.AggKind == 'h':
		return nil, sqlerr.New(sqlerr.Unsupported, "OVER is not supported for ordered-set aggregate %s", x.Name).At(int(x.Pos))
	case x.Distinct:
		return nil, sqlerr.New(sqlerr.Unsupported, "DISTINCT is not implemented for window functions").At(int(x.Pos))
	case len(x.OrderBy) > 0:
		return nil, sqlerr.New(sqlerr.Unsupported, "aggregate ORDER BY is not implemented for window functions").At(int(x.Pos))
	}
	if item.Args, _, item.Type.OID, err = e.arguments(c, args, x.Pos); err != nil {
		return nil, err
	}
	item.Type = e.of(item.Type.OID)
	if x.Star && item.Fn == Count {
		item.Fn = CountRows
	}
	if item.Filter, err = e.filter(x); err != nil {
		return nil, err
	}
	if err := inner.windowSpec(x.Over, &item, x.Pos); err != nil {
		return nil, err
	}
	return e.aggs.windowColumn(item, x.Name), nil
}

// windowColumn finds the call's column, or makes it.
func (q *selecting) windowColumn(item WindowItem, name string) Scalar {
	if q.window == nil {
		q.window = &Window{}
	}
	text := windowText(&printer{}, item)
	id, ok := q.windowText[text]
	if !ok {
		id = q.newCol(ColumnInfo{Name: name, Type: item.Type})
		item.ID = id
		q.windowText[text] = id
		q.window.Items = append(q.window.Items, item)
	}
	return q.col(id)
}

// windowSpec binds PARTITION BY, ORDER BY and the frame of a window; one that starts from a named window has that one's too.
func (e *exprs) windowSpec(w *pgsyntax.Window, item *WindowItem, pos pgsyntax.Pos) error {
	if w.Name != "" {
		var of *pgsyntax.Window
		for i := range e.aggs.stmt.Windows {
			if n := &e.aggs.stmt.Windows[i]; n.Name == w.Name && &n.Def != w {
				of = &n.Def
			}
		}
		switch {
		case of == nil:
			return sqlerr.New(sqlerr.UndefinedObject, "window %q does not exist", w.Name).At(int(pos))
		case !w.Bare && len(w.PartitionBy) > 0:
			return sqlerr.New(sqlerr.Windowing, "cannot override PARTITION BY clause of window %q", w.Name).At(int(pos))
		case !w.Bare && len(w.OrderBy) > 0 && len(of.OrderBy) > 0:
			return sqlerr.New(sqlerr.Windowing, "cannot override ORDER BY clause of window %q", w.Name).At(int(pos))
		case !w.Bare && of.Frame != nil:
			return sqlerr.New(sqlerr.Windowing, "cannot copy window %q because it has a frame clause", w.Name).At(int(pos))
		}
		if err := e.windowSpec(of, item, pos); err != nil {
			return err
		}
	}
	for _, p := range w.PartitionBy {
		v, err := e.expr(p)
		if err != nil {
			return err
		}
		if v, err = e.textLiteral(v, p.Position()); err != nil {
			return err
		}
		if err := e.comparable(v, false, p.Position()); err != nil {
			return err
		}
		item.Partition = append(item.Partition, v)
	}
	keys, err := e.aggOrder(w.OrderBy)
	if err != nil {
		return err
	}
	item.Order = append(item.Order, keys...)
	if w.Frame == nil {
		return nil
	}
	item.Frame = &Frame{Mode: w.Frame.Mode, Exclude: w.Frame.Exclude, Start: FrameEnd{Kind: w.Frame.Start.Kind}, End: FrameEnd{Kind: w.Frame.End.Kind}}
	for i, f := range []pgsyntax.FrameBound{w.Frame.Start, w.Frame.End} {
		if f.Offset == nil {
			continue
		}
		v, err := e.expr(f.Offset)
		if err != nil {
			return err
		}
		if w.Frame.Mode != "RANGE" {
			v, err = e.assign(v, sqltype.Int8, w.Frame.Mode, f.Offset.Position())
		} else if t, ok := rangeOffset(item.Order); ok && v.Type().OID == sqltype.OIDUnknown {
			v, err = e.implicit(v, t, f.Offset.Position())
		} else {
			v, err = e.textLiteral(v, f.Offset.Position())
		}
		if err != nil {
			return err
		}
		if hasCols(v) {
			return sqlerr.New(sqlerr.InvalidColumnRef, "argument of %s must not contain variables", w.Frame.Mode).At(int(f.Offset.Position()))
		}
		*[]*Scalar{&item.Frame.Start.Offset, &item.Frame.End.Offset}[i] = v
	}
	return nil
}

// rangeOffset is the only type that an offset of RANGE may have over an order's type (transformFrameOffset); an untyped literal is of it.
func rangeOffset(order []AggOrder) (sqltype.Type, bool) {
	if len(order) != 1 {
		return sqltype.Type{}, false
	}
	switch order[0].Expr.Type().OID {
	case sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz, sqltype.OIDTime, sqltype.OIDTimetz, sqltype.OIDInterval:
		return sqltype.IntervalType, true
	case sqltype.OIDNumeric:
		return sqltype.Numeric, true
	case sqltype.OIDFloat4, sqltype.OIDFloat8:
		return sqltype.Float8, true
	}
	return sqltype.Type{}, false
}
