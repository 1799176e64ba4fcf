package funcs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// duckOnly are values that a DuckDB file may hold and PostgreSQL does not.
var duckOnly = map[sqltype.OID][]string{
	sqltype.OIDDate:        {"5877642-06-25 (BC)", "290309-12-22 (BC)", "5881580-07-10", "294247-01-10"},
	sqltype.OIDTimestamp:   {"290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806"},
	sqltype.OIDTimestamptz: {"290309-12-22 (BC) 00:00:00+00", "294247-01-10 04:00:54.775806+00"},
	sqltype.OIDInterval:    {"2147483647 months", "-2147483648 months", "2147483647 days", "9223372036854775807 microseconds", "-9223372036854775807 microseconds"},
}

// TestDuckDBOnly: no total form raises for what DuckDB alone can hold, beside any value of the other arguments.
func TestDuckDBOnly(t *testing.T) {
	duck := openDuck(t)
	for _, f := range tested(t) {
		for _, ts := range variants(f) {
			rt := results(f)[0]
			named, lists, own := nonEmpty(f.placed()), [][]string(nil), false
			for i, ty := range ts {
				if slices.Contains(constPlaces(f), i) {
					continue
				}
				lists = append(lists, append(slices.Clone(duckOnly[ty.OID]), duckValues(f, i, ty)...))
				own = own || duckOnly[ty.OID] != nil
			}
			form := f.TotalForm.Print(DuckDB, f.placed(), ts, rt)
			if !own || form == "" {
				continue
			}
			var rows []string
			each(lists, nil, func(args []*string) {
				var row []string
				k := 0
				for i, ty := range ts {
					if slices.Contains(constPlaces(f), i) {
						continue
					}
					v := "NULL"
					if args[k] != nil {
						v = quoteText(*args[k])
					}
					row, k = append(row, "CAST("+v+" AS "+duckType(ty)+")"), k+1
				}
				rows = append(rows, "("+strings.Join(row, ", ")+")")
			})
			query := fmt.Sprintf("SELECT count(v) FROM (SELECT %s AS v FROM (VALUES %s) AS t(%s))", form, strings.Join(rows, ", "), strings.Join(named, ", "))
			if _, err := duck.ExecContext(context.Background(), query); err != nil {
				t.Errorf("%s: %.300v\n%s", signature(f, rt), err, form)
			}
		}
	}
}

// placed are a row's argument texts by name.
func (f *Func) placed() []string {
	out := blanks(f)
	for i, c := range out {
		if c != "" {
			out[i] = places[i]
		}
	}
	return out
}
