package private

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// TestInputKeys: what the analysis took for a key of released rows is one, or nothing is made of them. Blanks at the end of char(n) tell no rows apart; NULLs are alike.
func TestInputKeys(t *testing.T) {
	char := sqltype.Type{OID: sqltype.OIDBPChar, Typmod: 8}
	in := divide.Input{
		Computed: divide.Computed{Root: &plan.Scan{Columns: []plan.ColID{1, 2, 3}}},
		Rows:     &plan.Table{Columns: []plan.TableColumn{{Type: char}, {Type: sqltype.Int8}, {Type: sqltype.Int8}}, Keys: [][]int{{0, 1}}},
	}
	row := func(vs ...sqltype.Value) []sqltype.Value { return vs }
	for _, c := range []struct {
		rows [][]sqltype.Value
		key  bool
	}{
		{[][]sqltype.Value{row("a", int64(1), int64(7)), row("a", int64(2), int64(7)), row("b", int64(1), int64(7)), row(nil, int64(1), int64(7)), row("a", nil, int64(7))}, true},
		{[][]sqltype.Value{row("a", int64(1), int64(7)), row("b", int64(1), int64(7)), row("a", int64(1), int64(8))}, false},
		{[][]sqltype.Value{row("a   ", int64(1), int64(7)), row("a", int64(1), int64(7))}, false},
		{[][]sqltype.Value{row(nil, int64(1), int64(7)), row(nil, int64(1), int64(7))}, false},
	} {
		rows, err := rowsOf(&eval.Relation{Cols: []plan.ColID{1, 2, 3}, Rows: c.rows}, in)
		if c.key != (err == nil) || c.key && fmt.Sprint(rows) != fmt.Sprint(c.rows) || !c.key && sqlerr.ID(err) != sqlerr.Internal.ID {
			t.Errorf("%v: %v, %v", c.rows, rows, err)
		}
	}
}
