package pgmeta_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestForms: rare forms over the catalogs give PostgreSQL's rows, or its error in its words.
func TestForms(t *testing.T) {
	s := open(t)
	for _, sql := range []string{
		`SELECT 'r'::"char"::int, ''::"char"::int, 114::"char", 0::"char", NULL::int::"char", (SELECT relkind::int FROM pg_class WHERE relname = 'pg_class')`, `SELECT 300::"char"`,
		`SELECT '"X"'::regclass`, `SELECT 'pg_catalog."X"'::regclass`, `SELECT 'no."X"'::regclass`, `SELECT '"X"'::regtype`, `SELECT '"X"'::regrole`, `SELECT '"X"'::regproc`, `SELECT '"X"'::regnamespace`,
		`SELECT (information_schema._pg_expandarray(ARRAY[7,8])).*`, `SELECT relname, (ss.a).*, (ss.a).n FROM (SELECT relname, information_schema._pg_expandarray(ARRAY[relnatts]) AS a FROM pg_class WHERE oid = 1259) AS ss`,
		`SELECT count((ss.a).*) FROM (SELECT information_schema._pg_expandarray(ARRAY[7,8]) AS a) AS ss`, `SELECT 1 WHERE (information_schema._pg_expandarray(ARRAY[7,8])).*`,
		`SELECT oidvectortypes(proargtypes) FROM pg_proc WHERE oid IN (1242, 2100, 3156) ORDER BY oid`,
		`SELECT relname, pg_relation_is_updatable(oid, false), pg_column_is_updatable(oid, 1::int2, true), pg_column_is_updatable(oid, -1::int2, true) FROM pg_class WHERE relname IN ('patients', 'pg_class', 'patients_pkey', 'pg_user') ORDER BY 1`,
		`SELECT pg_relation_is_updatable(99999, false)`,
		`SELECT c.relname, n, p, pg_index_column_has_property(c.oid, n, p) FROM pg_class c, generate_series(-1, 4) n, unnest(ARRAY['asc', 'desc', 'NULLS_FIRST', 'nulls_last', 'orderable', 'distance_orderable', 'returnable', 'search_array', 'search_nulls', 'can_order', 'no']) p
			WHERE c.relname IN ('patients_pkey', 'patients', 'pg_class_oid_index', 'pg_attribute_relid_attnam_index', 'pg_user') ORDER BY 1, 2, 3`,
		`SELECT c.relname, p, pg_index_has_property(c.oid, p) FROM pg_class c, unnest(ARRAY['clusterable', 'index_scan', 'Bitmap_Scan', 'backward_scan', 'asc', 'no']) p WHERE c.relname IN ('patients_pkey', 'patients', 'pg_class_oid_index') ORDER BY 1, 2`,
		`SELECT a.amname, p, pg_indexam_has_property(a.oid, p) FROM pg_am a, unnest(ARRAY['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'CAN_INCLUDE', 'asc', 'no']) p ORDER BY 1, 2`,
		`SELECT pg_index_column_has_property(0, 1, 'asc'), pg_index_has_property(99999, 'index_scan'), pg_indexam_has_property(0, 'can_order'), pg_index_column_has_property('patients_pkey'::regclass, NULL, 'asc')`,
		`SELECT i.indexrelid::regclass, pg_index_column_has_property(i.indexrelid, k, 'asc') FROM pg_index i, generate_series(1, 2) k WHERE i.indrelid = 'pg_attribute'::regclass ORDER BY 1, 2`,
	} {
		rows, _, err := s.run(sql)
		results, theirErr := s.conn.PgConn().Exec(context.Background(), sql).ReadAll()
		var pe *pgconn.PgError
		if errors.As(theirErr, &pe) {
			var e *sqlerr.Error
			if !errors.As(err, &e) || e.Code != pe.Code || e.Message != pe.Message {
				t.Errorf("%s\ngives %v\nwant  %v", sql, err, pe)
			}
			continue
		}
		if err != nil || theirErr != nil {
			t.Errorf("%s: %v, %v", sql, err, theirErr)
			continue
		}
		var want [][]string
		for _, r := range results[0].Rows {
			var row []string
			for _, v := range r {
				if v == nil {
					v = []byte("NULL")
				}
				row = append(row, string(v))
			}
			want = append(want, row)
		}
		if fmt.Sprint(rows) != fmt.Sprint(want) {
			t.Errorf("%s\ngives %v\nwant  %v", sql, rows, want)
		}
	}
}

// TestColumnTypes: every relation's columns have PostgreSQL's types with their modifiers, as RowDescription tells them, also where views compute them.
func TestColumnTypes(t *testing.T) {
	s := open(t)
	names, _, err := s.run("SELECT n.nspname || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v') AND n.nspname IN ('pg_catalog', 'information_schema') ORDER BY 1")
	if err != nil || len(names) < 190 {
		t.Fatal(len(names), err)
	}
	for _, n := range names {
		sql := "SELECT * FROM " + n[0] + " LIMIT 0"
		described, err := s.conn.PgConn().Prepare(context.Background(), "", sql, nil)
		if err != nil {
			t.Fatal(sql, err)
		}
		st, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		name := plan.SessionValue{Value: "postgres", Type: sqltype.Name}
		q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), s.catalog, plan.BindOptions{Meta: s.session, Session: map[string]plan.SessionValue{"current_database": name, "current_user": name, "session_user": name, "user": name, "current_catalog": name, "current_role": name, "current_schema": name}})
		if err != nil {
			t.Fatal(sql, err)
		}
		var got, want []string
		for _, o := range q.Outputs {
			got = append(got, fmt.Sprintf("%s %d(%d)", o.Name, o.Type.OID, o.Type.Typmod))
		}
		for _, f := range described.Fields {
			want = append(want, fmt.Sprintf("%s %d(%d)", f.Name, f.DataTypeOID, f.TypeModifier))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\nhas  %s\nwant %s", n[0], strings.Join(got, ", "), strings.Join(want, ", "))
		}
	}
}
