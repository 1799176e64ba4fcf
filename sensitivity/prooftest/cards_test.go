package prooftest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestNeighboursOfUniqueUnits: a unit's column that is unique and may be NULL gives each unit one row, whether rows without a person are dropped or units of their own. Without a unit totals change by what is claimed; dropped rows change nothing. A print that does not drop them is caught.
func TestNeighboursOfUniqueUnits(t *testing.T) {
	ctx := context.Background()
	for _, own := range []bool{false, true} {
		cat, units, ownerless := neighbour.CardCatalog(own), neighbour.CardUnits(own), neighbour.CardOwnerless(own)
		dbs := map[dialect.Dialect]neighbour.DB{funcs.Postgres: neighbour.OpenWith(t, fmt.Sprintf("cards_%t_%d", own, time.Now().UnixNano()), cat, neighbour.CardRows()), funcs.DuckDB: openDuck(t, cat, neighbour.CardRows())}
		for i, sql := range slices.Concat(neighbour.CardStatements, neighbour.CardRepeats) {
			a := analyzeGuests(sql, cat, t, sensitivity.Options{MaxGroups: 2, MaxRows: 3})
			if one := i < len(neighbour.CardStatements); (a.MaxRows == 1) != one {
				t.Errorf("own %t: %s: %d rows of a unit", own, sql, a.MaxRows)
			}
			for d, db := range dbs {
				if _, err := neighbour.CheckWithout(ctx, db, cat, a, d, units, ownerless, nil); err != nil {
					t.Errorf("%s, own %t: %s: %v", d, own, sql, err)
				}
			}
		}
		if own {
			generated(t, cat, units, ownerless, dbs)
			continue
		}
		a := analyzeGuests(neighbour.CardStatements[0], cat, t, sensitivity.Options{MaxGroups: 2, MaxRows: 3})
		for d, db := range dbs {
			_, err := neighbour.CheckWithout(ctx, db, cat, a, d, units, ownerless, func(s string) string {
				return strings.Replace(s, "IS NOT NULL", "IS NOT DISTINCT FROM NULL OR true", 1)
			})
			if err == nil || strings.Contains(err.Error(), "SQLSTATE") || strings.Contains(err.Error(), "planted bug") {
				t.Errorf("%s: rows without a unit are kept: %v", d, err)
			}
		}
	}
}
