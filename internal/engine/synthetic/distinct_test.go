package synthetic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestDistinctRows: rows that are distinct over all persons are refused with a query that is answered, or whose hint is, for synthetic tables and trainings.
func TestDistinctRows(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for i, sql := range []string{
		"CREATE DP SYNTHETIC TABLE x AS SELECT DISTINCT readmitted FROM encounters WITH (price = 1)",
		"CREATE DP SYNTHETIC TABLE y AS SELECT DISTINCT readmitted, greatest(0, least(patient_id, 100)) AS patient_id FROM encounters WITH (price = 1)",
		"TRAIN DP MODEL m USING linear_regression TARGET days WITH (epsilon = 0.5, delta = 1e-9) AS SELECT DISTINCT medications, days FROM encounters WHERE days > 2",
	} {
		_, err := enginetest.Try(s, sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.ID != sqlerr.PrivateShape.ID {
			t.Fatalf("%s: %v", sql, err)
		}
		query, ok := strings.CutPrefix(e.Hint, "Keep each person's rows apart below: ")
		if !ok {
			t.Errorf("%s: %s", sql, e.Hint)
			continue
		}
		query = strings.TrimSuffix(query, ".")
		before, after, _ := strings.Cut(sql, "SELECT ")
		if i < 2 {
			query += after[strings.Index(after, " WITH ("):]
		}
		if _, err = enginetest.Try(s, before+query); errors.As(err, &e) && e.ID == sqlerr.NoRange.ID { // a hint later
			cure := "greatest(0, least(patient_id, 100)) AS patient_id"
			if !strings.Contains(e.Hint, cure) {
				t.Errorf("%s: %s", query, e.Hint)
			}
			_, err = enginetest.Try(s, before+strings.Replace(query, "patient_id", cure, 1))
		}
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}
