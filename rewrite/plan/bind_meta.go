package plan

import (
	"errors"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// overMeta finds what a backend need not compute, too.
func overMeta(m Meta) finder {
	usable := func(f *funcs.Func) bool { return f != nil && (f.Eval != nil || f.With != nil) }
	return finder{
		call: func(kind funcs.Kind, name string, actual, declared []sqltype.OID, result sqltype.OID) *funcs.Func {
			if f := registered.call(kind, name, actual, declared, result); usable(f) {
				return f
			}
			return m.Call(kind, name, actual, declared, result)
		},
		cast: func(source, target sqltype.OID) *funcs.Func {
			if f := registered.cast(source, target); usable(f) {
				return f
			}
			return m.Cast(sqltype.Type{OID: source, Typmod: -1}, sqltype.Type{OID: target, Typmod: -1})
		},
		meta: m,
	}
}

// maxViews bounds views within views.
const maxViews = 16

func message(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// setCall gives a function that gives rows columns of the select list in which it stands.
func (e *exprs) setCall(c *Call) (Scalar, error) {
	q := e.aggs
	if q == nil || e.within || e.inWindow || e.clause != "SELECT list" && e.clause != "ORDER BY" {
		return nil, sqlerr.New(sqlerr.Unsupported, "set-returning functions are not allowed in %s", e.clause).At(c.Pos)
	}
	it := SetItem{Call: c}
	for _, o := range e.rowOf(c) {
		it.Cols = append(it.Cols, e.newCol(ColumnInfo{Name: o.name, Type: o.typ}))
	}
	q.sets = append(q.sets, it)
	if len(it.Cols) == 1 {
		return e.col(it.Cols[0]), nil
	}
	record := e.newCol(ColumnInfo{Name: c.Fn.Name, Type: e.of(oidRecord)})
	if e.records == nil {
		e.records = map[ColID][]ColID{}
	}
	e.records[record] = it.Cols
	return e.col(record), nil
}

type rowColumn struct {
	name string
	typ  sqltype.Type
}

// rowOf are the columns of what a function gives.
func (b *binder) rowOf(c *Call) []rowColumn {
	outs := b.outArgs(c)
	if len(outs) == 0 {
		return []rowColumn{{c.Fn.Name, c.T}}
	}
	list := make([]rowColumn, len(outs))
	for i, o := range outs {
		t := b.of(o.OID)
		if polymorphic(o.OID) && len(c.Args) > 0 {
			if t = b.of(b.elem(c.Args[0].Type().OID)); o.OID == oidAnyArray {
				t = c.Args[0].Type()
			}
		}
		list[i] = rowColumn{o.Name, t}
	}
	return list
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

func (b *binder) outArgs(c *Call) []funcs.Out {
	if len(c.Fn.Outs) > 0 {
		return c.Fn.Outs
	}
	var out []funcs.Out
	for _, o := range outArgs(c.Fn.Name, c.T.OID) {
		out = append(out, funcs.Out(o))
	}
	return out
}

// field is (x).name of a function that gives rows of several columns, or of a column that holds such rows.
func (e *exprs) field(x *pgsyntax.Field) (Scalar, error) {
	cols, err := e.fields(x)
	if err != nil {
		return nil, err
	}
	if x.Name == "" {
		return nil, sqlerr.New(sqlerr.Unsupported, "row expansion via \"*\" is not supported here").At(int(x.Pos))
	}
	for _, id := range cols {
		if e.columns[id].Name == x.Name {
			return e.col(id), nil
		}
	}
	return nil, sqlerr.New(sqlerr.UndefinedColumn, "column %q not found in data type record", x.Name).At(int(x.Pos))
}

// fields are the columns of what stands before the dot.
func (e *exprs) fields(x *pgsyntax.Field) ([]ColID, error) {
	var cols []ColID
	v, err := Scalar(nil), error(nil)
	if e.find.meta != nil {
		if v, err = e.expr(x.X); err != nil {
			return nil, err
		}
	}
	if c, ok := v.(*Col); ok {
		cols = e.records[c.ID]
	}
	if cols == nil {
		return nil, unsupported(x.Pos, "a field of a composite value is").WithHint("Leave out the brackets where it is a column of a table: t.c.")
	}
	return cols, nil
}

// slice is x[i:j] of an array of one dimension.
func (e *exprs) slice(x Scalar, ends []pgsyntax.Expr, t sqltype.Type) (Scalar, error) {
	out := &Slice{X: x, T: t}
	for i, at := range []*Scalar{&out.Low, &out.High} {
		if ends[i] == nil {
			continue
		}
		v, err := e.expr(ends[i])
		if err != nil {
			return nil, err
		}
		if *at, err = e.implicit(v, sqltype.Int4, ends[i].Position()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reader gives each reader of a recursive query columns of its own.
func (b *binder) reader(rel Rel, outputs []namedOutput) (Rel, []namedOutput) {
	p, own := &Project{Input: rel}, slices.Clone(outputs)
	for i, o := range outputs {
		own[i].col = b.newCol(b.columns[o.col])
		p.Items = append(p.Items, Item{ID: own[i].col, Expr: b.col(o.col)})
	}
	return p, own
}
