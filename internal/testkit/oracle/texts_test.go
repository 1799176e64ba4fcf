package oracle

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTPC: every query of TPC-H, and at least 95 of TPC-DS's 99, are read as PostgreSQL reads them; the others are refused by name.
func TestTPC(t *testing.T) {
	for _, bench := range []struct {
		name  string
		least int
	}{{"tpch", 22}, {"tpcds", 95}} {
		files, err := filepath.Glob("../../../testdata/corpus/" + bench.name + "/q*.sql")
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs, err := check(t, string(b))
			switch {
			case ours:
				read++
			case theirs:
				t.Logf("%s: %v", f, err)
			default:
				t.Errorf("%s: not PostgreSQL's: %v", f, err)
			}
		}
		if read < bench.least {
			t.Errorf("%s: %d of %d are read, want %d", bench.name, read, len(files), bench.least)
		}
	}
}
