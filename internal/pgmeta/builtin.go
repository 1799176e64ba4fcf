package pgmeta

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the catalogs
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

//go:generate go run ./gen -url $PGURL

//go:embed catalog.gz
var packed []byte

// relation is a table or view of PostgreSQL's catalogs.
type relation struct {
	schema, name string
	oid          uint32
	columns      []column
	view         string   // its definition
	lines        []string // of a table: the rows that every server has, as COPY writes them

	once sync.Once
	rows [][]sqltype.Value
}

type column struct {
	name    string
	typ     sqltype.Type
	notNull bool
}

// builtin are the catalogs' relations, by schema and name.
var builtin = sync.OnceValue(func() map[string]*relation {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic("pgmeta: " + err.Error())
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic("pgmeta: " + err.Error())
	}
	out := map[string]*relation{}
	var r *relation
	for line := range strings.Lines(string(text)) {
		mark, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch mark {
		case "=":
			f := strings.Split(rest, "\t")
			r = &relation{schema: f[0], name: f[1], oid: uint32(number(f[2]))}
			out[r.schema+"."+r.name] = r
		case "-":
			f := strings.Split(rest, "\t")
			r.columns = append(r.columns, column{f[0], sqltype.Type{OID: sqltype.OID(number(f[1])), Typmod: int32(number(f[2]))}, f[3] == "1"})
		case ":":
			r.view = rest
		case ">":
			r.lines = append(r.lines, rest)
		}
	}
	return out
})

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("pgmeta: %v", err))
	}
	return n
}

// values are the rows that every server has, in their columns' types.
func (r *relation) values() [][]sqltype.Value {
	r.once.Do(func() {
		for _, line := range r.lines {
			fields := strings.Split(line, "\t")
			row := make([]sqltype.Value, len(r.columns))
			for i, f := range fields {
				if f == `\N` {
					continue
				}
				v, err := sqltype.ParseText(unescape(f), r.columns[i].typ)
				if err != nil {
					panic(fmt.Sprintf("pgmeta: %s.%s: %v", r.name, r.columns[i].name, err))
				}
				row[i] = v
			}
			r.rows = append(r.rows, row)
		}
		r.lines = nil
	})
	return r.rows
}

var escapes = strings.NewReplacer(`\\`, `\`, `\b`, "\b", `\f`, "\f", `\n`, "\n", `\r`, "\r", `\t`, "\t", `\v`, "\v")

// unescape takes back what COPY writes.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return escapes.Replace(s)
}

// place is a column's place in the relation.
func (r *relation) place(name string) int {
	for i, c := range r.columns {
		if c.name == name {
			return i
		}
	}
	panic("pgmeta: " + r.name + " has no column " + name)
}
