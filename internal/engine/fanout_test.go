package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/testdata/demo"
)

// TestFanOutOracle: rows that public tables multiply all count, on both backends.
func TestFanOutOracle(t *testing.T) {
	var counted []string
	for _, sql := range neighbour.FanOut {
		if !strings.Contains(sql, "avg(") { // of noise of scale nothing sums are exact, and quotients are compared elsewhere
			counted = append(counted, sql)
		}
	}
	enginetest.SameAsTexts(t, []dialect.Dialect{funcs.Postgres, funcs.DuckDB}, counted...)
}

// TestFanOutGrows: a public table that grows between a statement's analysis and its reading multiplies the bound by what it has when it is read. The statement is charged once.
func TestFanOutGrows(t *testing.T) {
	s := enginetest.SharedServer(t)
	const db = "fan_out"
	if err := s.CreateDB(db); err != nil {
		t.Fatal(err)
	}
	do := func(sql string) {
		t.Helper()
		if err := s.Exec(db, sql); err != nil {
			t.Fatal(err)
		}
	}
	do(`create table kinds (kind text primary key); insert into kinds values ('a'), ('b'), ('c')`)
	do(`create table buyers (id int primary key, kind text not null references kinds); insert into buyers select i, 'a' from generate_series(1, 500) i`)
	do(`create table bought (id int primary key, buyer int not null references buyers, total int not null)`)
	b, err := postgres.Open(t.Context(), s.URL(db), postgres.Options{PoolSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	e := enginetest.EngineOn(t, buyersPolicyFor(t, `{postgres: "postgres://reader@127.0.0.1/shop"}`, "kind: {}}}\n  bought", "kind: {values: {from: kinds.kind}}}}\n  bought", "kinds: {public: true, columns: {kind: {}}}", "kinds: {public: true}"), b)
	session := enginetest.NewSession(e, t, "ann")
	enginetest.Set(t, session, "dpsql.price", "5")
	p, err := enginetest.Prepare(session, "select count(*) from buyers cross join kinds")
	if err != nil {
		t.Fatal(err)
	}
	if p.Analysis().MaxRows != 3 {
		t.Errorf("%d rows of a unit", p.Analysis().MaxRows)
	}
	do(`insert into kinds select 'kind ' || i from generate_series(1, 7) i`)
	ans, err := p.Run(t.Context(), nil) // what was read of kinds is still held
	if err != nil {
		t.Fatal(err)
	}
	rows, err := ans.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := rows[0][0].(int64); n < 4900 || n > 5100 {
		t.Errorf("%d of 5000", n)
	}
	if p.Analysis().MaxRows != 10 {
		t.Errorf("%d rows of a unit", p.Analysis().MaxRows)
	}
	if n := len(enginetest.Charges(t, e)); n != 1 {
		t.Errorf("%d charges", n)
	}
}

// TestInnerWarnings: an answer says which inner groups are released with noise, and which groups of NULL are split by person, with each answer and in EXPLAIN; what stays within a person is not told of.
func TestInnerWarnings(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, enginetest.AutoEdits[4:]...)
	for sql, want := range map[string]string{
		"select count(*) from (select diag, count(*) n from encounters group by 1) t where n > 5":              "the groups by diag of the inner query have rows of several people: they are released with noise, and the outer query reads the noisy numbers. Groups of few people are left out",
		"select count(*) from (select distinct readmitted from encounters where days > 13) t":                  "the rows of the inner query are the public values of readmitted, also those that nobody has: nothing is measured. count(DISTINCT ...) measures how many of them people have",
		"select avg(n) from (select readmitted, count(*) n from encounters group by 1) t":                      "the groups by readmitted of the inner query have rows of several people: they are released with noise, and the outer query reads the noisy numbers",
		"select count(*) from (select encounter_id, count(*) n from labs group by 1) t where n > 1":            "",
		"select count(*) from (select 10 + patient_id u, count(*) n from encounters group by 1) t where n > 1": "",
		"select diag, count(*) from encounters group by 1 having count(*) > 5":                                 "",
	} {
		told := enginetest.Explained(t, s, sql)
		_, a := enginetest.Ask(t, s, sql)
		all := slices.DeleteFunc(a.Warnings, func(w string) bool {
			return strings.Contains(w, "by their noisy number") || strings.Contains(w, "wider than") // which TestHiddenGroups and TestWideIntervals look at
		})
		got := enginetest.BesideLost(all)
		if strings.Join(got, "; ") != want || strings.Count(told, "Warning: ") != len(all) || !strings.Contains(told, want) {
			t.Errorf("%s: %q\n%s", sql, got, told)
		}
	}
}

// TestWithinDemo: the demo's statements of the kind that were answered by noise, under the way that `dpsql init` suggests, are answered within 1%; so is what admission types multiply.
func TestWithinDemo(t *testing.T) {
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const way = "unit: encounter_id -> encounters.encounter_id"
	if !strings.Contains(string(text), way) {
		t.Fatal("the demo's policy has another way")
	}
	edited := strings.NewReplacer(way, `unit: "(patient_id, encounter_id) -> encounters.(patient_id, encounter_id)"`, "drug:         {}", "drug:         {}\n      patient_id:   {}").Replace(string(text))
	p, err := policy.Parse("demo.yaml", []byte(edited))
	if err != nil {
		t.Fatal(err)
	}
	s := enginetest.NewSession(enginetest.EngineOn(t, p, enginetest.DemoDuck(t)), t, "analyst")
	enginetest.Set(t, s, "dpsql.price", "2")
	for _, c := range []struct {
		sql  string
		want int64
	}{
		{"select count(*) from (select encounter_id, count(*) n from prescriptions group by 1) t where n > 1", 31_049},
		{"select count(*) from (select 10 + patient_id u, count(*) n from encounters group by 1) t where n > 1", 16_773},
		{"select count(*) from patients cross join admission_types", 572_144},
		{"select count(*) from patients p join (values ('Male', 1), ('Male', 2), ('Female', 3)) v (g, x) on v.g = p.gender", 105_005},
	} {
		_, a := enginetest.Ask(t, s, c.sql)
		if n := a.Rows[0][0].(int64); n < c.want*99/100 || n > c.want*101/100 || len(a.Warnings) > 0 {
			t.Errorf("%s: %d of %d; %q", c.sql, n, c.want, a.Warnings)
		}
	}
}
