package plan_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/testdata/demo"
)

// catalog is the demo's tables, all of them to be seen.
type catalog map[string]*plan.Table

func (c catalog) Table(schema, name string) (*plan.Table, bool) {
	if schema != "" && schema != "public" {
		return nil, false
	}
	t, ok := c[name]
	return t, ok
}

func (c catalog) VisibleTables() []*plan.Table { return slices.Collect(maps.Values(c)) }

func demoCatalog(t testing.TB) catalog {
	c := catalog{}
	for i, d := range demo.Tables {
		p := &plan.Table{OID: uint32(20000 + i), Schema: "public", Name: d.Name, UnitCol: -1}
		for j, col := range d.Columns {
			p.Columns = append(p.Columns, plan.TableColumn{Name: col.Name, Type: col.Type, NotNull: col.NotNull, Visible: true})
			if col.Name == d.PrimaryKey {
				p.Keys = append(p.Keys, []int{j})
			}
		}
		c[d.Name] = p
	}
	return c
}

func statements(t testing.TB, file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(string(text), "\n") {
		if l != "" && !strings.HasPrefix(l, "--") {
			out = append(out, l)
		}
	}
	return out
}

func bind(t testing.TB, cat plan.Catalog, sql string) (*plan.Query, error) {
	st, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	sel, ok := st[0].Node.(*pgsyntax.Select)
	if !ok {
		t.Fatalf("%s is no SELECT", sql)
	}
	return plan.Bind(sel, cat, plan.BindOptions{})
}

// TestDescribe: real PostgreSQL is the oracle of names, types, modifiers and parameters.
func TestDescribe(t *testing.T) {
	if err := server.LoadDemo("plan"); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.URL("plan"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	cat := demoCatalog(t)
	for i, sql := range statements(t, "testdata/describe.sql") {
		d, err := conn.PgConn().Prepare(ctx, fmt.Sprint("s", i), sql, nil)
		if err != nil {
			t.Errorf("PostgreSQL refuses %s: %v", sql, err)
			continue
		}
		var want, got []string
		for _, f := range d.Fields {
			want = append(want, fmt.Sprintf("%s %d %d", f.Name, f.DataTypeOID, f.TypeModifier))
		}
		for _, p := range d.ParamOIDs {
			want = append(want, fmt.Sprintf("$ %d", p))
		}
		q, err := bind(t, cat, sql)
		if err != nil {
			t.Errorf("%s\n  is refused: %v", sql, err)
			continue
		}
		for _, o := range q.Outputs {
			got = append(got, fmt.Sprintf("%s %d %d", o.Name, o.Type.OID, o.Type.Typmod))
		}
		for _, p := range q.Params {
			got = append(got, fmt.Sprintf("$ %d", p.OID))
		}
		if g, w := strings.Join(got, ", "), strings.Join(want, ", "); g != w {
			t.Errorf("%s\n  got  %s\n  want %s", sql, g, w)
		}
	}
}

// TestRefused: code, position (1-based) and the head of the message.
func TestRefused(t *testing.T) {
	cat := demoCatalog(t)
	for _, c := range []struct {
		sql, code string
		pos       int
		message   string
	}{
		{"select x from patients", "42703", 8, `column "x" does not exist`},
		{"select p.x from patients p", "42703", 8, "column p.x does not exist"},
		{"select patients.gender from patients p", "42P01", 8, "invalid reference to FROM-clause entry"},
		{"select * from patiens", "42P01", 15, `relation "patiens" does not exist`},
		{"select patient_id from patients p, encounters e", "42702", 8, "column reference"},
		{"select gender, count(*) from patients", "42803", 8, `column "patients.gender" must appear in the GROUP BY clause`},
		{"select count(*) from patients where count(*) > 1", "42803", 37, "aggregate functions are not allowed in WHERE"},
		{"select sum(count(*)) from patients", "42803", 12, "aggregate function calls cannot be nested"},
		{"select sum(gender) from patients", "42883", 8, "function sum(text) does not exist"},
		{"select gender + 1 from patients", "42883", 15, "operator does not exist: text + integer"},
		{"select nosuch(1)", "42883", 8, "function nosuch(integer) does not exist"},
		{"select 'x'::int", "22P02", 8, "invalid input syntax"},
		{"select 1 from patients where gender", "42804", 30, "argument of WHERE must be type boolean"},
		{"select case when true then 1 else true end", "42804", 28, "CASE types boolean and integer cannot be matched"},
		{"select count(*) from patients group by 5", "42P10", 40, "GROUP BY position 5"},
		{"select 1 order by 2", "42P10", 19, "ORDER BY position 2"},
		{"select distinct gender from patients order by race", "42P10", 47, "for SELECT DISTINCT"},
		{"select dp_error(1)", "22023", 8, "dp_error takes an aggregate call, or an expression over some"},
		{"select gender::interval from patients", "0A000", 14, "a cast from text to interval is not supported"},
		{"select * from pg_class", "0A000", 15, "catalog relation"},
		{"select * from information_schema.tables", "0A000", 15, "catalog relation"},
		{"with recursive t as (select 1 union all select 2 from t) select * from t", "0A000", 16, "a recursive query is not supported yet"},
		{"select (select sum(p.birth_year)) from patients p", "42703", 0, "column"},
		{"select (select patients.gender) from patients group by race", "42803", 16, "subquery uses ungrouped column"},
		{"select grouping(gender) from patients group by race", "42803", 17, "arguments to GROUPING must be grouping expressions"},
		{"select distinct on (gender) race from patients order by race", "42P10", 21, "SELECT DISTINCT ON expressions must match"},
		{"select race from patients fetch first 1 row with ties", "42601", 0, "WITH TIES cannot be specified without ORDER BY"},
		{"select random()", "0A000", 8, "function random() is not supported"},
		{"select pg_sleep(1)", "0A000", 8, "function pg_sleep(double precision) is not supported"},
		{"select current_setting('a')", "0A000", 8, "function current_setting"},
	} {
		_, err := bind(t, cat, c.sql)
		e, ok := err.(*sqlerr.Error)
		if !ok || e.Code != c.code || c.pos != 0 && e.Pos != c.pos || !strings.HasPrefix(e.Message, c.message) {
			t.Errorf("%s: %+v", c.sql, err)
			if ok {
				t.Logf("  code %s, position %d, %q", e.Code, e.Pos, e.Message)
			}
		}
	}
	_, err := bind(t, cat, "select gendr from patients")
	if e, ok := err.(*sqlerr.Error); !ok || !strings.Contains(e.Hint, "patients.gender") {
		t.Errorf("no hint for a typo: %+v", err)
	}
}

// TestCanonical: what does not change an answer does not change the text.
func TestCanonical(t *testing.T) {
	cat := demoCatalog(t)
	text := func(sql string) string {
		q, err := bind(t, cat, sql)
		if err != nil {
			t.Fatal(sql, err)
		}
		return plan.Canonical(q.Root)
	}
	base := "select gender, count(*) from patients where race = 'Asian' and patient_id > 5 group by gender"
	for _, same := range []string{
		"SELECT p.gender AS g, count(*) AS n FROM public.patients AS p WHERE p.patient_id > 5 AND 'Asian' = p.race GROUP BY 1",
		"select gender, count(*) from patients where patient_id > 5 and race = 'Asian' group by patients.gender",
	}[1:] {
		if text(same) != text(base) {
			t.Errorf("%s\n%s\n%s", same, text(same), text(base))
		}
	}
	for _, other := range []string{
		"select gender, count(*) from patients where race = 'Asian' and patient_id > 6 group by gender",
		"select gender, count(*) from patients where race = 'Asian' or patient_id > 5 group by gender",
		"select race, count(*) from patients where race = 'Asian' and patient_id > 5 group by race",
		"select gender, count(race) from patients where race = 'Asian' and patient_id > 5 group by gender",
	} {
		if text(other) == text(base) {
			t.Errorf("%s has the text of another statement", other)
		}
	}
}

// TestCanonicalNamesWithDots: tables whose schema and name are written alike when they are joined by a dot have different texts.
func TestCanonicalNamesWithDots(t *testing.T) {
	table := func(schema, name string) string {
		return plan.Canonical(&plan.Scan{Table: &plan.Table{Schema: schema, Name: name}})
	}
	if a, b := table("a", "b.c"), table("a.b", "c"); a == b {
		t.Error(a)
	}
}
