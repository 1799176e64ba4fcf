package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestSpread: of tables on several machines each that keeps statements from running where the rows are is warned of, with the cure; none that does not.
func TestSpread(t *testing.T) {
	people, stays := peopleAndStays()
	stays.Keys = [][]string{{"who", "nr"}}
	visits := sqltype.Relation{Schema: "public", Name: "visits", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("nr", sqltype.Int4, true), column("stay", sqltype.Int4, true)}}
	stays.Keys = append(stays.Keys, []string{"nr"})
	wards := sqltype.Relation{Schema: "Wards", Name: "all", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("id", sqltype.Int4, true)}}
	text := strings.Replace(twoTables, "EXTRA\n", "  visits: {unit: stay -> stays.nr, max_rows_per_unit: 3, columns: {nr: {}}}\n  Wards.all: {public: true}\n", 1)
	at := func(schema, name string, cut, copied bool, column string, group int64) Spread {
		return Spread{Relation: RelationName{Schema: schema, Name: name}, Cut: cut, Copied: copied, Column: column, Group: group}
	}
	good := []Spread{at("public", "people", true, false, "id", 7), at("public", "stays", true, false, "who", 7), at("public", "visits", false, false, "", 0), at("Wards", "all", false, true, "", 8)}
	warned := func(list []Spread) []string {
		r := review(t, text, people, stays, visits, wards)
		if len(r.Problems) > 0 {
			t.Fatal(r.Problems)
		}
		before := len(r.Warnings)
		r.Spread(list)
		var out []string
		for _, w := range r.Warnings {
			if strings.Contains(w.Hint, "distribut") && !strings.Contains(w.Message, "does not carry") || strings.Contains(w.Hint, "reference_table") || strings.Contains(w.Message, "of their person") {
				out = append(out, w.Message+" | "+w.Hint)
			}
		}
		if len(r.Warnings) != before+len(out) {
			t.Errorf("%d warnings more, of which %q", len(r.Warnings)-before, out)
		}
		return out
	}
	for _, c := range []struct {
		index int
		to    Spread
		want  string
	}{
		{0, good[0], ""},
		{1, at("public", "stays", false, false, "", 0), "table stays is not distributed by the unit's column: one machine reads all of it | SELECT create_distributed_table('public.stays', 'who')"},
		{1, at("public", "stays", false, true, "", 8), "table stays is not distributed by the unit's column: one machine reads all of it | SELECT create_distributed_table('public.stays', 'who')"},
		{1, at("public", "stays", true, false, "nr", 7), "table stays is distributed by nr, not by the unit's column who: a person's rows lie on several machines | SELECT alter_distributed_table('public.stays', distribution_column := 'who')"},
		{1, at("public", "stays", true, false, "who", 9), "table stays does not lie together with people: a person's rows are on one machine here and on another there | SELECT update_distributed_table_colocation('public.stays', colocate_with => 'public.people')"},
		{2, at("public", "visits", true, false, "stay", 7), "table visits is distributed by stay and does not carry the unit's column: its rows do not lie with those of their person | give it the unit's column, and distribute it by that"},
		{3, at("Wards", "all", true, false, "id", 7), `public table Wards.all is not a reference table: joins of private rows with it cannot run where those are | SELECT create_reference_table('"Wards".all')`},
		{3, at("Wards", "all", false, false, "", 0), `public table Wards.all is not a reference table: joins of private rows with it cannot run where those are | SELECT create_reference_table('"Wards".all')`},
	} {
		list := slices.Clone(good)
		list[c.index] = c.to
		got := strings.Join(warned(list), "\n")
		if got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.to, got, c.want)
		}
	}
	if got := warned(nil); got != nil {
		t.Errorf("on one machine: %q", got)
	}
	(&Review{}).Spread(good) // of a schema that could not be read nothing is said
}
