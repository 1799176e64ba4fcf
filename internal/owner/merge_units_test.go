package owner

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestMergeUnits: a policy with units of several kinds stays as it is; of a new table the owner says whose its rows are.
func TestMergeUnits(t *testing.T) {
	relation := func(name, refers string, columns ...string) sqltype.Relation {
		r := sqltype.Relation{Schema: "public", Name: name, Kind: sqltype.KindTable, Keys: [][]string{columns[:1]}}
		for _, c := range columns {
			r.Columns = append(r.Columns, sqltype.RelationColumn{Name: c, Type: sqltype.Int4, NotNull: true})
		}
		if refers != "" {
			r.ForeignKeys = []sqltype.RelationForeignKey{{Columns: columns[1:2], RefSchema: "public", RefTable: refers, RefColumns: columns[1:2]}}
		}
		return r
	}
	rels := []sqltype.Relation{relation("customer", "", "c"), relation("supplier", "", "s"), relation("orders", "customer", "o", "c"), relation("fresh", "customer", "f", "c")}
	old := `dataset: d
backend: {postgres: "postgres://a@b/c"}
units: [customer.c, supplier.s]
tables:
  customer: {columns: {c: {}}}
  supplier: {columns: {s: {}}}
  orders:
    unit: c -> customer.c
    columns:
      o: {}
      c: {}
budget: {epsilon: 1, delta: 0}
`
	opt := InitOptions{Backend: "postgres", URL: "x", Dataset: "d", Merge: []byte(old)}
	text, err := Init(rels, opt)
	if err != nil {
		t.Fatal(err)
	}
	live := ""
	for _, line := range strings.SplitAfter(string(text), "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			live += line
		}
	}
	if live != old || !strings.Contains(string(text), "# fresh:") {
		t.Errorf("merged:\n%s", text)
	}
	opt.Unit = "customer.c"
	if _, err := Init(rels, opt); err == nil || !strings.Contains(err.Error(), "several kinds") {
		t.Errorf("another unit: %v", err)
	}
}
