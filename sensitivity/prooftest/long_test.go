package prooftest

import (
	"context"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
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
		a := neighbour.Analyze(t, sql, neighbour.OutsideClinic, 4)
		st, err := sqlgen.Private(a, funcs.Postgres, 42)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := neighbour.ReadTotals(context.Background(), neighbour.OutsideClinic, st); err != nil {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

// TestLongTextsAreRefused: what a statement itself makes too long is refused, whoever is in the data.
func TestLongTextsAreRefused(t *testing.T) {
	for sql, id := range map[string]string{
		"select count(*) from encounters where cardinality(array[diag::char(16385)]) > 0":                                    sqlerr.PrivateFunction.ID,
		"select count(*) from encounters where cardinality(array[diag::char(16384)]) > 0":                                    "",
		"select count(*) from encounters where " + times(502, "diag", " || ") + " <> ''":                                     sqlerr.TooComplex.ID,
		"select count(*) from encounters where " + times(501, "diag", " || ") + " <> ''":                                     "",
		"select count(*) from encounters where cardinality(array[" + times(1001, "diag", ", ") + "]) > 0":                    sqlerr.TooComplex.ID,
		"select count(*) from encounters where cardinality(array[" + times(1001, "days", ", ") + "]) > 0":                    "",
		"select count(*) from encounters where " + times(2, "cardinality(array["+times(501, "diag", ", ")+"]) > 0", " and "): sqlerr.TooComplex.ID,
		"select count(*) from encounters where upper(diag) in (" + times(4000, "upper(diag)", ", ") + ")":                    sqlerr.TooComplex.ID,
		"select count(*) from encounters where diag::char(9) in (" + times(4000, "diag::char(8)", ", ") + ")":                sqlerr.TooComplex.ID,
		"select count(*) from encounters where diag::varchar(9) in (" + times(4000, "diag::varchar(8)", ", ") + ")":          sqlerr.TooComplex.ID,
		"select count(*) from encounters where diag in (" + times(4001, "days::text", ", ") + ")":                            sqlerr.TooComplex.ID,
		"select count(*) from encounters where upper(diag) in (" + times(1000, "upper(diag)", ", ") + ")":                    "",
		"select count(*) from encounters where " + times(9, times(450, "diag", " || ")+" <> ''", " and "):                    sqlerr.TooComplex.ID,
		"select count(*) from cities where length(array_to_string(array[" + times(1001, "name", ",") + "], '')) > 0":         "",
	} {
		a := neighbour.Analyze(t, sql, neighbour.OutsideClinic, 4)
		var err error
		if a.Agg == nil {
			_, err = sqlgen.PublicQuery(a.Query, funcs.Postgres)
		} else {
			_, err = sqlgen.Private(a, funcs.Postgres, 42)
		}
		if sqlerr.ID(err) != id {
			t.Errorf("%.100s: %v", sql, err)
		}
	}
}

// TestAttack05Joined: texts that are put together are NULL above funcs.MaxText, as a whole: each || for itself would keep its own, of which 500 of one row are gigabytes.
func TestAttack05Joined(t *testing.T) {
	long := "case when encounter_id > 0 then repeat('x', 9000) end"
	for sql, null := range map[string]bool{
		times(7, long, " || "):  false,
		times(8, long, " || "):  true,
		times(80, long, " || "): true,
		"'a' || (" + times(4, long, " || ") + ") || upper(" + times(3, long, " || ") + ")": false,
		"'a' || (" + times(4, long, " || ") + ") || upper(" + times(4, long, " || ") + ")": true,
		"overlay(" + times(7, long, " || ") + " placing 'abc' from 1)":                     false,
		"overlay(" + times(7, long, " || ") + " placing " + long + " from 1)":              true,
		"array_to_string(string_to_array(" + times(7, long, " || ") + ", 'y'), 'z')":       false,
		"concat(" + times(8, long, ", ") + ")":                                             true,
		"(" + times(7, long, " || ") + ")::varchar(5)":                                     false,
		"(diag || null) || " + times(2, long, " || "):                                      true,
	} {
		if read := func(cond string) int64 {
			st, err := sqlgen.Private(neighbour.Analyze(t, "select count(*) from encounters where ("+sql+") is "+cond, neighbour.OutsideClinic, 4), funcs.Postgres, 42)
			if err != nil {
				t.Fatalf("%.100s: %v", sql, err)
			}
			totals, err := neighbour.ReadTotals(context.Background(), neighbour.OutsideClinic, st)
			if err != nil {
				t.Fatalf("%.100s: %v", sql, err)
			}
			sum := int64(0)
			for _, g := range totals.Groups {
				sum += g[0].Int64()
			}
			return sum
		}; (read("null") > 0) != null || (read("not null") > 0) == null {
			t.Errorf("%.100s: %d rows are NULL, %d are not", sql, read("null"), read("not null"))
		}
	}
}
