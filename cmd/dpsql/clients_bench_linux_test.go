package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// psqlSession is a psql that waits for commands.
type psqlSession struct {
	b   *testing.B
	in  *bufio.Writer
	out *bufio.Scanner
}

func newPsql(b *testing.B, url string) *psqlSession {
	cmd := exec.Command("psql", "-X", "-q", url)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return &psqlSession{b, bufio.NewWriter(in), bufio.NewScanner(out)}
}

// run gives a command and waits for all that it prints.
func (s *psqlSession) run(command string) (lines int) {
	_, _ = s.in.WriteString(command + "\n\\echo done\n")
	if err := s.in.Flush(); err != nil {
		s.b.Fatal(err)
	}
	for s.out.Scan() {
		if s.out.Text() == "done" {
			return lines
		}
		lines++
	}
	s.b.Fatal("psql ended: ", s.out.Err())
	return 0
}

func sideURL(s *side) string {
	c := s.conn.Conn().RemoteAddr().String()
	return "postgres://analyst:demo@" + c + "/demo?sslmode=disable"
}

// BenchmarkDescribe is psql's \d of a table and of all, beside the same of PostgreSQL.
func BenchmarkDescribe(b *testing.B) {
	ours, theirs := metadataSides(b)
	for name, s := range map[string]*psqlSession{"dpsql": newPsql(b, sideURL(ours)), "PostgreSQL": newPsql(b, sideURL(theirs))} {
		for _, command := range []string{`\d encounters`, `\d`} {
			took := timed(b, max(b.N, 50), func(int) error {
				if s.run(command) < 8 {
					return fmt.Errorf("%s says nothing", command)
				}
				return nil
			})
			b.ReportMetric(took.Seconds()*1e3, "ms-"+strings.Replace(command, " ", "-", 1)+"-"+name)
		}
	}
}

// BenchmarkReflection is SQLAlchemy's whole reflection, in turns with PostgreSQL.
func BenchmarkReflection(b *testing.B) {
	if exec.Command("/usr/bin/python3", "-c", "import sqlalchemy, psycopg2").Run() != nil {
		b.Skip("python3-sqlalchemy is not here: make test-clients installs it")
	}
	ours, theirs := metadataSides(b)
	out, err := exec.Command("/usr/bin/python3", "-B", "testdata/clients/reflect_bench.py", strconv.Itoa(max(b.N, 60)),
		strings.Replace(sideURL(ours), "postgres:", "postgresql:", 1), strings.Replace(sideURL(theirs), "postgres:", "postgresql:", 1)).Output()
	if err != nil {
		b.Fatal(err, string(err.(*exec.ExitError).Stderr))
	}
	var through, direct, ratio float64
	if _, err := fmt.Sscan(string(out), &through, &direct, &ratio); err != nil {
		b.Fatal(err, string(out))
	}
	b.ReportMetric(through, "ms-dpsql")
	b.ReportMetric(direct, "ms-PostgreSQL")
	b.ReportMetric(ratio, "ratio")
}

// BenchmarkManySessions is the server's highest resident set with 500 sessions that wait and 64 that ask new statements.
func BenchmarkManySessions(b *testing.B) {
	path := chargedPolicy(b, "")
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte("sessions_per_analyst: 100"), []byte("sessions: 1000, sessions_per_analyst: 1000"), 1), 0o600); err != nil {
		b.Fatal(err)
	}
	s := serveDir(b, path)
	b.Cleanup(s.kill)
	before := peak(b, s.cmd.Process.Pid)
	for range 500 {
		if _, err := connect(b, s.url("analyst")).Exec(b.Context(), "SELECT relname FROM pg_class WHERE relname = 'stays'"); err != nil {
			b.Fatal(err)
		}
	}
	idle := peak(b, s.cmd.Process.Pid)
	conns := connectAll(b, []*serving{s})
	var next atomic.Int64
	for b.Loop() {
		charge(b, conns, &next)
	}
	b.ReportMetric(float64(before>>20), "MB-before")
	b.ReportMetric(float64(idle>>20), "MB-idle")
	b.ReportMetric(float64(peak(b, s.cmd.Process.Pid)>>20), "MB-peak")
}

// bouncer is a PgBouncer with TLS and SCRAM before a PostgreSQL.
func bouncer(b *testing.B, pg *pgtest.Server, dir, cert, key string) (addr string) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			b.Skip("pgbouncer is not here: apt-get install pgbouncer")
		}
	}
	to, err := pgconn.ParseConfig(pg.URL("demo"))
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	ini := fmt.Sprintf("[databases]\ndemo = host=127.0.0.1 port=%d user=postgres dbname=demo\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = %s\n"+
		"client_tls_sslmode = require\nclient_tls_cert_file = %s\nclient_tls_key_file = %s\nmax_client_conn = 1000\nlog_connections = 0\nlog_disconnections = 0\n",
		to.Port, addr[strings.LastIndex(addr, ":")+1:], filepath.Join(dir, "users"), cert, key)
	if err := os.WriteFile(filepath.Join(dir, "bouncer.ini"), []byte(ini), 0o644); err != nil { //nolint:gosec // another user reads it
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "users"), []byte("\"analyst\" \"demo\"\n"), 0o644); err != nil { //nolint:gosec // a test's password
		b.Fatal(err)
	}
	args := []string{filepath.Join(dir, "bouncer.ini")}
	if me, err := user.Current(); err == nil && me.Uid == "0" { // it does not run as root
		args = append([]string{"-u", "nobody"}, args...)
	}
	cmd := exec.Command(program, args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 200 {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return addr
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal("pgbouncer does not listen: ", log.String())
	return ""
}

// BenchmarkSetUp is a login with TLS and SCRAM-SHA-256, one after another, in turns with PgBouncer: the same client, certificate and number of iterations.
func BenchmarkSetUp(b *testing.B) {
	dir, err := os.MkdirTemp("", "setup") // b.TempDir is closed to other users
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	cert, key := filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	if out, err := exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", cert).CombinedOutput(); err != nil {
		b.Fatal(err, string(out))
	}
	pg := pgtest.Start(b)
	if err := pg.CreateDB("demo"); err != nil {
		b.Fatal(err)
	}
	path := chargedPolicy(b, fmt.Sprintf("\ntls: {cert: %q, key: %q}\n", cert, key))
	s := serveDir(b, path)
	b.Cleanup(s.kill)
	for _, p := range []struct {
		path string
		mode os.FileMode
	}{{dir, 0o755}, {key, 0o644}} { // dpsql has read the key; the other one runs as nobody
		if err := os.Chmod(p.path, p.mode); err != nil {
			b.Fatal(err)
		}
	}
	beside := bouncer(b, pg, dir, cert, key)
	login := func(addr string) func(int) error {
		c, err := pgx.ParseConfig("postgres://analyst:demo@" + addr + "/demo?sslmode=require")
		if err != nil {
			b.Fatal(err)
		}
		return func(int) error {
			conn, err := pgx.ConnectConfig(context.Background(), c)
			if err != nil {
				return err
			}
			if _, ok := conn.PgConn().Conn().(*tls.Conn); !ok {
				return fmt.Errorf("%s: no TLS", addr)
			}
			return conn.Close(context.Background())
		}
	}
	var ours, theirs []time.Duration
	for range max(b.N, 5) {
		ours, theirs = append(ours, timed(b, 50, login(s.addr))), append(theirs, timed(b, 50, login(beside)))
	}
	b.ReportMetric(median(ours).Seconds()*1e3, "ms-dpsql")
	b.ReportMetric(median(theirs).Seconds()*1e3, "ms-PgBouncer")
	b.ReportMetric(median(ours).Seconds()/median(theirs).Seconds(), "ratio")
}

// BenchmarkStored is a stored release of a million rows as a client reads it, in turns with a table of the same rows in PostgreSQL: rows a second.
func BenchmarkStored(b *testing.B) {
	s, pg := largeServer(b, 1_000_000)
	b.Cleanup(s.kill)
	const release = "SELECT place, count(*) FROM visits GROUP BY place"
	through, direct := connect(b, s.url("analyst")), connect(b, pg.URL("demo"))
	rate := func(c *pgx.Conn, sql string) float64 {
		start := time.Now()
		rows, err := c.Query(context.Background(), sql)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for rows.Next() {
			var place, count int64
			if err := rows.Scan(&place, &count); err != nil {
				b.Fatal(err)
			}
			n++
		}
		if rows.Err() != nil || n < 900_000 {
			b.Fatal(n, rows.Err())
		}
		return float64(n) / time.Since(start).Seconds()
	}
	rate(through, release) // asked, and stored
	if _, err := direct.Exec(context.Background(), "CREATE TABLE released AS "+release+" ORDER BY place"); err != nil {
		b.Fatal(err)
	}
	rate(direct, "SELECT * FROM released")
	var ours, theirs []float64
	for range max(b.N, 5) {
		ours, theirs = append(ours, rate(through, release)), append(theirs, rate(direct, "SELECT * FROM released"))
	}
	b.ReportMetric(middle(ours), "rows/s-dpsql")
	b.ReportMetric(middle(theirs), "rows/s-PostgreSQL")
	b.ReportMetric(middle(ours)/middle(theirs), "ratio")
}
