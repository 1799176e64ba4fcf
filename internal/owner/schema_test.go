package owner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

var testTypes = map[string]sqltype.Type{
	"int": sqltype.Int4, "smallint": sqltype.Int2, "bigint": sqltype.Int8, "text": sqltype.Text, "varchar": {OID: sqltype.OIDVarchar, Typmod: 49},
	"money": sqltype.NumericOf(5, 2), "double": sqltype.Float8, "numeric": sqltype.Numeric, "bool": sqltype.Bool, "date": sqltype.Date, "timestamp": sqltype.Timestamp,
	"timestamptz": sqltype.Timestamptz, "inet": {OID: sqltype.OIDInet, Typmod: -1}, "uuid": sqltype.UUIDType, "unknown": {OID: 600, Typmod: -1},
	"mood": sqltype.EnumType(sqltype.Enum{OID: 70001, Array: 70002, Schema: "public", Name: "mood", Labels: []string{"sad", "so-so", "null", "1"}}),
}

// readSchema reads tables in a small language: "table name" or "view name", then "column type [not null] [key]", "key a, b" and
// "fk a, b -> table c, d" or "weak" for one that is not
// enforced, "check expression", "domain column expression"; "simple_view name base" is a view of one table with its columns, keys and foreign keys;
// "-- words" is the database's comment.
func readSchema(t *testing.T, defaultSchema, text string) []sqltype.Relation {
	t.Helper()
	var rels []sqltype.Relation
	for _, l := range strings.Split(text, "\n") {
		l, comment, _ := strings.Cut(l, "--")
		comment = strings.TrimSpace(comment)
		w := fields(l)
		if len(w) == 0 {
			continue
		}
		if !strings.HasPrefix(l, " ") {
			schema, name, ok := strings.Cut(w[1], ".")
			if !ok {
				schema, name = defaultSchema, w[1]
			}
			r := sqltype.Relation{Schema: schema, Name: name, Kind: sqltype.RelationKind(strings.ReplaceAll(w[0], "_", " ")), Comment: comment}
			if w[0] == "simple_view" {
				r.Kind, r.View = sqltype.KindView, &sqltype.ViewFacts{Simple: true, Base: sqltype.QualifiedName{Schema: schema, Name: w[2]}, BaseColumns: map[string]string{}}
				r.View.Reads = []sqltype.QualifiedName{r.View.Base}
			}
			rels = append(rels, r)
			continue
		}
		r := &rels[len(rels)-1]
		switch w[0] {
		case "check":
			r.Checks = append(r.Checks, sqltype.RelationCheck{Expr: strings.TrimPrefix(strings.TrimSpace(l), "check ")})
		case "domain":
			r.Checks = append(r.Checks, sqltype.RelationCheck{Column: w[1], Expr: strings.TrimPrefix(strings.TrimSpace(l), "domain "+w[1]+" ")})
		case "key":
			r.Keys = append(r.Keys, commas(strings.Join(w[1:], " ")))
		case "fk", "weak":
			own, to, ok := strings.Cut(strings.Join(w[1:], " "), "->")
			if !ok {
				t.Fatalf("fk: %s", l)
			}
			target := strings.Fields(to)
			fk := sqltype.RelationForeignKey{Columns: commas(own), RefSchema: defaultSchema, RefTable: target[0], RefColumns: commas(strings.Join(target[1:], " "))}
			if s, name, ok := strings.Cut(target[0], "."); ok {
				fk.RefSchema, fk.RefTable = s, name
			}
			if w[0] == "weak" {
				r.Unenforced = append(r.Unenforced, sqltype.Unenforced{Kind: sqltype.UnenforcedForeignKey, Columns: fk.Columns,
					RefSchema: fk.RefSchema, RefTable: fk.RefTable, RefColumns: fk.RefColumns})
			} else {
				r.ForeignKeys = append(r.ForeignKeys, fk)
			}
		default:
			typ, ok := testTypes[w[1]]
			if !ok {
				t.Fatalf("type %s", w[1])
			}
			rest := strings.Join(w[2:], " ")
			c := sqltype.RelationColumn{Name: w[0], Type: typ, NotNull: strings.Contains(rest, "not null"), Comment: comment}
			if strings.Contains(rest, "key") {
				r.Keys, c.NotNull = append(r.Keys, []string{c.Name}), true
			}
			if r.View != nil {
				r.View.BaseColumns[c.Name] = c.Name
			}
			r.Columns = append(r.Columns, c)
		}
	}
	return rels
}

// fields splits at blanks; a name in double quotes is one, with \n read.
func fields(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if s[0] != '"' {
			w, rest, _ := strings.Cut(s, " ")
			out, s = append(out, w), rest
			continue
		}
		var w string
		if _, err := fmt.Sscanf(s, "%q", &w); err != nil {
			panic(err)
		}
		end := strings.Index(s[1:], `"`) + 2
		out, s = append(out, w), s[end:]
	}
	return out
}

func commas(s string) []string {
	var out []string
	for _, x := range strings.Split(s, ",") {
		out = append(out, strings.TrimSpace(x))
	}
	return out
}
