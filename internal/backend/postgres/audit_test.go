package postgres_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

// auditTables are in a database of each test's own; roles are of the whole server.
func auditTables(t *testing.T, name string, roles []string, more ...string) {
	t.Helper()
	database(t, name,
		`CREATE TABLE listed (id serial PRIMARY KEY, x text)`, `CREATE SCHEMA "Odd s"`, `CREATE TABLE "Odd s"."T" (id integer, y text)`,
		`CREATE TABLE other (id serial PRIMARY KEY)`, `CREATE TABLE also (id integer)`, `CREATE VIEW seen AS SELECT * FROM other`,
		`CREATE FUNCTION definer() RETURNS integer SECURITY DEFINER LANGUAGE sql AS 'SELECT 1'`)
	drop := func() {
		for _, r := range roles {
			for _, s := range []string{`DROP OWNED BY ` + r + ` CASCADE`, `DROP ROLE IF EXISTS ` + r} {
				if err := server.Exec(name, s); err != nil && !strings.Contains(err.Error(), "does not exist") {
					t.Error(err)
				}
			}
		}
	}
	drop()
	t.Cleanup(drop)
	for _, s := range more {
		if err := server.Exec(name, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func openAs(t *testing.T, role, name string) *postgres.DB {
	t.Helper()
	d, err := postgres.Open(t.Context(), strings.Replace(server.URL(name), "postgres@", url.PathEscape(role)+"@", 1), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

var auditListed = []backend.Listed{{RelationName: backend.RelationName{Name: "listed"}}, {RelationName: backend.RelationName{Schema: "Odd s", Name: "T"}}, {RelationName: backend.RelationName{Name: "seen"}}, {RelationName: backend.RelationName{Name: "missing"}}}

func auditOf(t *testing.T, role, name string) *backend.Audit {
	t.Helper()
	a, err := openAs(t, role, name).Audit(t.Context(), auditListed)
	if err != nil {
		t.Fatal(backendtest.Cause(err))
	}
	if a.Role != role || (len(a.Findings) == 0) != (a.Script == "") {
		t.Errorf("audit of %s: %+v", role, a)
	}
	for _, f := range a.Findings {
		if f.What == "" || f.Fix == "" {
			t.Errorf("finding %+v", f)
		}
	}
	return a
}

func finds(t *testing.T, a *backend.Audit, all ...string) {
	t.Helper()
	for _, want := range all {
		found := false
		for _, f := range a.Findings {
			found = found || strings.Contains(f.What, want)
		}
		if !found {
			t.Errorf("no finding says %q: %+v", want, a.Findings)
		}
	}
	if len(a.Findings) != len(all) {
		t.Errorf("%d findings, want %d: %+v\n%s", len(a.Findings), len(all), a.Findings, a.Script)
	}
}

// readsOnlyListed asks the server itself.
func readsOnlyListed(t *testing.T, role, name string) {
	t.Helper()
	d := openAs(t, role, name)
	for table, may := range map[string]bool{"public.listed": true, `"Odd s"."T"`: true, "public.seen": true, "public.other": false, "public.also": false} {
		if _, err := backendtest.Ask(t.Context(), d, "SELECT 1 FROM "+table, nil, sqltype.Int4); (err == nil) != may {
			t.Errorf("%s reads %s: %v", role, table, err)
		}
	}
}

func cured(t *testing.T, a *backend.Audit, role, name string) {
	t.Helper()
	if err := server.Exec(name, a.Script); err != nil {
		t.Fatalf("%s\n%v", a.Script, err)
	}
	if again := auditOf(t, role, name); len(again.Findings) > 0 {
		t.Errorf("after its script: %+v\n%s", again.Findings, a.Script)
	}
	readsOnlyListed(t, role, name)
}

const everybody = "everybody has TEMPORARY on database"

// Every right that reading does not need is found, wherever it comes from, and the script takes it.
func TestAuditOfARoleWithTooMuch(t *testing.T) {
	auditTables(t, "audit_role", []string{"granter", `"odd Role"`, "writers", "outer_"},
		`CREATE ROLE "odd Role" LOGIN NOINHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS`, `CREATE ROLE writers`, `CREATE ROLE outer_ NOINHERIT`, `CREATE ROLE granter`,
		`GRANT writers TO outer_`, `GRANT outer_ TO "odd Role"`, `GRANT pg_read_server_files TO "odd Role"`,
		`GRANT INSERT, TRUNCATE, SELECT ON listed TO "odd Role" WITH GRANT OPTION`, `GRANT UPDATE (id), SELECT (y) ON "Odd s"."T" TO "odd Role"`,
		`GRANT SELECT ON also TO PUBLIC`, `GRANT DELETE ON other TO writers`, `GRANT SELECT ON other TO writers`,
		`GRANT UPDATE ON SEQUENCE listed_id_seq TO "odd Role"`, `GRANT CREATE ON SCHEMA public TO "odd Role"`, `GRANT CREATE ON DATABASE audit_role TO writers`,
		`ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO "odd Role"`,
		`ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO outer_`,
		`GRANT USAGE ON SCHEMA "Odd s" TO outer_`, `GRANT SELECT ON seen TO outer_`,
		`GRANT REFERENCES ON also TO granter WITH GRANT OPTION`, `SET ROLE granter; GRANT REFERENCES ON also TO "odd Role"; RESET ROLE`,
		`GRANT EXECUTE ON FUNCTION pg_read_file(text) TO "odd Role"`)
	a := auditOf(t, "odd Role", "audit_role")
	finds(t, a, "may make databases", "may make roles", "by replication", "past row-level security",
		"member of pg_read_server_files", "has INSERT, TRUNCATE on table public.listed", "the right to pass on SELECT on table public.listed", `UPDATE (id) on table "Odd s"."T"`,
		"everybody has SELECT on table public.also", "DELETE, SELECT on table public.other through another role",
		"UPDATE on sequence public.listed_id_seq", "CREATE on schema public", "CREATE on database audit_role through another role",
		"will have SELECT on later tables", "will have SELECT on later tables through another role", everybody,
		"REFERENCES on table public.also", "everybody has EXECUTE on function public.definer()",
		"EXECUTE on function pg_read_file(text)", `may not read "Odd s"."T"`, "may not read public.seen")
	cured(t, a, "odd Role", "audit_role")
}

// A group that gives no more than needed is left alone.
func TestAuditLeavesWhatIsNeeded(t *testing.T) {
	auditTables(t, "audit_fine", []string{"fine", "readers"},
		`CREATE ROLE fine LOGIN`, `CREATE ROLE readers`, `GRANT readers TO fine`, `REVOKE TEMPORARY ON DATABASE audit_fine FROM PUBLIC`,
		`REVOKE EXECUTE ON FUNCTION definer() FROM PUBLIC`, `GRANT USAGE ON SCHEMA "Odd s" TO readers`, `GRANT SELECT ON listed, "Odd s"."T" TO readers`,
		`DROP VIEW seen`, `CREATE VIEW seen WITH (security_invoker) AS SELECT * FROM other`, `GRANT SELECT ON seen TO readers`)
	a := auditOf(t, "fine", "audit_fine")
	finds(t, a, "may not read public.other") // which a listed view reads with the reader's rights
	if err := server.Exec("audit_fine", a.Script); err != nil {
		t.Fatal(err)
	}
	finds(t, auditOf(t, "fine", "audit_fine"))
}

// A superuser is told to make a role of dpsql's own, which the script does.
func TestAuditOfASuperuser(t *testing.T) {
	auditTables(t, "audit_super", []string{"dpsql_reader"})
	a := auditOf(t, "postgres", "audit_super")
	if a.Instead != "dpsql_reader" {
		t.Errorf("connect as %q", a.Instead)
	}
	finds(t, a, "is a superuser", everybody, "everybody has EXECUTE on function public.definer()")
	cured(t, a, "dpsql_reader", "audit_super")
}

// So is an owner, whose rights stay as they are.
func TestAuditOfAnOwner(t *testing.T) {
	auditTables(t, "audit_owner", []string{"app", "dpsql_reader"},
		`CREATE ROLE app LOGIN`, `ALTER TABLE listed OWNER TO app`, `ALTER TABLE other OWNER TO app`, `GRANT INSERT ON also TO app`)
	a := auditOf(t, "app", "audit_owner")
	finds(t, a, "the role app owns ", everybody, "everybody has EXECUTE on function public.definer()", `may not read "Odd s"."T"`, "may not read public.seen")
	if strings.Contains(a.Script, "app") {
		t.Errorf("the script touches the application's role:\n%s", a.Script)
	}
	cured(t, a, "dpsql_reader", "audit_owner")
}

// Of a listed relation just the columns are granted that are read, under quoted names; their lack is one finding, which says that nothing else is missing.
func TestAuditGrantsColumns(t *testing.T) {
	auditTables(t, "audit_columns", []string{`"Col Reader"`}, `CREATE ROLE "Col Reader" LOGIN`, `CREATE TABLE "Order" (id int, "user" int, "Name" text)`, `GRANT SELECT (id) ON "Order" TO "Col Reader"`,
		`REVOKE TEMPORARY ON DATABASE audit_columns FROM PUBLIC`, `REVOKE EXECUTE ON FUNCTION definer() FROM PUBLIC`)
	d := openAs(t, "Col Reader", "audit_columns")
	reads := []backend.Listed{{RelationName: backend.RelationName{Schema: "public", Name: "Order"}, Columns: []string{"id", "user", "no such column"}}}
	a, err := d.Audit(t.Context(), reads)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Findings) != 1 || a.Findings[0].Unread != reads[0].RelationName || !strings.Contains(a.Script, "GRANT SELECT (\"user\") ON TABLE public.\"Order\" TO \"Col Reader\";") {
		t.Fatalf("%+v", a)
	}
	if err := server.Exec("audit_columns", a.Script); err != nil {
		t.Fatal(err)
	}
	if a, err = d.Audit(t.Context(), reads); err != nil || len(a.Findings) > 0 {
		t.Errorf("after its script: %+v, %v", a, err)
	}
	rels, err := d.Describe(t.Context(), []backend.RelationName{reads[0].RelationName})
	if err != nil || len(rels) != 1 || rels[0].Reader != `"Col Reader"` || rels[0].Columns[1].Denied || !rels[0].Columns[2].Denied {
		t.Errorf("%+v, %v", rels, err)
	}
}

// Where row-level security would hide rows of what is listed, from a table or through a view that reads with its reader's rights, the role may read past it, and
// the script lets it; elsewhere that is too much. Describe and Audit agree at each step.
func TestAuditRowSecurity(t *testing.T) {
	auditTables(t, "audit_rows", []string{"rr", "dpsql_reader"}, `CREATE ROLE rr LOGIN`, `REVOKE TEMPORARY ON DATABASE audit_rows FROM PUBLIC`, `REVOKE EXECUTE ON FUNCTION definer() FROM PUBLIC`,
		`CREATE VIEW by_reader WITH (security_invoker) AS SELECT * FROM other`, `CREATE VIEW deep AS SELECT * FROM by_reader`,
		`GRANT SELECT ON listed, deep, other TO rr`)
	says := func(role, table string, hidden bool, findings ...string) string {
		t.Helper()
		d := openAs(t, role, "audit_rows")
		rels, err := d.Describe(t.Context(), []backend.RelationName{{Name: table}})
		if err != nil || len(rels) != 1 {
			t.Fatal(err, rels)
		}
		if want := map[bool]string{true: role}[hidden]; rels[0].RowSecurity != want {
			t.Errorf("row-level security hides rows of %s from %q, want %q", table, rels[0].RowSecurity, want)
		}
		a, err := d.Audit(t.Context(), []backend.Listed{{RelationName: backend.RelationName{Name: "listed"}}, {RelationName: backend.RelationName{Name: "deep"}}})
		if err != nil {
			t.Fatal(err)
		}
		finds(t, a, findings...)
		return a.Script
	}
	run := func(script string) {
		t.Helper()
		if err := server.Exec("audit_rows", script); err != nil || script == "" {
			t.Fatalf("%q: %v", script, err)
		}
	}
	for table, stored := range map[string]string{"listed": "listed", "deep": "other"} {
		says("rr", table, false)
		run("ALTER TABLE " + stored + " ENABLE ROW LEVEL SECURITY")
		run(says("rr", table, true))
		says("rr", table, false)
		if script := says("postgres", table, false, "is a superuser"); !strings.Contains(script, "ALTER ROLE dpsql_reader BYPASSRLS;") {
			t.Errorf("the script for %s:\n%s", table, script)
		}
		run("ALTER TABLE " + stored + " DISABLE ROW LEVEL SECURITY")
		run(says("rr", table, false, "past row-level security"))
		says("rr", table, false)
	}
}
