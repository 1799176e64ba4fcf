package neighbour

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// Captures adds columns to tables that are called as printed statements call tables: t1 to t9, or T1 to T9 in every third table. Some are
// composite and others JSON, with fields that are called as the tables' whole-number columns. A database that takes "t1"."x" for a field would read them in place of
// another table's columns. where says in which rows of a table they have values; "" means in none. duck says that the statements are DuckDB's.
func Captures(tables []*plan.Table, duck bool, where func(*plan.Table) string) []string {
	var fields []string
	for _, t := range tables {
		for _, c := range t.Columns {
			if c.Type.IsInteger() && !slices.Contains(fields, c.Name) {
				fields = append(fields, c.Name)
			}
		}
	}
	of := `("` + strings.Join(fields, `" bigint, "`) + `" bigint)`
	composite, document, out := "STRUCT"+of, "json", []string(nil)
	if !duck {
		composite, document, out = `"public".fields`, "jsonb", []string{`CREATE TYPE "public".fields AS ` + of}
	}
	for at, t := range tables {
		name := fmt.Sprintf(`"public".%q`, t.Name)
		row, object := make([]string, len(fields)), make([]string, len(fields))
		for i, f := range fields {
			row[i] = "NULL"
			if slices.ContainsFunc(t.Columns, func(c plan.TableColumn) bool { return c.Name == f }) {
				row[i] = fmt.Sprintf("%q", f)
			}
			object[i] = fmt.Sprintf("'%s', %s", f, row[i])
			if row[i] == "NULL" {
				object[i] = fmt.Sprintf("'%s', 'x'", f) // what is no number
			}
		}
		set := map[string]string{composite: fmt.Sprintf("CAST(ROW(%s) AS %s)", strings.Join(row, ", "), composite), document: "json_object(" + strings.Join(object, ", ") + ")"}
		if !duck {
			set[document] = "jsonb_build_object(" + strings.Join(object, ", ") + ")"
		}
		for i := 1; i <= 9; i++ {
			column, typ := fmt.Sprintf("%c%d", "ttT"[at%3], i), composite
			if slices.ContainsFunc(t.Columns, func(c plan.TableColumn) bool { return strings.EqualFold(c.Name, column) }) {
				continue
			}
			if i%4 == 0 {
				typ = document
			}
			out = append(out, fmt.Sprintf(`ALTER TABLE %s ADD COLUMN %q %s`, name, column, typ))
			if rows := where(t); rows != "" {
				out = append(out, fmt.Sprintf(`UPDATE %s SET %q = %s WHERE %s`, name, column, set[typ], rows))
			}
		}
	}
	return out
}
