package sqlerr_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// TestNearestValue: a value is found in another case, by its only beginning, and where it begins alike and half differs; else none is.
func TestNearestValue(t *testing.T) {
	for text, want := range map[string]string{"Mail": "Male", "male": "Male", "Femail": "Female", "f": "Female", "M": "Male", "done": "DONE", "DNE": "DONE", "x": "", "": "", "wbe": "", "Frau": ""} {
		if got := sqlerr.NearestValue(text, []string{"Female", "Male", "DONE"}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
