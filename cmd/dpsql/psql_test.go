package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

const psqlPolicy = `
dataset: demo
backend: {postgres: %[1]q}
unit: patients.patient_id
tables:
  patients:
    columns: {patient_id: {}, name: {description: "as in the passport"}, born: {}, "Mixed Case": {}}
  stays:
    unit: patient_id -> patients.patient_id
    max_rows_per_unit: 3
    columns: {stay_id: {}, patient_id: {}, ward_id: {}, days: {range: [0, 30], description: "of the stay"}, cost: {}, state: {values: [in, out, Gone home]}, tags: {}}
  wards: {public: true}
budget: {epsilon: 5, delta: 0}
analysts:
  analyst: {password: %[2]q, may: [patients, stays, wards]}
  guest: {password: %[2]q, may: [stays.days]}
`

const psqlSchema = `
CREATE TYPE state AS ENUM ('in', 'out', 'Gone home');
CREATE TABLE patients (patient_id int PRIMARY KEY, name varchar(40) NOT NULL, born date, "Mixed Case" char(3));
CREATE TABLE wards (ward_id smallint PRIMARY KEY, label text UNIQUE NOT NULL);
CREATE TABLE stays (stay_id bigint PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, ward_id smallint REFERENCES wards, days int, cost numeric(10,2), state state, tags text[]);
COMMENT ON TABLE patients IS 'private, privacy unit patients.patient_id';
COMMENT ON COLUMN patients.patient_id IS 'private, the privacy unit';
COMMENT ON COLUMN patients.name IS 'as in the passport (private)';
COMMENT ON COLUMN patients.born IS 'private';
COMMENT ON COLUMN patients."Mixed Case" IS 'private';
COMMENT ON TABLE wards IS 'public: its rows belong to no privacy unit';
COMMENT ON COLUMN wards.ward_id IS 'public';
COMMENT ON COLUMN wards.label IS 'public';
COMMENT ON TABLE stays IS 'private, privacy unit patients.patient_id, at most 3 of a unit''s rows count';
COMMENT ON COLUMN stays.stay_id IS 'private';
COMMENT ON COLUMN stays.patient_id IS 'private, leads to the privacy unit patients.patient_id';
COMMENT ON COLUMN stays.ward_id IS 'private';
COMMENT ON COLUMN stays.days IS 'of the stay (private, range 0 to 30)';
COMMENT ON COLUMN stays.cost IS 'private';
COMMENT ON COLUMN stays.state IS 'private, values in, out, Gone home';
COMMENT ON COLUMN stays.tags IS 'private';
`

// psqlCommands are what psql is asked: all its commands about names but those that tell of roles' powers, the owners of what PostgreSQL brings, sizes and other databases.
var psqlCommands = []string{`\d`, `\d patients`, `\d+ stays`, `\d+ patients`, `\d wards`, `\d+ wards`, `\d public.stays`, `\d "patients"`, `\d pa*`, `\dt`, `\dt public.*`, `\di`, `\dv`, `\dm`, `\ds`, `\dE`, `\dP`, `\dn pub*`, `\d patients_pkey`,
	`\df count`, `\da avg`, `\dfa s*`, `\dfn to_char`, `\dT`, `\dT state`, `\dT int*`, `\do ||`, `\dO`, `\dp`, `\z`, `\ddp`, `\dD`, `\dc`, `\dC integer`, `\dd`, `\dd stays`, `\dF`, `\dFd`,
	`\dFp`, `\dFt`, `\dl`, `\dX`, `\dy`, `\des`, `\deu`, `\det`, `\dew`, `\dA`, `\dAc btree integer`, `\dAo btree integer_ops`, `\dAp btree integer_ops`, `\drds`, `\dRp`, `\dRs`,
	`\dS pg_am`, `\d pg_class`, `\d pg_catalog.pg_tables`, `\d nothing`, `\dt nothing`, `\encoding`,
	`\dx`, `\dx+`, `\dF+`, `\dFp+`, `\dFd+ simple`, `\dFt+ simple`, `\dD+`, `\dDS`, `\dDS+`, `\dD *.*`, `\dc+ utf8_to_koi8_r`, `\dcS utf8_to_koi8_r`, `\dC+ integer`, `\dT+ state`, `\dTS int*`, `\do+ ||`, `\dOS C`, `\dA+`,
	`\dAo+ btree integer_ops`, `\dAp+ btree integer_ops`, `\daS+ avg`, `\dES+`, `\dPtin+`, `\des+`, `\deu+`, `\det+`, `\dew+`, `\dRp+`, `\dX+`,
	`\dy+`, `\dl+`, `\ds+`, `\dm+`, `\dFS english`, `\dpS pg_am`, `\ddS point`, `\dconfig work_mem`,
	`SELECT c.relname, c.relkind FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1`,
	`SELECT relname, oid::regclass FROM pg_class WHERE relname = 'stays' \gdesc`,
	`SELECT table_name, column_name, data_type, udt_name, is_nullable, character_maximum_length, numeric_precision FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position`,
	`SELECT relkind, relpersistence, count(*) FROM pg_class WHERE relnamespace = 2200 GROUP BY 1, 2 ORDER BY 1 \crosstabview`,
	`SELECT enumlabel FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid WHERE typname = 'state' ORDER BY enumsortorder`,
	`SELECT current_schema, current_schemas(true), current_database()`,
	`SELECT a.attname, t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE attrelid = 'stays'::regclass AND attnum > 0 ORDER BY attnum`,
	`SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'stays'::regclass ORDER BY 1`,
	`WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4) SELECT array_agg(n) FROM t`,
	`SELECT 'nothing'::regclass`, `SELECT to_regclass('nothing'), to_regtype('int4[]')`, `SELECT * FROM pg_catalog.nothing`}

// psqlDatabase is a PostgreSQL with the analyst's tables, which more fills, and a policy of them.
func psqlDatabase(t *testing.T, more string) (pg *pgtest.Server, policyFile string) {
	t.Helper()
	pg = pgtest.Start(t)
	if err := pg.Exec("postgres", "CREATE ROLE analyst LOGIN"); err != nil {
		t.Fatal(err)
	}
	if err := pg.CreateDB("demo"); err != nil {
		t.Fatal(err)
	}
	if err := pg.Exec("demo", "GRANT CREATE ON SCHEMA public TO analyst; GRANT CREATE ON DATABASE demo TO analyst; SET ROLE analyst;"+psqlSchema+more); err != nil {
		t.Fatal(err)
	}
	verifier, err := policy.MakeVerifier("demo", policy.DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	policyFile = filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policyFile, fmt.Appendf(nil, psqlPolicy, pg.URL("demo"), verifier), 0o600); err != nil {
		t.Fatal(err)
	}
	return pg, policyFile
}

// TestPsqlCommands: psql's commands give before dpsql, whose database is stopped, what they give before an empty PostgreSQL with the same tables.
func TestPsqlCommands(t *testing.T) {
	pg, path := psqlDatabase(t, "")
	script := filepath.Join(t.TempDir(), "commands.sql")
	var text strings.Builder
	for i, c := range psqlCommands {
		if fmt.Fprintf(&text, "\\echo === %d\n%s", i, c); !strings.HasPrefix(c, `\`) && !strings.Contains(c, ` \g`) && !strings.Contains(c, ` \c`) {
			text.WriteString(";")
		}
		text.WriteString("\n")
	}
	if err := os.WriteFile(script, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) []string {
		cmd := exec.Command("psql", append([]string{"-X", "-f", script}, args...)...)
		cmd.Env = append(os.Environ(), "PGPASSWORD=demo")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("psql: %v\n%s", err, out)
		}
		return strings.Split(strings.ReplaceAll(string(out), "psql:"+script, "psql"), "=== ")
	}
	want := ask(strings.Replace(pg.URL("demo"), "postgres://postgres@", "postgres://analyst@", 1))
	oids := func(s *serving) (list string) {
		if err := connect(t, s.url("analyst")).QueryRow(t.Context(), "SELECT string_agg(oid::text, ' ' ORDER BY relname) FROM pg_class WHERE oid >= 16384").Scan(&list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	s := serveDir(t, path)
	before := oids(s)
	s.kill()
	s = serveDir(t, path)
	defer s.kill()
	if after := oids(s); after != before || strings.Count(after, " ") < 8 {
		t.Errorf("the numbers of relations are %s, and were %s before a restart", after, before)
	}
	if err := pg.StopServer(); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	// JDBC's {? = call now()}: a parameter of type void is no argument.
	call := connect(t, s.url("analyst")).PgConn()
	if _, err := call.Prepare(t.Context(), "call", "SELECT * FROM now($1) AS result", []uint32{2278}); err != nil {
		t.Error(err)
	} else if r := call.ExecPrepared(t.Context(), "call", [][]byte{nil}, nil, nil).Read(); r.Err != nil || len(r.Rows) != 1 {
		t.Errorf("%v", r)
	}
	got := ask("-h", host, "-p", port, "-U", "analyst", "demo")
	if len(got) != len(psqlCommands)+1 || len(want) != len(got) {
		t.Fatalf("%d and %d answers to %d commands", len(got), len(want), len(psqlCommands))
	}
	for i, c := range psqlCommands {
		if got[i+1] != want[i+1] {
			t.Errorf("%s\ngives\n%s\nwant\n%s", c, got[i+1], want[i+1])
		}
	}
	seen := strings.Join(ask("-h", host, "-p", port, "-U", "guest", "demo"), "")
	for _, hidden := range []string{"patient_id |", "Mixed Case", "stays_pkey", "passport", "cost", "Gone home"} {
		if strings.Contains(seen, hidden) {
			t.Errorf("one who may see stays.days alone reads %q", hidden)
		}
	}
	if !strings.Contains(seen, "of the stay") {
		t.Error("one who may see stays.days does not see its comment")
	}
	if err := os.WriteFile(script, []byte("\\dt+ public.*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if sized := ask("-h", host, "-p", port, "-U", "analyst", "demo")[0]; !strings.Contains(sized, "| private, privacy unit patients.patient_id, at most 3 of a unit's rows count") {
		t.Errorf("\\dt+ does not tell the privacy unit:\n%s", sized)
	}
	// Every command in every form: one that does not fail before PostgreSQL does not fail here.
	text.Reset()
	for c := range strings.FieldsSeq(`d dA dAc dAf dAo dAp dC dD dE dF dFd dFp dFt dL dO dP dPn dRp dRs dT dX da db dc dconfig dd ddp des det deu dew df dfn dfw di dl dm dn do dp drds ds dt du dv dx dy l z`) {
		for _, form := range []string{"", "S", "+", "S+ pg_catalog.pg_*s", " *.*"} {
			if c != "d" && c != "dt" && c != "dv" || form != " *.*" { // which looks at hundreds of relations one by one
				fmt.Fprintf(&text, "\\%s%s\n", c, form)
			}
		}
	}
	if err := os.WriteFile(script, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(ask("-h", host, "-p", port, "-U", "analyst", "demo")[0], "\n") {
		if strings.Contains(line, "ERROR:") {
			t.Error(line)
		}
	}
}

// TestPsqlProgress: with dpsql.progress psql is told how far a statement is while that waits for the database, and what it was charged.
func TestPsqlProgress(t *testing.T) {
	pg, path := psqlDatabase(t, "")
	s := serveDir(t, path)
	defer s.kill()
	conn := connect(t, pg.URL("demo"))
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE stays IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("psql", "-X", "-At", "-c", "SET dpsql.notices = off", "-c", "SET dpsql.progress = on", "-c", "SELECT count(*) IS NOT NULL FROM stays", s.url("analyst"))
	cmd.Env = append(os.Environ(), "PGPASSWORD=demo")
	var answer strings.Builder
	cmd.Stdout = &answer
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !regexp.MustCompile(`^NOTICE:  \d+ s: reading private rows; charged: price 0\.05$`).MatchString(lines.Text()) {
	}
	if lines.Text() == "" {
		t.Error("psql was not told of progress")
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil || !strings.HasSuffix(answer.String(), "t\n") {
		t.Errorf("%v: %s", err, answer.String())
	}
}
