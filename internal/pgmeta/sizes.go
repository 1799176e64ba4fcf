package pgmeta

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Sizes are those that the published tables have when they are empty. Proof: they follow from what the policy publishes alone, the columns' types and the keys; nothing of the database behind is read.

// page is the first page of a B-tree, which it has without a row: that of a key, and that of the place for long values.
const page = 8192

// keepsLong reports that a table with these columns has a place for long values, as PostgreSQL decides at CREATE TABLE (needs_toast_table of src/backend/catalog/toasting.c): some column may be kept there, and a row may be longer than a quarter of a page.
func keepsLong(t *plan.Table) bool {
	const most = 2032
	length, some, endless := 0, false, false
	aligned := func(n, to int) int { return (n + to - 1) / to * to }
	for _, c := range t.Columns {
		if !c.Visible {
			continue
		}
		length = aligned(length, map[string]int{"c": 1, "s": 2, "i": 4, "d": 8}[alignment(c.Type)])
		if n := c.Type.Len(); n > 0 {
			length += int(n)
			continue
		}
		some = true
		longest, known := longestValue(c.Type)
		endless = endless || !known
		length += longest
	}
	header := aligned(23+(visible(t)+7)/8, 8)
	return some && (endless || header+aligned(length, 8) > most)
}

// longestValue is how many bytes a value of a type takes at most, where the type says so (type_maximum_size of src/backend/utils/adt/format_type.c).
func longestValue(t sqltype.Type) (int, bool) {
	switch t.OID {
	case sqltype.OIDVarchar, sqltype.OIDBPChar:
		if t.Typmod >= 4 {
			return int(t.Typmod-4)*4 + 4, true // four bytes a letter of UTF8
		}
	case sqltype.OIDNumeric:
		if p, _, ok := t.NumericMod(); ok {
			return 8 + (p+6)/4*2, true
		}
	}
	return 0, false
}

// sizeOf is a table's own size with its place for long values, and that of its indexes; of an index its own.
func (d *Database) sizeOf(oid int64) (own, indexes int64) {
	for _, t := range d.tables {
		keys := keysOf(t)
		if slices.ContainsFunc(keys, func(k key) bool { return k.index == oid }) {
			return page, 0
		}
		if int64(t.OID) != oid {
			continue
		}
		if keepsLong(t) {
			own = page
		}
		return own, page * int64(len(keys))
	}
	return 0, 0
}

func addSizes(add func(name string, f function, args ...int)) {
	of := func(name string, size func(s *Session, oid int64, fork string) int64, args ...int) {
		add(name, strict(func(s *Session, a []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
			oid, fork := a[0].(int64), "main"
			if s.object("pg_class", oid) == nil {
				return nil, nil
			}
			if len(a) > 1 {
				fork, _ = a[1].(string)
			}
			return size(s, oid, fork), nil
		}), args...)
	}
	of("pg_relation_size", func(s *Session, oid int64, fork string) int64 {
		if own, _ := s.sizeOf(oid); fork == "main" && text("pg_class", s.object("pg_class", oid), "relkind") == "i" {
			return own
		}
		return 0
	}, 1, 2)
	of("pg_table_size", func(s *Session, oid int64, _ string) int64 { own, _ := s.sizeOf(oid); return own }, 1)
	of("pg_indexes_size", func(s *Session, oid int64, _ string) int64 { _, indexes := s.sizeOf(oid); return indexes }, 1)
	of("pg_total_relation_size", func(s *Session, oid int64, _ string) int64 { own, indexes := s.sizeOf(oid); return own + indexes }, 1)
	for _, name := range []string{"pg_database_size", "pg_tablespace_size"} {
		add(name, strict(func(s *Session, _ []sqltype.Value, _ []sqltype.Type) (sqltype.Value, error) {
			total := int64(0)
			for _, t := range s.tables {
				own, indexes := s.sizeOf(int64(t.OID))
				total += own + indexes
			}
			return total, nil
		}), 1)
	}
}
