package citustest_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// clinicCatalog is the clinic with the patient's column in every private table and key.
func clinicCatalog(t testing.TB) *neighbour.Catalog {
	t.Helper()
	text := neighbour.Clinic
	for _, edit := range [][2]string{
		{"m=4 key=encounter_id\n  encounter_id int4 notnull\n  patient_id int4\n", "m=4 key=patient_id,encounter_id\n  encounter_id int4 notnull\n  patient_id int4 notnull\n"},
		{"prescriptions path=encounter_id->encounters.encounter_id m=6\n", "prescriptions unit=patient_id path=patient_id,encounter_id->encounters.patient_id,encounter_id m=6\n  patient_id int4 notnull\n"},
	} {
		if !strings.Contains(text, edit[0]) {
			t.Fatalf("the clinic has no %q", edit[0])
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	cat, err := neighbour.ParseCatalog(text)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// clinicTables says where the clinic's tables lie.
var clinicTables = [][2]string{{"patients", "patient_id"}, {"encounters", "patient_id"}, {"prescriptions", "patient_id"}, {"labs", "patient_id"}, {"visits", "patient_id"}, {"stays", "patient_id"},
	{"cities", ""}, {"kinds", ""}, {"rates", ""}}

// clinic makes the clinic on the cluster from the rows of the ordinary one, but for rows without a patient, which cannot be distributed.
func clinic(t testing.TB, db string, data neighbour.Data) {
	t.Helper()
	plain := []string{"CREATE SCHEMA plain"}
	for _, s := range append(neighbour.ClinicCatalog().DDL(), neighbour.ClinicRows(data)...) {
		plain = append(plain, strings.ReplaceAll(s, `"public".`, `"plain".`))
	}
	fill := slices.Clone(plain)
	for _, table := range clinicTables {
		from := "SELECT * FROM plain." + table[0]
		switch {
		case table[0] == "prescriptions":
			from = "SELECT e.patient_id, p.* FROM plain.prescriptions p JOIN plain.encounters e USING (encounter_id) WHERE e.patient_id IS NOT NULL"
			from = strings.Replace(from, "p.*", "p.encounter_id, p.drug, p.dose, p.change", 1)
		case table[1] != "":
			from += " WHERE patient_id IS NOT NULL"
		}
		fill = append(fill, fmt.Sprintf("INSERT INTO public.%s %s", table[0], from))
	}
	fill = append(fill, "DROP SCHEMA plain CASCADE")
	database(t, db, clinicCatalog(t).DDL(), clinicTables, fill)
}

// travels matches what Citus does not compute where the rows are: it reads both sides of EXCEPT and INTERSECT to the coordinator.
var travels = regexp.MustCompile(`\b(except|intersect)\b`)

// TestNeighbours: on two workers, too, no total changes by more than is claimed without one person, and none with the physical order.
func TestNeighbours(t *testing.T) {
	clinic(t, "clinic", neighbour.Outside)
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, cluster(t).URL("clinic"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	db, cat := &neighbour.Postgres{Conn: conn}, clinicCatalog(t)
	if err := db.Exec(ctx, "SET search_path = ''"); err != nil {
		t.Fatal(err)
	}
	b, err := postgres.Open(ctx, cluster(t).URL("clinic"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	ran, used, refused, failed := 0, 0, 0, 0
	for _, sql := range slices.Concat(neighbour.Statements, neighbour.Subqueries, neighbour.FanOut, neighbour.PostgresOnly, neighbour.Spellings) {
		st, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), cat, plan.BindOptions{})
		if err != nil {
			refused++
			continue
		}
		a, err := neighbour.AnalyzeQuery(ctx, q, sensitivity.Options{MaxGroups: 1, MaxPublicGroups: 1000, Public: neighbour.Reader{DB: db, Dialect: funcs.Postgres}})
		if err != nil {
			refused++
			continue
		}
		share, err := neighbour.Check(ctx, db, cat, a, funcs.Postgres, []int{neighbour.Heavy, neighbour.Plain, neighbour.Nulls}, nil)
		if err != nil && strings.Contains(err.Error(), nested) {
			failed++
			continue
		}
		if err != nil {
			t.Errorf("%s: %.700v", sql, err)
			continue
		}
		ran++
		out, err := sqlgen.Private(a, funcs.Postgres, 42)
		if err != nil {
			t.Fatal(err)
		}
		args, _ := server.BindArgs(out, nil)
		if got := leaving(explain(t, b, printed{out.SQL, args})); (len(got) > 0) != travels.MatchString(sql) {
			t.Errorf("%s: %v\n%s", sql, got, out.SQL)
		}
		if share == 1 {
			used++
		}
	}
	if ran < 100 || used < 40 || refused > 5 || failed > 2 {
		t.Errorf("%d statements ran, %d use their whole claim, %d were refused, %d failed", ran, used, refused, failed)
	}
}
