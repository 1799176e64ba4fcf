package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// before is what a captured statement needs to have been said.
var before = []struct {
	of   *regexp.Regexp
	says string
}{
	{regexp.MustCompile(`(?i)(?:fetch|close)[^"]*?(?:from|in|close) ("[^"]+"|_psql_cursor)`), `BEGIN; DECLARE %s CURSOR FOR SELECT relname FROM pg_class WHERE oid < 1300 ORDER BY oid`},
	{regexp.MustCompile(`(?i)(?:execute|deallocate) (p)\b`), `PREPARE %s(text) AS SELECT $1`},
	{regexp.MustCompile(`(?i)deallocate ("_PLAN[^"]+")`), `PREPARE %s AS SELECT 1`},
	{regexp.MustCompile(`(?i)^(?:savepoint)()`), `BEGIN%s`},
	{regexp.MustCompile(`(?i)^(?:release|rollback to) ("[^"]+")`), `BEGIN; SAVEPOINT %s`},
}

// otherwise are captured session statements that are answered otherwise, and why.
var otherwise = map[string]string{
	"show all": "dpsql's own settings are among them",
}

// minor is the minor release, and what a distribution writes behind it: they are the machine's.
var minor = regexp.MustCompile(`"(?:15\.\d+(?: \([^)"]*\))?|1500\d\d)"`)

// TestCapturedSessions: the session statements that clients were seen to send are answered as PostgreSQL answers them: tags, columns, rows, SQLSTATEs.
func TestCapturedSessions(t *testing.T) {
	f, err := os.Open("../../../shared/clients/metadata.jsonl")
	if err != nil {
		t.Skip("the captured statements are not here")
	}
	defer func() { _ = f.Close() }()
	pg := pgtest.Start(t)
	if err := errors.Join(pg.Exec("postgres", "CREATE ROLE analyst LOGIN"), pg.CreateDB("demo")); err != nil {
		t.Fatal(err)
	}
	if err := pg.Exec("demo", "ALTER DATABASE demo SET timezone = 'UTC'; GRANT CREATE ON SCHEMA public TO analyst; SET ROLE analyst;"+psqlSchema); err != nil {
		t.Fatal(err)
	}
	verifier, err := policy.MakeVerifier("demo", policy.DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/policy.yaml"
	if err := os.WriteFile(path, fmt.Appendf(nil, psqlPolicy, pg.URL("demo"), verifier), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveDir(t, path)
	defer s.kill()
	said := func(url, prelude, sql string) string {
		conn, err := pgconn.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		if prelude != "" {
			if _, err := conn.Exec(t.Context(), prelude).ReadAll(); err != nil {
				return "before: " + err.Error()
			}
		}
		results, err := conn.Exec(t.Context(), sql).ReadAll()
		var b strings.Builder
		for _, r := range results {
			for _, c := range r.FieldDescriptions {
				fmt.Fprintf(&b, "%s:%d ", c.Name, c.DataTypeOID)
			}
			fmt.Fprintf(&b, "%q %s\n", r.Rows, r.CommandTag)
		}
		var pe *pgconn.PgError
		if errors.As(err, &pe) {
			b.WriteString(pe.Code)
		}
		return b.String() + " " + string(conn.TxStatus())
	}
	theirs := strings.Replace(pg.URL("demo"), "postgres://postgres@", "postgres://analyst@", 1)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	all, same := 0, 0
	for lines.Scan() {
		var st struct{ SQL, Kind string }
		if err := json.Unmarshal(lines.Bytes(), &st); err != nil {
			t.Fatal(err)
		}
		if st.Kind != "session" {
			continue
		}
		all++
		prelude := ""
		for _, b := range before {
			if m := b.of.FindStringSubmatch(st.SQL); m != nil {
				prelude = fmt.Sprintf(b.says, m[1])
			}
		}
		got, want := minor.ReplaceAllString(said(s.url("analyst"), prelude, st.SQL), `"15"`), minor.ReplaceAllString(said(theirs, prelude, st.SQL), `"15"`)
		switch _, known := otherwise[strings.TrimSpace(st.SQL)]; {
		case got == want:
			same++
		case !known:
			t.Errorf("%s\ngives %s\nwant  %s", st.SQL, got, want)
		}
	}
	page, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), fmt.Sprintf("of %d statements about sessions %d,", all, same)) {
		t.Errorf("%d of %d are the same: docs/clients.md says otherwise", same, all)
	}
}
