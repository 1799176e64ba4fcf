package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The tests run the real program: this test binary again, as dpsql.
func TestMain(m *testing.M) {
	if os.Getenv("DPSQL_TEST_MAIN") == "1" {
		main()
		return
	}
	if asAbuser() || asStored() {
		return
	}
	os.Exit(m.Run())
}

// program runs dpsql with arguments.
func program(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "DPSQL_TEST_MAIN=1")
	return cmd
}

// serving is a running `dpsql serve`.
type serving struct {
	cmd  *exec.Cmd
	addr string
}

// serveDir starts `dpsql serve` on a policy; the address comes from its log.
func serveDir(t testing.TB, policyPath string) *serving {
	t.Helper()
	cmd := program(context.Background(), "serve", "--config", policyPath, "--listen", "127.0.0.1:0")
	cmd.Dir = filepath.Dir(policyPath)
	return started(t, cmd)
}

// started starts a server and waits for its address.
func started(t testing.TB, cmd *exec.Cmd) *serving {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &serving{cmd: cmd}
	found := make(chan string, 1)
	go func() {
		defer close(found)
		sc := bufio.NewScanner(stderr)
		for sc.Scan() {
			var line struct{ Msg, Listen string }
			if json.Unmarshal(sc.Bytes(), &line) == nil && line.Msg == "serving" {
				found <- line.Listen
			} else if testing.Verbose() {
				t.Log(sc.Text())
			}
		}
	}()
	select {
	case s.addr = <-found:
	case <-time.After(60 * time.Second):
	}
	if s.addr == "" {
		s.kill()
		t.Fatal("dpsql serve did not start")
	}
	return s
}

func (s *serving) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *serving) url(user string) string {
	return fmt.Sprintf("postgres://%s:demo@%s/demo?sslmode=disable", user, s.addr)
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestVersionAndHelp(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"version", "dpsql"}, {"--help", "dpsql demo"}, {"demo --help", "--once"}, {"serve --help", "--config"}, {"init --help", "--unit"}, {"check --help", "Exit code"},
		{"rehearse --help", "--analyst"}, {"budget show --help", "--json"}, {"budget verify --help", "--config"}, {"budget grant --help", "--epsilon"}, {"budget raise --help", "--reason"}, {"budget move --help", "--from"}, {"freeze --help", "unfreeze"}, {"unfreeze --help", "--config"}, {"reload --help", "--config"},
		{"query --help", "PGPASSWORD"}, {"explain --help", "--sslrootcert"}, {"train --help", "--explain"}, {"user add --help", "--may"}, {"user hash --help", "printf"}, {"completion bash", "__start_dpsql"}, {"schema", `"$schema"`},
	} {
		out, err := program(t.Context(), strings.Fields(c.args)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("dpsql %s: %v\n%s", c.args, err, out)
		}
	}
	hash := program(t.Context(), "user", "hash")
	hash.Stdin = strings.NewReader("demo\n")
	if out, err := hash.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "SCRAM-SHA-256$4096:") {
		t.Errorf("user hash: %v\n%s", err, out)
	}
	out, err := program(t.Context(), "serve").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "config") {
		t.Errorf("serve without --config: %v\n%s", err, out)
	}
}

// TestExitCodes: 0 done, 1 failed, 2 wrong command line, 3 found something to mend.
func TestExitCodes(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	work := filepath.Join(filepath.Dir(path), "work.sql")
	bad := filepath.Join(filepath.Dir(path), "bad.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(path), "other.sql")
	for name, body := range map[string]string{work: "select count(*) from stays", other: "copy (select count(*) from stays) to stdout; evaluate dp model m on select 1 as x from stays", bad: strings.Replace(string(text), "max_rows_per_unit", "max_rows", 1)} {
		if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"version", 0, ""}, {"nonsense", 2, "unknown command"}, {"serve", 2, "config"}, {"serve --confg x", 2, "unknown flag"}, {"demo now", 2, "unknown command"}, {"train t.sql", 2, "goes to --file: dpsql train --file t.sql"}, {"train --help", 0, "dpsql train --file readmission.sql --config policy.yaml"},
		{"budget shwo --config " + path, 2, `unknown command "shwo" for "dpsql budget": perhaps you meant show`}, {"user zzz", 2, "known are add"}, {"budget", 0, "dpsql budget [command]"}, {"budget --help", 0, "dpsql budget [command]"},
		{"serve --config /nowhere.yaml", 1, "no such file"}, {"check --config " + path, 0, "no mistakes"}, {"check --config " + bad, 3, "did you mean max_rows_per_unit"},
		{"rehearse " + work + " --config " + path, 0, "0 refused, 0 over budget"}, {"rehearse " + other + " --config " + path, 3, "2 statements: prices add up to 0.5, 0 refused, 0 over budget, 1 not rehearsed"}, {"budget show --config " + path, 1, "nothing was spent"},
		{"query selec --config " + path, 1, "syntax error"}, {"freeze nobody --config " + path, 1, "nobody was frozen"}, {"unfreeze nobody --config " + path, 0, "has no analyst"},
	} {
		out, err := program(t.Context(), strings.Fields(c.args)...).CombinedOutput()
		code := 0
		var ee *exec.ExitError
		if errors.As(err, &ee) {
			code = ee.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("dpsql %s: exit code %d, want %d with %q:\n%s", c.args, code, c.code, c.want, out)
		}
	}
	query := program(t.Context(), "query", "select count(*) from stays", "--config", path)
	if out, err := query.CombinedOutput(); err != nil || !strings.Contains(string(out), "spent: price 0.5") {
		t.Errorf("query without a server: %v\n%s", err, out)
	}
	if out, err := program(t.Context(), "budget", "show", "--json", "--config", path).CombinedOutput(); err != nil || !strings.Contains(string(out), `"pure_spent": 0.4999`) {
		t.Errorf("budget without a server: %v\n%s", err, out)
	}
	if out, err := program(t.Context(), "freeze", "analyst", "--config", path).CombinedOutput(); err != nil {
		t.Errorf("freeze without a server: %v\n%s", err, out)
	}
	again := program(t.Context(), "query", "select count(*) from stays", "--config", path)
	if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), "stopped this analyst") {
		t.Errorf("a frozen analyst asked: %v\n%s", err, out)
	}
}

func TestDemoOnce(t *testing.T) {
	out, err := program(t.Context(), "demo", "--once", "--listen", "127.0.0.1:0").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"spent: price 0.5", "HINT:", "your budget does not hold", "95% error", "AUC", "DP MODEL"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demo does not show %q:\n%s", want, out)
		}
	}
	if !regexp.MustCompile(`(?m)^    spent: nothing \(computed from a release of another question; .*\)$`).Match(out) {
		t.Errorf("a fact is cut in its brackets:\n%s", out)
	}
	if _, last, _ := strings.Cut(string(out), "\n13. "); !strings.Contains(strings.SplitN(last, "\n14. ", 2)[0], "    WARNING:  ") {
		t.Errorf("question 13's warning is not shown:\n%s", last)
	}
	if n := strings.Count(string(out), strings.Repeat("-", 100)); n != 16 {
		t.Errorf("%d questions, want 16", n)
	}
}

// TestUsage: a mistaken command line says what to write, in that command's own words.
func TestUsage(t *testing.T) {
	for line, want := range map[string]string{
		"rehearse --config p.yaml":                        "an argument is missing: write dpsql rehearse workload.sql --config policy.yaml\nSee dpsql rehearse --help.",
		"explain --config p.yaml":                         "an argument is missing: write dpsql explain SQL|FILE --config policy.yaml\nSee dpsql explain --help.",
		"explain select 1 --config p.yaml":                "there are 2 arguments, but it takes one: write dpsql explain SQL|FILE --config policy.yaml, with quotes around an argument that has spaces\n",
		"user add --config p.yaml":                        "an argument is missing: write dpsql user add NAME --config policy.yaml\nSee dpsql user add --help.",
		"console link --config p.yaml":                    "--user or --owner is missing: write dpsql console link --config policy.yaml {--user analyst | --owner}\nSee dpsql console link --help.",
		"console link --config p.yaml --user ann --owner": "--owner and --user do not go together: write dpsql console link --config policy.yaml {--user analyst | --owner}\n",
		"init":         "--backend is missing: write dpsql init --backend URL > policy.yaml\nSee dpsql init --help.",
		"check --conf": "unknown flag: --conf\nSee dpsql check --help.",
		"chekc":        "unknown command",
	} {
		var out strings.Builder
		c := root()
		c.SetArgs(strings.Fields(line))
		c.SetErr(&out)
		if code := run(t.Context(), c); code != exitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d, %s", line, code, out.String())
		}
	}
}

// TestPsqlCommandIsNoFile: a command of psql is neither a statement nor a file of statements.
func TestPsqlCommandIsNoFile(t *testing.T) {
	for _, command := range []string{"explain", "query"} {
		var out strings.Builder
		c := root()
		c.SetArgs([]string{command, `\dt`, "--config", "p.yaml"})
		c.SetErr(&out)
		if code := run(t.Context(), c); code != exitFailed || !strings.Contains(out.String(), `\dt is a command of psql: run it there`) {
			t.Errorf("%s: exit %d, %s", command, code, out.String())
		}
	}
}
