package sqlgen

import (
	"strings"
	"testing"
)

// TestDepth: operators in a chain, calls, parentheses and CASE count as levels; lists, AND and OR do not.
func TestDepth(t *testing.T) {
	for sql, want := range map[string]int{
		"a": 0, "f(a)": 1, "a + b": 1, "a + b + c": 2, "f(a + b, c * d * e)": 3, "f(g(h(a)))": 3, "(a) AND (b) AND (c)": 1, "a = 1 AND b = 2 AND c = 3": 1,
		"CASE WHEN a = 1 THEN 2 WHEN a = 2 THEN 3 END": 2, "'(((' || x": 1, `"(" + 1`: 1, "a || b || c": 2, "x IN (1, 2, 3)": 1, "[1, 2, a + b]": 2, "SELECT a + b FROM t WHERE c + d > e": 2, "'it''s (' + 1": 1, "'open": 0,
	} {
		if got := depth(sql); got != want {
			t.Errorf("%s: %d, not %d", sql, got, want)
		}
	}
	if got := depth("x" + strings.Repeat(" || x", 2047)); got != 2047 {
		t.Error(got)
	}
}
