package engine

import (
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestPublicErrors: what the values of a public table make fail has PostgreSQL's SQLSTATE; over private rows the same text has no error.
func TestPublicErrors(t *testing.T) {
	for _, d := range []backend.Dialect{backend.Postgres, backend.DuckDB} {
		s := engineOn(t, clinicPolicyFor(t, d), tame.open(t, d)).session(t, "ann")
		refused(t, s, "select 1 / (id - id) from cities", sqlerr.DivisionByZero, 0)
		refused(t, s, "select (select id from cities c where c.id > 0) from cities", sqlerr.Cardinality, 0)
		refused(t, s, "select id from cities limit -1", sqlerr.InvalidRowCount, 0)
		refused(t, s, "select count(*) from patients limit -1", sqlerr.InvalidRowCount, 0)
		refused(t, s, "select count(*) from patients offset -1", sqlerr.InvalidRowOffset, 0)
		mustTry(t, s, "select count(*) from patients where 1 / (city_id - city_id) = 1")
		if d == backend.Postgres {
			refused(t, s, `select 'a' || id like 'a\' from cities`, sqlerr.InvalidEscape, 0)
		}
	}
}
