package catalog

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestMockHidden: made-up values of a column that refers to one whose domain or range the analyst may not see are not of it; they are where it is seen.
func TestMockHidden(t *testing.T) {
	number := func(n int64) *num.Interval {
		return &num.Interval{Lo: decimal.NewFromInt(n), Hi: decimal.NewFromInt(n + 100)}
	}
	to := &plan.Table{Name: "people", UnitCol: 0, Keys: [][]int{{0}}, Columns: []plan.TableColumn{
		{Name: "id", Type: sqltype.Int4, Range: number(7000)}, {Name: "age", Type: sqltype.Int4, Range: number(8000)}, {Name: "kind", Type: sqltype.Text, Domain: &plan.Domain{Values: []sqltype.Value{"secret"}}}}}
	from := &plan.Table{Name: "visits", UnitCol: 0, Columns: []plan.TableColumn{{Name: "person", Type: sqltype.Int4, Visible: true}, {Name: "age", Type: sqltype.Int4, Visible: true}, {Name: "kind", Type: sqltype.Text, Visible: true}},
		References: []plan.Reference{{Columns: []int{0}, Table: to, RefColumns: []int{0}}, {Columns: []int{1}, Table: to, RefColumns: []int{1}}, {Columns: []int{2}, Table: to, RefColumns: []int{2}}}}
	for c := range from.Columns {
		for i := range 20 {
			for _, seen := range []bool{false, true} {
				to.Columns[c].Visible = seen
				got := mockValue(from, c, i, 0)
				n, _ := got.(int64)
				if tells := n >= 7000 || fmt.Sprint(got) == "secret"; tells != seen {
					t.Errorf("%s of row %d, seen %v: %v", from.Columns[c].Name, i, seen, got)
				}
			}
		}
	}
}
