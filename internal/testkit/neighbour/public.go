package neighbour

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// Reader is a plan.PublicReader on a test's database.
type Reader struct {
	DB      DB
	Dialect dialect.Dialect
}

// Distinct reads the values of a public table, in an order that does not depend on the database.
func (r Reader) Distinct(ctx context.Context, t *plan.Table, columns []int, limit int) ([][]sqltype.Value, error) {
	st, err := sqlgen.DistinctTuples(t, columns, limit, r.Dialect)
	if err != nil {
		return nil, err
	}
	rows, err := r.DB.Query(ctx, st)
	sort.Slice(rows, func(i, j int) bool { return fmt.Sprint(rows[i]) < fmt.Sprint(rows[j]) })
	return rows, err
}

// MostOften reads how many rows of a public relation have one value of columns.
func (r Reader) MostOften(ctx context.Context, of plan.Rel, by []plan.ColID) (uint64, error) {
	st, err := sqlgen.MostOften(of, by, r.Dialect)
	if err != nil {
		return 0, err
	}
	rows, err := r.DB.Query(ctx, st)
	if err != nil {
		return 0, err
	}
	return uint64(rows[0][0].(int64)), nil //nolint:gosec // a count
}

// Fixed is a plan.PublicReader without a database: the values by "table.column", one column at a time or none.
type Fixed map[string][]sqltype.Value

// Distinct gives the product of the columns' values.
func (f Fixed) Distinct(_ context.Context, t *plan.Table, columns []int, limit int) ([][]sqltype.Value, error) {
	out := [][]sqltype.Value{{}}
	for _, c := range columns {
		var next [][]sqltype.Value
		for _, o := range out {
			for _, v := range f[t.Name+"."+t.Columns[c].Name] {
				next = append(next, append(append([]sqltype.Value{}, o...), v))
			}
		}
		out = next
	}
	return out[:min(len(out), limit+1)], nil
}

// MostOften counts the rows of a table, whose columns list their values row by row, or of VALUES of constants.
func (f Fixed) MostOften(_ context.Context, r plan.Rel, by []plan.ColID) (uint64, error) {
	seen, most := map[string]uint64{}, uint64(0)
	count := func(columns []plan.ColID, rows int, value func(row, column int) any) {
		for row := range rows {
			key := ""
			for i, id := range columns {
				if slices.Contains(by, id) {
					key += fmt.Sprintf("%v;", value(row, i))
				}
			}
			seen[key]++
			most = max(most, seen[key])
		}
	}
	plan.VisitRels(r, func(r plan.Rel) bool {
		switch n := r.(type) {
		case *plan.Distinct: // of one column
			most = 1
			return len(by) == 0
		case *plan.Values:
			count(n.Columns, len(n.Rows), func(row, column int) any { return n.Rows[row][column].(*plan.Const).Value })
		case *plan.Scan:
			if n.Rows != nil {
				return true
			}
			values, rows := make([][]sqltype.Value, len(n.Columns)), 0
			for i, c := range n.Table.Columns {
				values[i] = f[n.Table.Name+"."+c.Name]
				rows = max(rows, len(values[i]))
			}
			count(n.Columns, rows, func(row, column int) any {
				if row < len(values[column]) {
					return values[column][row]
				}
				return nil
			})
		default:
			return true
		}
		return false
	})
	return most, nil
}
