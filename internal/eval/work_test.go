package eval

import (
	"context"
	"errors"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestRowsAreLimited: rows that are made count even where no column of them is read, and so do columns and lists that few rows become.
func TestRowsAreLimited(t *testing.T) {
	scan, same := &plan.Scan{}, []plan.ColID{}
	list, _ := sqltype.ArrayOf(sqltype.Int4)
	wide, lists, calls := &plan.Project{Input: scan}, &plan.Aggregate{Input: scan}, &plan.Window{Input: scan}
	for i := range 1600 {
		id := plan.ColID(i)
		wide.Items = append(wide.Items, plan.Item{ID: id, Expr: &plan.Const{Value: int64(1), T: sqltype.Int4}})
		lists.Aggs = append(lists.Aggs, plan.AggItem{ID: id, Fn: "array_agg", Arg: &plan.Const{Value: int64(1), T: sqltype.Int4}, Type: list})
		calls.Items = append(calls.Items, plan.WindowItem{ID: id, Fn: "row_number", Type: sqltype.Int8})
	}
	for name, c := range map[string]struct {
		root plan.Rel
		rows int
	}{
		"join":      {&plan.Join{Kind: plan.InnerJoin, Left: scan, Right: scan}, 2100},
		"union all": {&plan.SetOp{Op: union, All: true, Left: scan, Right: scan, Columns: same, LeftCols: same, RightCols: same}, maxMade/2 + 1},
		"columns":   {wide, 3000},
		"lists":     {lists, 3000},
		"windows":   {calls, 3000},
	} {
		rows := make([][]sqltype.Value, c.rows)
		leaf := func(n plan.Rel) (*Relation, bool) { return &Relation{Rows: rows}, n == plan.Rel(scan) }
		if _, err := Run(context.Background(), c.root, leaf, &plan.Query{}, nil); sqlerr.ID(err) != sqlerr.TooComplex.ID {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// patient is a context that is over when it has been asked so often.
type patient struct {
	context.Context
	asked int
}

func (p *patient) Err() error {
	if p.asked--; p.asked < 0 {
		return context.Canceled
	}
	return nil
}

// TestLongCallsEnd: over long values a statement of few rows looks at the context, and so does one call that takes long.
func TestLongCallsEnd(t *testing.T) {
	s := newShapes(t)
	for sql, asked := range map[string]int{
		"select length(('1e131071'::numeric / 3 + id)::text) from t":                                             2,
		"select length(lpad('x', 60000, 'x') || id) from t":                                                      2,
		"select sqrt(repeat('9', 131000)::numeric) from t limit 3":                                               2,
		"select repeat('a', 300000) like '%' || repeat('a', 3000) || 'b' from (select id from t limit 1) q":      1,
		"select repeat('a', 300000) ilike '%' || repeat('a', 3000) || 'b' from (select id from t limit 1) q":     1,
		"select repeat('a', 300000) similar to '(a|b)*c' from (select id from t limit 1) q":                      1,
		"select '1e131071'::numeric in ('2e131071'::numeric, '3e131071'::numeric) from t":                        2,
		"select g is distinct from lpad('x', 60000, 'x') from t":                                                 2,
		"select lpad('x', 60000, 'x') = any (array[lpad('x', 60000, 'x') || 'y', lpad('x', 60000, 'z')]) from t": 2,
	} {
		_, _, err := s.runIn(&patient{Context: context.Background(), asked: asked}, sql)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
