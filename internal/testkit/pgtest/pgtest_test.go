package pgtest_test

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/testdata/demo"
)

func one[T any](t *testing.T, url, sql string) T {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	var v T
	if err := c.QueryRow(ctx, sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func TestDemoLoads(t *testing.T) {
	s := pgtest.Start(t)
	if err := s.LoadDemo("demo"); err != nil {
		t.Fatal(err)
	}
	url := s.ReaderURL("demo")
	for table, want := range map[string]int{
		"patients": 71518, "encounters": 101766, "prescriptions": 120054,
		"admission_types": 8, "discharges": 30, "admission_sources": 25,
	} {
		if n := one[int](t, url, "SELECT count(*) FROM "+table); n != want {
			t.Errorf("%s has %d rows, want %d", table, n, want)
		}
	}
	if n := one[int](t, url, "SELECT count(*) FROM encounters WHERE med_change AND payer_code IS NULL"); n == 0 {
		t.Error("no row with med_change and without payer_code: empty fields are not NULL")
	}
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Exec(context.Background(), "DELETE FROM prescriptions"); err == nil {
		t.Error("the reader may delete")
	}
	if err := s.LoadTPCH("none", "/nowhere/tpch"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("LoadTPCH of a missing folder: %v", err)
	}

	if err := s.StopServer(); err != nil {
		t.Fatal(err)
	}
	if err := s.StartServer(); err != nil {
		t.Fatal(err)
	}
	if n := one[int](t, url, "SELECT count(*) FROM patients"); n != 71518 {
		t.Errorf("after a restart: %d patients", n)
	}
}

// Every NOT NULL of the list is what the file says, no more and no less; keys are unique and foreign keys hit (LoadDemo).
func TestDemoNotNullIsWhatTheFilesSay(t *testing.T) {
	for _, table := range demo.Tables {
		f, err := pgtest.OpenDemo(table)
		if err != nil {
			t.Fatal(err)
		}
		r := csv.NewReader(f)
		header, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		empty := make([]bool, len(header))
		for {
			row, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range row {
				empty[i] = empty[i] || v == ""
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if len(header) != len(table.Columns) {
			t.Fatalf("%s: %d columns in the file, %d in the list", table.Name, len(header), len(table.Columns))
		}
		for i, c := range table.Columns {
			if c.Name != header[i] || c.NotNull == empty[i] {
				t.Errorf("%s.%s: the file says %s, empty %v; the list says NOT NULL %v", table.Name, c.Name, header[i], empty[i], c.NotNull)
			}
		}
	}
}
