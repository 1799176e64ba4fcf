package eval

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestEqualitiesAreFound: joins and correlated subqueries that compare by equality look at the rows that are equal, not at all pairs.
func TestEqualitiesAreFound(t *testing.T) {
	const n = 3000
	cols := func(first plan.ColID) *plan.Aggregate {
		return &plan.Aggregate{Input: &plan.Values{Columns: []plan.ColID{first, first + 1}}, Keys: []plan.ColID{first, first + 1}}
	}
	given := func(r plan.Rel) *Relation {
		out := &Relation{Cols: r.Cols()}
		for i := range int64(n) {
			out.Rows = append(out.Rows, []sqltype.Value{i, i * 7 % n})
		}
		return out
	}
	left, right := cols(1), cols(3)
	on := call(compareFn("="), sqltype.Bool, &plan.Col{ID: 1, T: sqltype.Int8}, &plan.Col{ID: 4, T: sqltype.Int8})
	sub := &plan.Subquery{Kind: plan.ScalarQuery, Query: &plan.Project{Input: &plan.Filter{Input: right, Cond: on}, Items: []plan.Item{{ID: 5, Expr: &plan.Col{ID: 3, T: sqltype.Int8}}}}, Cols: []plan.ColID{5}, T: sqltype.Int8}
	for name, root := range map[string]plan.Rel{
		"join":      &plan.Join{Kind: plan.InnerJoin, Left: left, Right: right, On: on},
		"left join": &plan.Join{Kind: plan.LeftJoin, Left: left, Right: right, On: on},
		"full join": &plan.Join{Kind: plan.FullJoin, Left: left, Right: right, On: on},
		"subquery":  &plan.Project{Input: left, Items: []plan.Item{{ID: 1, Expr: &plan.Col{ID: 1, T: sqltype.Int8}}, {ID: 3, Expr: sub}, {ID: 4, Expr: &plan.Col{ID: 1, T: sqltype.Int8}}}},
	} {
		c := bare()
		c.leaf = func(r plan.Rel) (step, bool) {
			if r != plan.Rel(left) && r != plan.Rel(right) {
				return step{}, false
			}
			return step{cols: r.Cols(), rows: func(*machine) ([][]sqltype.Value, error) { return given(r).Rows, nil }}, true
		}
		s, err := c.rel(root)
		if err != nil {
			t.Fatal(name, err)
		}
		m := c.machine(context.Background(), nil)
		rows, err := s.rows(m)
		if err != nil || len(rows) != n || m.count > 4*n {
			t.Errorf("%s: %v, %d rows in %d steps", name, err, len(rows), m.count)
			continue
		}
		places := scopeOf(s.cols)
		for _, r := range rows {
			if r[places[3]].(int64)*7%n != r[places[1]] || r[places[4]] != r[places[1]] {
				t.Errorf("%s: %v", name, r)
				break
			}
		}
	}
}
