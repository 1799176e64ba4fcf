package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jackc/pgx/v5"
)

// terminal is a program in a terminal of 200 columns: what is typed goes in, what it shows comes out.
type terminal struct {
	master *os.File
	cmd    *exec.Cmd

	mu    sync.Mutex
	shown bytes.Buffer
	more  chan struct{} // something was shown since
	over  chan struct{} // closed when the program has closed it
}

// openTerminal starts a program on the other side of a pseudo-terminal.
func openTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{master: os.NewFile(uintptr(fd), "/dev/ptmx"), cmd: cmd, more: make(chan struct{}, 1), over: make(chan struct{})}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close() //nolint:errcheck // the program has it
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 60, Col: 200}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = term.master.Close()
	})
	go func() {
		defer close(term.over)
		buf := make([]byte, 4096)
		for {
			n, err := term.master.Read(buf)
			term.mu.Lock()
			term.shown.Write(buf[:n])
			term.mu.Unlock()
			select {
			case term.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return term
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.shown.String()
}

// wait gives what was shown since from, once a part of it is what is waited for, n times.
func (term *terminal) wait(t *testing.T, from int, want *regexp.Regexp, n int) string {
	t.Helper()
	end := time.After(60 * time.Second)
	for {
		shown := term.text()[from:]
		if len(want.FindAllString(shown, n)) >= n {
			return shown
		}
		select {
		case <-term.more:
		case <-end:
			t.Fatalf("no %s in\n%s", want, shown)
		}
	}
}

func (term *terminal) typed(t *testing.T, keys string) {
	t.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

const (
	tab    = "\t"
	rubout = "\x15" // Ctrl-U
	ctrlC  = "\x03"
)

// do types keys at the prompt, then a marker, and gives what was shown up to the prompt behind it. The line that is written and not sent is rubbed out.
func (term *terminal) do(t *testing.T, n int, keys string) string {
	t.Helper()
	from := len(term.text())
	term.typed(t, fmt.Sprintf("%s%s\\echo done''%d\n", keys, rubout, n))
	shown := term.wait(t, from, regexp.MustCompile(fmt.Sprintf(`(?s)done%d\r\n.*demo=[*!]?> $`, n)), 1)
	shown, _, _ = strings.Cut(shown, fmt.Sprintf("done%d", n))
	return strings.ReplaceAll(shown, "\r\n", "\n")
}

// The keys that are typed at psql's prompt: words that psql completes from the catalogs, then its commands about answers.
var terminalKeys = []string{
	"SELECT * FROM st" + tab, "SELECT * FROM " + tab, "SELECT * FROM public.w" + tab, "SELECT * FROM wards WHERE " + tab, "SELECT * FROM stays ORDER BY s" + tab, "SELECT count(*) FROM stays GROUP BY d" + tab,
	"SELECT * FROM stays JOIN pa" + tab, "TABLE wa" + tab, `SELECT * FROM patients WHERE "M` + tab, "SELECT * FROM pg_stat_ac" + tab, "SELECT * FROM information_schema.tab" + tab,
	`\d st` + tab, `\d pati` + tab, `\dT st` + tab, `\dn pub` + tab, `\df pg_advisory_` + tab, `\da cou` + tab, `\dv pg_tab` + tab, `\di pat` + tab, `\sf to_ch` + tab, `\c dem` + tab, `\du ana` + tab, `\pset for` + tab, `\x` + tab,
	"SET dates" + tab, "SET work_m" + tab, "SHOW enable_h" + tab, "RESET client_m" + tab, "SET client_min_messages TO " + tab, "SET enable_hashjoin TO " + tab, "SET bytea_output TO " + tab, "SET search_path TO pub" + tab,
	"SET SESSION AUTHORIZATION ana" + tab, "BEGIN ISOLATION LEVEL REP" + tab, "COPY (SELECT 1) T" + tab, "COPY wa" + tab, "EXPLAIN SEL" + tab, "DECLARE c CURS" + tab, "FETCH BACK" + tab,
	"PREPARE by_label AS SELECT label FROM wards;\n", "EXECUTE by_" + tab, "EXECUTE by_label;\n", "SELECT name, statement, parameter_types, from_sql, prepare_time <= now() AS past FROM pg_prepared_statements;\n", "DEALLOCATE " + tab, "DEALLOCATE ALL;\n",
	"BEGIN;\nDECLARE walk CURSOR FOR SELECT * FROM wards ORDER BY 1;\n" + `\echo` + "\n", "FETCH 2 FROM wa" + tab, "FETCH 2 FROM walk;\n", "SELECT name, statement, is_holdable, is_binary, is_scrollable, creation_time > now() - interval '1 hour' AS late FROM pg_cursors;\n", "CLOSE wa" + tab, "ROLLBACK;\n",
	"UNLISTEN " + tab,
	"SELECT label,\nward_id\nFROM wards\nORDER BY 2;\n", "\\x\nSELECT * FROM wards WHERE ward_id = 1;\n\\x\n", "SELECT * FROM wards \\gdesc\n", "SELECT nothing FROM wards;\n", "\\errverbose\n",
	"\\set FETCH_COUNT 2\nSELECT * FROM wards ORDER BY 1;\n", "\\unset FETCH_COUNT\n",
	"SELECT ward_id % 2 AS odd, label, ward_id FROM wards ORDER BY 1, 2 \\crosstabview\n", "SELECT ward_id FROM wards ORDER BY 1 \\gexec\n", "SELECT label AS l FROM wards WHERE ward_id = 1 \\gset\n\\echo :l\n",
	"\\copy (SELECT * FROM wards ORDER BY 1) TO 'wards.csv' csv header\n\\! cat wards.csv\n", "\\copy (SELECT * FROM wards ORDER BY 1) TO stdout (format text, delimiter ';')\n", "SELECT * FROM wards ORDER BY 1 \\g (format=unaligned tuples_only=on) wards.txt\n\\! cat wards.txt\n",
	"\\conninfo\n",
}

// ofServers is what differs between any two servers of one name, and a hint that dpsql has and PostgreSQL has not.
var ofServers = regexp.MustCompile(`port "\d+"|LOCATION: .*\n|HINT:  There are: .*\n`)

// TestPsqlTerminal: in a terminal psql completes, before dpsql, what it completes before PostgreSQL, from tables, columns, functions, settings and what the session has; its commands about answers, cancels and \watch do the same.
func TestPsqlTerminal(t *testing.T) {
	pg, path := psqlDatabase(t, "CREATE SCHEMA dpsql; INSERT INTO wards VALUES (1, 'eye'), (2, 'ear'), (3, 'heart'), (4, 'back'); INSERT INTO patients SELECT i, 'x' FROM generate_series(1, 50) i; INSERT INTO stays SELECT i, i, 1 + i % 4, i % 9 FROM generate_series(1, 50) i")
	s := serveDir(t, path)
	defer s.kill()
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	open := func(port string) *terminal {
		dir := t.TempDir()
		inputrc := filepath.Join(dir, "inputrc")
		if err := os.WriteFile(inputrc, []byte("set bell-style none\nset enable-bracketed-paste off\nset show-all-if-ambiguous on\nset page-completions off\nset completion-query-items 0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("psql", "-X", "-P", "pager=off", "-h", host, "-p", port, "-U", "analyst", "demo")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PGPASSWORD=demo", "TERM=dumb", "INPUTRC="+inputrc, "PSQL_HISTORY=/dev/null", "LC_ALL=C.UTF-8", "PGOPTIONS=-c dpsql.notices=off")
		term := openTerminal(t, cmd)
		term.wait(t, 0, regexp.MustCompile(`demo=[*!]?> $`), 1)
		return term
	}
	ours, theirs := open(port), open(fmt.Sprint(pg.Port))
	for i, keys := range terminalKeys {
		got, want := ofServers.ReplaceAllString(ours.do(t, i, keys), ""), ofServers.ReplaceAllString(theirs.do(t, i, keys), "")
		if got != want {
			t.Errorf("%q shows\n%s\nwant\n%s", keys, got, want)
		}
	}
	if got := ours.do(t, 1000, "SET dpsql.ro"+tab); !strings.Contains(got, "SET dpsql.rounding ") {
		t.Errorf("dpsql's own settings are not completed: %s", got)
	}
	for i, own := range [][]string{{"SET dpsql.on_low_count TO ", "drop", "keep", "null", "DEFAULT"}, {"SET dpsql.rounding TO ", "error", "off"}, {"SET dpsql.notices TO ", "brief", "full", "off"}, {"SET dpsql.mechanism TO ", "gaussian", "laplace"},
		{"SET dpsql.bounding TO ", "l2", "linf"}, {"SET dpsql.fresh TO ", "ON", "OFF"}, {`\df dp_`, "dp_error", "dp_low", "dp_high", "dp_top_k"}, {`\df dpsql.med`, "dpsql.median"}} {
		shown := ours.do(t, 1001+i, own[0]+tab)
		for _, word := range own[1:] {
			if !strings.Contains(shown, word) {
				t.Errorf("%s is completed without %s: %s", own[0], word, shown)
			}
		}
	}
	for i, term := range []*terminal{ours, theirs} {
		name := []string{"dpsql", "PostgreSQL"}[i]
		from := len(term.text())
		term.typed(t, "SELECT count(*) IS NOT NULL AS some FROM stays \\watch 0.01\n")
		term.wait(t, from, regexp.MustCompile(`\(every 0\.01s\)\r\n\r\n some \r\n------\r\n t\r\n\(1 row\)`), 3)
		term.typed(t, ctrlC)
		term.wait(t, from, regexp.MustCompile(`demo=[*!]?> $`), 1)
		from = len(term.text())
		term.typed(t, "SELECT pg_sleep(100);\n")
		over := make(chan struct{})
		go func() { // until it has begun, and ends
			for {
				select {
				case <-over:
					return
				case <-time.After(100 * time.Millisecond):
					_, _ = term.master.WriteString(ctrlC)
				}
			}
		}()
		said := term.wait(t, from, regexp.MustCompile(`ERROR:  canceling statement due to user request\r\n`), 1)
		close(over)
		if !strings.Contains(said, "Cancel request sent") {
			t.Errorf("%s: %s", name, said)
		}
		if got := term.do(t, 2000, "SELECT 7 AS still_here;\n"); !strings.Contains(got, "still_here") {
			t.Errorf("%s after a cancel: %s", name, got)
		}
	}
	var spent float64
	if err := connect(t, s.url("analyst")).QueryRow(t.Context(), "SELECT pure_spent FROM dpsql.budget WHERE scope = 'data_set'", pgx.QueryExecModeSimpleProtocol).Scan(&spent); err != nil || spent < 0.049 || spent > 0.051 {
		t.Errorf("one question, watched, cost %g (%v)", spent, err)
	}
}

// TestPasswordIsNotShown: a password that is typed at the prompt of user hash and user add is not shown, and makes a verifier. The terminal shows again what is typed afterwards, also after an interrupt.
func TestPasswordIsNotShown(t *testing.T) {
	const secret = "correct horse"
	echoes := func(term *terminal) bool {
		mode, err := unix.IoctlGetTermios(int(term.master.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return mode.Lflag&unix.ECHO != 0
	}
	for _, keys := range []string{secret + "\n", "corr" + ctrlC} {
		term := openTerminal(t, program(t.Context(), "user", "hash", "--iterations", "4096"))
		term.wait(t, 0, regexp.MustCompile("Password: $"), 1)
		if echoes(term) {
			t.Error("what is typed is shown")
		}
		term.typed(t, keys)
		err := term.cmd.Wait()
		<-term.over
		shown := term.text()
		if !echoes(term) {
			t.Error("the terminal stays silent")
		}
		if verifier := regexp.MustCompile(`SCRAM-SHA-256\$4096:`).MatchString(shown); strings.Contains(shown, "corr") || verifier != (keys[len(keys)-1] == '\n') || verifier != (err == nil) {
			t.Errorf("%q: %v\n%s", keys, err, shown)
		}
	}
}
