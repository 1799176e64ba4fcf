package pgmeta_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestHiddenColumns: of columns that a guest may not see there is no comment, no key and no foreign key to them, whatever the tables' other columns show. Comments
// tell what the policy declares of the others; a table that is not shown is not named.
func TestHiddenColumns(t *testing.T) {
	hidden := &plan.Table{OID: 70003, Schema: "public", Name: "secrets", Public: true, UnitCol: -1, Columns: []plan.TableColumn{{Name: "secret", Type: sqltype.Int4, Visible: true}}}
	people := &plan.Table{OID: 70000, Schema: "public", Name: "people", Units: dp.Units{"people.id"}, UnitCol: 0, Keys: [][]int{{0}, {1}}, Columns: []plan.TableColumn{
		{Name: "secret_id", Type: sqltype.Int4, NotNull: true, Description: "secret words"}, {Name: "code", Type: sqltype.Int4, NotNull: true, Visible: true, Description: "open words"}}}
	visits := &plan.Table{OID: 70001, Schema: "public", Name: "visits", Units: dp.Units{"people.id"}, UnitCol: 0, Path: &plan.UnitPath{Columns: []int{0}, Parent: people, ParentColumns: []int{0}}, MaxRows: 4, Unprotected: true, Columns: []plan.TableColumn{
		{Name: "person", Type: sqltype.Int4, Visible: true}, {Name: "code", Type: sqltype.Int4, Visible: true, Unprotected: true, Domain: &plan.Domain{From: hidden}}, {Name: "secret_code", Type: sqltype.Int4}},
		References: []plan.Reference{{Columns: []int{0}, Table: people, RefColumns: []int{0}}, {Columns: []int{1}, Table: people, RefColumns: []int{1}}, {Columns: []int{2}, Table: people, RefColumns: []int{1}}}}
	days := &plan.Table{OID: 70002, Schema: "public", Name: "days", Public: true, UnitCol: -1, Columns: []plan.TableColumn{
		{Name: "day", Type: sqltype.Date, Visible: true, Range: &num.Interval{Lo: decimal.NewFromInt(-1), Hi: decimal.NewFromInt(1)}},
		{Name: "n", Type: sqltype.Int4, Visible: true, Domain: &plan.Domain{Values: []sqltype.Value{int64(1), int64(2), nil, int64(4), int64(5), int64(6), int64(7), int64(8), int64(9), int64(10)}}}}}
	db := pgmeta.New("demo", "guest", small{people, visits, days}, small{people, visits, days})
	for _, c := range []struct{ sql, want string }{
		{"SELECT description FROM pg_description WHERE objoid >= 70000 ORDER BY objoid, objsubid", "[[private, privacy unit people.id] [open words (private)]" +
			" [private, privacy unit people.id, at most 4 of a unit's rows count, other people whom a row names are not protected] [private, leads to the privacy unit people.id] [private, a person whom it names is not protected, values of a public table]" +
			" [public: its rows belong to no privacy unit] [public, range 1999-12-31 to 2000-01-02] [public, values 1, 2, NULL, 4, 5, 6, 7, 8, 9, 10]]"},
		{"SELECT a.attname, col_description(a.attrelid, a.attnum) FROM pg_attribute a WHERE a.attrelid = 'people'::regclass AND a.attnum > 0", "[[code open words (private)]]"},
		{"SELECT col_description('people'::regclass, n) FROM generate_series(1, 2) n ORDER BY 1", "[[open words (private)] [<nil>]]"},
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
