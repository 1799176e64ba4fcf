package sqlgen_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// repeated writes a part of a statement for each of n numbers.
func repeated(n int, sep, format string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return strings.Join(list, sep)
}

// TestAttack38Printing: a statement whose print would be far longer than its text is given up before much of it is written, and windows' orders are completed by columns, of which there are few. It is the memory that counts: without that they take up to 9 GiB.
func TestAttack38Printing(t *testing.T) {
	for name, sql := range map[string]string{
		"row_number": "SELECT sum(least(r, 5)) FROM (SELECT patient_id, " + repeated(1000, " + ", "row_number() OVER (PARTITION BY patient_id ORDER BY days, cost * #)") + " AS r FROM encounters) q",
		"lag":        "SELECT sum(least(r, 5)) FROM (SELECT patient_id, " + repeated(1000, " + ", "lag(days, 1) OVER (PARTITION BY patient_id ORDER BY cost * #)") + " AS r FROM encounters) q",
		"sum":        "SELECT sum(least(r, 5)) FROM (SELECT patient_id, " + repeated(1000, " + ", "sum(days * #) OVER (PARTITION BY patient_id ORDER BY days + #)") + " AS r FROM encounters) q",
		"exports":    "SELECT sum(CASE WHEN " + repeated(700, " AND ", "c# > r#") + " THEN 1 END) FROM (SELECT patient_id, " + repeated(700, ", ", "days * # AS c#, row_number() OVER (PARTITION BY patient_id ORDER BY days + #) AS r#") + " FROM encounters) q",
		"filters":    "SELECT " + repeated(250, ", ", "count(*) FILTER (WHERE b AND days > #)") + " FROM (SELECT patient_id, days, encounter_id IN (" + repeated(4000, ", ", "#") + ") AS b FROM encounters) q",
	} {
		a := neighbour.Analyze(t, sql, neighbour.InsideClinic, 4)
		for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := sqlgen.Private(a, d, 42)
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; err != nil && sqlerr.ID(err) != sqlerr.TooComplex.ID || made > 256<<20 {
				t.Errorf("%s on %s: %d MiB were written: %v", name, d, made>>20, err)
			}
		}
	}
}
