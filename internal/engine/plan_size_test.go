package engine_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestBoundSize: a statement's memory is that of what it is bound to, not of its text.
func TestBoundSize(t *testing.T) {
	s, _ := previewed(t, "schema", funcs.Postgres)
	size := func(sql string) int {
		t.Helper()
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		return p.Size()
	}
	one, private, view := size("SELECT 1"), size("SELECT count(*) FROM patients"), size("SELECT * FROM information_schema.columns")
	if one <= 0 || private <= one || view < 50*one || view > 32<<20/64 {
		t.Errorf("SELECT 1 takes %d, a count %d, a view of the catalogs %d", one, private, view)
	}
}
