package funcs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestDuckTypes: what a form gives has on DuckDB the type that the binder says, by which the calls around it are chosen there too.
func TestDuckTypes(t *testing.T) {
	duck := openDuck(t)
	for _, f := range tested(t) {
		for _, rt := range results(f) {
			want := duckType(rt)
			for _, ts := range variants(f) {
				var cols []string
				for i, ty := range ts {
					if !slices.Contains(constPlaces(f), i) {
						cols = append(cols, "CAST(NULL AS "+duckType(ty)+") AS "+places[i])
					}
				}
				form := f.TotalForm.Print(DuckDB, f.placed(), ts, rt)
				if form == "" {
					continue
				}
				var got, wanted string
				query := fmt.Sprintf("SELECT typeof(%s), typeof(CAST(NULL AS %s)) FROM (SELECT %s)", form, want, strings.Join(append(cols, "1"), ", "))
				if rt.OID == sqltype.OIDNumeric && rt.Typmod < 0 { // any decimal
					query = strings.Replace(query, want, "DECIMAL(18, 3)", 1)
				}
				if err := duck.QueryRowContext(context.Background(), query).Scan(&got, &wanted); err != nil {
					t.Errorf("%s: %.200v\n%s", signature(f, rt), err, form)
				} else if got != wanted && (rt.OID != sqltype.OIDNumeric || rt.Typmod >= 0 || !strings.HasPrefix(got, "DECIMAL")) {
					t.Errorf("%s: %s, want %s\n%.200s", signature(f, rt), got, wanted, form)
				}
			}
		}
	}
}

// TestDuckNulls: where DuckDB folds an argument to NULL, whichever it is, or all, a form still has a type, so that the functions around it are found. Decimals may lose theirs, and
// stand here as such: no form fails for it.
func TestDuckNulls(t *testing.T) {
	duck := openDuck(t)
	for _, f := range tested(t) {
		for _, rt := range results(f) {
			for _, ts := range variants(f) {
				for null := -1; null < len(ts); null++ {
					form, cols := f.withNull(null, ts, rt)
					if form == "" {
						break
					}
					var got string
					if err := duck.QueryRowContext(t.Context(), fmt.Sprintf("SELECT typeof(%s) FROM (SELECT %s)", form, cols)).Scan(&got); err != nil {
						t.Errorf("%s, argument %d: %.200v\n%s", signature(f, rt), null, err, form)
					} else if got == `"NULL"` && rt.OID != sqltype.OIDNumeric {
						t.Errorf("%s, argument %d: no type\n%.300s", signature(f, rt), null, form)
					}
				}
			}
		}
	}
}

// withNull is a row's form with a constant NULL as its argument of a number, or as all of them where it is -1, over the others as columns.
func (f *Func) withNull(null int, ts []sqltype.Type, result sqltype.Type) (form, cols string) {
	args := f.placed()
	cols = "1"
	for i, t := range ts {
		value := "CAST(NULL AS " + duckType(t) + ")"
		switch {
		case slices.Contains(constPlaces(f), i):
		case null >= 0 && i != null:
			cols += ", " + value + " AS " + places[i]
		case t.OID == sqltype.OIDNumeric:
			args[i] = "(" + value + " + " + value + ")"
		default:
			args[i] = value
		}
	}
	return f.TotalForm.Print(DuckDB, args, ts, result), cols
}
