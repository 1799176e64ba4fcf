package pgmeta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestKeepsLong: a table has a place for long values where PostgreSQL gives it one.
func TestKeepsLong(t *testing.T) {
	pg := pgtest.Start(t)
	if err := pg.CreateDB("long"); err != nil {
		t.Fatal(err)
	}
	numeric := func(p, s int32) sqltype.Type {
		return sqltype.Type{OID: sqltype.OIDNumeric, Typmod: p<<16 | s + 4}
	}
	chars := func(oid sqltype.OID, n int32) sqltype.Type { return sqltype.Type{OID: oid, Typmod: n + 4} }
	plain := func(oid sqltype.OID) sqltype.Type { return sqltype.Type{OID: oid, Typmod: -1} }
	lists := [][]sqltype.Type{
		{plain(sqltype.OIDInt4)}, {plain(sqltype.OIDText)}, {plain(sqltype.OIDNumeric)}, {numeric(10, 2), plain(sqltype.OIDInt8)}, {chars(sqltype.OIDVarchar, 20)},
		{plain(sqltype.OIDVarchar)}, {plain(sqltype.OIDUUID), plain(sqltype.OIDDate), plain(sqltype.OIDInterval)}, {plain(sqltype.OIDBytea)}, {plain(1007), plain(1016)},
		{numeric(1000, 0), numeric(1000, 0), numeric(1000, 0)}, {numeric(1000, 0), numeric(1000, 0), numeric(1000, 0), numeric(1000, 0)},
	}
	for n := int32(490); n < 510; n++ { // about the limit, each step four bytes
		lists = append(lists, []sqltype.Type{chars(sqltype.OIDVarchar, n)}, []sqltype.Type{plain(sqltype.OIDBool), chars(sqltype.OIDBPChar, n), plain(sqltype.OIDInt8)},
			[]sqltype.Type{plain(sqltype.OIDInt2), plain(sqltype.OIDTimetz), chars(sqltype.OIDVarchar, n), plain(sqltype.OIDBool)})
	}
	seen := map[bool]int{}
	for i, types := range lists {
		table := &plan.Table{}
		var columns []string
		for k, typ := range types {
			table.Columns = append(table.Columns, plan.TableColumn{Name: fmt.Sprintf("c%d", k), Type: typ, Visible: true})
			columns = append(columns, fmt.Sprintf("c%d %s", k, typ))
		}
		got := keepsLong(table)
		seen[got]++
		if err := pg.Exec("long", fmt.Sprintf("CREATE TABLE t%d (%s); DO $$ BEGIN IF ((SELECT reltoastrelid FROM pg_class WHERE relname = 't%d') <> 0) <> %t THEN RAISE 'no'; END IF; END $$",
			i, strings.Join(columns, ", "), i, got)); err != nil {
			t.Errorf("%v: %v: %v", columns, got, err)
		}
	}
	if seen[true] < 10 || seen[false] < 10 {
		t.Errorf("one side only: %v", seen)
	}
}
