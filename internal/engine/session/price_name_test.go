package session_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestPriceSetting: dpsql.epsilon is the older name of dpsql.price. Either is set, shown and reset by both names, and only the new one is listed.
func TestPriceSetting(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	show := func(want string) {
		t.Helper()
		for _, name := range []string{"dpsql.price", "dpsql.epsilon"} {
			if got, ok, err := s.Show(name); got != want || !ok || err != nil {
				t.Errorf("%s is %q, not %q (%v)", name, got, want, err)
			}
		}
	}
	show("0.5")
	enginetest.Set(t, s, "dpsql.epsilon", "0.25")
	show("0.25")
	enginetest.Set(t, s, "dpsql.price", "0.125")
	show("0.125")
	if err := s.Reset("dpsql.epsilon"); err != nil {
		t.Fatal(err)
	}
	show("0.5")
	for _, row := range s.Settings() {
		if row.Name == "dpsql.epsilon" {
			t.Error("the older name is listed")
		}
	}
}
