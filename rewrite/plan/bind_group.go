package plan

import (
	"math"
	"strconv"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// groupBy binds GROUP BY: an input column's name comes before an output name; a number is a place in the select list.
func (q *selecting) groupBy() error {
	e := &exprs{binder: q.binder, scope: q.scope, clause: "GROUP BY"}
	for _, g := range q.groupItems(q.stmt.GroupBy) {
		x, err := q.groupItem(e, g)
		if err != nil {
			return err
		}
		if x.Type().OID == sqltype.OIDUnknown {
			if x, err = e.implicit(x, sqltype.Text, g.Position()); err != nil {
				return err
			}
		}
		if err := q.comparable(x, false, g.Position()); err != nil {
			return err
		}
		text := scalarText(x)
		if _, ok := q.keyText[text]; ok {
			continue
		}
		id := q.column(x, &q.below, outputName(g))
		q.keyText[text] = id
		q.agg.Keys = append(q.agg.Keys, id)
	}
	return nil
}

// groupItems are all expressions of GROUP BY, those of lists and grouping sets too.
func (q *selecting) groupItems(list []pgsyntax.Expr) []pgsyntax.Expr {
	var out []pgsyntax.Expr
	for _, g := range list {
		switch g := g.(type) {
		case *pgsyntax.Grouping:
			q.later(unsupported(g.Pos, g.Kind+" is").WithHint("Ask each grouping as a statement of its own."))
			for _, set := range g.Sets {
				out = append(out, q.groupItems(set)...)
			}
		case *pgsyntax.Row:
			out = append(out, q.groupItems(g.Elems)...)
		default:
			out = append(out, g)
		}
	}
	return out
}

// distinctOn binds DISTINCT ON, whose names and numbers mean what they mean in ORDER BY.
func (q *selecting) distinctOn() error {
	if len(q.stmt.DistinctOn) == 0 {
		return nil
	}
	items := make([]pgsyntax.OrderItem, len(q.stmt.DistinctOn))
	for i, x := range q.stmt.DistinctOn {
		items[i].Expr = x
	}
	sort := q.sort
	err := q.orderItems(items, "DISTINCT ON")
	q.sort = sort
	return err
}

func (q *selecting) groupItem(e *exprs, g pgsyntax.Expr) (Scalar, error) {
	switch g := g.(type) {
	case *pgsyntax.Literal:
		n, err := strconv.Atoi(g.Text)
		if g.Kind != pgsyntax.IntegerLit || err != nil || n > math.MaxInt32 {
			return nil, sqlerr.New(sqlerr.Syntax, "non-integer constant in GROUP BY").At(int(g.Pos))
		}
		if n < 1 || n > len(q.targets) {
			return nil, sqlerr.New(sqlerr.InvalidColumnRef, "GROUP BY position %s is not in select list", g.Text).At(int(g.Pos))
		}
		return q.groupTarget(q.targets[n-1], g.Pos)
	case *pgsyntax.ColumnRef:
		if len(g.Path) == 1 {
			if len(q.scope.named(g.Path)) == 0 {
				found := -1
				for i, t := range q.targets {
					switch {
					case t.name != g.Path[0]:
					case found < 0:
						found = i
					case scalarText(q.targets[found].expr) != scalarText(t.expr):
						return nil, sqlerr.New(sqlerr.AmbiguousColumn, "GROUP BY %q is ambiguous", t.name).At(int(g.Pos))
					}
				}
				if found >= 0 {
					return q.groupTarget(q.targets[found], g.Pos)
				}
			}
		}
	}
	return e.expr(g)
}

// groupTarget is an entry of the select list that GROUP BY names.
func (q *selecting) groupTarget(t target, pos pgsyntax.Pos) (Scalar, error) {
	if f := firstCall(t.ast, isAggregate); f != nil {
		return nil, sqlerr.New(sqlerr.Grouping, "aggregate functions are not allowed in GROUP BY").At(int(f.Pos))
	}
	if f := firstCall(t.ast, func(f *pgsyntax.FuncCall) bool { return f.Over != nil }); f != nil {
		return nil, sqlerr.New(sqlerr.Windowing, "window functions are not allowed in GROUP BY").At(int(f.Pos))
	}
	if t.expr.Type().OID == sqltype.OIDUnknown {
		return q.implicit(t.expr, sqltype.Text, pos)
	}
	return t.expr, nil
}

// firstCall finds a call in an expression, outside of its subqueries.
func firstCall(x pgsyntax.Expr, is func(*pgsyntax.FuncCall) bool) *pgsyntax.FuncCall {
	var found *pgsyntax.FuncCall
	pgsyntax.WalkExpr(x, &pgsyntax.Visitor{Expr: func(x pgsyntax.Expr) bool {
		if f, ok := x.(*pgsyntax.FuncCall); ok && found == nil && is(f) {
			found = f
		}
		return found == nil
	}, Query: func(*pgsyntax.Select) bool { return false }})
	return found
}
