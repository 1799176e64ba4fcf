package plan

import (
	"math"
	"strconv"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// orderBy binds ORDER BY: an output name comes before an input column's; a number is a place in the select list.
func (q *selecting) orderBy() error { return q.orderItems(q.stmt.OrderBy, "ORDER BY") }

func (q *selecting) orderItems(list []pgsyntax.OrderItem, clause string) error {
	e := q.exprs(clause)
	for _, o := range list {
		item := sortItem{target: -1, pos: o.Expr.Position(), desc: o.Desc, nullsFirst: o.Desc}
		if o.NullsFirst != nil {
			item.nullsFirst, item.saysNulls = *o.NullsFirst, true
		}
		switch x := o.Expr.(type) {
		case *pgsyntax.Literal:
			n, err := strconv.Atoi(x.Text)
			if x.Kind != pgsyntax.IntegerLit || err != nil || n > math.MaxInt32 {
				return sqlerr.New(sqlerr.Syntax, "non-integer constant in %s", clause).At(int(x.Pos))
			}
			if n < 1 || n > len(q.targets) {
				return sqlerr.New(sqlerr.InvalidColumnRef, "%s position %s is not in select list", clause, x.Text).At(int(x.Pos))
			}
			item.target = n - 1
		case *pgsyntax.ColumnRef:
			if len(x.Path) == 1 {
				for i, t := range q.targets {
					if t.name != x.Path[0] {
						continue
					}
					if item.target >= 0 && scalarText(q.targets[item.target].expr) != scalarText(t.expr) {
						return sqlerr.New(sqlerr.AmbiguousColumn, "%s %q is ambiguous", clause, x.Path[0]).At(int(x.Pos))
					}
					if item.target < 0 {
						item.target = i
					}
				}
			}
		}
		if item.target < 0 {
			var err error
			if item.expr, err = e.expr(o.Expr); err != nil {
				return err
			}
			if item.expr.Type().OID == sqltype.OIDUnknown {
				if item.expr, err = e.implicit(item.expr, sqltype.Text, item.pos); err != nil {
					return err
				}
			}
		}
		key := item.expr
		if item.target >= 0 {
			key = q.targets[item.target].expr
		}
		if err := q.comparable(key, true, item.pos); err != nil {
			return err
		}
		q.sort = append(q.sort, item)
	}
	return nil
}

// limit binds LIMIT and OFFSET: constants or parameters.
func (q *selecting) limit(rel Rel) (Rel, error) {
	l := &Limit{Input: rel}
	var err error
	if l.Count, err = q.limitValue(q.stmt.Limit, "LIMIT"); err != nil {
		return nil, err
	}
	if l.Offset, err = q.limitValue(q.stmt.Offset, "OFFSET"); err != nil {
		return nil, err
	}
	if _, l.Ties = q.stmt.Limit.(*pgsyntax.Ties); l.Ties && len(q.stmt.OrderBy) == 0 {
		return nil, sqlerr.New(sqlerr.Syntax, "WITH TIES cannot be specified without ORDER BY clause").At(int(q.stmt.Limit.Position()))
	}
	if l.Count == nil && l.Offset == nil {
		return rel, nil
	}
	return l, nil
}

func (q *selecting) limitValue(x pgsyntax.Expr, clause string) (Scalar, error) {
	if x == nil {
		return nil, nil
	}
	if ties, ok := x.(*pgsyntax.Ties); ok {
		x = ties.X
	}
	e := &exprs{binder: q.binder, scope: q.scope, clause: clause}
	v, err := e.expr(x)
	if err != nil {
		return nil, err
	}
	if v, err = e.assign(v, sqltype.Int8, clause, x.Position()); err != nil {
		return nil, err
	}
	if hasCols(v) {
		return nil, sqlerr.New(sqlerr.InvalidColumnRef, "argument of %s must not contain variables", clause).At(int(x.Position()))
	}
	if c, ok := v.(*Const); ok {
		if n, ok := c.Value.(int64); ok && n < 0 { // PostgreSQL says it as the query runs; over private rows that were after the charge
			kind := map[string]sqlerr.Kind{"LIMIT": sqlerr.InvalidRowCount, "OFFSET": sqlerr.InvalidRowOffset}[clause]
			return nil, sqlerr.New(kind, "%s must not be negative", clause).At(int(x.Position()))
		}
	}
	return v, nil
}
