package release

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/secret"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// pairRows are rows of pairs.
type pairRows struct {
	rows [][]sqltype.Value
	at   int
}

func (r *pairRows) Next() bool { r.at++; return r.at <= len(r.rows) }
func (r *pairRows) Err() error { return nil }
func (r *pairRows) Close()     {}
func (r *pairRows) Row() []secret.Value {
	var out []secret.Value
	for _, v := range r.rows[r.at-1] {
		out = append(out, secret.Of(v))
	}
	return out
}

// TestReadFlows: pairs are added up by group and unit, however a unit is spelled; other groups' rows are dropped; what does not fit is a failure, and what weights add up to is none.
func TestReadFlows(t *testing.T) {
	a := &sensitivity.Analysis{Pairs: &sensitivity.Pairs{}, Keys: []sensitivity.Key{{Type: sqltype.Text}}, Measures: make([]sensitivity.Measure, 1),
		Groups: sensitivity.Groups{Public: true, Count: 2, Sources: []sensitivity.Source{{Keys: []int{0}, Tuples: [][]sqltype.Value{{"AIR"}, {nil}}}}}}
	cols := []sqlgen.Column{{Role: sqlgen.RoleKey}, {Role: sqlgen.RoleUnit}, {Role: sqlgen.RoleUnit, Index: 1}, {Role: sqlgen.RoleMeasure}}
	dec := decimal.RequireFromString
	most := int64(1) << 60
	f, err := readFlows(a, cols, &pairRows{rows: [][]sqltype.Value{
		{"AIR", int64(1), "x", int64(5)}, {"AIR", int64(2), "x", int64(7)}, {"SHIP", int64(1), "x", int64(100)}, {nil, dec("1.50"), "y", most}, {nil, dec("1.5"), "z", most}, {nil, dec("1.50"), "w", most},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, g := range f.groups {
		got += fmt.Sprint(g.keys, " ")
		for _, limit := range []int64{3, 6, 1 << 40} {
			got += fmt.Sprint(g.graphs[0].Value(limit), " ")
		}
	}
	if want := fmt.Sprint("[AIR] 3 6 12 [<nil>] 3 6 ", int64(1)<<40, " "); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	for name, row := range map[string][]sqltype.Value{"no unit": {"AIR", nil, "x", int64(1)}, "no second unit": {"AIR", int64(1), nil, int64(1)}, "no weight": {"AIR", int64(1), "x", nil},
		"a weight below 0": {"AIR", int64(1), "x", int64(-1)}, "a wide weight": {"AIR", int64(1), "x", big.NewInt(1)}, "a column less": {"AIR", int64(1), "x"}} {
		if _, err := readFlows(a, cols, &pairRows{rows: [][]sqltype.Value{row}}); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if _, err := readFlows(&sensitivity.Analysis{}, cols, &pairRows{}); err == nil {
		t.Error("rows of one unit were read as pairs")
	}
}
