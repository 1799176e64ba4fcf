package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestFactsOfCasts: a constant that a cast changes, or that is compared as another type than the column's, says nothing; other casts are passed over.
func TestFactsOfCasts(t *testing.T) {
	r := &sqltype.Relation{Columns: []sqltype.RelationColumn{{Name: "n", Type: sqltype.Int4}, {Name: "s", Type: sqltype.Text}, {Name: "f", Type: sqltype.Float8}, {Name: "x", Type: sqltype.Numeric}, {Name: "at", Type: sqltype.Timestamp}}}
	for check, want := range map[string]string{
		"n <= (4.6)::int":                            "",
		"n <= 4.6":                                   "n <= 4",
		"n <= '4'::integer":                          "n <= 4",
		"n >= (-3)::int":                             "n >= -3",
		"n >= -(3)::int":                             "n >= -3",
		"n in (1, (2)::bigint)":                      "n in 1 2",
		"n = any (array[1, 2]::int[])":               "n in 1 2",
		"n = any (array[1, 2.6]::int[])":             "",
		"s in (1, 2)":                                "",
		"s in ('1', '2')":                            "s in 1 2",
		"s = any (array['a'::varchar, 'b']::text[])": "s in a b",
		"s in ('a', ('1'::int)::text)":               "",
		"f <= '0.5'::double precision":               "f <= 0.5",
		"x <= (0.1)::float8":                         "",
		"x <= (0.1)::numeric":                        "x <= 0.1",
		"x <= (0.1)::numeric(3,0)":                   "",
		"at <= '2020-02-09 12:00'::date":             "",
		"at <= '2020-02-09'::date":                   "at <= 2020-02-09",
	} {
		r.Checks = []sqltype.RelationCheck{{Expr: check}}
		var got []string
		for name, f := range Facts(r) {
			if f.Lo != nil {
				got = append(got, name+" >= "+f.Lo.Text)
			}
			if f.Hi != nil {
				got = append(got, name+" <= "+f.Hi.Text)
			}
			if f.Listed {
				got = append(got, fmt.Sprintf("%s in %s", name, strings.Join(f.Values, " ")))
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %q, not %q", check, s, want)
		}
	}
}
