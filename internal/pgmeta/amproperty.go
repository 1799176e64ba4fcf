package pgmeta

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// indexMethods are PostgreSQL 15's index access methods with what pg_indexam_has_property says of each.
var indexMethods = map[int64]map[string]bool{
	403:  {"can_order": true, "can_unique": true, "can_multi_col": true, "can_exclude": true, "can_include": true},     // btree
	405:  {"can_order": false, "can_unique": false, "can_multi_col": false, "can_exclude": true, "can_include": false}, // hash
	783:  {"can_order": false, "can_unique": false, "can_multi_col": true, "can_exclude": true, "can_include": true},   // gist
	2742: {"can_order": false, "can_unique": false, "can_multi_col": true, "can_exclude": false, "can_include": false}, // gin
	4000: {"can_order": false, "can_unique": false, "can_multi_col": false, "can_exclude": true, "can_include": true},  // spgist
	3580: {"can_order": false, "can_unique": false, "can_multi_col": true, "can_exclude": false, "can_include": false}, // brin
}

// The bits of pg_index.indoption.
const (
	descending = 1
	nullsFirst = 2
)

// addIndexProperties adds the functions of PostgreSQL's amutils.c. All indexes of the catalogs and of published tables are B-trees.
func addIndexProperties(add func(name string, f function, args ...int)) {
	orNull := func(of map[string]bool, name string) sqltype.Value {
		if v, ok := of[name]; ok {
			return v
		}
		return nil
	}
	add("pg_indexam_has_property", strict(func(_ *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		return orNull(indexMethods[a[0].(int64)], strings.ToLower(a[1].(string))), nil
	}), 2)
	add("pg_index_has_property", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		if s.indexRow(a[0].(int64)) == nil {
			return nil, nil
		}
		return orNull(map[string]bool{"clusterable": true, "index_scan": true, "bitmap_scan": true, "backward_scan": true}, strings.ToLower(a[1].(string))), nil
	}), 2)
	add("pg_index_column_has_property", strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
		row, n := s.indexRow(a[0].(int64)), a[1].(int64)
		if row == nil {
			return nil, nil
		}
		r := builtin()[pgCatalog+".pg_index"]
		columns, _ := row[r.place("indnatts")].(int64)
		keys, _ := row[r.place("indnkeyatts")].(int64)
		options, _ := row[r.place("indoption")].(*sqltype.Array)
		if n < 1 || n > columns {
			return nil, nil
		}
		of := map[string]bool{"orderable": n <= keys, "distance_orderable": false, "returnable": true}
		if n <= keys && options != nil && n <= int64(len(options.Values)) {
			option, _ := options.Values[n-1].(int64)
			of["asc"], of["desc"] = option&descending == 0, option&descending != 0
			of["nulls_first"], of["nulls_last"] = option&nullsFirst != 0, option&nullsFirst == 0
			of["search_array"], of["search_nulls"] = true, true
		}
		return orNull(of, strings.ToLower(a[2].(string))), nil
	}), 3)
}

// indexRow is an index' row of pg_index; nil without one.
func (s *Session) indexRow(oid int64) []sqltype.Value {
	r := builtin()[pgCatalog+".pg_index"]
	for _, row := range s.rowsOf("pg_index") {
		if row[r.place("indexrelid")] == oid {
			return row
		}
	}
	return nil
}
