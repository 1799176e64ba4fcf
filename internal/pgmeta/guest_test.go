package pgmeta_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestHiddenColumns: of columns that a guest may not see there is no comment, no key and no foreign key to them, whatever the tables' other columns show.
func TestHiddenColumns(t *testing.T) {
	people := &plan.Table{OID: 70000, Schema: "public", Name: "people", UnitCol: 0, Keys: [][]int{{0}, {1}}, Columns: []plan.TableColumn{
		{Name: "secret_id", Type: sqltype.Int4, NotNull: true, Description: "secret words"}, {Name: "code", Type: sqltype.Int4, NotNull: true, Visible: true, Description: "open words"}}}
	visits := &plan.Table{OID: 70001, Schema: "public", Name: "visits", UnitCol: 0, Columns: []plan.TableColumn{
		{Name: "person", Type: sqltype.Int4, Visible: true}, {Name: "code", Type: sqltype.Int4, Visible: true}, {Name: "secret_code", Type: sqltype.Int4}},
		References: []plan.Reference{{Columns: []int{0}, Table: people, RefColumns: []int{0}}, {Columns: []int{1}, Table: people, RefColumns: []int{1}}, {Columns: []int{2}, Table: people, RefColumns: []int{1}}}}
	db := pgmeta.New("demo", "guest", small{people, visits}, small{people, visits})
	for _, c := range []struct{ sql, want string }{
		{"SELECT description FROM pg_description WHERE objoid >= 70000", "[[open words]]"},
		{"SELECT a.attname, col_description(a.attrelid, a.attnum) FROM pg_attribute a WHERE a.attrelid = 'people'::regclass AND a.attnum > 0", "[[code open words]]"},
		{"SELECT col_description('people'::regclass, n) FROM generate_series(1, 2) n ORDER BY 1", "[[open words] [<nil>]]"},
		{"SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid >= 70000 ORDER BY 1", "[[people_pkey PRIMARY KEY (code)] [visits_code_fkey FOREIGN KEY (code) REFERENCES people(code)]]"},
		{"SELECT indexrelid::regclass::text, indkey::text FROM pg_index WHERE indrelid >= 70000", "[[people_pkey 1]]"},
	} {
		st, err := pgsyntax.Parse(c.sql)
		if err != nil {
			t.Fatal(err)
		}
		s := &pgmeta.Session{Database: db}
		q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), db, plan.BindOptions{Meta: s})
		if err != nil {
			t.Fatal(c.sql, err)
		}
		rows, err := s.Run(context.Background(), q, nil, func(*plan.Table) ([][]sqltype.Value, error) { return nil, errors.New("no such table") })
		if got := fmt.Sprint(rows); err != nil || got != c.want || strings.Contains(got, "secret") || strings.Contains(got, "?column?") {
			t.Errorf("%s: %v %v, want %s", c.sql, got, err, c.want)
		}
	}
}
