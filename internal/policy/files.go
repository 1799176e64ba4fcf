package policy

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// FileTable is a table of the files backend as the policy declares it. CSV carries neither types nor keys, so they are declared;
// the opening checks them before anybody asks.
type FileTable struct {
	Name    string
	File    string       // "": the table's name with an ending that is known
	Columns []FileColumn // nil: all (a public table that lists none)
	Keys    [][]string
}

// FileColumn is one column; a zero Type is the file's own (Parquet) or text (CSV).
type FileColumn struct {
	Name    string
	Type    sqltype.Type
	NotNull bool
}

// FileTables lists the files backend's tables. The error is an *Error: types that do not exist.
func (p *Policy) FileTables() ([]FileTable, error) {
	var ps problems
	var out []FileTable
	for _, t := range p.tables {
		if t.schema != "" {
			ps.add(t.at, "table %s: files have no schemas", t)
		}
		ft := FileTable{Name: t.name, File: t.file}
		if len(t.keyColumns) > 0 {
			ft.Keys = [][]string{t.keyColumns}
		}
		add := func(c FileColumn) {
			for _, have := range ft.Columns {
				if have.Name == c.Name {
					return
				}
			}
			ft.Columns = append(ft.Columns, c)
		}
		for _, c := range t.columns {
			fc := FileColumn{Name: c.name.text, NotNull: c.notNull}
			if c.typeName.text != "" {
				typ, ok := typeNamed(c.typeName.text)
				if !ok {
					ps.add(c.typeName.position, "column %s.%s: there is no type %q", t, quoteName(c.name.text), clip(c.typeName.text)).
						hint("one of %s", strings.Join(fileTypeNames, ", "))
				}
				fc.Type = typ
			}
			add(fc)
		}
		if !t.allColumns {
			for _, name := range p.pathColumns(t) {
				add(FileColumn{Name: name})
			}
			for _, name := range t.keyColumns {
				add(FileColumn{Name: name})
			}
		}
		out = append(out, ft)
	}
	return out, ps.err(p.Name)
}

// pathColumns are the columns of a table that ways to units need, listed or not.
func (p *Policy) pathColumns(t *tableDecl) (out []string) {
	if own := p.rootOf(t); own != nil {
		out = append(out, own.column.text)
	}
	for _, of := range p.tables {
		for _, path := range of.paths() {
			if of == t {
				out = append(out, path.columns...)
			}
			if path.parent == t {
				out = append(out, path.parentColumns...)
			}
		}
	}
	return out
}

var fileTypeNames = []string{"text", "smallint", "integer", "bigint", "numeric(p,s)", "real", "double precision", "boolean", "date", "timestamp"}

var fileTypes = map[string]sqltype.Type{"text": sqltype.Text, "varchar": sqltype.Text, "smallint": sqltype.Int2, "integer": sqltype.Int4, "int": sqltype.Int4,
	"bigint": sqltype.Int8, "real": sqltype.Float4, "double precision": sqltype.Float8, "double": sqltype.Float8, "boolean": sqltype.Bool,
	"date": sqltype.Date, "timestamp": sqltype.Timestamp}

var numericShape = regexp.MustCompile(`^(?:numeric|decimal) ?\( ?([0-9]{1,2}) ?(?:, ?([0-9]{1,2}) ?)?\)$`)

// typeNamed reads a type's name; numeric needs its precision, of at most 38 digits, which is what the files are kept in.
func typeNamed(text string) (sqltype.Type, bool) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	if t, ok := fileTypes[text]; ok {
		return t, true
	}
	m := numericShape.FindStringSubmatch(text)
	if m == nil {
		return sqltype.Type{}, false
	}
	precision, err := strconv.Atoi(m[1])
	if err != nil || precision < 1 || precision > 38 {
		return sqltype.Type{}, false
	}
	scale := 0
	if m[2] != "" {
		if scale, err = strconv.Atoi(m[2]); err != nil || scale > precision {
			return sqltype.Type{}, false
		}
	}
	return sqltype.NumericOf(precision, scale), true
}
