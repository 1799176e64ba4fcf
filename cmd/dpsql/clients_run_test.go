package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

var updateClients = flag.Bool("update-clients", false, "write what the clients of testdata/clients print beside them and into docs/clients.md")

// clients are the scripts of testdata/clients: each connects as an analyst would, reads the schema, asks, and is refused.
// It is given the server's address and a folder to write to.
var clients = []struct{ name, script string }{
	{"psql", "sh psql.sh"},
	{"pgcli", "sh pgcli.sh"},
	{"psycopg2", "/usr/bin/python3 -B psycopg2_client.py"}, // Debian's interpreter is the one that python3-psycopg2 is for
	{"psycopg3", "/usr/bin/python3 -B psycopg3_client.py"},
	{"asyncpg", "/usr/bin/python3 -B asyncpg_client.py"},
	{"sqlalchemy", "/usr/bin/python3 -B sqlalchemy_client.py"},
	{"pandas", "/usr/bin/python3 -B pandas_client.py"},
	{"jdbc", "java -cp /usr/share/java/postgresql.jar Jdbc.java"},
	{"isql", "sh isql.sh"},
	{"odbc", "/usr/bin/python3 -B odbc_client.py"},
	{"r", "Rscript r.R"},
	{"pg", "node node/pg.js"},
	{"postgres.js", "node node/postgres.js"},
	{"knex", "node node/knex.js"},
	{"sequelize", "node node/sequelize.js"},
	{"typeorm", "node node/typeorm.js"},
	{"drizzle", "node node/drizzle.js"},
	{"pgx", "go -C golang run ./pgx"},
	{"lib-pq", "go -C golang run ./libpq"},
	{"gorm", "go -C golang run ./gorm"},
	{"postgres_fdw", "sh postgres_fdw.sh"},
	{"bi", "/usr/bin/python3 -B bi_client.py"},
}

const clientsFolder = "testdata/clients"

// TestClients runs every client against one demo, and holds what it prints against the file beside it.
func TestClients(t *testing.T) {
	if os.Getenv("DPSQL_CLIENTS") == "" {
		t.Skip("make test-clients runs these: they need Debian's and npm's packages")
	}
	addr := demoServer(t)
	t.Setenv("FROM", pgtest.Start(t).URL("postgres")) // for postgres_fdw: the PostgreSQL that it runs in
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) { runClient(t, c.name, c.script, addr) })
	}
}

// demoServer is a running `dpsql demo`: its data, its policy.
func demoServer(t *testing.T) (addr string) {
	t.Helper()
	cmd := program(t.Context(), "demo", "--no-questions", "--listen", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	buf, text := make([]byte, 4096), ""
	for !strings.Contains(text, "-U analyst demo") {
		n, err := stdout.Read(buf)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		text += string(buf[:n])
	}
	var host, port string
	if _, err := fmt.Sscanf(text[strings.Index(text, "psql -h"):], "psql -h %s -p %s", &host, &port); err != nil {
		t.Fatal(err)
	}
	return host + ":" + port
}

func runClient(t *testing.T, name, script, addr string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	words := strings.Fields(script)
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], addr, t.TempDir())...)
	cmd.Dir = clientsFolder
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, stderr.String())
	}
	file := filepath.Join(clientsFolder, name+".txt")
	want, err := os.ReadFile(file)
	if err != nil && !*updateClients {
		t.Fatal(err)
	}
	switch d := differs(string(out), string(want)); {
	case d == "":
	case *updateClients:
		if err := os.WriteFile(file, out, 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s: %s\nall of it:\n%s%s", script, d, out, stderr.String())
	}
}

// differs compares two transcripts word for word; a number after ~ has noise: it is within a tenth of the other.
func differs(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w string
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if !sameWords(strings.Fields(g), strings.Fields(w)) {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, g, w)
		}
	}
	return ""
}

func sameWords(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i, w := range want {
		x, noisy := strings.CutPrefix(w, "~")
		y, also := strings.CutPrefix(got[i], "~")
		if !noisy || !also {
			if w != got[i] {
				return false
			}
			continue
		}
		a, errA := strconv.ParseFloat(strings.Trim(x, ",;|"), 64)
		b, errB := strconv.ParseFloat(strings.Trim(y, ",;|"), 64)
		if errA != nil || errB != nil || b < 0.9*a || b > 1.1*a {
			return false
		}
	}
	return true
}

// TestClientsDoc: docs/clients.md shows what the clients print, and says something of each.
func TestClientsDoc(t *testing.T) {
	const page = "../../docs/clients.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for _, c := range clients {
		shown, err := os.ReadFile(filepath.Join(clientsFolder, c.name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- "+c.name+": what its test prints -->\n```\n", "```\n"
		from := strings.Index(doc, begin)
		if from < 0 {
			t.Errorf("%s has no %q", page, begin)
			continue
		}
		from += len(begin)
		to := from + strings.Index(doc[from:], end)
		if doc[from:to] == string(shown) {
			continue
		}
		if !*updateClients {
			t.Errorf("%s shows of %s what its test does not print: make test-clients UPDATE=1", page, c.name)
		}
		doc = doc[:from] + string(shown) + doc[to:]
	}
	if *updateClients {
		if err := os.WriteFile(page, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
