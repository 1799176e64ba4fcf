package model_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
)

const (
	streamRows    = 1_000_000
	streamColumns = 100
)

// BenchmarkTrainStream takes a million rows of a hundred double precision columns in from PostgreSQL, beside COPY ... (FORMAT binary) of the same columns in the same run; and how far the process grows meanwhile, against the matrix of float32.
func BenchmarkTrainStream(b *testing.B) {
	s, ctx := enginetest.SharedServer(b), context.Background()
	var columns, values, ranges []string
	for i := range streamColumns {
		name := fmt.Sprintf("c%d", i+1)
		columns, values, ranges = append(columns, name), append(values, fmt.Sprintf("sin(i * %d) AS %s", i+1, name)), append(ranges, name+": {range: [-1, 1]}")
	}
	if err := s.CreateDB("stream"); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Exec("postgres", "DROP DATABASE stream WITH (FORCE)") }()
	for _, sql := range []string{fmt.Sprintf("CREATE TABLE people AS SELECT i AS id, i %% 2 = 0 AS y, %s FROM generate_series(1, %d) AS s(i); ALTER TABLE people ADD PRIMARY KEY (id)", strings.Join(values, ", "), streamRows), "VACUUM ANALYZE people"} {
		if err := s.Exec("stream", sql); err != nil {
			b.Fatal(err)
		}
	}
	db, err := postgres.Open(ctx, s.URL("stream"), postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	p, err := policy.Parse("stream.yaml", []byte(fmt.Sprintf("dataset: stream\nbackend: {postgres: \"postgres://reader@127.0.0.1/stream\"}\nunit: people.id\npopulation: %d\ntables:\n  people:\n    columns: {id: {}, y: {}, %s}\n"+
		"budget: {epsilon: 1000, delta: 1e-8}\nquery: {price: 1}\nanalysts: {ann: {password: %s, may: [people], budget: {epsilon: 1000}}}\n", streamRows, strings.Join(ranges, ", "), enginetest.Verifier)))
	if err != nil {
		b.Fatal(err)
	}
	session := enginetest.NewSession(enginetest.EngineOn(b, p, db), b, "ann")
	prepared, err := enginetest.Prepare(session, "TRAIN DP MODEL m USING logistic_regression TARGET y AS SELECT "+strings.Join(columns, ", ")+", y FROM people")
	if err != nil {
		b.Fatal(err)
	}
	t := prepared.Kind().(*model.Training)
	c, err := pgx.Connect(ctx, s.URL("stream"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	var copied, read time.Duration
	var grown float64
	for b.Loop() {
		for range 2 { // the first warms up
			began := time.Now()
			if _, err := c.PgConn().CopyTo(ctx, io.Discard, "COPY people ("+strings.Join(columns, ", ")+", y) TO STDOUT (FORMAT binary)"); err != nil {
				b.Fatal(err)
			}
			copied = time.Since(began)
			rows, err := t.Plan.Collect()
			if err != nil {
				b.Fatal(err)
			}
			tx, err := db.Begin(ctx)
			if err != nil {
				b.Fatal(err)
			}
			debug.FreeOSMemory()
			before := resident(b, "VmRSS:")
			began = time.Now()
			if err := t.Read(ctx, tx, rows); err != nil {
				b.Fatal(err)
			}
			read = time.Since(began)
			grown = resident(b, "VmHWM:") - before
			tx.Close()
			rows.Wipe()
		}
	}
	b.ReportMetric(copied.Seconds(), "COPY-s")
	b.ReportMetric(read.Seconds(), "read-s")
	b.ReportMetric(read.Seconds()/copied.Seconds(), "read/COPY")
	b.ReportMetric(grown/(4*streamRows*(streamColumns+1)), "memory/matrix")
	b.ReportMetric(0, "ns/op")
}

// resident is what the process has in memory, or the most since it was last asked.
func resident(b *testing.B, which string) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("needs Linux")
	}
	var kb float64
	_, after, _ := bytes.Cut(text, []byte(which))
	if _, err := fmt.Fscan(bytes.NewReader(after), &kb); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		b.Skip("needs /proc/self/clear_refs")
	}
	return kb * 1024
}
