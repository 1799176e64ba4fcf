package prooftest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/testdata/demo"
)

// The patients that matter, by a query each.
const (
	heaviest = "SELECT patient_id FROM encounters GROUP BY patient_id ORDER BY count(*) DESC, patient_id LIMIT 1"
	nullish  = "SELECT e.patient_id FROM encounters e JOIN patients p ON p.patient_id = e.patient_id WHERE p.race IS NULL AND e.payer_code IS NULL " +
		"AND e.medical_specialty IS NULL GROUP BY e.patient_id ORDER BY count(*) DESC, e.patient_id LIMIT 1"
	anyone = "SELECT patient_id FROM patients WHERE patient_id > 60000000 ORDER BY patient_id LIMIT 1"
	// sample: 2,000 of the demo's patients, every 36th and who has most stays.
	sample = "patient_id % 36 = 0 OR patient_id = (" + heaviest + ")"
)

// rebuild keeps the rows of the patients of a condition, in an order of hashes that the condition's first letters change.
func rebuild(condition string) []string {
	names := []string{"prescriptions", "encounters", "patients"}
	out := []string{
		"CREATE TABLE chosen AS SELECT patient_id AS id FROM patients WHERE " + condition,
		"CREATE TABLE old_prescriptions AS SELECT * FROM prescriptions WHERE encounter_id IN (SELECT encounter_id FROM encounters WHERE patient_id IN (SELECT id FROM chosen))",
		"CREATE TABLE old_encounters AS SELECT * FROM encounters WHERE patient_id IN (SELECT id FROM chosen)",
		"CREATE TABLE old_patients AS SELECT * FROM patients WHERE patient_id IN (SELECT id FROM chosen)",
	}
	for _, n := range names {
		out = append(out, "DROP TABLE "+n)
	}
	for _, t := range demo.Tables {
		if !slices.Contains(names, t.Name) {
			continue
		}
		var cols []string
		for _, c := range t.Columns {
			cols = append(cols, fmt.Sprintf("CAST(%s AS text)", c.Name))
		}
		out = append(out, t.DDL(), fmt.Sprintf("INSERT INTO %s SELECT * FROM old_%s ORDER BY md5(concat('%s', %s))", t.Name, t.Name, condition[:4], strings.Join(cols, ", ")),
			"DROP TABLE old_"+t.Name)
	}
	return append(out, "DROP TABLE chosen")
}

func lacks(patient string) string { return "NOT patient_id IN (" + patient + ")" }

// TestDemoNeighbours: the demo's own questions and those of the comparison with PostgreSQL, over 2,000 of its patients under its own policy:
// without the heaviest patient, without one with NULLs everywhere and without anyone no total changes by more than is claimed.
func TestDemoNeighbours(t *testing.T) {
	changes := map[string]string{"all": "true", "heaviest": lacks(heaviest), "nulls": lacks(nullish), "anyone": lacks(anyone), "shuffled": "1 = 1"}
	for _, d := range enginetest.Dialects {
		t.Run(d.String(), func(t *testing.T) {
			dbs := map[string]backend.Backend{}
			for name, condition := range changes {
				dbs[name] = sampleDB(t, d, name, condition)
			}
			all, shuffled := dbs["all"], dbs["shuffled"]
			delete(dbs, "all")
			delete(dbs, "shuffled")
			s := enginetest.DemoSession(t, all, "analyst")
			enginetest.Declared(t, s)
			full := 0
			statements := slices.Concat(enginetest.BothStatements, []string{
				"select diag_1, count(*), sum(lab_procedures) from encounters group by 1",
				"select medical_specialty, payer_code, avg(medications), count(distinct patient_id) from encounters group by 1, 2",
				"select drug, dose_change, count(*) from prescriptions group by 1, 2",
				"select p.race, e.age_band, sum(e.prior_emergency), count(*) from patients p left join encounters e on e.patient_id = p.patient_id group by 1, 2",
			})
			for _, sql := range statements {
				p, err := enginetest.Prepare(s, sql)
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
				if err != nil {
					t.Fatal(err)
				}
				share, err := enginetest.Holds(p.Analysis(), st, all, dbs, map[string]backend.Backend{"shuffled": shuffled})
				if err != nil {
					t.Errorf("%s: %v", sql, err)
				}
				if share == 0 {
					t.Errorf("%s: nothing changes: the patients are not in it", sql)
				}
				if share == 1 {
					full++
				}
			}
			if full < 5 {
				t.Errorf("only %d of %d statements use their whole claim", full, len(statements))
			}
		})
	}
}

// sampleDB makes one database of the sample.
func sampleDB(t *testing.T, d dialect.Dialect, name, condition string) backend.Backend {
	t.Helper()
	ctx := context.Background()
	var b backend.Backend
	var err error
	if d == funcs.DuckDB {
		b, err = duckdb.OpenMemory(ctx, func(ctx context.Context, c *sql.Conn) error {
			if err := demo.LoadDuckDB(ctx, c); err != nil {
				return err
			}
			for _, s := range slices.Concat(rebuild(sample), rebuild(condition)) {
				if _, err := c.ExecContext(ctx, s); err != nil {
					return fmt.Errorf("%w\n%s", err, s)
				}
			}
			return nil
		}, duckdb.Options{Threads: 1})
	} else {
		b, err = samplePostgres(ctx, t, "sample_"+name, condition)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// samplePostgres copies the sample, which is made once.
func samplePostgres(ctx context.Context, t *testing.T, name, condition string) (backend.Backend, error) {
	s := enginetest.SharedServer(t)
	if !sampleMade {
		sampleMade = true
		if err := s.LoadDemo("sample"); err != nil {
			return nil, err
		}
		if err := s.Exec("sample", strings.Join(rebuild(sample), ";\n")); err != nil {
			return nil, err
		}
	}
	if err := s.Exec("postgres", "CREATE DATABASE "+name+" TEMPLATE sample"); err != nil {
		return nil, err
	}
	if err := s.Exec(name, strings.Join(append(rebuild(condition), "ANALYZE"), ";\n")); err != nil {
		return nil, err
	}
	return postgres.Open(ctx, s.URL(name), postgres.Options{PoolSize: 2})
}

var sampleMade bool
