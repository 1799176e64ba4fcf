package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
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

// Describe gives the names and types of whatever PostgreSQL has, also where Bind refuses it; its Root is no plan.
func Describe(stmt *pgsyntax.Select, cat Catalog, opts BindOptions) (*Query, error) {
	return bindWith(stmt, cat, opts, everything)
}

// Bind resolves names and types of a query by PostgreSQL's rules. Whatever has no place in a Query is refused by name and
// position (*sqlerr.Error).
func Bind(stmt *pgsyntax.Select, cat Catalog, opts BindOptions) (*Query, error) {
	if opts.Meta != nil {
		return bindWith(stmt, cat, opts, overMeta(opts.Meta))
	}
	return bindWith(stmt, cat, opts, registered)
}

func bindWith(stmt *pgsyntax.Select, cat Catalog, opts BindOptions, find finder) (*Query, error) {
	b := &binder{cat: cat, opts: opts, find: find, ofKind: (*exprs).kind, columns: make([]ColumnInfo, 1), refs: map[*Col]ref{}, sizes: map[Scalar]int{}, errors: map[Scalar]askedError{}, places: map[Scalar]pgsyntax.Pos{},
		collated: map[Scalar]pgsyntax.Pos{}, params: make([]param, 0, len(opts.ParamTypes))}
	for _, oid := range opts.ParamTypes {
		if pgcat.TypeOf(oid) == nil { // an enum that a driver has read of a column, or of an answer of ours
			b.enumOf(func(e sqltype.Enum) bool { return e.OID == oid || e.Array == oid && oid != 0 })
		}
		b.params = append(b.params, param{t: b.of(oid), known: oid != 0 && oid != sqltype.OIDUnknown})
	}
	r, err := b.query(stmt, nil, false)
	if err != nil {
		return nil, err
	}
	q := &Query{Root: r.rel, Columns: b.columns, Zoned: b.zoned, Clock: b.clock, Short: b.shorts, Pos: int(stmt.Pos)}
	counts := countsOf(r.rel)
	for _, o := range r.outputs {
		if b.records[o.col] != nil {
			b.later(unsupported(max(o.pos, 0), "a composite value as a column of the answer is").WithHint("Name a field of it: (x).name."))
		}
		out := b.output(o)
		out.Count = counts.has(o.col)
		q.Outputs = append(q.Outputs, out)
	}
	if len(q.Outputs) == 0 && !find.free() {
		b.later(unsupported(stmt.Pos, "an empty select list is"))
	}
	for i := range b.params {
		p := &b.params[i]
		if !p.known {
			return nil, sqlerr.New(sqlerr.IndeterminateType, "could not determine data type of parameter $%d", i+1)
		}
		for _, u := range p.uses {
			if u.T.OID != p.t.OID { // used before the type was found, where none was needed
				return nil, sqlerr.New(sqlerr.AmbiguousParam, "inconsistent types deduced for parameter $%d", i+1).
					WithHint("Give it a type where it is used first: $%d::%s.", i+1, typeName(p.t))
			}
		}
		if b.hides(p.t) {
			return nil, sqlerr.New(sqlerr.Unsupported, "$%d is of a type that is not known here", i+1)
		}
		q.Params = append(q.Params, p.t)
	}
	if err := b.refusal(); err != nil {
		return nil, err
	}
	return q, nil
}

// binder binds one statement; subqueries share it.
type binder struct {
	types
	cat       Catalog
	opts      BindOptions
	find      finder
	columns   []ColumnInfo
	params    []param
	refs      map[*Col]ref // where a column was named, for grouping errors
	places    map[Scalar]pgsyntax.Pos
	collated  map[Scalar]pgsyntax.Pos // under a COLLATE other than "default"
	ctes      []*cte                  // in force, the innermost last
	tables    int                     // in FROM so far
	rebinding int                     // WITH queries around that are bound once more
	repeated  int                     // expressions of those so far
	sizes     map[Scalar]int          // of expressions, each operand as often as it is read
	errors    map[Scalar]askedError   // dp_error, dp_low and dp_high of expressions
	checked   int                     // the largest size that was checked for repeats
	modelled  int                     // calls of models, of which one is written out
	clock     bool                    // a constant of the clock was taken
	zoned     bool                    // a row was taken for the session's time zone
	shorts    []ShortText
	refusals  []*sqlerr.Error
	records   map[ColID][]ColID // the columns of what stands for rows of several
	views     int               // of the catalogs, around what is bound

	ofKind func(*exprs, pgsyntax.Expr) (Scalar, error) // binds an expression by its kind: clauses know none
}

// place is where an expression starts in the text, or another position where that is not known.
func (b *binder) place(x Scalar, other pgsyntax.Pos) pgsyntax.Pos {
	if c, ok := x.(*Const); ok && c.pos > 0 {
		return c.pos - 1
	}
	if p, ok := b.places[x]; ok {
		return p
	}
	return other
}

type ref struct {
	name string
	pos  pgsyntax.Pos
}

// param is what is known of $n, and where it stands. As in PostgreSQL each use gets its type where something needs one, and all must agree.
type param struct {
	t     sqltype.Type
	known bool
	uses  []*Param
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

// unsupported refuses a construct that PostgreSQL has.
func unsupported(pos pgsyntax.Pos, what string) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, "%s not supported yet", what).At(int(pos))
}
