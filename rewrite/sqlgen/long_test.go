package sqlgen_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/neighbour"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// times repeats a text between separators.
func times(n int, text, between string) string {
	return strings.TrimSuffix(strings.Repeat(text+between, n), between)
}

// TestAttack05Amplified: a statement that multiplies one person's text, level by level, into more than PostgreSQL holds does not fail where that person is.
func TestAttack05Amplified(t *testing.T) {
	const heavy = " from encounters where patient_id = 1"
	joined := func(x string) string { return times(40, x, " || ") }
	inArray := func(x string) string { return "array_to_string(array[" + times(40, x, ", ") + "], '')" }
	for name, sql := range map[string]string{
		"aggregates of arrays": "select count(*) from (select patient_id, max(" + inArray("b") + ") c from (select patient_id, max(" + inArray("a") + ") b from (select patient_id, max(repeat(diag, 20000)) a" + heavy + " group by 1) q group by 1) r group by 1) s where cardinality(array[" + times(12, "c", ", ") + "]) > 0",
		"aggregates of ||":     "select count(*) from (select patient_id, min(" + joined("b") + ") c from (select patient_id, min(" + joined("a") + ") b from (select patient_id, max(repeat(diag, 20000)) a" + heavy + " group by 1) q group by 1) r group by 1) s where " + joined("c") + " <> ''",
		"windows":              "select count(*) from (select lag(" + joined("b") + ") over (partition by patient_id) c from (select patient_id, max(" + joined("a") + ") over (partition by patient_id) b from (select patient_id, first_value(repeat(diag, 20000)) over (partition by patient_id order by encounter_id) a" + heavy + ") q) r) s where " + joined("c") + " <> ''",
		"elements":             "select count(*)" + heavy + " and cardinality(array[" + times(200, "repeat(diag, 20000)", ", ") + "]) > 0",
	} {
		a := analyze(t, sql, outside, 4)
		st, err := sqlgen.Private(a, funcs.Postgres, 42)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := neighbour.ReadTotals(context.Background(), outside, st); err != nil {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

// TestLongTextsAreRefused: what a statement itself makes too long is refused, whoever is in the data.
func TestLongTextsAreRefused(t *testing.T) {
	for sql, id := range map[string]string{
		"select count(*) from encounters where cardinality(array[diag::char(16385)]) > 0":                            sqlerr.PrivateFunction.ID,
		"select count(*) from encounters where cardinality(array[diag::char(16384)]) > 0":                            "",
		"select count(*) from encounters where " + times(502, "diag", " || ") + " <> ''":                             sqlerr.TooComplex.ID,
		"select count(*) from encounters where " + times(501, "diag", " || ") + " <> ''":                             "",
		"select count(*) from encounters where cardinality(array[" + times(1001, "diag", ", ") + "]) > 0":            sqlerr.TooComplex.ID,
		"select count(*) from encounters where cardinality(array[" + times(1001, "days", ", ") + "]) > 0":            "",
		"select count(*) from cities where length(array_to_string(array[" + times(1001, "name", ",") + "], '')) > 0": "",
	} {
		a := analyze(t, sql, outside, 4)
		var err error
		if a.Class == sensitivity.Public {
			_, err = sqlgen.PublicQuery(a.Query, funcs.Postgres)
		} else {
			_, err = sqlgen.Private(a, funcs.Postgres, 42)
		}
		if sqlerr.ID(err) != id {
			t.Errorf("%.100s: %v", sql, err)
		}
	}
}
