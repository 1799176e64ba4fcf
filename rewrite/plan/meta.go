package plan

import (
	"slices"

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
