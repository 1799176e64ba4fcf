package owner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
)

var names = rapid.OneOf(
	rapid.SampledFrom([]string{"customer", "patients", "orders", "visits", "status", "id", "customer_id", "name", "email", "note", "amount", "no", "on", "null", "yes", "y", "unit",
		"columns", "public", "tables", "key", "new in the database", "gone from the database: x", "a: b", "a:", "# x", "'", `"`, `\`, "a.b", `"a"`, "größe", "1", "-", "{}", "~", " ", " x ", "a\nb", "\t",
		"\u00a0", "\u2028", "\ufeff", "é", "😀", "FILL_IN", "(a, b) -> c", strings.Repeat("x", 64)}),
	rapid.StringN(1, 8, 80).Filter(func(s string) bool { return !strings.ContainsRune(s, 0) }))

// database draws a schema whose foreign keys lead to keys, as a database's do.
func database(t *rapid.T, defaultSchema string) []sqltype.Relation {
	types := []sqltype.Type{sqltype.Int4, sqltype.Int8, sqltype.Text, sqltype.Bool, sqltype.Date, sqltype.Float8, sqltype.Numeric, sqltype.NumericOf(8, 2), {OID: 600, Typmod: -1}}
	var rels []sqltype.Relation
	for _, name := range rapid.SliceOfNDistinct(names, 1, 6, rapid.ID).Draw(t, "tables") {
		r := sqltype.Relation{Schema: defaultSchema, Name: name, Kind: sqltype.KindTable}
		if rapid.IntRange(0, 5).Draw(t, "elsewhere") == 0 {
			r.Schema = "other"
		}
		if rapid.IntRange(0, 9).Draw(t, "view") == 0 {
			r.Kind = sqltype.KindView
		}
		r.Comment = rapid.SampledFrom([]string{"", "", "customer: {}", "# multi\nline", "email"}).Draw(t, "comment")
		for _, c := range rapid.SliceOfNDistinct(names, 1, 6, rapid.ID).Draw(t, "columns") {
			r.Columns = append(r.Columns, sqltype.RelationColumn{Name: c, Type: rapid.SampledFrom(types).Draw(t, "type"), NotNull: rapid.Bool().Draw(t, "not null")})
		}
		if rapid.IntRange(0, 3).Draw(t, "key") > 0 {
			r.Columns[0].NotNull, r.Columns[0].Type = true, sqltype.Int4
			r.Keys = [][]string{{r.Columns[0].Name}}
		}
		rels = append(rels, r)
	}
	for i := range rels {
		for _, c := range rels[i].Columns {
			to := rapid.IntRange(-3, len(rels)-1).Draw(t, "to")
			if to < 0 || len(rels[to].Keys) == 0 || c.Type != sqltype.Int4 || rels[i].Kind != sqltype.KindTable || rels[to].Kind != sqltype.KindTable {
				continue
			}
			rels[i].ForeignKeys = append(rels[i].ForeignKeys, sqltype.RelationForeignKey{Columns: []string{c.Name}, RefSchema: rels[to].Schema, RefTable: rels[to].Name,
				RefColumns: rels[to].Keys[0]})
		}
	}
	return rels
}

// edited draws what an owner could have done: lines taken out, comments added, lines ended as on Windows.
func edited(t *rapid.T, text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		switch l := lines[i]; rapid.IntRange(0, 3).Draw(t, "edit") {
		case 0:
			if strings.Contains(l, ": {") {
				lines[i] = ""
			}
		case 1:
			lines[i] = "# " + l
		case 2:
			lines[i] = l[:len(l)-len(strings.TrimLeft(l, " "))] + "# the owner's: customer_id, orders\n" + l
		case 3:
			lines[i] = strings.Replace(l, "# ", "", 1)
		}
	}
	text = strings.Join(lines, "")
	switch rapid.IntRange(0, 3).Draw(t, "end") {
	case 0:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case 1:
		text = strings.TrimRight(text, "\n")
	}
	return text
}

// TestMergeProperties: a fresh policy names only what exists; merging with the same schema changes no byte; merging with another
// keeps all lines in order, marks and adds, and merging again changes nothing.
func TestMergeProperties(t *testing.T) {
	t.Setenv("ANALYST_VERIFIER", verifier)
	refused, merged := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		backend := rapid.SampledFrom([]string{"postgres", "duckdb"}).Draw(t, "backend")
		defaultSchema := map[string]string{"postgres": "public", "duckdb": "main"}[backend]
		first, second := database(t, defaultSchema), database(t, defaultSchema)
		if rapid.Bool().Draw(t, "near") {
			second = slices.Clone(first)
			i := rapid.IntRange(0, len(second)-1).Draw(t, "changed")
			second[i].Columns = append(slices.Clone(second[i].Columns[:len(second[i].Columns)-1]), sqltype.RelationColumn{Name: "brand_new", Type: sqltype.Int4})
		}
		opt := InitOptions{Dataset: "d", Backend: backend, URL: "postgres://reader@db/d"}
		out, err := Init(first, opt)
		if err != nil {
			t.Fatal(err)
		}
		mustHold(t, first, string(out))
		opt.Merge = out
		same, err := Init(first, opt)
		if err != nil || string(same) != string(out) {
			t.Fatalf("merging a fresh policy changes it: %v\n%s\n---\n%s", err, out, same)
		}
		opt.Merge = []byte(edited(t, string(out)))
		once, err := Init(second, opt)
		if err != nil {
			refused++
			return // an edit can leave no YAML or no tables
		}
		merged++
		added := difference(string(opt.Merge), string(once))
		for _, l := range strings.Split(strings.TrimSuffix(added, "\n"), "\n") {
			if strings.HasPrefix(l, "-") && strings.TrimSpace(l) != "-" && !strings.Contains(l, proseGone) && !strings.HasSuffix(string(opt.Merge), l[1:]) {
				t.Fatalf("a merge takes away %q", l)
			}
		}
		for i := range second {
			if s, _ := newSchema(second, backend); !known(s, once, &second[i]) {
				t.Fatalf("table %q is not in\n%s", second[i].Name, once)
			}
		}
		opt.Merge = once
		twice, err := Init(second, opt)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("merging twice is not merging once: %v\n%s\nof\n%s", err, difference(string(once), string(twice)), opt.Merge)
		}
	})
	if merged < refused {
		t.Errorf("%d edited policies merged and %d were refused: the test sees too little", merged, refused)
	}
}

// known reports that a policy lists or mentions a table that it could list.
func known(s *schema, text []byte, r *sqltype.Relation) bool {
	x, err := readText(text)
	if err != nil {
		return false
	}
	t := s.find(r.Schema, r.Name)
	return !writable(t) || x.mentionsTable(s.spell(t)) || slices.ContainsFunc(x.tables, func(o *oldTable) bool { return s.named(o.parts) == t })
}

// mustHold checks a fresh policy: nothing is wrong but second ways, which are the owner's to decide.
func mustHold(t *rapid.T, rels []sqltype.Relation, text string) {
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err == nil {
		_, err = p.Bind(rels)
	}
	var pe *policy.Error
	if err == nil {
		return
	}
	if !errors.As(err, &pe) {
		t.Fatal(err)
	}
	for _, x := range pe.Problems {
		if !strings.Contains(x.Message, "second way to a ") && !strings.Contains(text, "unit: "+fillIn+"  # the column that") {
			t.Fatalf("%s\n%s", fmt.Sprint(x), text)
		}
	}
}
