package owner

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestInitUnits: where rows lead to people of two kinds, the file says how a policy hides both, and what it says is a policy that check takes; where they do not, it says nothing of it.
func TestInitUnits(t *testing.T) {
	relation := func(name, columns string, refers ...string) sqltype.Relation { // columns by letter, the first is a key
		r := sqltype.Relation{Schema: "public", Name: name, Kind: sqltype.KindTable, Keys: [][]string{{columns[:1]}}}
		for _, c := range columns {
			r.Columns = append(r.Columns, sqltype.RelationColumn{Name: string(c), Type: sqltype.Int4, NotNull: true})
		}
		for _, to := range refers {
			r.ForeignKeys = append(r.ForeignKeys, sqltype.RelationForeignKey{Columns: []string{to[:1]}, RefSchema: "public", RefTable: to, RefColumns: []string{to[:1]}})
		}
		return r
	}
	rels := []sqltype.Relation{relation("customer", "cn"), relation("student", "sn"), relation("orders", "oc", "customer"), relation("lines", "los", "orders", "student"), relation("notes", "nl", "lines")}
	opt := InitOptions{Backend: "postgres", URL: "postgres://reader@db/x", Dataset: "d"}
	out, err := Init(rels, opt)
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	wants := "# Rows of lines, notes lead to customer and to student. If both are people to hide, write in place of unit, with the numbers of each:\n" +
		"#   units: [customer.c, student.s]\n#   population: {customer: 100000, student: 1000}\n" +
		"# list student below with its columns, and give those tables the way to it as also_unit: column -> student.s\n"
	if !strings.Contains(text, wants) {
		t.Fatalf("nothing of two kinds:\n%s", text)
	}
	t.Setenv("ANALYST_VERIFIER", verifier)
	if got := check(rels, text); got != "ok" {
		t.Fatalf("as it is: %s", got)
	}
	for _, edit := range [][2]string{
		{"\nunit: customer.c", "\nunits: [customer.c, student.s]\npopulation: {customer: 50000, student: 1000}"},
		{"\n    unit: o -> orders.o\n", "\n    unit: o -> orders.o\n    also_unit: s -> student.s\n"},
		{"\ntables:\n", "\ntables:\n  student: {columns: {s: {}, n: {}}}\n"},
	} {
		if strings.Count(text, edit[0]) != 1 {
			t.Fatalf("no %q in\n%s", edit[0], text)
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	if got := check(rels, text); got != "ok" {
		t.Errorf("as it says: %s\n%s", got, text)
	}
	rels[3] = relation("lines", "los", "orders")
	if out, err = Init(rels, opt); err != nil || strings.Contains(string(out), "units:") {
		t.Errorf("of one kind: %v\n%s", err, out)
	}
}
