package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

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
	b := &binder{cat: cat, opts: opts, find: find, ofKind: (*exprs).kind, columns: make([]ColumnInfo, 1), errors: map[Scalar]askedError{}, exprSizes: exprSizes{of: map[Scalar]int{}},
		written: written{map[*Col]ref{}, map[Scalar]pgsyntax.Pos{}, map[Scalar]pgsyntax.Pos{}}, params: make([]param, 0, len(opts.ParamTypes))}
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
	q := &Query{Root: r.rel, Columns: b.columns, Zoned: b.found.zoned, Clock: b.found.clock, Short: b.found.shorts, Pos: int(stmt.Pos)}
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

// kind binds an expression by its kind.
func (e *exprs) kind(x pgsyntax.Expr) (Scalar, error) {
	switch x := x.(type) {
	case *pgsyntax.ColumnRef:
		path, err := e.local(x.Path, x.Pos)
		if err != nil {
			return nil, err
		}
		c, err := e.columnNamed(e.scope, path, x.Pos)
		if err != nil && len(x.Path) == 1 && slices.Contains(e.scope.tables, x.Path[0]) {
			return nil, unsupported(x.Pos, "a whole row as a value is").WithHint("Name its columns.")
		}
		if err != nil {
			return nil, err
		}
		return e.named(c, x.Pos), nil
	case *pgsyntax.Literal:
		if x.Kind == pgsyntax.BitLit || x.Kind == pgsyntax.HexLit {
			e.later(unsupported(x.Pos, "a bit string is"))
			return &Unplanned{Name: string(x.Kind) + x.Text, T: e.of(oidBit)}, nil
		}
		return literal(x)
	case *pgsyntax.Param:
		return e.param(x)
	case *pgsyntax.Unary:
		return e.unary(x)
	case *pgsyntax.Binary:
		return e.binary(x)
	case *pgsyntax.Is:
		return e.is(x)
	case *pgsyntax.Between:
		return e.between(x)
	case *pgsyntax.In:
		return e.in(x)
	case *pgsyntax.Case:
		return e.caseExpr(x)
	case *pgsyntax.Cast:
		return e.cast(x)
	case *pgsyntax.FuncCall:
		return e.call(x)
	case *pgsyntax.Exists:
		return e.exists(x)
	case *pgsyntax.Subquery:
		return e.scalarQuery(x)
	case *pgsyntax.Quantified:
		return e.quantified(x)
	case *pgsyntax.Array:
		return e.constructed(x, sqltype.Type{})
	case *pgsyntax.Subscript:
		return e.subscript(x)
	case *pgsyntax.Row:
		e.later(unsupported(x.Pos, "a row value is").WithHint("Name its columns one by one. Different pairs are counted by SELECT count(*) FROM (SELECT DISTINCT a, b FROM t) AS s."))
		args, err := e.args(x.Elems)
		return &Unplanned{Name: "ROW", T: e.of(oidRecord), Args: args}, err
	case *pgsyntax.Collate:
		return e.collate(x)
	case *pgsyntax.Paren:
		return e.expr(x.X)
	case *pgsyntax.Field:
		return e.field(x)
	case *pgsyntax.Star:
		return nil, sqlerr.New(sqlerr.Syntax, "* cannot stand in an expression").At(int(x.Pos))
	}
	return nil, unsupported(x.Position(), "this expression is")
}
