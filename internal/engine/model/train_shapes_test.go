package model_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTrainShapes: a query whose rows are not each of one person, or not all that it says, is refused: a model is never trained on other rows than were asked for. Within a person's rows the same shapes are read.
func TestTrainShapes(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.DuckDB)
	const train = "EXPLAIN TRAIN DP MODEL m USING logistic_regression TARGET y AS "
	for _, q := range []string{
		"SELECT DISTINCT days, cost, readmitted = 'NO' AS y FROM encounters",
		"SELECT days, cost, y FROM (SELECT DISTINCT days, cost, readmitted = 'NO' AS y FROM encounters) q",
		"SELECT days, cost, readmitted = 'NO' AS y FROM encounters GROUP BY days, cost, readmitted",
		"SELECT days, readmitted, readmitted = 'NO' AS y FROM encounters GROUP BY 1, 2",
		"SELECT max(days) AS days, cost, readmitted = 'NO' AS y FROM encounters GROUP BY cost, readmitted",
		"SELECT avg(days) AS days, count(*) AS n, readmitted = 'NO' AS y FROM encounters GROUP BY readmitted",
		"SELECT days, cost, readmitted = 'NO' AS y FROM encounters UNION SELECT days, cost, true FROM encounters",
		"SELECT days, cost, readmitted = 'NO' AS y FROM encounters EXCEPT SELECT days, cost, true FROM encounters",
		"SELECT days, cost, readmitted = 'NO' AS y FROM encounters LIMIT 10",
		"SELECT DISTINCT ON (days) days, cost, readmitted = 'NO' AS y FROM encounters",
		"SELECT days, rank() OVER (ORDER BY days) AS r, readmitted = 'NO' AS y FROM encounters",
		"SELECT k.id, e.days, e.readmitted = 'NO' AS y FROM kinds k LEFT JOIN encounters e ON e.kind_id = k.id",
		"SELECT a.days, b.cost, a.readmitted = 'NO' AS y FROM encounters a JOIN encounters b ON a.days = b.days",
		"SELECT days, cost, readmitted = 'NO' AS y FROM encounters WHERE days > (SELECT avg(days) FROM encounters)",
		"SELECT days, cost, readmitted = 'NO' AS y FROM encounters TABLESAMPLE BERNOULLI (50)",
		"SELECT days, random() AS r, readmitted = 'NO' AS y FROM encounters",
	} {
		if _, err := enginetest.Try(s, train+q); sqlerr.ID(err) == "" || sqlerr.ID(err) == sqlerr.Internal.ID {
			t.Errorf("%s: %v", q, err)
		}
	}
	for _, q := range []string{
		"SELECT DISTINCT patient_id % 5 AS k, days, cost, readmitted = 'NO' AS y, patient_id % 9 AS z FROM encounters WHERE days > 1",
		"SELECT d AS days, c AS cost, y FROM (SELECT DISTINCT patient_id, days AS d, cost AS c, readmitted = 'NO' AS y FROM encounters) q",
		"SELECT DISTINCT ON (patient_id) days, cost, readmitted = 'NO' AS y FROM encounters",
		"SELECT days, cost, readmitted = 'NO' AS y FROM encounters UNION ALL SELECT days, cost, true FROM encounters",
		"SELECT days, k, y FROM (SELECT max(days) AS days, count(*) AS k, bool_or(readmitted = 'NO') AS y FROM encounters GROUP BY patient_id) q",
		"SELECT days, cost, readmitted = 'NO' AS y FROM encounters ORDER BY days",
	} {
		refused := strings.HasPrefix(q, "SELECT DISTINCT patient_id % 5")
		if _, err := enginetest.Try(s, train+q); (err != nil) != refused {
			t.Errorf("%s: %v", q, err)
		} else if err == nil {
			of := trainingOf(t, s, strings.TrimPrefix(train, "EXPLAIN ")+q)
			if _, err := compareUnitRows(t, of, nil); err != nil {
				t.Errorf("%s: %v", q, err)
			}
		}
	}
}
