package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// ran runs dpsql with arguments and gives its output and exit code.
func ran(t *testing.T, stdin string, args ...string) (out string, code int) {
	t.Helper()
	cmd := program(t.Context(), args...)
	cmd.Stdin = strings.NewReader(stdin)
	text, err := cmd.CombinedOutput()
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return string(text), ee.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return string(text), 0
}

// TestVersion: --version and version print the same line: version, commit where Go recorded one, Go's own version.
func TestVersion(t *testing.T) {
	flag, _ := ran(t, "", "--version")
	command, _ := ran(t, "", "version")
	if !regexp.MustCompile(`^dpsql \S+ \((commit [0-9a-f]{12}( with changes)?, )?go1\.\S+ \w+/\w+\)\n$`).MatchString(flag) || command != flag {
		t.Errorf("%q, %q", flag, command)
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: strings.Repeat("0a", 20)}
	for want, settings := range map[string][]debug.BuildSetting{
		"": nil, "commit 0a0a0a0a0a0a, ": {commit}, "commit 0a0a0a0a0a0a with changes, ": {commit, {Key: "vcs.modified", Value: "true"}},
	} {
		if got := commitOf(settings); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestErrorsCommand: every kind of error is explained, by its id and by its SQLSTATE, without marks of Markdown.
func TestErrorsCommand(t *testing.T) {
	for _, k := range sqlerr.Kinds() {
		for _, code := range []string{k.ID, strings.ToLower(k.Code)} {
			text, err := explainCode(code)
			if err != nil || !strings.Contains(text, k.ID+"\n\nSQLSTATE "+k.Code+". ") || !strings.Contains(text, "\nCure: ") || strings.Contains(text, "```") || strings.Contains(text, "###") {
				t.Errorf("%s: %v\n%s", code, err, text)
			}
		}
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{0, "HINT:  ", []string{"errors", "PV001"}}, {0, "PV007  budget_exhausted\n", []string{"errors"}}, {1, `no error has the SQLSTATE or id "PV999"`, []string{"errors", "PV999"}},
		{2, "there are 2 arguments, but it takes one: write dpsql errors [CODE]", []string{"errors", "PV001", "PV002"}}, {0, "budget_exhausted", []string{"__complete", "errors", "budget"}},
	} {
		if out, code := ran(t, "", c.args...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("dpsql %v: exit code %d\n%s", c.args, code, out)
		}
	}
}

// TestPortTaken: where another program has the port, serve says so and what to do.
func TestPortTaken(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	out, code := ran(t, "", "serve", "--config", path, "--listen", l.Addr().String())
	if want := l.Addr().String() + " is taken by another program, such as dpsql demo: stop it, or choose another port with --listen"; code != exitFailed || !strings.Contains(out, want) {
		t.Errorf("exit code %d, no %q:\n%s", code, want, out)
	}
}

// TestExplainFile: the statements of a file are explained in one session, without and with a server, and nothing is spent.
func TestExplainFile(t *testing.T) {
	path := smallServer(t, 1, 0.5)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "listen: 127.0.0.1:"+freePort(t)+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(path), "work.sql")
	good := "SELECT count(*) FROM stays;\nSET dpsql.price = 0.25;\n\nSELECT sum(days)\n  FROM stays;\nDROP DP MODEL m;\nEXPLAIN SELECT count(*) FROM patients"
	for _, side := range []string{"without a server", "with a server"} {
		t.Run(side, func(t *testing.T) {
			if side == "with a server" {
				defer started(t, program(context.Background(), "serve", "--config", path)).kill()
				t.Setenv("PGPASSWORD", "demo")
			}
			for _, c := range []struct {
				text string
				code int
				want []string
			}{
				{good, 0, []string{"line 1: SELECT count(*) FROM stays\n", "Price: 0.5", "line 4: SELECT sum(days) FROM stays\n", "Price: 0.25", "EXPLAIN does not take this statement.\n", "line 7: EXPLAIN", "5 statements, 0 refused\n"}},
				{good + ";\nSELECT * FROM stays;\nSELEC;\nSET dpsql.price = 1000;", 3, []string{"line 8: SELECT * FROM stays\nrefused: rows of private tables cannot be shown", "line 9: SELEC\nrefused: syntax error", "line 10: SET dpsql.price = 1000\nrefused: ", "8 statements, 3 refused\n"}},
			} {
				if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				out, code := ran(t, "", "explain", file, "--config", path)
				for _, want := range c.want {
					if code != c.code || !strings.Contains(out, want) {
						t.Fatalf("exit code %d, no %q:\n%s", code, want, out)
					}
				}
				if piped, code := ran(t, c.text, "explain", "-", "--config", path); code != c.code || after(piped, "line 1: ") != after(out, "line 1: ") { // the first logs that it made the ledger
					t.Errorf("exit code %d from standard input:\n%s", code, piped)
				}
			}
			if out, code := ran(t, "", "explain", "nowhere.sql", "--config", path); code != 1 || !strings.Contains(out, "no such file") {
				t.Errorf("exit code %d:\n%s", code, out)
			}
			if out, _ := ran(t, "", "budget", "show", "--config", path); !strings.Contains(out, "used epsilon 0 (delta 0) by 0 windows") {
				t.Errorf("explaining cost something:\n%s", out)
			}
		})
	}
}

// after is a text from a mark on.
func after(text, mark string) string { return text[max(0, strings.Index(text, mark)):] }

// TestManPages: each command has a page with its name, what it does and its options, and no line that roff would take for a request of its own.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if out, code := ran(t, "", "man", dir); code != 0 {
		t.Fatal(out)
	}
	for name, want := range map[string]string{"dpsql": `dpsql\-serve(1)`, "dpsql-serve": `\-\-config`, "dpsql-budget-grant": `\-\-epsilon`, "dpsql-errors": "DESCRIPTION"} {
		text, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) || !strings.HasPrefix(string(text), ".TH ") {
			t.Errorf("%s: %s", name, text)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, ".") && !regexp.MustCompile(`^\.(TH|SH|B|nf|fi)\b`).MatchString(line) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	if pages, err := filepath.Glob(filepath.Join(dir, "*.1")); err != nil || len(pages) < 20 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
	if out, _ := ran(t, "", "--help"); strings.Contains(out, "man page") {
		t.Error("the command for packages is in the help")
	}
}

// TestHelpExamples: each command line that --help shows has a command, its arguments and the flags that it requires.
func TestHelpExamples(t *testing.T) {
	words, shown := regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`), 0
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, line := range strings.Split(c.Long+"\n"+c.Example, "\n") {
			indented, line := strings.HasPrefix(line, "  "), strings.TrimSpace(strings.ReplaceAll(line, "PGPASSWORD='correct horse'", ""))
			if _, after, ok := strings.Cut(line, "  dpsql "); ok { // after a caption, or several spaces
				line = "dpsql " + after
			}
			if at := strings.Index(line, "| dpsql "); at >= 0 {
				line = line[at+2:]
			}
			if !indented || !strings.HasPrefix(strings.TrimPrefix(line, "PGPASSWORD=... "), "dpsql ") {
				continue
			}
			line, _, _ = strings.Cut(strings.TrimPrefix(line, "PGPASSWORD=... "), " > ")
			line, _, _ = strings.Cut(line, "  #")
			shown++
			of, rest, err := root().Find(words.FindAllString(line, -1)[1:])
			if err == nil {
				err = of.ParseFlags(rest)
			}
			if err == nil {
				err = errors.Join(of.ValidateArgs(of.Flags().Args()), of.ValidateRequiredFlags())
			}
			if err != nil {
				t.Errorf("%s --help shows %q: %v", c.CommandPath(), line, err)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	if visit(root()); shown < 8 {
		t.Errorf("%d examples", shown)
	}
}

// TestQuerySeverities: dpsql query prints warnings as such, without a server and with one.
func TestQuerySeverities(t *testing.T) {
	var out strings.Builder
	say := noticesTo(&out)
	say("WARNING", "no group is shown")
	say("NOTICE", "")
	say("NOTICE", "spent: nothing")
	if out.String() != "WARNING: no group is shown\nNOTICE: spent: nothing\n" {
		t.Error(out.String())
	}
}

// TestGrantWords: a grant of a number without --epsilon is answered with a whole command.
func TestGrantWords(t *testing.T) {
	if out, code := ran(t, "", "budget", "grant", "ann", "1"); code != 2 || !strings.Contains(out, "dpsql budget grant ann --epsilon 1 --reason") {
		t.Errorf("%d: %s", code, out)
	}
}
