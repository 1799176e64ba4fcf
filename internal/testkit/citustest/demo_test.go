package citustest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/testdata/demo"
)

// demoKeys are the demo's keys with the person's column in each, as a distributed table needs it.
var demoKeys = []string{
	"ALTER TABLE patients ADD PRIMARY KEY (patient_id)",
	"ALTER TABLE encounters ADD PRIMARY KEY (patient_id, encounter_id)", "ALTER TABLE encounters ADD CONSTRAINT of_patient FOREIGN KEY (patient_id) REFERENCES patients (patient_id)",
	"ALTER TABLE prescriptions ADD CONSTRAINT of_encounter FOREIGN KEY (patient_id, encounter_id) REFERENCES encounters (patient_id, encounter_id)",
	"ALTER TABLE admission_types ADD PRIMARY KEY (id)", "ALTER TABLE discharges ADD PRIMARY KEY (id)", "ALTER TABLE admission_sources ADD PRIMARY KEY (id)",
}

// demoTables says where the demo's tables lie.
var demoTables = [][2]string{{"patients", "patient_id"}, {"encounters", "patient_id"}, {"prescriptions", "patient_id"}, {"admission_types", ""}, {"discharges", ""}, {"admission_sources", ""}}

// demoDDL makes the demo's tables without keys.
func demoDDL() (out []string) {
	for _, t := range demo.Tables {
		t.PrimaryKey, t.ForeignKeys = "", nil
		out = append(out, t.DDL())
	}
	return out
}

// loader is a coordinator or a PostgreSQL of its own.
type loader interface {
	Exec(db, sql string) error
	CopyFile(db, into, path string) error
	GrantReader(db string) error
	ReaderURL(db string) string
}

// fillDemo loads the demo's rows and keys, and opens the database.
func fillDemo(t testing.TB, s loader, db string) backend.Backend {
	t.Helper()
	for _, table := range demo.Tables {
		if err := s.CopyFile(db, table.Name, filepath.Join("..", "..", "..", "testdata", "demo", table.File())); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range demoKeys {
		if err := s.Exec(db, k); err != nil {
			t.Fatalf("%v\n%s", err, k)
		}
	}
	return asReader(t, s, db)
}

// asReader opens a filled database as the proxy does.
func asReader(t testing.TB, s loader, db string) backend.Backend {
	t.Helper()
	if err := s.GrantReader(db); err != nil {
		t.Fatal(err)
	}
	b, err := postgres.Open(context.Background(), s.ReaderURL(db), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// demoSession is a session over the demo, whose paths name the person's column.
func demoSession(t testing.TB, b backend.Backend) *session.Session {
	t.Helper()
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range [][2]string{
		{"{duckdb: demo.duckdb}", `{postgres: "postgres://reader@127.0.0.1/demo"}`},
		{"unit: encounter_id -> encounters.encounter_id", "unit: (patient_id, encounter_id) -> encounters.(patient_id, encounter_id)"},
		{"      drug:         {}", "      patient_id: {}\n      drug:         {}"},
	} {
		if !bytes.Contains(text, []byte(edit[0])) {
			t.Fatalf("the demo's policy has no %q", edit[0])
		}
		text = bytes.Replace(text, []byte(edit[0]), []byte(edit[1]), 1)
	}
	p, err := policy.Parse("policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.FixedNoise(enginetest.NewSession(enginetest.OpenOn(t, p, b), t, "analyst"), 28)
}

var demoQuestion = regexp.MustCompile(`(?m)^-- (\w+)(?: (\w+))??(?: as (\w+))?: .*\n((?s:.*?;))\n`)

// fate is what a statement gave: its rows, or the error's name.
func fate(s *session.Session, sql string) string {
	rows, err := enginetest.Try(s, sql)
	if err != nil {
		return "refused " + sqlerr.ID(err)
	}
	return fmt.Sprint(rows)
}

// nested is Citus's error where a subquery without FROM has another in it: dpsql prints such where an operand of arithmetic with floats is long, and such arithmetic again.
const nested = "subquery without FROM"

// TestDemo: the demo's questions and others, distributed by the patient, are answered as by one server with the same noise. Where
// groups come in another order noise does, too: then totals before noise are compared. All is added up on the workers.
func TestDemo(t *testing.T) {
	database(t, "demo", demoDDL(), demoTables, nil)
	one := enginetest.SharedServer(t)
	if err := errors.Join(one.CreateDB("demo_citus"), one.Exec("demo_citus", strings.Join(demoDDL(), ";\n"))); err != nil {
		t.Fatal(err)
	}
	kept := &recorder{Backend: fillDemo(t, cluster(t), "demo")}
	both := []*session.Session{demoSession(t, kept), demoSession(t, fillDemo(t, one, "demo_citus"))}
	text, err := demo.FS.ReadFile("questions.sql")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ask := func(outcome, user, sql string) {
		n++
		var got [2]string
		for i, s := range both {
			if user != "" {
				if s, err = session.NewSession(s.Engine, user, "test"); err != nil {
					t.Fatal(err)
				}
			}
			got[i] = fate(enginetest.FixedNoise(s, uint64(n)), sql)
		}
		if strings.HasPrefix(sql, "EVALUATE") { // nested
			if want := "refused " + sqlerr.ResourceFailure.ID; got[0] != want {
				t.Errorf("EVALUATE works on Citus: docs/scale.md says that it does not")
			}
			kept.asked = nil
			return
		}
		if got[0] != got[1] && !sameTotals(t, both, sql) || strings.HasPrefix(got[0], "refused") != (outcome == "refused") {
			t.Errorf("%s\n cluster %.600s\n one     %.600s", sql, got[0], got[1])
		}
		if leaks := kept.leaks(t); strings.HasPrefix(sql, "TRAIN") != (len(leaks) > 0) { // training reads rows
			t.Errorf("%s\n%s", sql, strings.Join(leaks, "\n"))
		}
	}
	for _, m := range demoQuestion.FindAllStringSubmatch(string(text), -1) {
		ask(m[1], m[3], m[4])
	}
	if n < 15 {
		t.Errorf("only %d questions are read", n)
	}
	for _, sql := range enginetest.BothStatements {
		ask("answered", "", sql)
	}
	// The check of EXPLAIN finds rows of people.
	for sql, want := range map[string]string{
		"SELECT days_in_hospital FROM public.encounters":                                                       "a task ends in Seq Scan",
		"SELECT patient_id, count(*) FROM public.encounters GROUP BY patient_id":                               "a task aggregates by",
		"SELECT count(*) FROM (SELECT days_in_hospital FROM public.encounters OFFSET 0) AS e":                  "a task ends in Seq Scan",
		"SELECT count(n) FROM (SELECT count(*) AS n FROM public.encounters GROUP BY patient_id OFFSET 0) AS e": "a task aggregates by",
		"SELECT days_in_hospital, count(*) FROM public.encounters GROUP BY 1":                                  "",
	} {
		got := leaving(explain(t, kept, printed{sql: sql}))
		if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || !strings.HasPrefix(got[0], want)) {
			t.Errorf("%s: found %q, want %q\n%s", sql, got, want, explain(t, kept, printed{sql: sql}))
		}
	}
}

// sameTotals says whether the statement's totals before noise are the same in both databases.
func sameTotals(t *testing.T, both []*session.Session, sql string) bool {
	t.Helper()
	var got [2]string
	for i, s := range both {
		p, err := enginetest.Prepare(s, sql)
		if err != nil || len(p.Staged().Stages) != 1 {
			return false
		}
		got[i] = fmt.Sprint(enginetest.Totals(t, p))
	}
	return got[0] == got[1]
}
