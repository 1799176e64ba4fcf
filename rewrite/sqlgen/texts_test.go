package sqlgen

import "testing"

// TestTextsMade: calls that make texts, || and casts to text are counted, and nothing else.
func TestTextsMade(t *testing.T) {
	for sql, want := range map[string]int{
		"":                                    0,
		`SELECT sum("t1"."upper") FROM t`:     0,
		`pg_catalog.upper("a")`:               1,
		`upper(lower("a")) || 'x' || trim(b)`: 2 + 2 + textMakers()["trim"],
		"CAST(a AS text)":                     1,
		"CAST(a AS varchar) = CAST(b AS char(3))": 2,
		`"a" AS texts, "b" AS "text"`:             0,
		"CASE WHEN (a) THEN 1 END":                0,
	} {
		if got := textsMade(sql); got != want {
			t.Errorf("%s: %d texts, not %d", sql, got, want)
		}
	}
	if textMakers()["upper"] != 1 || textMakers()["sum"] != 0 {
		t.Error("who makes texts is not known")
	}
}
