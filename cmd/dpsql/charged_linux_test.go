package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

const (
	chargedClients = 64
	chargedRound   = 8000 // statements
)

// serveStoredAt starts a server over a stored backend.
func serveStoredAt(b *testing.B, policyPath string, env ...string) *serving {
	cmd := program(context.Background())
	cmd.Env = append(append(cmd.Env, "DPSQL_TEST_MAIN=0", storedVariable+"="+policyPath), env...)
	cmd.Dir = filepath.Dir(policyPath)
	s := started(b, cmd)
	b.Cleanup(s.kill)
	return s
}

// chargedPolicy is a small data set's policy with room for whatever a benchmark asks, and more lines.
func chargedPolicy(b *testing.B, more string) string {
	path := smallServer(b, 10000, 1e-4)
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	text = bytes.Replace(text, []byte("sessions_per_analyst: 100"), fmt.Appendf(nil, "sessions_per_analyst: 100, statements_at_once: %d", chargedClients), 1)
	if err := os.WriteFile(path, append(text, more...), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// charge asks a round of statements, each a new one, over all connections at once, and gives how many a second were answered.
func charge(b *testing.B, conns []*pgx.Conn, next *atomic.Int64) float64 {
	var (
		wg     sync.WaitGroup
		failed atomic.Pointer[error]
		left   atomic.Int64
	)
	left.Store(chargedRound)
	start := time.Now()
	for _, c := range conns {
		wg.Go(func() {
			var n int64
			for left.Add(-1) >= 0 {
				if err := c.QueryRow(context.Background(), "SELECT count(*) FROM stays WHERE stay_id = $1", next.Add(1)).Scan(&n); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start).Seconds()
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
	return chargedRound / took
}

func connectAll(b *testing.B, servers []*serving) []*pgx.Conn {
	conns := make([]*pgx.Conn, chargedClients)
	for i := range conns {
		conns[i] = connect(b, servers[i%len(servers)].url("analyst"))
	}
	return conns
}

// BenchmarkCharged is 64 clients over the wire, each statement a new one, on a ledger in SQLite whose every transaction is synced; the database's answer is stored. Beside it in the same run, on the same
// disk, what SQLite itself does of the same rows in transactions of 64. Medians of the rounds.
func BenchmarkCharged(b *testing.B) {
	path := chargedPolicy(b, "")
	s := serveStoredAt(b, path)
	conns := connectAll(b, []*serving{s})
	var next atomic.Int64
	charge(b, conns, &next)
	var rates, limits, server, clients []float64
	for b.Loop() {
		own, its := processorOf(b, os.Getpid()), processorOf(b, s.cmd.Process.Pid)
		rates = append(rates, charge(b, conns, &next))
		clients = append(clients, (processorOf(b, os.Getpid())-own)/chargedRound*1e6)
		server = append(server, (processorOf(b, s.cmd.Process.Pid)-its)/chargedRound*1e6)
	}
	s.kill()
	for range rates {
		limits = append(limits, groupCommit(b, filepath.Join(filepath.Dir(path), "demo.ledger")))
	}
	b.ReportMetric(middle(rates), "charged/s")
	b.ReportMetric(slices.Max(rates), "charged/s-best")
	b.ReportMetric(middle(limits), "sqlite/s")
	b.ReportMetric(middle(rates)/middle(limits), "ratio")
	b.ReportMetric(middle(server), "us-processor-server")
	b.ReportMetric(middle(clients), "us-processor-clients")
}

// groupCommit is how many statements a second SQLite itself writes of a ledger's last round: the same records and releases in transactions of 64, synced, prepared and without a thought.
func groupCommit(b *testing.B, ledger string) float64 {
	from, err := sqlite3.OpenFlags(ledger, sqlite3.OPEN_READONLY)
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close() //nolint:errcheck // read only
	to, err := sqlite3.Open(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer to.Close() //nolint:errcheck // a scratch file
	exec := func(sql string) {
		if err := to.Exec(sql); err != nil {
			b.Fatal(err)
		}
	}
	exec(`PRAGMA journal_mode=wal; PRAGMA synchronous=FULL; PRAGMA locking_mode=exclusive; CREATE TABLE records (seq INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
		CREATE TABLE releases (seq INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT`)
	type one struct {
		seq           int64
		first, second []byte
	}
	read := func(sql string) (out []one) {
		stmt, _, err := from.Prepare(sql)
		if err != nil {
			b.Fatal(err)
		}
		for stmt.Step() {
			out = append(out, one{stmt.ColumnInt64(0), stmt.ColumnBlob(1, nil), stmt.ColumnBlob(2, nil)})
		}
		if err := stmt.Close(); err != nil {
			b.Fatal(err)
		}
		return out
	}
	rows := read(fmt.Sprintf("SELECT seq, body, hash FROM records ORDER BY seq DESC LIMIT %d", 2*chargedRound))
	releases := read(fmt.Sprintf("SELECT seq, payload, x'' FROM releases ORDER BY seq DESC LIMIT %d", chargedRound))
	insert := func(sql string) func(one) {
		stmt, _, err := to.Prepare(sql)
		if err != nil {
			b.Fatal(err)
		}
		return func(o one) {
			err := stmt.BindInt64(1, o.seq)
			if err == nil {
				err = stmt.BindBlob(2, o.first)
			}
			if err == nil && stmt.BindCount() > 2 {
				err = stmt.BindBlob(3, o.second)
			}
			if err == nil {
				err = stmt.Exec()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	record, release := insert("INSERT INTO records VALUES (?, ?, ?)"), insert("INSERT INTO releases VALUES (?, ?)")
	start := time.Now()
	for i := 0; i < len(rows); i += 64 {
		exec("BEGIN IMMEDIATE")
		for j := i; j < min(i+64, len(rows)); j++ {
			record(rows[j])
			if j%2 == 0 && j/2 < len(releases) {
				release(releases[j/2])
			}
		}
		exec("COMMIT")
	}
	return float64(len(rows)) / 2 / time.Since(start).Seconds()
}

// BenchmarkTwoProxies is clients over a ledger in PostgreSQL, whose every transaction is synced: one proxy with half of the clients, and two with all of them, in turns. The database takes 20 ms for an answer, so that
// it is not the processor that both proxies, their clients and PostgreSQL share here which says how many statements pass; BenchmarkTwoProxiesAtOnce has one that takes none.
func BenchmarkTwoProxies(b *testing.B) { twoProxies(b, "20ms") }

// BenchmarkTwoProxiesAtOnce is bound by the processor.
func BenchmarkTwoProxiesAtOnce(b *testing.B) { twoProxies(b, "0s") }

func twoProxies(b *testing.B, wait string) {
	pg := pgtest.Start(b, "fsync=on", "full_page_writes=on", "synchronous_commit=on")
	b.Setenv("LEDGER_URL", pg.URL("postgres"))
	var servers []*serving
	for range 2 {
		servers = append(servers, serveStoredAt(b, chargedPolicy(b, "ledger: {postgres: env:LEDGER_URL}\n"), waitVariable+"="+wait))
	}
	conns := connectAll(b, servers)
	var first []*pgx.Conn
	for i := 0; i < len(conns); i += 2 {
		first = append(first, conns[i])
	}
	var next atomic.Int64
	charge(b, conns, &next)
	var one, two []float64
	for b.Loop() {
		one = append(one, charge(b, first, &next))
		two = append(two, charge(b, conns, &next))
	}
	b.ReportMetric(middle(one), "charged/s-one")
	b.ReportMetric(middle(two), "charged/s-two")
	b.ReportMetric(middle(two)/middle(one), "ratio")
}

// processorOf is the time that a process had, in seconds.
func processorOf(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	var user, system float64
	if _, err := fmt.Sscanf(strings.Join(strings.Fields(rest)[11:13], " "), "%g %g", &user, &system); err != nil {
		b.Fatal(err)
	}
	return (user + system) / 100 // ticks
}
