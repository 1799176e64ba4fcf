package tpc_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/bench/tpc"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

var (
	update = flag.Bool("update", false, "write the tables anew")
	only   = flag.String("only", "", "only the queries whose name matches; no table is compared")
)

// fates asks every query on both backends: what became of it, and on which where they differ.
func fates(t *testing.T, b tpc.Bench) (out bytes.Buffer, answered map[string]bool) {
	t.Helper()
	ctx := context.Background()
	queries, err := b.Queries()
	if err != nil {
		t.Fatal(err)
	}
	pg := pgtest.Start(t)
	if err := b.LoadPostgres(pg); err != nil {
		t.Fatal(err)
	}
	onPostgres, err := b.OpenPostgres(ctx, pg.ReaderURL(b.DB()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = onPostgres.Close() }()
	onDuckDB, err := b.OpenDuckDB(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = onDuckDB.Close() }()
	answered = map[string]bool{}
	wanted := regexp.MustCompile(*only)
	for _, q := range queries {
		if !wanted.MatchString(q.Name) {
			continue
		}
		begin := time.Now()
		pg := onPostgres.Ask(ctx, q.Text)
		middle := time.Now()
		duck := onDuckDB.Ask(ctx, q.Text)
		for _, f := range []tpc.Fate{pg, duck} {
			if f.How == "failed" {
				t.Errorf("%s: %s", q.Name, f)
			}
		}
		answered[q.Name] = pg.How == "answered" && duck.How == "answered"
		line := pg.String()
		if duck.String() != line {
			line = fmt.Sprintf("%s; on DuckDB %s", line, duck)
		}
		t.Logf("%s %.1f s, on DuckDB %.1f s: %s", q.Name, middle.Sub(begin).Seconds(), time.Since(middle).Seconds(), line)
		fmt.Fprintf(&out, "%s: %s\n", q.Name, line)
	}
	return out, answered
}

// TestTPCDS: what becomes of each query of TPC-DS at SF 0.1.
func TestTPCDS(t *testing.T) {
	if os.Getenv("DPSQL_LONG") == "" {
		t.Skip("DPSQL_LONG is not set")
	}
	got, answered := fates(t, tpc.Bench{Name: "tpcds", SF: 0.1})
	if *only != "" {
		return
	}
	n := 0
	for _, is := range answered {
		if is {
			n++
		}
	}
	for _, q := range []string{"q03", "q07", "q19", "q26", "q42", "q43", "q48", "q52", "q55", "q96"} {
		if !answered[q] {
			t.Errorf("%s is not answered", q)
		}
	}
	if n < 30 {
		t.Errorf("%d queries are answered", n)
	}
	golden(t, "../../../../testdata/corpus/tpcds/answered.txt", got.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(want, got) {
		t.Errorf("%v; %s is now\n%s", err, path, got)
	}
}
