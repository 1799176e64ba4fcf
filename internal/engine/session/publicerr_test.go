package session_test

import (
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestPublicErrors: what the values of a public table make fail has PostgreSQL's SQLSTATE; over private rows the same text has no error.
func TestPublicErrors(t *testing.T) {
	for _, d := range []dialect.Dialect{funcs.Postgres, funcs.DuckDB} {
		s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, d), enginetest.Tame.Open(t, d)), t, "ann")
		enginetest.Refused(t, s, "select 1 / (id - id) from cities", sqlerr.DivisionByZero, 0)
		enginetest.Refused(t, s, "select (select id from cities c where c.id > 0) from cities", sqlerr.Cardinality, 0)
		enginetest.Refused(t, s, "select id from cities limit -1", sqlerr.InvalidRowCount, 0)
		enginetest.Refused(t, s, "select count(*) from patients limit -1", sqlerr.InvalidRowCount, 0)
		enginetest.Refused(t, s, "select count(*) from patients offset -1", sqlerr.InvalidRowOffset, 0)
		enginetest.MustTry(t, s, "select count(*) from patients where 1 / (city_id - city_id) = 1")
		if d == funcs.Postgres {
			enginetest.Refused(t, s, `select 'a' || id like 'a\' from cities`, sqlerr.InvalidEscape, 0)
		}
	}
}

// TestSeveralPublicRows: a scalar subquery of several public rows is PostgreSQL's error before the charge, whether it is read beside private rows or beside the answer. One whose rows follow from private rows is NULL, with a warning.
func TestSeveralPublicRows(t *testing.T) {
	const words = "a subquery that gives more than one row stands for NULL; PostgreSQL raises an error there"
	for _, d := range enginetest.Dialects {
		s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, d), enginetest.Tame.Open(t, d)), t, "ann")
		for _, sql := range []string{
			"select count(*) from patients where city_id = (select id from cities)",
			"select count(*) from patients where patient_id < 0 and city_id = (select id from cities)",
			"select sum(case when city_id > 3 then (select id from cities) else 1 end) from patients",
			"select count(*) from patients where city_id = (select id from cities order by id limit 2)",
			"with a as (select id from cities) select count(*) from patients where city_id = (select id from a)",
			"select count(*), (select id from cities) from patients",
			"select count(*), (select v from (values (1), (2)) w (v)) from patients",
			"select gender, count(*) from patients group by 1 having count(*) > (select id from cities)",
			"select gender, count(*) from patients group by 1 limit (select id from cities)",
			"select gender, case when n < -1000000 then (select id from cities) end from (select gender, count(*) n from patients group by 1) t",
		} {
			enginetest.Refused(t, s, sql, sqlerr.Cardinality, 0)
		}
		for sql, warns := range map[string]bool{
			"select count(*) from patients where city_id = (select id from cities where id = 2)":                                 false,
			"select count(*) from patients where city_id = (select max(id) from cities)":                                         false,
			"select count(*) from patients where city_id = (select c.id from cities c where c.id = patients.city_id)":            false,
			"select count(*) from patients where city_id = (select c.id from cities c where c.id >= patients.city_id)":           true,
			"select count(*) from encounters e where days > (select x.days from encounters x where x.patient_id = e.patient_id)": true,
			"select count(*), (select id from cities where id = 2) from patients":                                                false,
		} {
			if _, a := enginetest.Ask(t, s, sql); slices.Contains(a.Warnings, words) != warns {
				t.Errorf("%s: %q", sql, a.Warnings)
			}
		}
	}
}
