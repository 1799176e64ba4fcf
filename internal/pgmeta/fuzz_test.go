package pgmeta_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/pgmeta"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// small is a catalog of two tables.
type small []*plan.Table

func (s small) Table(schema, name string) (*plan.Table, bool) {
	for _, t := range s {
		if t.Name == name && (schema == "" || schema == t.Schema) {
			return t, true
		}
	}
	return nil, false
}

func (s small) VisibleTables() []*plan.Table { return s }

func smallDatabase() *pgmeta.Database {
	people := &plan.Table{OID: 70000, Schema: "public", Name: "people", UnitCol: 0, Keys: [][]int{{0}}, Columns: []plan.TableColumn{
		{Name: "id", Type: sqltype.Int4, NotNull: true, Visible: true}, {Name: "hidden", Type: sqltype.Text}, {Name: "Name", Type: sqltype.Varchar, Visible: true, Description: "as written"}}}
	visits := &plan.Table{OID: 70001, Schema: "public", Name: "visits", UnitCol: 0, Columns: []plan.TableColumn{{Name: "person", Type: sqltype.Int4, Visible: true}, {Name: "cost", Type: sqltype.NumericOf(10, 2), Visible: true}},
		References: []plan.Reference{{Columns: []int{0}, Table: people, RefColumns: []int{0}}}}
	tables := small{people, visits}
	return pgmeta.New("demo", "ann", tables, tables)
}

// FuzzMeta: whatever is asked of the catalogs gets rows or PostgreSQL's own kind of error.
func FuzzMeta(f *testing.F) {
	for _, sql := range []string{
		`SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), pg_get_constraintdef(k.oid) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_constraint k ON k.conrelid = c.oid WHERE c.relname ~ '^p' ORDER BY 1, 2`,
		`SELECT * FROM information_schema.columns WHERE table_name = 'people'`, `SELECT (information_schema._pg_expandarray(indkey)).n, indkey[0], indkey::int2[] FROM pg_index WHERE indrelid = 'people'::regclass`,
		`WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT array_agg(n), array(SELECT unnest(ARRAY[1, n]) FROM t LIMIT 3) FROM t GROUP BY n`,
		`SELECT relkind, count(*) FROM pg_class GROUP BY relkind HAVING count(*) > 1`, `SELECT * FROM generate_series(1, 9, 2) WITH ORDINALITY AS g(a, b), unnest(ARRAY['x', 'y']) u`,
		`SELECT oid::regclass, tableoid, reltype::regtype::text || 'x', relacl FROM pg_class WHERE oid = ANY ('{1259,70000}'::oid[])`, `SELECT typname FROM pg_type WHERE typname LIKE 'int%' UNION SELECT nspname FROM pg_namespace`,
		`SELECT format('%I.%s %L', nspname, oid, 1), current_setting('x', true), pg_size_pretty(123456789::bigint), (ARRAY[1,2,3])[2:3] FROM pg_namespace`, `SELECT FROM pg_class`,
	} {
		f.Add(sql)
	}
	db := smallDatabase()
	f.Fuzz(func(t *testing.T, sql string) {
		st, err := pgsyntax.Parse(sql)
		if err != nil || len(st) != 1 {
			return
		}
		sel, ok := st[0].Node.(*pgsyntax.Select)
		if !ok {
			return
		}
		s := &pgmeta.Session{Database: db}
		q, err := plan.Bind(sel, db, plan.BindOptions{Meta: s})
		if err != nil || len(q.Params) > 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		rows, err := s.Run(ctx, q, nil, func(*plan.Table) ([][]sqltype.Value, error) { return nil, errors.New("no such table") })
		var known *sqlerr.Error
		if err != nil && !errors.As(err, &known) && ctx.Err() == nil {
			t.Errorf("%v", err)
		}
		if errors.As(err, &known) && known.ID == sqlerr.Internal.ID {
			t.Errorf("%v", err)
		}
		for _, row := range rows {
			for i, v := range row {
				if v == nil {
					continue
				}
				for _, format := range []int16{sqltype.TextFormat, sqltype.BinaryFormat} {
					if _, err := sqltype.Encode(v, q.Outputs[i].Type, format, nil); err != nil {
						t.Fatalf("column %d of type %s: %v", i, q.Outputs[i].Type, err)
					}
				}
			}
		}
	})
}
