package policy

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

func column(name string, t sqltype.Type, notNull bool) sqltype.RelationColumn {
	return sqltype.RelationColumn{Name: name, Type: t, NotNull: notNull}
}

// peopleAndStays are two tables, of which tests make views and worse.
func peopleAndStays() (people, stays sqltype.Relation) {
	people = sqltype.Relation{Schema: "public", Name: "people", Kind: sqltype.KindTable, Keys: [][]string{{"id"}},
		Columns: []sqltype.RelationColumn{column("id", sqltype.Int4, true), column("age", sqltype.Int4, false)}}
	stays = sqltype.Relation{Schema: "public", Name: "stays", Kind: sqltype.KindTable, Keys: [][]string{{"nr"}},
		Columns:     []sqltype.RelationColumn{column("nr", sqltype.Int4, true), column("who", sqltype.Int4, true), column("visitor", sqltype.Int4, false)},
		ForeignKeys: []sqltype.RelationForeignKey{{Columns: []string{"who"}, RefSchema: "public", RefTable: "people", RefColumns: []string{"id"}}}}
	return people, stays
}

const twoTables = `
dataset: d
backend: {postgres: "postgres://h/d"}
unit: people.id
tables:
  people: {columns: {id: {}, age: {}}}
  stays: {unit: who -> people.id, max_rows_per_unit: 3, columns: {nr: {}}}
EXTRA
budget: {epsilon: 1, delta: 0}
analysts: {ann: {password: env:VERIFIER, may: [people]}}
`

func review(t *testing.T, text string, rels ...sqltype.Relation) *Review {
	t.Helper()
	r, err := check("p.yaml", []byte(text), testEnv, func(*Policy) ([]sqltype.Relation, error) { return rels, nil })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRelations: what a relation of the database may be in a policy, and what not.
func TestRelations(t *testing.T) {
	people, stays := peopleAndStays()
	simple := &sqltype.ViewFacts{Simple: true, Base: sqltype.QualifiedName{Schema: "public", Name: "base"}, BaseColumns: map[string]string{"nr": "n", "who": "w"},
		Reads: []sqltype.QualifiedName{{Schema: "public", Name: "base"}}}
	view := func(change func(r *sqltype.Relation, v *sqltype.ViewFacts)) sqltype.Relation {
		r, v := stays, *simple
		r.Kind, r.Keys, r.View = sqltype.KindView, nil, &v
		r.ForeignKeys = append([]sqltype.RelationForeignKey(nil), stays.ForeignKeys...)
		if change != nil {
			change(&r, &v)
		}
		return r
	}
	of := func(change func(*sqltype.Relation)) sqltype.Relation {
		r := stays
		change(&r)
		return r
	}
	codes := func(kind sqltype.RelationKind, v *sqltype.ViewFacts) sqltype.Relation {
		return sqltype.Relation{Schema: "public", Name: "codes", Kind: kind, View: v, Columns: []sqltype.RelationColumn{column("code", sqltype.Text, false)}}
	}
	for _, c := range []struct {
		name  string
		stays sqltype.Relation
		extra string
		more  []sqltype.Relation
		want  string // of the problem; "" for none
	}{
		{"table", stays, "", nil, ""},
		{"partitioned table", of(func(r *sqltype.Relation) { r.Partitioned = true }), "", nil, ""},
		{"row security", of(func(r *sqltype.Relation) { r.RowSecurity = "reader" }), "", nil, "row-level security that applies to the role reader"},
		{"foreign table", of(func(r *sqltype.Relation) { r.Kind = sqltype.KindForeign }), "", nil, "foreign table"},
		{"inheritance", of(func(r *sqltype.Relation) { r.Kind = sqltype.KindOther }), "", nil, "inheriting children"},
		{"simple view", view(nil), "", nil, ""},
		{"view of unknown definition", view(func(r *sqltype.Relation, _ *sqltype.ViewFacts) { r.View = nil }), "", nil, "cannot be read"},
		{"view that joins", view(func(_ *sqltype.Relation, v *sqltype.ViewFacts) { v.Simple, v.Why = false, "it joins" }), "", nil, "it joins"},
		{"volatile view", view(func(_ *sqltype.Relation, v *sqltype.ViewFacts) { v.Volatile = []string{"random()"} }), "", nil, "random()"},
		{"materialized view", view(func(r *sqltype.Relation, _ *sqltype.ViewFacts) { r.Kind = sqltype.KindMatView }), "", nil, "materialized"},
		{"a hidden column of the view's table leads to another person", view(func(r *sqltype.Relation, _ *sqltype.ViewFacts) {
			r.ForeignKeys = append(r.ForeignKeys, sqltype.RelationForeignKey{Columns: []string{"base.friend"}, RefSchema: "public", RefTable: "people", RefColumns: []string{"id"}})
		}), "", nil, "second way"},
		{"an unenforced foreign key tells of another person too", of(func(r *sqltype.Relation) {
			r.Unenforced = []sqltype.Unenforced{{Kind: sqltype.UnenforcedForeignKey, Name: "f", Columns: []string{"visitor"}, RefSchema: "public", RefTable: "people", RefColumns: []string{"id"}}}
		}), "", nil, "second way"},
		{"no right on a column", of(func(r *sqltype.Relation) {
			r.Columns = []sqltype.RelationColumn{{Name: "nr", Type: sqltype.Int4, Denied: true}, column("who", sqltype.Int4, true)}
		}), "", nil, "may not read nr of table stays"},
		{"public view of public things", stays, "  codes: {public: true}", []sqltype.Relation{codes(sqltype.KindView, &sqltype.ViewFacts{Reads: []sqltype.QualifiedName{{Schema: "x", Name: "y"}}})}, ""},
		{"public view of private rows", stays, "  codes: {public: true}", []sqltype.Relation{codes(sqltype.KindView, &sqltype.ViewFacts{Reads: []sqltype.QualifiedName{{Schema: "public", Name: "stays"}}})}, "reads public.stays, whose rows are private"},
		{"public view of the table below a private view", view(nil), "  codes: {public: true}", []sqltype.Relation{codes(sqltype.KindView, &sqltype.ViewFacts{Reads: []sqltype.QualifiedName{{Schema: "public", Name: "base"}}})}, "reads public.base, whose rows are private"},
		{"public view with a function that may read anything", stays, "  codes: {public: true}", []sqltype.Relation{codes(sqltype.KindView, &sqltype.ViewFacts{Opaque: []string{"f()"}})}, "may read anything"},
		{"public materialized view of private rows", stays, "  codes: {public: true}", []sqltype.Relation{codes(sqltype.KindMatView, &sqltype.ViewFacts{Reads: []sqltype.QualifiedName{{Schema: "public", Name: "people"}}})}, "reads public.people"},
		{"public partition of a private table", stays, "  codes: {public: true}", []sqltype.Relation{func() sqltype.Relation {
			r := codes(sqltype.KindTable, nil)
			r.PartOf = []sqltype.QualifiedName{{Schema: "public", Name: "stays"}}
			return r
		}()}, "is public but reads public.stays"},
		{"one row listed twice with two owners", of(func(r *sqltype.Relation) { r.ForeignKeys = nil }), "  codes: {unit: visitor -> people.id, columns: {code: {}}}", []sqltype.Relation{func() sqltype.Relation {
			r := codes(sqltype.KindView, &sqltype.ViewFacts{Simple: true, Base: sqltype.QualifiedName{Schema: "public", Name: "stays"}, BaseColumns: map[string]string{"visitor": "visitor"}})
			r.Columns = append(r.Columns, column("visitor", sqltype.Int4, false))
			return r
		}()}, "says otherwise whose they are"},
	} {
		rels := append([]sqltype.Relation{people, c.stays}, c.more...)
		r := review(t, strings.ReplaceAll(twoTables, "EXTRA", c.extra), rels...)
		var all []string
		for _, p := range r.Problems {
			all = append(all, fmt.Sprintf("%d:%d: %s", p.Line, p.Col, p.Message))
		}
		switch text := strings.Join(all, "\n"); {
		case c.want == "" && text != "":
			t.Errorf("%s: %s", c.name, text)
		case !strings.Contains(text, c.want):
			t.Errorf("%s: %q is not in %q", c.name, c.want, text)
		case (r.Err() == nil) != (r.Catalogs != nil):
			t.Errorf("%s: problems and catalogs do not agree", c.name)
		}
	}
}

// TestForeignKeyThroughView: a foreign key to a table of which only a view is listed is a way to the unit all the same.
func TestForeignKeyThroughView(t *testing.T) {
	people, stays := peopleAndStays()
	people.Name, people.Kind = "folk", sqltype.KindView
	people.Columns[0].Name = "pid"
	people.Keys = [][]string{{"pid"}}
	people.View = &sqltype.ViewFacts{Simple: true, Base: sqltype.QualifiedName{Schema: "public", Name: "people"}, BaseColumns: map[string]string{"pid": "id", "age": "age"}}
	stays.ForeignKeys = append(stays.ForeignKeys, sqltype.RelationForeignKey{Columns: []string{"visitor"}, RefSchema: "public", RefTable: "people", RefColumns: []string{"id"}})
	text := strings.NewReplacer("people.id", "folk.pid", "people: {columns: {id:", "folk: {columns: {pid:", "may: [people]", "may: [folk]", "EXTRA", "").Replace(twoTables)
	r := review(t, text, people, stays)
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "[visitor] to folk is a second way") {
		t.Errorf("%v", r.Problems)
	}
	for _, w := range r.Warnings {
		if strings.Contains(w.Message, "no foreign key enforces") {
			t.Errorf("the foreign key of the path is not known through the view: %s", w.Message)
		}
	}
}

// TestWarningsOfRowsWithoutAPerson: where a row may lead to no person, the owner hears what becomes of it: that it is dropped, where the policy does not say so, and what own does not promise.
func TestWarningsOfRowsWithoutAPerson(t *testing.T) {
	people, stays := peopleAndStays()
	stays.Columns[1].NotNull = false
	stays.Columns = append(stays.Columns, column("mail", sqltype.Text, false), column("room", sqltype.Text, true))
	const way, two = "unit: who -> people.id, ", "where who is NULL the unit is the value of mail: one human with rows of both kinds is two units"
	for says, want := range map[string][]string{
		way:                               {"stays.who can be NULL: rows without it belong to nobody and are in no answer"},
		way + "rows_without_unit: drop, ": nil,
		way + "rows_without_unit: own, ":  {"stays.who can be NULL: each row without it counts as one person"},
		`unit: "coalesce(who, mail) -> people.id", `:                          {two, "stays.who and mail can be NULL: rows without any of them belong to nobody and are in no answer"},
		`unit: "coalesce(who, mail) -> people.id", rows_without_unit: own, `:  {two, "stays.who and mail can be NULL: each row without it counts as one person"},
		`unit: "coalesce(who, room) -> people.id", rows_without_unit: drop, `: {"the unit is the value of room"},
	} {
		r := review(t, `
dataset: d
backend: {postgres: "postgres://h/d"}
unit: people.id
population: 200
tables:
  people: {columns: {id: {}}}
  stays: {`+says+`columns: {nr: {}}}
budget: {epsilon: 1, delta: 1e-4}
analysts: {ann: {password: env:VERIFIER, may: [people, stays]}}
`, people, stays)
		if len(r.Problems) > 0 {
			t.Errorf("%q: %v", says, r.Problems)
		}
		for _, w := range want {
			if !contains(r.Warnings, w) {
				t.Errorf("%q: no %q in %v", says, w, r.Warnings)
			}
		}
		if len(want) == 0 && contains(r.Warnings, "can be NULL") {
			t.Errorf("%q: %v", says, r.Warnings)
		}
	}
}

// TestWarningsWithoutForeignKey: where no foreign key holds a way, the owner hears what becomes of rows that lead nowhere, as statements treat them.
func TestWarningsWithoutForeignKey(t *testing.T) {
	people, stays := peopleAndStays()
	stays.ForeignKeys = nil
	stays.Columns = append(stays.Columns, column("mail", sqltype.Text, false))
	notes := sqltype.Relation{Schema: "public", Name: "notes", Kind: sqltype.KindTable, Keys: [][]string{{"id"}},
		Columns: []sqltype.RelationColumn{column("id", sqltype.Int4, true), column("stay", sqltype.Int4, false), column("mail", sqltype.Text, false)}}
	const person = "no foreign key enforces who -> people.id: rows whose who is not in people count as rows of one more person for each value"
	const way = "no foreign key enforces stay -> stays.nr: "
	for says, want := range map[string]string{
		"unit: stay -> stays.nr, ":                                           "rows that lead nowhere are in no answer",
		"unit: stay -> stays.nr, rows_without_unit: drop, ":                  "rows that lead nowhere are in no answer",
		"unit: stay -> stays.nr, rows_without_unit: own, ":                   "each row that leads nowhere is protected as one unit",
		`unit: "coalesce(stay, mail) -> stays.nr", `:                         "the unit of a row that leads nowhere is the value of mail; without one it is in no answer",
		`unit: "coalesce(stay, mail) -> stays.nr", rows_without_unit: own, `: "the unit of a row that leads nowhere is the value of mail, and without one the row itself",
	} {
		r := review(t, `
dataset: d
backend: {postgres: "postgres://h/d"}
unit: people.id
population: 200
tables:
  people: {columns: {id: {}}}
  stays: {unit: who -> people.id, columns: {nr: {}}}
  notes: {`+says+`columns: {id: {}}}
budget: {epsilon: 1, delta: 1e-4}
analysts: {ann: {password: env:VERIFIER, may: [people, stays]}}
`, people, stays, notes)
		if len(r.Problems) > 0 || !contains(r.Warnings, person) || !contains(r.Warnings, way+want) {
			t.Errorf("%q: %v, %v", says, r.Problems, r.Warnings)
		}
	}
}

// TestWarningsOfCoalesce: values that name units beside persons may be blank, and those of columns of other names are other units.
func TestWarningsOfCoalesce(t *testing.T) {
	people, stays := peopleAndStays()
	stays.Columns[1].NotNull = false
	stays.Columns = append(stays.Columns, column("mail", sqltype.Text, false), column("badge", sqltype.Int4, false))
	bills := stays
	bills.Name, bills.ForeignKeys = "bills", stays.ForeignKeys
	bills.Columns = append(slices.Clone(stays.Columns), column("post", sqltype.Text, false))
	const blank, names = "is blank ('' or spaces) are one unit", "in table stays are two units, as the columns have different names"
	for _, c := range []struct {
		stays, bills, check string
		blanks              int
		named               bool
	}{
		{"who, mail", "who, mail", "", 2, false}, {"who, mail", "who, post", "", 2, true}, {"who, mail, badge", "who, mail", "", 2, false}, {"who, badge", "who, badge", "", 0, false},
		{"who, mail", "who, badge", "(mail <> ''::text)", 0, true},
	} {
		if stays.Checks = nil; c.check != "" {
			stays.Checks = []sqltype.RelationCheck{{Expr: c.check}}
		}
		r := review(t, `
dataset: d
backend: {postgres: "postgres://h/d"}
unit: people.id
population: 200
tables:
  people: {columns: {id: {}}}
  stays: {unit: "coalesce(`+c.stays+`) -> people.id", columns: {nr: {}}}
  bills: {unit: "coalesce(`+c.bills+`) -> people.id", columns: {nr: {}}}
budget: {epsilon: 1, delta: 1e-4}
analysts: {ann: {password: env:VERIFIER, may: [people, stays]}}
`, people, stays, bills)
		n := 0
		for _, w := range r.Warnings {
			if strings.Contains(w.Message, blank) {
				n++
			}
		}
		if len(r.Problems) > 0 || n != c.blanks || contains(r.Warnings, names) != c.named {
			t.Errorf("%+v: %v, %v", c, r.Problems, r.Warnings)
		}
	}
}

// TestCureKeepsPersons: a way without the person's column is no cure where the rest of it may be NULL: rows that have the person alone would no longer be that person's.
func TestCureKeepsPersons(t *testing.T) {
	people, stays := peopleAndStays()
	stays.Columns[1].NotNull = false
	notes := sqltype.Relation{Schema: "public", Name: "notes", Kind: sqltype.KindTable, Keys: [][]string{{"id"}},
		Columns: []sqltype.RelationColumn{column("id", sqltype.Int4, true), column("who", sqltype.Int4, false), column("stay", sqltype.Int4, false)}}
	for notNull, want := range map[bool]string{true: "make who NOT NULL, or lead to stays without it: unit: stay -> stays.nr", false: "make who NOT NULL"} {
		notes.Columns[2].NotNull = notNull
		r := review(t, `
dataset: d
backend: {postgres: "postgres://h/d"}
unit: people.id
population: 200
tables:
  people: {columns: {id: {}}}
  stays: {unit: who -> people.id, rows_without_unit: own, columns: {nr: {}}}
  notes: {unit: "(who, stay) -> stays.(who, nr)", columns: {id: {}}}
budget: {epsilon: 1, delta: 1e-4}
analysts: {ann: {password: env:VERIFIER, may: [people, stays]}}
`, people, stays, notes)
		if len(r.Problems) != 1 || r.Problems[0].Hint != want {
			t.Errorf("%t: %v", notNull, r.Problems)
		}
	}
}

// TestWarnings: what is taken but should be looked at; mistakes of the file and of the schema are told together.
func TestWarnings(t *testing.T) {
	people, stays := peopleAndStays()
	stays.ForeignKeys = nil
	stays.Columns[1].NotNull = false
	stays.Columns = append(stays.Columns, column("escort_id", sqltype.Int4, false))
	stays.Unenforced = []sqltype.Unenforced{{Kind: sqltype.UnenforcedKey, Name: "u", Columns: []string{"visitor"}, Reason: "it is deferrable"}}
	text := `
dataset: d
backend: {postgres: "postgres://h/d"}
unit: people.id
population: 200
tables:
  people: {columns: {id: {}, age: {range: [0, 97.3]}, smokes: {values: [NO, yes, "on"]}, born: {range: [1900, 2026]}, pay: {range: [0, 99999]}}}
  stays: {unit: who -> people.id, columns: {nr: {}, agee: {}}}
budget: {epsilon: 1, delta: 1e-4, per: month, lifetime: 10}
analysts: {ann: {password: env:VERIFIER, roles: [lab]}}
sesame: open
roles: {lab: {budget: {epsilon: 1}}, ward: {budget: {epsilon: 1}}}
`
	r := review(t, text, people, stays)
	for _, want := range []string{`11:1: the policy has no key "sesame"`, "has no column smokes", "has no column agee"} {
		if !contains(r.Problems, want) {
			t.Errorf("no problem %q in %v", want, r.Problems)
		}
	}
	for _, want := range []string{"97.3 looks copied from the data", "NO is written without quotes", "yes is written without quotes", "budget.delta 0.0001 is 0.001 in all windows of the lifetime, more than a tenth of 1/population (200 people)", "analysts.ann may see nothing", "roles.ward has a budget and no analyst",
		"stays.who can be NULL", "no foreign key enforces who -> people.id", `the key u [visitor] is not used: it is deferrable`, "escort_id looks like a second way"} {
		if !contains(r.Warnings, want) {
			t.Errorf("no warning %q in %v", want, r.Warnings)
		}
	}
	for _, bad := range []string{"2026", "99999", `"on"`, "roles.lab"} {
		if contains(r.Warnings, bad) {
			t.Errorf("%s is warned of: %v", bad, r.Warnings)
		}
	}
	for epsilon, warns := range map[string]bool{"20": false, "21": true, "10000": true, "20000": false, "-1": false, ".nan": false} { // beyond 10,000 it is refused
		r := review(t, strings.NewReplacer("budget: {epsilon: 1, delta: 1e-4, per: month, lifetime: 10}", "budget: {epsilon: "+epsilon+", delta: 1e-7}", "roles: {lab: {budget: {epsilon: 1}}, ward: {budget: {epsilon: 1}}}",
			"roles: {lab: {budget: {epsilon: 1}}}").Replace(text), people, stays)
		if contains(r.Warnings, "promises people next to nothing") != warns || contains(r.Warnings, "has a budget and no analyst") {
			t.Errorf("epsilon %s: %v", epsilon, r.Warnings)
		}
	}
	for words, want := range map[string]string{"addresses: [10.0.0.5]": "", "addresses: [10.0.0.0/8]": "10.0.0.0/8 is a large network", "addresses: [10.0.0.5], proxy_protocol: none": "without the PROXY protocol"} {
		r := review(t, text+"balancers: {"+words+"}\n", people, stays)
		if said := contains(r.Warnings, "a large network") || contains(r.Warnings, "without the PROXY"); said != (want != "") || !contains(r.Warnings, want) {
			t.Errorf("balancers %s: %v", words, r.Warnings)
		}
	}
	for more, want := range map[string]string{
		"balancers: {addresses: [127.0.0.1]}\n":                                                                     "clients of other machines are refused unless",
		"balancers: {addresses: [127.0.0.1], proxy_protocol: none}\n":                                               "clients of other machines may be served in clear text",
		"tls: {cert: c, key: k}\nbalancers: {addresses: [127.0.0.1]}\n":                                             "",
		"tls: {cert: c, key: k}\nbalancers: {addresses: [127.0.0.1], proxy_protocol: none}\n":                       "",
		"tls: {cert: c, key: k}\nlisten: 10.0.0.1:6543\nbalancers: {addresses: [10.0.0.5], proxy_protocol: none}\n": "",
	} {
		r := review(t, text+more, people, stays)
		if said := contains(r.Warnings, "clients of other machines"); said != (want != "") || !contains(r.Warnings, want) {
			t.Errorf("%s: %v", more, r.Warnings)
		}
	}
	// No schema: what the file alone shows is told beside the failure.
	down := errors.New("down")
	r, err := check("p.yaml", []byte(text), testEnv, func(*Policy) ([]sqltype.Relation, error) { return nil, down })
	if !errors.Is(err, down) || !contains(r.Problems, "sesame") || contains(r.Problems, "smokes") {
		t.Errorf("%v, %v", err, r.Problems)
	}
	if r, err := check("p.yaml", []byte("a: ["), testEnv, nil); err != nil || len(r.Problems) == 0 {
		t.Errorf("%v, %v", r, err)
	}
	// Half a policy never panics.
	lines := strings.Split(text, "\n")
	for i := range lines {
		part := strings.Join(append(append([]string(nil), lines[:i]...), lines[min(i+1, len(lines)):]...), "\n")
		review(t, part, people, stays)
	}
}

func contains(list []Problem, part string) bool {
	for _, p := range list {
		if strings.Contains(fmt.Sprintf("%d:%d: %s", p.Line, p.Col, p.Message), part) {
			return true
		}
	}
	return false
}

// TestMissingGrants: a missing right is one mistake, with the grant that gives it: by columns, under names that SQL reads, to the role.
func TestMissingGrants(t *testing.T) {
	people, stays := peopleAndStays()
	stays.Reader = `"the Reader"`
	for i := range stays.Columns {
		stays.Columns[i].Denied = true
	}
	codes := sqltype.Relation{Schema: "public", Name: "codes", Kind: sqltype.KindTable, Reader: "reader", Columns: []sqltype.RelationColumn{column("code", sqltype.Text, false)}}
	codes.Columns[0].Denied = true
	r := review(t, strings.Replace(twoTables, "EXTRA", "  codes: {public: true}", 1), people, stays, codes)
	var hints []string
	for _, p := range r.Problems {
		hints = append(hints, p.Hint)
	}
	want := []string{`GRANT SELECT ("nr", "who") ON TABLE "public"."stays" TO "the Reader";`, `GRANT SELECT ON TABLE "public"."codes" TO reader;`}
	if !slices.Equal(hints, want) || len(r.Unread) != 2 {
		t.Errorf("%v, %v: %v", hints, r.Unread, r.Problems)
	}
}

// TestCauses: a domain that may not be read is no column that is missing, and a day's range that is no dates is told what it may be.
func TestCauses(t *testing.T) {
	people, stays := peopleAndStays()
	stays.Columns = append(stays.Columns, column("placed", sqltype.Timestamp, false), column("tier", sqltype.Text, false))
	tiers := sqltype.Relation{Schema: "public", Name: "tiers", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("tier", sqltype.Text, false)}}
	tiers.Columns[0].Denied = true
	text := strings.NewReplacer("nr: {}", "nr: {}, placed: {range: auto}, tier: {values: {from: tiers.tier}}", "EXTRA", "  tiers: {public: true}").Replace(twoTables)
	r := review(t, text, people, stays, tiers)
	for _, want := range []string{"column stays.placed: range: a column of type timestamp without time zone has none that is automatic", "values.from: the backend's role may not read tiers.tier"} {
		if !contains(r.Problems, want) {
			t.Errorf("no problem %q in %v", want, r.Problems)
		}
	}
	if contains(r.Problems, "no listed column") {
		t.Error(r.Problems)
	}
}

// TestPopulationReview: automatic bounds without a population are warned of, once, at the first place that has them; declared bounds need none, nor does a cap of groups that is chosen.
func TestPopulationReview(t *testing.T) {
	people, stays := peopleAndStays()
	for _, k := range []struct {
		head, rows string
		want       int
	}{
		{"", "", 1}, {"", ", max_rows_per_unit: auto", 1}, {"", ", max_rows_per_unit: 10", 0},
		{"query: {max_groups: auto}\n", ", max_rows_per_unit: 10", 0}, {"population: 500\n", "", 0}, {"population: 500\nquery: {max_groups: auto}\n", "", 0},
	} {
		text := fmt.Sprintf("%sdataset: d\nbackend: {postgres: \"postgres://h/d\"}\nunit: people.id\ntables:\n  people: {columns: {id: {}}}\n  stays: {unit: who -> people.id, columns: {nr: {}}%s}\nbudget: {epsilon: 1}\nanalysts: {}\n", k.head, k.rows)
		n := 0
		for _, w := range review(t, text, people, stays).Warnings {
			if strings.Contains(w.Message, "bounds are automatic and no population is declared: they are chosen as for 1000 people") {
				n++
			}
		}
		if n != k.want {
			t.Errorf("%+v: %d warnings", k, n)
		}
	}
}

// TestBoundsReview: bounds that are left to the statements are not warned of; numbers that nobody chose are, and so is what nothing sums.
func TestBoundsReview(t *testing.T) {
	people, stays := peopleAndStays()
	stays.Keys = append(stays.Keys, []string{"weight"})
	stays.Columns = append(stays.Columns, column("cost", sqltype.Float8, false), column("fee", sqltype.Numeric, false), column("paid", sqltype.NumericOf(8, 2), false),
		column("temperature", sqltype.Float8, false), column("dose", sqltype.Float8, false), column("share", sqltype.Float8, false), column("weight", sqltype.Numeric, false), column("days", sqltype.Int4, false))
	const columns = "{nr: {}, cost: {range: auto}, fee: {}, paid: {range: auto}, temperature: {range: [30, 45]}, dose: {step: 0.5}, share: {values: [0.5, 1]}, weight: {}, days: {}}"
	unsummed := []string{"column stays.cost is double precision without range or step", "column stays.fee is numeric without range or step"}
	for rows, want := range map[string][]string{
		"": nil, "max_rows_per_unit: auto": nil, "max_rows_per_unit: 3": nil, "max_rows_per_unit: 365": nil, "max_rows_per_unit: 10000": nil,
		"max_rows_per_unit: 137":     {"max_rows_per_unit 137 looks copied from the data"},
		"max_rows_per_unit: 1000000": {"max_rows_per_unit 1000000 makes the noise"},
		"max_rows_per_unit: 12345":   {"max_rows_per_unit 12345 makes the noise"},
	} {
		text := strings.NewReplacer("max_rows_per_unit: 3, ", rows+strings.Repeat(", ", min(1, len(rows))), "columns: {nr: {}}", "columns: "+columns, "EXTRA", "").Replace(twoTables)
		r := review(t, text, people, stays)
		if len(r.Problems) > 0 {
			t.Fatalf("%s: %v", rows, r.Problems)
		}
		var bounds []string
		for _, w := range r.Warnings {
			if strings.Contains(w.Message, "max_rows_per_unit") || strings.Contains(w.Message, "range") || strings.Contains(w.Message, "copied") {
				bounds = append(bounds, w.Message)
				if strings.Contains(w.Message, "max_rows_per_unit") && !strings.Contains(w.Hint, "auto") {
					t.Errorf("%s: no way out in %q", w.Message, w.Hint)
				}
			}
		}
		want = append(slices.Clone(want), unsummed...)
		if len(bounds) != len(want) {
			t.Errorf("%q: %q", rows, bounds)
		}
		for _, x := range want {
			if !contains(r.Warnings, x) {
				t.Errorf("%q: no warning %q in %v", rows, x, r.Warnings)
			}
		}
	}
}

// TestTightFrequencies: a cap of a key that would leave most rows out, were they spread evenly over the values that the policy gives it, is warned of; one that the policy does not tell this of is not.
func TestTightFrequencies(t *testing.T) {
	people, stays := peopleAndStays()
	stays.Columns = append(stays.Columns, column("day", sqltype.Date, false), column("ward", sqltype.Text, false))
	for _, k := range []struct{ head, declared, want string }{
		{"population: 2000\n", "max_rows_per_unit: 12, max_frequency: {day: 10}", "day: 10 leaves most rows out of joins on it: were the rows of 2000 people spread evenly over 366 values, each would have about 32"},
		{"population: 2000\n", "max_rows_per_unit: 12, max_frequency: {day: 40}", ""},
		{"population: 2000\n", "max_rows_per_unit: 12, max_frequency: {\"(day, ward)\": 1}", "(day, ward): 1 leaves"},
		{"population: 2000\n", "max_rows_per_unit: 12, max_frequency: {\"(day, ward)\": 20}", ""},
		{"population: 2000\n", "max_rows_per_unit: 12, max_frequency: {nr: 1}", ""},
		{"population: 2000\n", "max_frequency: {day: 1}", ""},
		{"", "max_rows_per_unit: 12, max_frequency: {day: 1}", ""},
	} {
		text := fmt.Sprintf("%sdataset: d\nbackend: {postgres: \"postgres://h/d\"}\nunit: people.id\ntables:\n  people: {columns: {id: {}}}\n"+
			"  stays: {unit: who -> people.id, columns: {nr: {}, day: {range: [2020-01-01, 2020-12-31]}, ward: {values: [A, B]}}, %s}\nbudget: {epsilon: 1}\nanalysts: {}\n", k.head, k.declared)
		r := review(t, text, people, stays)
		if k.want != "" && !contains(r.Warnings, k.want) || k.want == "" && contains(r.Warnings, "leaves most rows out") {
			t.Errorf("%s: %v, %v", k.declared, r.Problems, r.Warnings)
		}
	}
}

// TestUnlistedPersons: a foreign key to the table of persons is a second way to one even where that table is not listed.
func TestUnlistedPersons(t *testing.T) {
	people, _ := peopleAndStays()
	messages := sqltype.Relation{Schema: "public", Name: "messages", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("sender", sqltype.Int4, true), column("receiver", sqltype.Int4, true)}}
	for _, c := range []string{"sender", "receiver"} {
		messages.ForeignKeys = append(messages.ForeignKeys, sqltype.RelationForeignKey{Columns: []string{c}, RefSchema: "public", RefTable: "people", RefColumns: []string{"id"}})
	}
	const text = `
dataset: d
backend: {postgres: "postgres://h/d"}
unit: messages.sender
tables: {messages: {columns: {sender: {}, receiver: {UNPROTECTED}}}}
budget: {epsilon: 1, delta: 0}
analysts: {ann: {password: env:VERIFIER, may: [messages]}}
`
	if r := review(t, strings.ReplaceAll(text, "UNPROTECTED", ""), people, messages); !contains(r.Problems, "[receiver] to public.people is a second way to a person") || len(r.Problems) != 1 {
		t.Errorf("%v", r.Problems)
	}
	if r := review(t, strings.ReplaceAll(text, "UNPROTECTED", "unprotected: true"), people, messages); len(r.Problems) > 0 {
		t.Errorf("%v", r.Problems)
	}
}

// TestRefusedBudgetsDoc: docs/policy.md says which numbers are refused.
func TestRefusedBudgetsDoc(t *testing.T) {
	page, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("below %v or above %d, so also 0", minEpsilon, maxEpsilon), fmt.Sprintf("above %d or below one window", maxEpsilon*1000), fmt.Sprintf("negative, above %v, or a tenth", maxDelta), fmt.Sprintf("`budget.epsilon` above %d:", muchEpsilon)} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/policy.md does not say %q", want)
		}
	}
	for budget, want := range map[string]string{
		"{epsilon: 1e-10, delta: 0}": "budget.epsilon must be at least 1e-09", "{epsilon: 10001, delta: 0}": "at most 10000", "{epsilon: -1, delta: 0}": "budget.epsilon must be", "{epsilon: .nan, delta: 0}": "must be a decimal number", "{epsilon: .inf, delta: 0}": "must be a decimal number",
		"{epsilon: 1, delta: 0.02}": "budget.delta must be at least 0 and at most 0.01", "{epsilon: 1, delta: -1e-9}": "budget.delta must be at least 0", "{epsilon: 2, delta: 0, per: month, lifetime: 1}": "does not hold one window",
		"{epsilon: 1, delta: 0, per: month, lifetime: 10000001}": "at most 1e+07", "{epsilon: 1, delta: 0.01, per: day, lifetime: 1000}": "promises nothing",
	} {
		text := "dataset: d\nbackend: {duckdb: x.duckdb}\nunit: p.id\ntables: {p: {columns: {id: {}}}}\nbudget: " + budget + "\nanalysts: {ann: {password: env:VERIFIER, may: [p]}}\n"
		_, err := parse("p.yaml", []byte(text), testEnv)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "p.yaml:5:") {
			t.Errorf("%s: %v, not %q", budget, err, want)
		}
	}
}

// TestOwnIsOffered: own is named as a cure where the policy with it is taken, and nowhere else.
func TestOwnIsOffered(t *testing.T) {
	for name, c := range map[string]struct {
		change func(people, stays, notes *sqltype.Relation)
		text   [2]string
		takes  bool
	}{
		"a table with a key": {takes: true},
		"a view": {change: func(_, stays, _ *sqltype.Relation) {
			stays.Kind, stays.View = sqltype.KindView, &sqltype.ViewFacts{Simple: true, Base: sqltype.QualifiedName{Schema: "public", Name: "base"}}
		}},
		"no key":         {change: func(_, stays, _ *sqltype.Relation) { stays.Keys = nil }, text: [2]string{"  notes: {unit: stay -> stays.nr, rows_without_unit: drop, columns: {stay: {}}}"}},
		"a key of NULLs": {change: func(_, stays, _ *sqltype.Relation) { stays.Columns[0].NotNull = false }},
		"a partition": {change: func(_, stays, _ *sqltype.Relation) {
			stays.PartOf = []sqltype.QualifiedName{{Schema: "public", Name: "all_stays"}}
		}},
		"a unit of times": {change: func(people, stays, _ *sqltype.Relation) {
			people.Columns[0].Type, stays.Columns[1].Type = sqltype.Time, sqltype.Time
		}},
		"a composite way":   {text: [2]string{"unit: who -> people.id,", `unit: "(who, nr) -> people.(id, age)",`}},
		"what leads to it":  {text: [2]string{"unit: stay -> stays.nr,", `unit: "(by_id, stay) -> stays.(who, nr)",`}},
		"what leads beside": {text: [2]string{"unit: stay -> stays.nr,", `unit: by_id -> people.id,`}, takes: true},
	} {
		people, stays := peopleAndStays()
		people.Columns, stays.Columns = slices.Clone(people.Columns), slices.Clone(stays.Columns)
		stays.Columns[1].NotNull = false
		notes := sqltype.Relation{Schema: "public", Name: "notes", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("stay", sqltype.Int4, true), column("by_id", sqltype.Int4, false)}}
		if c.change != nil {
			c.change(&people, &stays, &notes)
		}
		text := strings.Replace(twoTables, "EXTRA", "  notes: {unit: stay -> stays.nr, rows_without_unit: drop, columns: {stay: {}}}\n", 1)
		text = strings.Replace(text, c.text[0], c.text[1], 1)
		r := review(t, text, people, stays, notes)
		offers := slices.ContainsFunc(r.Warnings, func(p Problem) bool {
			return strings.HasPrefix(p.Message, "stays.who") && strings.Contains(p.Hint, "rows_without_unit: own")
		})
		own := review(t, strings.Replace(text, "max_rows_per_unit: 3,", "max_rows_per_unit: 3, rows_without_unit: own,", 1), people, stays, notes)
		if takes := len(own.Problems) == 0; len(r.Problems) > 0 || offers != takes || takes != c.takes {
			t.Errorf("%s: own is offered: %t, taken: %t: %v, %v", name, offers, takes, r.Problems, own.Problems)
		}
	}
}

// TestRefusedWay: where a way to the unit is refused, nothing is said of what depends on it: neither of second ways nor of their cures.
func TestRefusedWay(t *testing.T) {
	people, stays := peopleAndStays()
	notes := sqltype.Relation{Schema: "public", Name: "notes", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("stay", sqltype.Int4, true), column("by_id", sqltype.Int4, true)},
		ForeignKeys: []sqltype.RelationForeignKey{{Columns: []string{"stay"}, RefSchema: "public", RefTable: "stays", RefColumns: []string{"nr"}}}}
	base := strings.Replace(twoTables, "EXTRA", "  notes: {unit: stay -> stays.nr, max_rows_per_unit: 2, columns: {stay: {}}}", 1)
	for way, want := range map[string]string{
		"unit: who > people.id,": "table stays: unit: ", "unit: whoo -> people.id,": "has no column whoo", "unit: who -> people.idd,": "has no column idd", "unit: who -> persons.id,": "no table persons is listed",
		"unit: [who],": "table stays: unit ", "": "has neither unit nor public: true", "unit: nr -> stays.nr,": "in a circle", "unit: who -> people.id, also_unit: visitor > people.id,": "also_unit",
		`unit: "coalesce(who, visitor)",`: "it does not say where who leads",
	} {
		rel := stays
		if strings.Contains(way, "visitor >") {
			rel.ForeignKeys = append(slices.Clone(rel.ForeignKeys), sqltype.RelationForeignKey{Columns: []string{"visitor"}, RefSchema: "public", RefTable: "people", RefColumns: []string{"id"}})
		}
		r := review(t, strings.Replace(base, "unit: who -> people.id,", way, 1), people, rel, notes)
		if !contains(r.Problems, want) || contains(r.Problems, "second way") {
			t.Errorf("%s: %v", way, r.Problems)
		}
		if contains(r.Warnings, "no foreign key enforces") || contains(r.Warnings, "second way") {
			t.Errorf("%s: %v", way, r.Warnings)
		}
	}
}

// TestSecondWayIsToldOnce: a foreign key that is a mistake as a second way is no warning too, whether its table is listed or not.
func TestSecondWayIsToldOnce(t *testing.T) {
	people, stays := peopleAndStays()
	friend := column("friend_id", sqltype.Int4, false)
	key := sqltype.RelationForeignKey{Columns: []string{"friend_id"}, RefSchema: "public", RefTable: "people", RefColumns: []string{"id"}}
	stays.Columns, stays.ForeignKeys = append(stays.Columns, friend), append(stays.ForeignKeys, key)
	alone := strings.NewReplacer("unit: people.id", "unit: stays.id", "  people: {columns: {id: {}, age: {}}}\n", "", "unit: who -> people.id, max_rows_per_unit: 3, columns: {nr: {}}", "columns: {id: {}}", "may: [people]", "may: [stays]")
	unlisted := stays
	unlisted.Columns = append(slices.Clone(stays.Columns), column("id", sqltype.Int4, true))
	unlisted.ForeignKeys = append(slices.Clone(stays.ForeignKeys), sqltype.RelationForeignKey{Columns: []string{"id"}, RefSchema: "public", RefTable: "people", RefColumns: []string{"id"}})
	text := strings.Replace(twoTables, "EXTRA", "", 1)
	for text, stays := range map[string]sqltype.Relation{text: stays, alone.Replace(text): unlisted} {
		r := review(t, text, people, stays)
		if !contains(r.Problems, "[friend_id]") || contains(r.Warnings, "friend_id") {
			t.Errorf("%v, %v", r.Problems, r.Warnings)
		}
	}
}

// TestNeedlesslyUnprotected: the column by which rows are their own person's is not marked as one whose person is not protected, but where it leads to a second one too.
func TestNeedlesslyUnprotected(t *testing.T) {
	people, stays := peopleAndStays()
	const mark = "who: {unprotected: true}"
	text := strings.Replace(twoTables, "EXTRA", "", 1)
	for from, to := range map[string]string{"{id: {}": "{id: {unprotected: true}", "columns: {nr: {}}": "columns: {" + mark + "}"} {
		r := review(t, strings.Replace(text, from, to, 1), people, stays)
		if len(r.Problems) != 1 || !contains(r.Problems, "unprotected: the column leads to the unit, which is protected") {
			t.Errorf("%s: %v", to, r.Problems)
		}
	}
	also := stays
	also.Name, also.ForeignKeys = "helpers", []sqltype.RelationForeignKey{{Columns: []string{"who"}, RefSchema: "public", RefTable: "stays", RefColumns: []string{"nr"}}}
	text = strings.Replace(twoTables, "EXTRA", "  helpers: {unit: who -> people.id, max_rows_per_unit: 3, columns: {"+mark+"}}", 1)
	if r := review(t, text, people, stays, also); len(r.Problems) > 0 {
		t.Errorf("a second way: %v", r.Problems)
	}
}

// TestUnreadTables: a table whose rows belong to two people of one kind, and what leads to it, are warned of: no statement reads them; what would make them so is not offered. max_frequency without joins off the unit is warned of too.
func TestUnreadTables(t *testing.T) {
	people, stays := peopleAndStays()
	stays.ForeignKeys = append(slices.Clone(stays.ForeignKeys), sqltype.RelationForeignKey{Columns: []string{"visitor"}, RefSchema: "public", RefTable: "people", RefColumns: []string{"id"}})
	notes := sqltype.Relation{Schema: "public", Name: "notes", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("stay", sqltype.Int4, false)}}
	told := func(list []Problem) (out []string) {
		for _, p := range list {
			out = append(out, fmt.Sprintf("%s (%s)", p.Message, p.Hint))
		}
		return out
	}
	has := func(list []Problem, words ...string) bool {
		return slices.ContainsFunc(told(list), func(text string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
		})
	}
	text := strings.Replace(twoTables, "EXTRA", "  notes: {unit: stay -> stays.nr, max_rows_per_unit: 2, columns: {stay: {}}}", 1)
	r := review(t, text, people, stays, notes)
	if !has(r.Problems, "a second way to a unit", "unprotected: true at the column", "leave the table out") || has(r.Problems, "also_unit") {
		t.Errorf("undecided: %v", told(r.Problems))
	}
	both := strings.Replace(text, "unit: who -> people.id,", "unit: who -> people.id, also_unit: visitor -> people.id,", 1)
	r = review(t, both, people, stays, notes)
	if r.Err() != nil || !has(r.Warnings, "table stays: no statement can read it", "unprotected: true on the column (visitor)") || !has(r.Warnings, "table notes: no statement can read it") {
		t.Errorf("both: %v, %v", r.Err(), told(r.Warnings))
	}
	r = review(t, strings.Replace(text, "columns: {nr: {}}", "columns: {nr: {}, visitor: {unprotected: true}}", 1), people, stays, notes)
	if r.Err() != nil || has(r.Warnings, "no statement can read it") {
		t.Errorf("one: %v, %v", r.Err(), told(r.Warnings))
	}
	p, err := parse("p.yaml", []byte(strings.Replace(strings.Replace(text, "columns: {nr: {}}", "columns: {nr: {}, visitor: {}}", 1), "unit: who -> people.id,", "unit: who -> people.id, unprotected: true,", 1)), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Bind([]sqltype.Relation{people, stays, notes})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range c.tables { // which tells analysts so
		i := slices.IndexFunc(table.Columns, func(c plan.TableColumn) bool { return c.Name == "visitor" })
		if table.Unprotected != (table.Name == "stays") || i >= 0 && !table.Columns[i].Unprotected {
			t.Errorf("unprotected: %+v", table)
		}
	}
	for query, want := range map[string]bool{"": true, "query: {joins: any}": false} {
		text := strings.Replace(strings.Replace(twoTables, "EXTRA", query, 1), "max_rows_per_unit: 3,", "max_rows_per_unit: 3, max_frequency: {nr: 40},", 1)
		_, plain := peopleAndStays()
		r := review(t, text, people, plain)
		if r.Err() != nil || has(r.Warnings, "max_frequency says nothing", "query: {joins: any}") != want {
			t.Errorf("%q: %v, %v", query, r.Err(), told(r.Warnings))
		}
	}
}

// TestVerifierWarnings: verifiers that stand out at a log-in are warned of.
func TestVerifierWarnings(t *testing.T) {
	people, stays := peopleAndStays()
	other := strings.Replace(testVerifier, "$4096:", "$8192:", 1)
	salt := regexp.MustCompile(`:[^$]+\$`).ReplaceAllString(testVerifier, ":AAAAAAAAAAAAAAA=$$")
	for _, c := range []struct {
		bob, want string
	}{{testVerifier, ""}, {other, "has 8192 iterations and names that do not exist are shown 4096"}, {salt, "salt has 11 bytes in place of 16"}} {
		text := strings.Replace(twoTables, "may: [people]}", "may: [people]}, bob: {password: \""+c.bob+"\", may: [people]}", 1)
		r := review(t, strings.Replace(text, "EXTRA", "", 1), people, stays)
		if len(r.Problems) > 0 {
			t.Fatal(r.Problems)
		}
		if got := slices.ContainsFunc(r.Warnings, func(p Problem) bool { return strings.Contains(p.Message, "can tell that the name exists") }); got != (c.want != "") {
			t.Errorf("%v", r.Warnings)
		} else if got && !slices.ContainsFunc(r.Warnings, func(p Problem) bool {
			return strings.Contains(p.Message, "analysts.bob: ") && strings.Contains(p.Message, c.want)
		}) {
			t.Errorf("%v", r.Warnings)
		}
	}
}

// TestScramIterations: verifiers with the policy's own count are not warned of; the count has bounds.
func TestScramIterations(t *testing.T) {
	people, stays := peopleAndStays()
	bob := "may: [people]}, bob: {password: \"" + strings.Replace(testVerifier, "$4096:", "$8192:", 1) + "\", may: [people]}"
	text := strings.Replace(strings.Replace(twoTables, "EXTRA", "", 1), "may: [people]}", bob, 1)
	for line, want := range map[string]string{"scram_iterations: 8192": "", "scram_iterations: 4095": "must be at least 4096", "scram_iterations: 2000000": "from 1 to 1048576"} {
		r := review(t, text+"\n"+line+"\n", people, stays)
		if contains(r.Problems, want) != (want != "") || want == "" && (len(r.Problems) > 0 || contains(r.Warnings, "analysts.bob")) {
			t.Errorf("%s: %v, %v", line, r.Problems, r.Warnings)
		}
	}
}

// TestDoubts: a public table with the columns of people's rows, or with the column that says whose they are, is warned of; not what shares a common name alone. A unit that is no key is warned of.
func TestDoubts(t *testing.T) {
	people, stays := peopleAndStays()
	copyOf := func(r sqltype.Relation, name string, columns ...string) sqltype.Relation {
		out := sqltype.Relation{Schema: "public", Name: name, Kind: sqltype.KindTable}
		for _, c := range r.Columns {
			if len(columns) == 0 || slices.Contains(columns, c.Name) {
				c.NotNull = false
				out.Columns = append(out.Columns, c)
			}
		}
		return out
	}
	const public = "  copied: {public: true}\n"
	for _, c := range []struct {
		rel        sqltype.Relation
		text, want string
	}{
		{copyOf(people, "copied"), public, "has the columns of people"},
		{copyOf(stays, "copied"), public, "has the columns of stays"},
		{copyOf(stays, "copied", "nr", "who"), public, "has the column who, which says in stays whose a row is"},
		{copyOf(stays, "copied", "nr", "who"), "  copied: {public: true, columns: {nr: {}}}\n", "has the column who"},
		{copyOf(stays, "copied", "nr", "visitor"), public, ""},
		{copyOf(people, "copied", "id"), public, ""},
	} {
		r := review(t, strings.Replace(strings.Replace(twoTables, "EXTRA\n", "", 1), "  stays:", c.text+"  stays:", 1), people, stays, c.rel)
		if len(r.Problems) > 0 {
			t.Fatal(r.Problems)
		}
		if got := contains(r.Warnings, "table copied is public and has"); got != (c.want != "") || got && !contains(r.Warnings, c.want) {
			t.Errorf("%+v %s: %v", c.rel.Columns, c.text, r.Warnings)
		}
		if n := len(r.Catalogs.CopyWarnings()); (n > 0) != (c.want != "") {
			t.Errorf("%d doubts, want %q", n, c.want)
		}
		if contains(r.Warnings, "is not a key") {
			t.Errorf("people.id is a key: %v", r.Warnings)
		}
	}
	r := review(t, strings.NewReplacer("EXTRA\n", "", "unit: people.id", "unit: people.age", "who -> people.id", "who -> people.age").Replace(twoTables), people, stays)
	if !slices.ContainsFunc(r.Warnings, func(p Problem) bool {
		return strings.Contains(p.Message, "unit people.age is not a key of the table") && strings.Contains(p.Hint, "unit: people.id is a key")
	}) {
		t.Errorf("%v %v", r.Problems, r.Warnings)
	}
}

// TestUnitWithoutKey: a unit that is no key is warned of with what makes it one: in a database a constraint, of files a line of the policy.
func TestUnitWithoutKey(t *testing.T) {
	database := strings.Replace(twoTables, "EXTRA\n", "", 1)
	for text, want := range map[string]string{
		database: "make id unique in the database, if each person has one row",
		strings.Replace(database, `{postgres: "postgres://h/d"}`, "{files: ./data}", 1): "write key: id for the table, if each person has one row",
	} {
		people, stays := peopleAndStays()
		if people.Keys = nil; strings.Contains(text, "files") {
			people.Schema, stays.Schema, stays.ForeignKeys = "main", "main", nil
		}
		r := review(t, text, people, stays)
		if !slices.ContainsFunc(r.Warnings, func(p Problem) bool {
			return strings.Contains(p.Message, "unit people.id is not a key") && p.Hint == want
		}) {
			t.Errorf("%q is not in %v %v", want, r.Problems, r.Warnings)
		}
	}
}

// TestSecondWayByName: a column that is called as the unit's is warned of where it could name a person: not a table's own key, not one that leads to a public table, not one of
// another type. A unit's own table that leads to itself is told what to do, and a policy without analysts that nobody can connect.
func TestSecondWayByName(t *testing.T) {
	person := sqltype.Relation{Schema: "public", Name: "person", Kind: sqltype.KindTable, Keys: [][]string{{"id"}}, Columns: []sqltype.RelationColumn{column("id", sqltype.UUIDType, true), column("friend", sqltype.UUIDType, true)},
		ForeignKeys: []sqltype.RelationForeignKey{{Columns: []string{"friend"}, RefSchema: "public", RefTable: "person", RefColumns: []string{"id"}}}}
	ward := sqltype.Relation{Schema: "public", Name: "ward", Kind: sqltype.KindTable, Keys: [][]string{{"id"}}, Columns: []sqltype.RelationColumn{column("id", sqltype.UUIDType, true)}}
	visit := sqltype.Relation{Schema: "public", Name: "visit", Kind: sqltype.KindTable, Keys: [][]string{{"id"}},
		Columns: []sqltype.RelationColumn{column("id", sqltype.UUIDType, true), column("owner", sqltype.UUIDType, true), column("ward_id", sqltype.UUIDType, true), column("chat_id", sqltype.Int4, true), column("escort_id", sqltype.UUIDType, true)},
		ForeignKeys: []sqltype.RelationForeignKey{{Columns: []string{"owner"}, RefSchema: "public", RefTable: "person", RefColumns: []string{"id"}},
			{Columns: []string{"ward_id"}, RefSchema: "public", RefTable: "ward", RefColumns: []string{"id"}}}}
	r := review(t, `
dataset: d
backend: {postgres: "postgres://h/d"}
unit: person.id
population: 200
tables:
  person: {columns: {id: {}}}
  visit: {unit: owner -> person.id, max_rows_per_unit: 3, columns: {id: {}}}
  ward: {public: true}
budget: {epsilon: 1, delta: 1e-6}
analysts: {}
`, person, visit, ward)
	var warned []string
	for _, w := range r.Warnings {
		if strings.Contains(w.Message, "looks like a second way") {
			warned = append(warned, w.Message)
		}
	}
	if want := []string{"table visit: column escort_id looks like a second way to a person"}; !slices.Equal(warned, want) {
		t.Errorf("%q", warned)
	}
	if !contains(r.Warnings, "there is no analyst") {
		t.Errorf("%v", r.Warnings)
	}
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Hint, "To leave the column out of the policy is not enough") || strings.Contains(r.Problems[0].Hint, "table out") {
		t.Errorf("%v", r.Problems)
	}
}

// Err is the problems as one error, or nil.
func (r *Review) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return &Error{File: r.Policy.Name, Problems: r.Problems}
}

// TestOtherWay: a unit by a column that may be NULL is warned of where a foreign key that never is leads each row to a person, with the line that protects that one; not where that way may lead nowhere itself.
func TestOtherWay(t *testing.T) {
	key := func(table string, columns, of []string) sqltype.RelationForeignKey {
		return sqltype.RelationForeignKey{Columns: columns, RefSchema: "public", RefTable: table, RefColumns: of}
	}
	people, _ := peopleAndStays()
	for _, c := range []struct {
		memberIsNever, giftIsNever bool
		unit, columns, want        string
	}{
		{true, false, "gift_for -> people.id", "nr: {unprotected: true}, gift_for: {}", "table items: gift_for can be NULL, but by nr each row leads to a person, whom this unit does not protect"},
		{true, false, "nr -> orders.nr", "nr: {}, gift_for: {unprotected: true}", ""},
		{false, false, "gift_for -> people.id", "nr: {unprotected: true}, gift_for: {}", ""},
		{true, true, "gift_for -> people.id", "nr: {unprotected: true}, gift_for: {}", ""},
	} {
		orders := sqltype.Relation{Schema: "public", Name: "orders", Kind: sqltype.KindTable, Keys: [][]string{{"nr"}}, Columns: []sqltype.RelationColumn{column("nr", sqltype.Int4, true), column("member", sqltype.Int4, c.memberIsNever)},
			ForeignKeys: []sqltype.RelationForeignKey{key("people", []string{"member"}, []string{"id"})}}
		items := sqltype.Relation{Schema: "public", Name: "items", Kind: sqltype.KindTable, Keys: [][]string{{"item"}},
			Columns:     []sqltype.RelationColumn{column("item", sqltype.Int4, true), column("nr", sqltype.Int4, true), column("gift_for", sqltype.Int4, c.giftIsNever)},
			ForeignKeys: []sqltype.RelationForeignKey{key("people", []string{"gift_for"}, []string{"id"}), key("orders", []string{"nr"}, []string{"nr"})}}
		r := review(t, `
dataset: d
backend: {postgres: "postgres://h/d"}
unit: people.id
tables:
  people: {columns: {id: {}}}
  orders: {unit: member -> people.id, max_rows_per_unit: 3, columns: {nr: {}}}
  items: {unit: `+c.unit+`, max_rows_per_unit: 3, columns: {`+c.columns+`}}
budget: {epsilon: 1, delta: 0}
analysts: {ann: {password: env:VERIFIER, may: [people]}}
`, people, orders, items)
		if len(r.Problems) > 0 {
			t.Fatal(r.Problems)
		}
		if contains(r.Warnings, "whom this unit does not protect") != (c.want != "") || c.want != "" && !slices.ContainsFunc(r.Warnings, func(p Problem) bool {
			return p.Message == c.want && p.Hint == `unit: "nr -> orders.nr", and unprotected: true at the column gift_for`
		}) {
			t.Errorf("%+v: %v", c, r.Warnings)
		}
	}
}

// TestAddToNoAnalysts: a policy without the key analysts is given it with the first analyst.
func TestAddToNoAnalysts(t *testing.T) {
	const text = "dataset: d\nbackend: {duckdb: x.duckdb}\nunit: p.id\ntables: {p: {columns: {id: {}}}}\nbudget: {epsilon: 1, delta: 0}"
	for _, end := range []string{"", "\n"} {
		added, err := AddAnalyst("p.yaml", []byte(text+end), NewAnalyst{Name: "ann", Verifier: testVerifier, May: []string{"p"}})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := parse("p.yaml", added, testEnv); err != nil || len(p.Analysts) != 1 || !strings.HasPrefix(string(added), text+"\nanalysts:\n  ann: ") {
			t.Errorf("%v\n%s", err, added)
		}
	}
}

// TestUnreadOfPublicTables: of a public table that lists no columns, check names those whose types are not read, and a statement that names one is told so.
func TestUnreadOfPublicTables(t *testing.T) {
	people, stays := peopleAndStays()
	money := sqltype.RelationColumn{Name: "price", TextBy: sqltype.TextByTrigger}
	secret := sqltype.RelationColumn{Name: "secret"}
	people.Columns = append(people.Columns, secret)
	products := sqltype.Relation{Schema: "public", Name: "products", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("sku", sqltype.Int4, true), money}}
	r := review(t, strings.Replace(twoTables, "EXTRA", "  products: {public: true}", 1), people, stays, products)
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	want := "column products.price has a type that dpsql does not compute with: it does not exist for analysts"
	i := slices.IndexFunc(r.Warnings, func(p Problem) bool {
		return strings.Contains(fmt.Sprint(p), want) && strings.Contains(fmt.Sprint(p), "then analysts see price_text")
	})
	if i < 0 {
		t.Errorf("no %q in %v", want, r.Warnings)
	}
	cat, err := r.Catalogs.For("ann")
	if err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{"select price from products": `"price" has a type that dpsql does not read`, "select p.price from products p": `"price" has a type that dpsql does not read`,
		"select secret from people": `"secret" does not exist`, "select cost from products": `"cost" does not exist`} {
		list, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Bind(list[0].Node.(*pgsyntax.Select), cat, plan.BindOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestOneWrongWord: a word in the place of true, false or a number is one mistake, and no warning advises quotes that would be refused too.
func TestOneWrongWord(t *testing.T) {
	people, stays := peopleAndStays()
	people.Columns = append(people.Columns, column("smokes", sqltype.Type{OID: sqltype.OIDBool}, true))
	base := strings.Replace(twoTables, "EXTRA", "", 1)
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"  stays: {", "  wards: {public: yes}\n  stays: {", []string{`table wards: public must be true or false, not "yes"`}},
		{"  stays: {", "  wards: {public: \"true\"}\n  stays: {", []string{"table wards: public must be true or false, without quotes"}},
		{"  stays: {", "  stays: {public: nein, ", []string{`table stays: public must be true or false, not "nein"`}},
		{"budget: {", "query: {price: yes}\nbudget: {", []string{`query.price must be a decimal number of at most 60 digits, not "yes"`}},
		{"{id: {}", "{id: {}, smokes: {values: [yes, no]}", []string{`column people.smokes: values: "yes" is not true or false`, `column people.smokes: values: "no" is not true or false`}},
	} {
		text := strings.Replace(base, c.from, c.to, 1)
		wards := sqltype.Relation{Schema: "public", Name: "wards", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("ward", sqltype.Int4, true)}}
		r := review(t, text, people, stays, wards)
		var got []string
		for _, p := range r.Problems {
			got = append(got, p.Message)
		}
		if text == base || !slices.Equal(got, c.want) || contains(r.Warnings, "without quotes") {
			t.Errorf("%s: %q, warnings %v", c.to, got, r.Warnings)
		}
	}
}
