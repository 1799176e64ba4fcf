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

// Meta binds statements that read PostgreSQL's own catalogs, and no table of a policy. What they compute is computed in the proxy, of what is public, for one who asks
// about names: so there are functions of the catalog and functions that give rows; a text may be read as whatever it says; and an error may depend on rows.
type Meta interface {
	// Call finds a function or operator that package funcs does not compute; nil if there is none.
	Call(kind funcs.Kind, name string, actual, declared []sqltype.OID, result sqltype.OID) *funcs.Func
	// Cast finds a cast that package funcs has not.
	Cast(source, target sqltype.Type) *funcs.Func
	// Type resolves a name that is no type of pg_catalog.
	Type(schema, name string) (sqltype.Type, bool)
	// Procs are the functions of a schema other than pg_catalog.
	Procs(schema, name string) []*pgcat.Proc
	// View is the query of a view; nil of a table.
	View(t *Table) (*pgsyntax.Select, error)
}

// FuncScan is a function in FROM: its rows, or its value as the only row. With Ordinality the last column counts them.
type FuncScan struct {
	Call       Scalar
	Columns    []ColID
	Ordinality bool
	Pos        int
}

// ProjectSet is a select list with functions that give rows: each row of the input once for each of theirs, side by side, NULL where one has fewer.
type ProjectSet struct {
	Input Rel
	Items []SetItem
}

// SetItem is such a function with its columns.
type SetItem struct {
	Call *Call
	Cols []ColID
}

// Recursive is WITH RECURSIVE: First, and then what Again makes of the rows that came last, until there are none. Working gives those rows to Again.
type Recursive struct {
	First, Again         Rel
	FirstCols, AgainCols []ColID
	All                  bool // UNION ALL
	Columns              []ColID
	Working              *Working
}

// Working are the rows that a recursive query's last step made.
type Working struct{ Columns []ColID }

// Slice is X[Low:High] of an array of one dimension; a nil end is the array's own.
type Slice struct {
	X, Low, High Scalar
	T            sqltype.Type
}

func (*FuncScan) rel()   {}
func (*ProjectSet) rel() {}
func (*Recursive) rel()  {}
func (*Working) rel()    {}
func (*Slice) scalar()   {}

// Cols are its own.
func (r *FuncScan) Cols() []ColID { return r.Columns }

// Cols are the input's, then the functions'.
func (r *ProjectSet) Cols() []ColID {
	out := slices.Clone(r.Input.Cols())
	for _, it := range r.Items {
		out = append(out, it.Cols...)
	}
	return out
}

// Cols are its own.
func (r *Recursive) Cols() []ColID { return r.Columns }

// Cols are its own.
func (r *Working) Cols() []ColID { return r.Columns }

// Type is the array's.
func (x *Slice) Type() sqltype.Type { return x.T }

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

// free says that what a statement costs and how it fails may depend on the rows that it reads: they are nobody's.
func (f *finder) free() bool { return f.open || f.meta != nil }

// hides says that a type is not one of an analyst's statements.
func (b *binder) hides(t sqltype.Type) bool {
	return !b.find.open && (!t.IsKnown() || b.find.meta == nil && t.IsCatalogType())
}

// maxViews bounds views within views.
const maxViews = 16

// view reads a view of the catalogs as the query that defines it.
func (b *binder) view(table *Table, t *pgsyntax.TableName, schema, alias string) (Rel, *scope, error) {
	query, err := b.find.meta.View(table)
	if query == nil || err != nil {
		return nil, nil, err
	}
	if b.views++; b.views > maxViews {
		return nil, nil, sqlerr.New(sqlerr.TooComplex, "views are nested more than %d deep", maxViews).At(int(t.Pos))
	}
	defer func() { b.views-- }()
	ctes, refusals := b.ctes, len(b.refusals)
	b.ctes = nil
	r, err := b.query(query, nil, false)
	b.ctes = ctes
	if err == nil && len(b.refusals) > refusals {
		err = b.refusals[refusals]
	}
	if err != nil {
		return nil, nil, sqlerr.New(sqlerr.Unsupported, "the view %s.%s cannot be computed: %s", table.Schema, table.Name, message(err)).At(int(t.Pos))
	}
	var items []Item
	sc := &scope{tables: []string{alias}, schemas: []string{schema}, names: []string{t.Name}}
	for i, o := range r.outputs {
		name := o.name
		if i < len(table.Columns) {
			name = table.Columns[i].Name
		}
		id := b.newCol(ColumnInfo{Name: name, Type: b.columns[o.col].Type, Table: table, Attr: i})
		sc.cols = append(sc.cols, scopeCol{schema: schema, table: alias, name: name, id: id})
		items = append(items, Item{ID: id, Expr: b.col(o.col)})
	}
	return &Project{Input: r.rel, Items: items}, sc, nil
}

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
