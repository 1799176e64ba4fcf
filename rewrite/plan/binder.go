package plan

import (
	"strconv"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// BindOptions is what binding needs beside the catalog.
type BindOptions struct {
	ParamTypes []sqltype.OID           // as the client gave them in Parse; 0 = to be inferred
	Session    map[string]SessionValue // functions about the session (current_user, now ...), as constants
	Values     sqltype.Settings        // the session's settings
	Literals   *sqltype.Settings       // by which literals are read; nil: Values
	Meta       Meta                    // set for statements over PostgreSQL's own catalogs
	Models     Models                  // what dp_predict and dp_predict_proba are; nil: there are none
}

// Models knows predictions as expressions over their arguments.
type Models interface {
	// Predict gives the SQL expression that a call stands for; nil where the function is not one of a model.
	Predict(call *pgsyntax.FuncCall) (pgsyntax.Expr, error)
	// Takes says of a prediction which features its model has, with their types.
	Takes(call *pgsyntax.FuncCall) string
}

// SessionValue is a constant of the session.
type SessionValue struct {
	Value sqltype.Value
	Type  sqltype.Type
}

// finder gives the registry's row of what was resolved. An open one refuses nothing that PostgreSQL has.
type finder struct {
	call func(kind funcs.Kind, name string, actual, declared []sqltype.OID, result sqltype.OID) *funcs.Func
	cast func(source, target sqltype.OID) *funcs.Func
	open bool
	meta Meta // of a statement over PostgreSQL's own catalogs
}

// free says that what a statement costs and how it fails may depend on the rows that it reads: they are nobody's.
func (f *finder) free() bool { return f.open || f.meta != nil }

// binder binds one statement; subqueries share it.
type binder struct {
	types
	cat       Catalog
	opts      BindOptions
	find      finder
	columns   []ColumnInfo
	params    []param
	written   written
	around    around
	tables    int // in FROM so far
	exprSizes exprSizes
	errors    map[Scalar]askedError // dp_error, dp_low and dp_high of expressions
	found     found
	refusals  []*sqlerr.Error
	records   map[ColID][]ColID // the columns of what stands for rows of several

	ofKind func(*exprs, pgsyntax.Expr) (Scalar, error) // binds an expression by its kind: clauses know none
}

// written is where in the text expressions come from, for errors.
type written struct {
	refs     map[*Col]ref // where a column was named, for grouping errors
	places   map[Scalar]pgsyntax.Pos
	collated map[Scalar]pgsyntax.Pos // under a COLLATE other than "default"
}

// around is what stands around the part of the statement that is bound.
type around struct {
	ctes      []*cte // in force, the innermost last
	rebinding int    // WITH queries that are bound once more
	views     int    // of the catalogs
	modelled  int    // calls of models, of which one is written out
}

// exprSizes are how large expressions are.
type exprSizes struct {
	of       map[Scalar]int // each operand as often as it is read
	checked  int            // the largest size that was checked for repeats
	repeated int            // expressions of WITH queries that are bound once more, so far
}

// found is what the query says of the whole statement.
type found struct {
	clock  bool // a constant of the clock was taken
	zoned  bool // a row was taken for the session's time zone
	shorts []ShortText
}

// scope is what names mean in a SELECT's expressions: the columns of FROM, in the order of *.
type scope struct {
	cols    []scopeCol
	tables  []string // aliases, in order; of a table without one, its name
	schemas []string // beside tables: the schema of a table without alias
	names   []string // beside tables: a table's own name
	byName  map[string][]int
	outer   *scope // of the query around a subquery, and what stands before a LATERAL
}

type scopeCol struct {
	schema string // of a table without an alias
	table  string // alias
	name   string
	id     ColID
	expr   Scalar // in place of id: a column merged by USING that had to be brought to the common type
	merged bool   // by USING: found by its qualified name only
	system bool   // as tableoid: not in *
}

// exprs binds the expressions of one clause over a scope. Aggregates may stand where aggs is set.
type exprs struct {
	*binder
	scope    *scope
	clause   string
	aggs     *selecting
	within   bool // an aggregate's argument
	inWindow bool // a window call's argument
	from     bool // a function in FROM
}

// bound is a bound SELECT.
type bound struct {
	rel     Rel
	outputs []namedOutput
	retype  func(i int, t sqltype.Type) error // of a leaf
}

type namedOutput struct {
	name string
	col  ColID
	pos  pgsyntax.Pos // of its expression; -1 if not known
}

// param is what is known of $n, and where it stands. As in PostgreSQL each use gets its type where something needs one, and all must agree.
type param struct {
	t     sqltype.Type
	known bool
	uses  []*Param
}

type ref struct {
	name string
	pos  pgsyntax.Pos
}

// cte is a WITH query in force.
type cte struct {
	name    string
	outputs []namedOutput
	rel     Rel           // until it is read
	query   *pgsyntax.CTE // nil: of a recursive one, which has no plan
	before  []*cte
	outer   *scope
	shared  Rel // of a recursive query: what every reader reads
}

// askedError is an expression over aggregates, and what is asked of its error.
type askedError struct {
	kind  ErrorKind
	value Scalar
	ast   pgsyntax.Expr // of the value
}

func (b *binder) newCol(info ColumnInfo) ColID {
	b.columns = append(b.columns, info)
	return ColID(len(b.columns) - 1)
}

func (b *binder) col(id ColID) *Col { return &Col{ID: id, T: b.columns[id].Type} }

func (b *binder) output(o namedOutput) Output {
	info := b.columns[o.col]
	out := Output{Name: o.name, Col: o.col, Type: info.Type}
	if out.Type.OID == sqltype.OIDUnknown { // PostgreSQL sends untyped literals as text
		out.Type = sqltype.Text
	}
	if info.Table != nil {
		out.TableOID, out.Attr = info.Table.OID, info.Table.AttNum(info.Attr)
	}
	return out
}

// place is where an expression starts in the text, or another position where that is not known.
func (b *binder) place(x Scalar, other pgsyntax.Pos) pgsyntax.Pos {
	if c, ok := x.(*Const); ok && c.pos > 0 {
		return c.pos - 1
	}
	if p, ok := b.written.places[x]; ok {
		return p
	}
	return other
}

// hides says that a type is not one of an analyst's statements.
func (b *binder) hides(t sqltype.Type) bool {
	return !b.find.open && (!t.IsKnown() || b.find.meta == nil && t.IsCatalogType())
}

// setParam fixes a parameter's type where it is first used with one.
func (b *binder) setParam(x *Param, t sqltype.Type, pos pgsyntax.Pos) error {
	p := &b.params[x.N-1]
	if p.known && p.t.OID != t.OID {
		return sqlerr.New(sqlerr.AmbiguousParam, "inconsistent types deduced for parameter $%d", x.N).At(int(pos)).
			WithDetail("%s versus %s", typeName(p.t), typeName(t))
	}
	p.t, p.known = b.of(t.OID), true
	x.T = p.t
	return nil
}

// later notes that a construct will be refused, once the rest of the statement is known to be right.
func (b *binder) later(err *sqlerr.Error) { b.refusals = append(b.refusals, err) }

// refusal is the first of the noted ones by position.
func (b *binder) refusal() error {
	var first *sqlerr.Error
	for _, e := range b.refusals {
		if first == nil || e.Pos < first.Pos {
			first = e
		}
	}
	if first == nil || b.find.open {
		return nil
	}
	return first
}

// unsupported refuses a construct that PostgreSQL has.
func unsupported(pos pgsyntax.Pos, what string) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, "%s not supported yet", what).At(int(pos))
}

// at gives a user error a position if it has none.
func at(err error, pos pgsyntax.Pos) error {
	if e, ok := err.(*sqlerr.Error); ok && e.Pos == 0 {
		return e.At(int(pos))
	}
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }
