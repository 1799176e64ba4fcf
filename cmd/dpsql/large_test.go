package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

const largePolicy = `
dataset: demo
backend: {postgres: %q}
unit: visits.person
tables:
  visits: {columns: {person: {}, place: {}}}
budget: {epsilon: 400, delta: 0.001}
query: {price: 20, max_groups: 1, delta: 0.0001}
limits: {statement_time: 10m}
analysts:
  analyst: {password: %q, may: [visits]}
`

// largeServer serves groups of three people each.
func largeServer(t testing.TB, groups int) (*serving, *pgtest.Server) {
	t.Helper()
	pg := pgtest.Start(t)
	if err := pg.CreateDB("demo"); err != nil {
		t.Fatal(err)
	}
	if err := pg.Exec("demo", fmt.Sprintf(`CREATE TABLE visits (person int PRIMARY KEY, place int NOT NULL);
		INSERT INTO visits SELECT i, i %% %d FROM generate_series(1, %d) i; ANALYZE visits`, groups, 3*groups)); err != nil {
		t.Fatal(err)
	}
	verifier, err := policy.MakeVerifier("demo", policy.DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, largePolicy, pg.URL("demo"), verifier), 0o600); err != nil {
		t.Fatal(err)
	}
	return serveDir(t, path), pg
}

// peak is a process's highest resident set so far, in bytes.
func peak(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("no /proc")
	}
	m := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindSubmatch(text)
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// TestLargeRelease: a release of a million groups takes a proxy less than 512 MB, whoever asks and in whatever order, and not more than one of a fifth of them.
func TestLargeRelease(t *testing.T) {
	if os.Getenv("DPSQL_LONG") == "" {
		t.Skip("DPSQL_LONG is not set")
	}
	var peaks [2]int64
	for i, groups := range []int{200_000, 1_000_000} {
		s, _ := largeServer(t, groups)
		defer s.kill()
		conn := connect(t, s.url("analyst"))
		pid := s.cmd.Process.Pid
		t.Logf("%d groups; before: %d MB", groups, peak(t, pid)>>20)
		kept := -1
		for _, c := range []struct {
			sql    string
			sorted bool
		}{
			{sql: "SELECT place, count(*) FROM visits GROUP BY place", sorted: true}, {sql: "SELECT place, count(*) FROM visits GROUP BY place", sorted: true},
			{sql: "SELECT -place AS p, count(*) * 2 FROM visits GROUP BY place ORDER BY p", sorted: true}, {sql: "SELECT place, count(*) FROM visits GROUP BY place ORDER BY count(*) DESC"},
		} {
			start := time.Now()
			rows, err := conn.Query(context.Background(), c.sql)
			if err != nil {
				t.Fatal(err)
			}
			n, last := 0, math.MinInt
			for rows.Next() {
				var place, count int
				if err := rows.Scan(&place, &count); err != nil {
					t.Fatal(err)
				}
				if c.sorted && place <= last {
					t.Fatalf("%s: %d after %d", c.sql, place, last)
				}
				n, last = n+1, place
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			peaks[i] = peak(t, pid)
			t.Logf("%s: %d rows in %.1f s, peak %d MB", c.sql, n, time.Since(start).Seconds(), peaks[i]>>20)
			if kept < 0 {
				kept = n
			}
			if n != kept || n < groups*9/10 { // all but those of three people that the noise does not keep
				t.Errorf("%s: %d groups, the first answer had %d", c.sql, n, kept)
			}
		}
	}
	if peaks[1] >= 512<<20 || peaks[1] > peaks[0]+64<<20 {
		t.Errorf("a proxy takes %d MB for a million groups, %d MB for a fifth of them", peaks[1]>>20, peaks[0]>>20)
	}
}
