package enginetest

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/testdata/demo"
)

// Both backends with the demo's data, started once.
var shared struct {
	duck   sync.Once
	start  sync.Once
	pg     sync.Once
	db     backend.Backend
	server *pgtest.Server
	real   backend.Backend
	stop   func()
}

// Main runs a package's tests and ends what they share.
func Main(m *testing.M) int {
	code := m.Run()
	if shared.db != nil {
		_ = shared.db.Close()
	}
	if shared.real != nil {
		_ = shared.real.Close()
	}
	if shared.stop != nil {
		shared.stop()
	}
	return code
}

// DemoDuck is the demo in DuckDB.
func DemoDuck(t testing.TB) backend.Backend {
	shared.duck.Do(func() {
		db, err := openFixed(context.Background(), demo.LoadDuckDB, duckdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shared.db = db
	})
	return shared.db
}

// SharedServer is the test binary's one PostgreSQL.
func SharedServer(t testing.TB) *pgtest.Server {
	shared.start.Do(func() {
		s, stop, err := pgtest.StartShared()
		if err != nil {
			t.Fatal(err)
		}
		shared.server, shared.stop = s, stop
	})
	return shared.server
}

// DemoPostgres is the demo in PostgreSQL.
func DemoPostgres(t testing.TB) backend.Backend {
	shared.pg.Do(func() {
		s := SharedServer(t)
		if err := s.LoadDemo("demo"); err != nil {
			t.Fatal(err)
		}
		db, err := postgres.Open(context.Background(), s.ReaderURL("demo"), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shared.real = db
	})
	return shared.real
}

// DemoSession is a session of the demo's analyst before a backend, on an empty ledger.
func DemoSession(t testing.TB, b backend.Backend, user string, changes ...func(*policy.Policy)) *session.Session {
	t.Helper()
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if b.Dialect() == funcs.Postgres { // the same policy, another database
		text = bytes.Replace(text, []byte("{duckdb: demo.duckdb}"), []byte(`{postgres: "postgres://reader@127.0.0.1/demo"}`), 1)
	}
	p, err := policy.Parse("policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	fixedCap(p)
	for _, c := range changes {
		c(p)
	}
	e, err := server.Open(context.Background(), server.Options{Policy: p, Backend: b, LedgerPath: filepath.Join(t.TempDir(), "ledger")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	s, err := session.NewSession(e, user, "psql")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ByReadmitted is the statement of the README.
const ByReadmitted = "select readmitted, count(*), avg(days_in_hospital) from encounters group by 1 order by 2 desc"

// BothStatements are asked of both backends.
var BothStatements = []string{
	ByReadmitted,
	"select count(*), count(distinct patient_id), count(a1c) from encounters",
	"select gender, count(*) from public.patients group by gender order by gender",
	"select gender, avg(medications), sum(prior_inpatient), dp_error(count(*)) from patients join encounters using (patient_id) group by gender order by 1",
	"select age_band, avg(days_in_hospital), dp_error(avg(days_in_hospital)) from encounters where readmitted = '<30' group by age_band order by age_band",
	"select a1c, count(*) n from encounters group by a1c order by n desc",
	"select t.description, count(*) from prescriptions p join encounters e on e.encounter_id = p.encounter_id join admission_types t on t.id = e.admission_type_id group by t.description order by 1",
	"select race, count(distinct patient_id) from patients group by race order by 2 desc",
	"select diabetes_med, med_change, sum(medications), avg(medications) from encounters group by 1, 2 order by 1, 2",
	"select sum(case when readmitted = '<30' then 1 else 0 end) * 100.0 / count(*) from encounters where days_in_hospital between 2 and 5",
	"select s.d, count(*) from (select days_in_hospital + 1 as d, medications m from encounters) s where s.m > 10 group by s.d having count(*) > 100 order by 1",
	"select dose_change, count(*) from prescriptions where drug = 'insulin' group by dose_change order by dose_change",
	"select count(*) from encounters e left join prescriptions p on p.encounter_id = e.encounter_id where p.drug is null",
}

// Declared bounds rows instead of leaving it to a choice, which is tested elsewhere.
func Declared(t testing.TB, s *session.Session) {
	t.Helper()
	if err := s.Set("dpsql.clip", []string{"10"}); err != nil {
		t.Fatal(err)
	}
}
