package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

func (e *exprs) subquery(s *pgsyntax.Select) (*bound, error) { return e.query(s, e.scope, false) }

func (e *exprs) exists(x *pgsyntax.Exists) (Scalar, error) {
	r, err := e.subquery(x.Query)
	if err != nil {
		return nil, err
	}
	return &Subquery{Kind: ExistsQuery, Query: r.rel, T: sqltype.Bool, Pos: int(x.Pos)}, nil
}

// scalarQuery is (SELECT ...) as a value, or ARRAY(SELECT ...).
func (e *exprs) scalarQuery(x *pgsyntax.Subquery) (Scalar, error) {
	r, err := e.subquery(x.Query)
	if err != nil {
		return nil, err
	}
	if len(r.outputs) != 1 {
		return nil, sqlerr.New(sqlerr.Syntax, "subquery must return only one column").At(int(x.Pos))
	}
	out := &Subquery{Kind: ScalarQuery, Query: r.rel, Cols: []ColID{r.outputs[0].col}, Pos: int(x.Pos)}
	out.T = e.columns[r.outputs[0].col].Type
	if x.Array {
		out.Kind = ArrayQuery
		elem := out.T
		if out.T = e.of(e.array(elem.OID)); e.elem(elem.OID) != 0 {
			out.T = elem
		}
		if out.T.OID == 0 {
			return nil, sqlerr.New(sqlerr.UndefinedObject, "could not find array type for data type %s", typeName(elem)).At(int(x.Pos))
		}
		out.T.Typmod = elem.Typmod
	}
	return out, nil
}

// quantifiedQuery is x op ANY|ALL (SELECT ...), also of rows; IN is = ANY.
func (e *exprs) quantifiedQuery(left pgsyntax.Expr, op string, kind SubqueryKind, s *pgsyntax.Select, pos pgsyntax.Pos) (Scalar, error) {
	list := []pgsyntax.Expr{left}
	if row, ok := left.(*pgsyntax.Row); ok {
		list = row.Elems
	}
	l, r, right, err := e.besideQuery(list, s, pos)
	if err != nil {
		return nil, err
	}
	out := &Subquery{Kind: kind, Query: r.rel, T: sqltype.Bool, Pos: int(pos)}
	for _, o := range r.outputs {
		out.Cols = append(out.Cols, o.col)
	}
	cond, err := e.compareRows(op, l, right, pos)
	if err != nil {
		return nil, err
	}
	if out.Cond, err = e.takeLeft(cond, out); err != nil {
		return nil, err
	}
	return out, nil
}

// besideQuery binds what is compared with a subquery's columns, and those.
func (e *exprs) besideQuery(list []pgsyntax.Expr, s *pgsyntax.Select, pos pgsyntax.Pos) (left []Scalar, r *bound, right []Scalar, err error) {
	if left, err = e.args(list); err != nil {
		return nil, nil, nil, err
	}
	if r, err = e.subquery(s); err != nil {
		return nil, nil, nil, err
	}
	switch {
	case len(left) < len(r.outputs):
		return nil, nil, nil, sqlerr.New(sqlerr.Syntax, "subquery has too many columns").At(int(pos))
	case len(left) > len(r.outputs):
		return nil, nil, nil, sqlerr.New(sqlerr.Syntax, "subquery has too few columns").At(int(pos))
	}
	for _, o := range r.outputs {
		right = append(right, e.col(o.col))
	}
	return left, r, right, nil
}

// rowQuery is (x, y) op (SELECT ...): what the comparison is for the only row, NULL without one. It is computed in the subquery.
func (e *exprs) rowQuery(op string, row *pgsyntax.Row, s *pgsyntax.Subquery, pos pgsyntax.Pos) (Scalar, error) {
	l, r, right, err := e.besideQuery(row.Elems, s.Query, pos)
	if err != nil {
		return nil, err
	}
	for i, x := range l {
		if _, isCol := x.(*Col); !isCol && hasCols(x) && e.aggs != nil && e.aggs.agg != nil { // perhaps a grouping expression, which is none in there
			return nil, unsupported(start(row.Elems[i]), "an expression over groups beside a subquery of rows is").WithHint("Compute it in a derived table.")
		}
	}
	cond, err := e.compareRows(op, l, right, pos)
	if err != nil {
		return nil, err
	}
	id := e.newCol(ColumnInfo{Name: Anonymous, Type: cond.Type()})
	return &Subquery{Kind: ScalarQuery, Query: &Project{Input: r.rel, Items: []Item{{ID: id, Expr: cond}}}, Cols: []ColID{id}, T: cond.Type(), Pos: int(s.Pos)}, nil
}

// takeLeft gives what stands beside a subquery's columns in a comparison columns of its own: it is computed outside.
func (e *exprs) takeLeft(x Scalar, q *Subquery) (Scalar, error) {
	inside, column := false, false
	VisitCols(x, func(c *Col) { inside = inside || slices.Contains(q.Cols, c.ID) })
	if c, ok := x.(*Col); ok {
		column = slices.Contains(q.Cols, c.ID)
	}
	switch {
	case column:
		return x, nil
	case inside:
		return mapChildren(x, func(y Scalar) (Scalar, error) { return e.takeLeft(y, q) })
	}
	id := e.newCol(ColumnInfo{Name: Anonymous, Type: x.Type()})
	q.Left = append(q.Left, Item{ID: id, Expr: x})
	return e.col(id), nil
}
