package main

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/pgtest"
)

// fixed are the catalogs whose rows are the same on every server of a version: others hold numbers that initdb gives.
var fixed = []string{"pg_am", "pg_amop", "pg_amproc", "pg_cast", "pg_opclass", "pg_operator", "pg_opfamily", "pg_range"}

// TestCatalog: the file is what a live PostgreSQL 15 says: relations, columns, definitions of views, and the rows that are the same everywhere.
func TestCatalog(t *testing.T) {
	live, err := read(context.Background(), pgtest.Start(t).URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("../catalog.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	want, got := comparable(string(live)), comparable(string(kept))
	if len(want) < 3000 {
		t.Fatalf("%d lines to compare", len(want))
	}
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("line %d is not what the server says: run go generate\n%.200s\n%.200s", i, slices.Concat(got, []string{""})[min(i, len(got))], slices.Concat(want, []string{""})[min(i, len(want))])
		}
	}
}

func comparable(text string) (out []string) {
	name := ""
	for line := range strings.Lines(text) {
		mark, rest, _ := strings.Cut(line, "\t")
		if mark == "=" {
			f := strings.Split(rest, "\t")
			name = f[1]
			line = f[0] + " " + name + " " + f[3]
		}
		if mark == ">" && !slices.Contains(fixed, name) || strings.Contains(line, "\t10028\t") { // the last: a row type of a catalog
			continue
		}
		out = append(out, line)
	}
	return out
}
