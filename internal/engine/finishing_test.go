package engine

import (
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/sqlerr"
)

// TestFinishingMayFail: a division by released zero is an error of post-processing: it is paid for once, and the same each time.
func TestFinishingMayFail(t *testing.T) {
	s := clinicSession(t, tame, backend.DuckDB)
	n := charged(t, s.engine, func() {
		for range 2 {
			if _, err := try(s, "select 1 / (count(*) - count(*)) from encounters"); sqlerr.ID(err) != "division_by_zero" {
				t.Errorf("%v", err)
			}
		}
		ask(t, s, "select count(*) from encounters")
	})
	if n != 1 {
		t.Errorf("%d charges", n)
	}
}
