package funcs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/sqltype"
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
				form := f.Spell(DuckDB, f.placed(), ts, rt)
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
