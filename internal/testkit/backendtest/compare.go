package backendtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/testdata/demo"
)

// Compare reads the demo's tables, which both backends were loaded with, and aggregates over them, and fails where schema or
// values differ.
func Compare(t *testing.T, a, b backend.Backend) {
	for _, table := range demo.Tables {
		t.Run(table.Name, func(t *testing.T) {
			ra, rb := describeOne(t, a, table.Name), describeOne(t, b, table.Name)
			for _, r := range []*sqltype.Relation{&ra, &rb} {
				checkDemoSchema(t, table, r)
			}
			var columns []string
			var types []sqltype.Type
			for _, c := range table.Columns {
				columns = append(columns, `"`+c.Name+`"`)
				types = append(types, c.Type)
			}
			read := func(bk backend.Backend, r sqltype.Relation) [][]sqltype.Value {
				return mustAsk(t, bk, fmt.Sprintf("SELECT %s FROM %q.%q ORDER BY %s", strings.Join(columns, ", "), r.Schema, r.Name,
					strings.Join(columns, ", ")), nil, types...)
			}
			checkRows(t, read(a, ra), read(b, rb))
		})
	}
	t.Run("aggregates", func(t *testing.T) {
		const sql = `SELECT e.readmitted, p.race, count(*), sum(e.medications), sum(CAST(e.days_in_hospital AS numeric(10,2))),
				count(DISTINCT e.patient_id), min(e.diag_1), max(e.payer_code)
			FROM %[1]s.encounters e JOIN %[1]s.patients p ON p.patient_id = e.patient_id
			WHERE e.age_band >= $1 GROUP BY 1, 2 ORDER BY 1, 2`
		types := []sqltype.Type{sqltype.Text, sqltype.Text, sqltype.Int8, sqltype.Int8, sqltype.Numeric, sqltype.Int8, sqltype.Text, sqltype.Text}
		read := func(b backend.Backend) [][]sqltype.Value {
			schema := describeOne(t, b, "patients").Schema
			return mustAsk(t, b, fmt.Sprintf(sql, schema), []backend.Arg{{Type: sqltype.Text, Value: "50-60"}}, types...)
		}
		checkRows(t, read(a), read(b))
	})
}

func describeOne(t *testing.T, b backend.Backend, name string) sqltype.Relation {
	t.Helper()
	r, err := b.Describe(t.Context(), []backend.RelationName{{Name: name}})
	if err != nil || len(r) != 1 {
		t.Fatalf("describing %s: %v, %v", name, r, err)
	}
	clearOwnFields(&r[0])
	return r[0]
}

func checkDemoSchema(t *testing.T, want demo.Table, got *sqltype.Relation) {
	t.Helper()
	if len(got.Columns) != len(want.Columns) || len(got.ForeignKeys) != len(want.ForeignKeys) {
		t.Fatalf("described as %+v", got)
	}
	for i, c := range want.Columns {
		if got.Columns[i] != (sqltype.RelationColumn{Name: c.Name, Type: c.Type, NotNull: c.NotNull}) {
			t.Errorf("column %+v, want %+v", got.Columns[i], c)
		}
	}
	for i, k := range want.ForeignKeys {
		f := got.ForeignKeys[i]
		if f.Columns[0] != k.Column || f.RefTable != k.Ref || f.RefColumns[0] != k.RefColumn || f.RefSchema != got.Schema {
			t.Errorf("foreign key %+v, want %+v", f, k)
		}
	}
	if (want.PrimaryKey == "") != (len(got.Keys) == 0) || want.PrimaryKey != "" && got.Keys[0][0] != want.PrimaryKey {
		t.Errorf("keys %v, want %q", got.Keys, want.PrimaryKey)
	}
}
