package main

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

var updateDocs = flag.Bool("update-docs", false, "write what the commands of docs/quickstart.md and docs/howto-citus.md print into them")

// TestQuickstart runs every command of docs/quickstart.md as a new owner would, in a shell of its own, against a real PostgreSQL,
// and compares what they print but for numbers. With -update-docs it writes the file.
func TestQuickstart(t *testing.T) {
	pg := pgtest.Start(t)
	u, err := url.Parse(pg.URL("sakila"))
	if err != nil {
		t.Fatal(err)
	}
	runsPage(t, "quickstart.md", u.Host)
}

// TestQuickstartBudget: docs/budget.md shows the budget as the quickstart does. With -update-docs it writes that.
func TestQuickstartBudget(t *testing.T) {
	const budget = "../../docs/budget.md"
	shown := func(page, end string) (before, block, after string) {
		t.Helper()
		read, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(read), "$ dpsql budget show --config policy.yaml\n")
		block, after, ends := strings.Cut(rest, end)
		if !found || !ends {
			t.Fatalf("%s shows no budget", page)
		}
		return before, block, after
	}
	_, want, _ := shown("../../docs/quickstart.md", "$ dpsql freeze")
	before, is, after := shown(budget, "```\n")
	if *updateDocs {
		if err := os.WriteFile(budget, []byte(before+"$ dpsql budget show --config policy.yaml\n"+want+"```\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if is != want {
		t.Errorf("docs/budget.md is stale (-update-docs writes it):\n%s\nthe quickstart shows:\n%s", is, want)
	}
}

// runsPage runs a page's commands, where the page's database server is one at an address.
func runsPage(t *testing.T, page, server string) {
	t.Helper()
	doc := filepath.Join("..", "..", "docs", page)
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	home, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sh := newShell(t, map[string]string{"127.0.0.1:5432": server, "6543": freePort(t), "~/dpsql": home})
	defer sh.stop()
	var out []string
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out = append(out, line)
		switch {
		case strings.HasPrefix(line, "<!-- file: "):
			name := strings.TrimSuffix(strings.TrimPrefix(line, "<!-- file: "), " -->")
			var body []string
			for i += 1; lines[i] != "```"; i++ {
				out = append(out, lines[i])
				body = append(body, lines[i])
			}
			out = append(out, "```")
			sh.write(name, strings.Join(body[1:], "\n")+"\n")
		case line == "```console":
			block, next := sh.block(lines, i+1)
			out = append(out, block...)
			i = next - 1
		}
	}
	got := strings.Join(out, "\n")
	if *updateDocs {
		if err := os.WriteFile(doc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(string(text), "\n")
	for i, line := range out {
		if i >= len(want) || plain(line) != plain(want[i]) {
			old := ""
			if i < len(want) {
				old = want[i]
			}
			t.Errorf("docs/%s:%d is stale (-update-docs writes it):\n  is  %q\n  was %q", page, i+1, line, old)
			return
		}
	}
	if len(out) != len(want) {
		t.Errorf("docs/%s has %d lines, the commands give %d", page, len(want), len(out))
	}
}

var (
	numbersOf = regexp.MustCompile(`[0-9][0-9.e+-]*`)
	spacesOf  = regexp.MustCompile(`[ -]+`)
)

// plain is a line without what noise and the day change: numbers, and the widths that follow from them.
func plain(line string) string {
	return strings.TrimSpace(spacesOf.ReplaceAllString(numbersOf.ReplaceAllString(line, "0"), " "))
}

// shell runs commands in a folder. what stands for addresses in the document is replaced on the way in, and back on the way out.
type shell struct {
	t       *testing.T
	dir     string
	replace map[string]string
	env     []string
	started []*exec.Cmd
}

func newShell(t *testing.T, replace map[string]string) *shell {
	t.Helper()
	dir, err := os.MkdirTemp("", "q") // short: the owner's socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &shell{t: t, dir: dir, replace: replace}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := fmt.Sprintf("#!/bin/sh\nDPSQL_TEST_MAIN=1 exec %q \"$@\"\n", self)
	if err := os.WriteFile(filepath.Join(bin, "dpsql"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	s.env = []string{"PATH=" + bin + ":/usr/bin:/bin:" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C.UTF-8", "PGCONNECT_TIMEOUT=10"}
	return s
}

func (s *shell) in(text string) string {
	for from, to := range s.replace {
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}

func (s *shell) out(text string) string {
	for from, to := range s.replace {
		text = strings.ReplaceAll(text, to, from)
	}
	return text
}

func (s *shell) write(name, text string) {
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(s.in(text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// block runs the commands of a block that begins at line i; it gives the block with their outputs, and the line behind it.
func (s *shell) block(lines []string, i int) (out []string, next int) {
	for lines[i] != "```" {
		if !strings.HasPrefix(lines[i], "$ ") {
			i++ // an old output
			continue
		}
		command := []string{strings.TrimPrefix(lines[i], "$ ")}
		out = append(out, lines[i])
		for i++; strings.HasPrefix(lines[i], "> "); i++ {
			command = append(command, strings.TrimPrefix(lines[i], "> "))
			out = append(out, lines[i])
		}
		if printed := strings.TrimRight(s.out(s.run(s.in(strings.Join(command, "\n")))), "\n"); printed != "" {
			out = append(out, strings.Split(printed, "\n")...)
		}
	}
	return append(out, "```"), i + 1
}

// run runs one command as bash would; exports last.
func (s *shell) run(command string) string {
	if background, ok := strings.CutSuffix(command, " &"); ok {
		return s.start(background)
	}
	envFile := filepath.Join(s.dir, "env")
	cmd := s.command(command + "\nenv -0 > " + envFile)
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	_ = cmd.Run() // a command may fail on purpose: what it prints is compared
	if text, err := os.ReadFile(envFile); err == nil && strings.HasPrefix(command, "export ") {
		s.env = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	}
	return both.String()
}

func (s *shell) command(command string) *exec.Cmd {
	cmd := exec.Command("/bin/bash", "-c", command)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// start runs a server until the test ends, and waits for its port.
func (s *shell) start(command string) string {
	cmd := s.command("exec " + command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.started = append(s.started, cmd)
	for range 300 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+s.replace["6543"]); err == nil {
			_ = c.Close()
			return ""
		}
		time.Sleep(100 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
	s.t.Fatalf("the server did not start:\n%s", log)
	return ""
}

// stop ends what was started as an administrator would, and expects it to go in peace.
func (s *shell) stop() {
	for _, cmd := range s.started {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("the server's end: %v", err)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}
