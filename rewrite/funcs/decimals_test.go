package funcs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// TestComparedDecimals: a comparison of two declared decimals never raises and is the numbers' own, at the ends of what each type holds. Only where the two have no room together in DuckDB's 38 digits (roomy) may it be NULL there.
func TestComparedDecimals(t *testing.T) {
	pg, duck := connect(t), openDuck(t)
	for d, declared := range map[dialect.Dialect][][2]int{
		DuckDB: {{1, 0}, {1, 1}, {4, 4}, {9, 2}, {18, 0}, {18, 18}, {19, 0}, {37, 0}, {37, 1}, {38, 0}, {38, 1}, {38, 19}, {38, 37}, {38, 38}},
		// PostgreSQL 13 and 14 refuse a scale below 0 or above the precision.
		Postgres: {{1, 0}, {38, 19}, {39, 0}, {39, 39}, {1000, 0}, {1000, 500}, {1000, 1000}},
	} {
		for _, a := range declared {
			for _, b := range declared {
				types := []sqltype.Type{sqltype.NumericOf(a[0], a[1]), sqltype.NumericOf(b[0], b[1])}
				query, want := comparedDecimals(d, types)
				var got string
				var err error
				if d == Postgres {
					err = pg.QueryRow(t.Context(), query).Scan(&got)
				} else {
					err = duck.QueryRowContext(t.Context(), query).Scan(&got)
				}
				room := max(a[0]-a[1], b[0]-b[1])+max(a[1], b[1]) <= 38
				switch {
				case roomy(types) != room:
					t.Errorf("%v: roomy is %v", types, !room)
				case err != nil:
					t.Errorf("%s, %v: %v\n%.300s", d, types, err, query)
				case len(got) != len(want):
					t.Errorf("%s, %v: %d answers, want %d", d, types, len(got), len(want))
				}
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] && (got[i] != 'N' || d == Postgres || room) {
						t.Errorf("%s, %v: answer %d is %c, want %c", d, types, i, got[i], want[i])
						break
					}
				}
			}
		}
	}
}

// comparedDecimals has every comparison of every pair of values of two types: one letter each, t, f or N.
func comparedDecimals(d dialect.Dialect, types []sqltype.Type) (query, want string) {
	var rows []string
	var letters [6]strings.Builder
	var rowOf []*Func
	for _, f := range comparisons() {
		if slices.Equal(f.Args, oids(numeric, numeric)) {
			rowOf = append(rowOf, f)
		}
	}
	for _, x := range decimalEdges(types[0]) {
		for _, y := range decimalEdges(types[1]) {
			rows = append(rows, fmt.Sprintf("(%d, CAST('%s' AS %s), CAST('%s' AS %s))", len(rows), x, castName(types[0]), y, castName(types[1])))
			for i, f := range rowOf {
				v, _ := f.Eval([]sqltype.Value{decimal.RequireFromString(x), decimal.RequireFromString(y)}, types, sqltype.Bool)
				letters[i].WriteString(map[sqltype.Value]string{true: "t", false: "f"}[v])
			}
		}
	}
	var lists []string
	for i, f := range rowOf {
		for _, long := range []string{"", "/*" + strings.Repeat("x", inlineLimit) + "*/"} {
			form := f.TotalForm.Print(d, []string{"(x" + long + ")", "(y" + long + ")"}, types, sqltype.Bool)
			lists = append(lists, "coalesce(string_agg(CASE WHEN "+form+" THEN 't' WHEN NOT "+form+" THEN 'f' ELSE 'N' END, '' ORDER BY k), '')")
			want += letters[i].String()
		}
	}
	return "SELECT " + strings.Join(lists, " || ") + " FROM (VALUES " + strings.Join(rows, ", ") + ") AS v(k, x, y)", want
}

// decimalEdges are the ends of what a declared decimal holds, and its least steps.
func decimalEdges(t sqltype.Type) []string {
	p, s, _ := t.NumericMod()
	most, step := decimal.RequireFromString(strings.Repeat("9", p)).Shift(int32(-s)), decimal.New(1, int32(-s))
	out := []string{"0"}
	for _, x := range []decimal.Decimal{most, most.Sub(step), step} {
		out = append(out, x.StringFixed(int32(s)), x.Neg().StringFixed(int32(s)))
	}
	return out
}
