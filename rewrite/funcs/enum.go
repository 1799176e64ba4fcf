package funcs

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const anyEnum sqltype.OID = 3500

// enums has the cast to text and the comparisons of enums, whose labels are ordered as their type declares them. DuckDB compares the labels' places, which the plan knows.
func enums() []*Func {
	var out []*Func
	for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
		spell := Forms{Postgres: infix(op), DuckDB: func(x []string, types []sqltype.Type, _ sqltype.Type) string {
			if op == "=" || op == "<>" {
				return "(CAST(" + x[0] + " AS VARCHAR) " + op + " CAST(" + x[1] + " AS VARCHAR))"
			}
			e, ok := types[0].Enum()
			if !ok {
				return ""
			}
			labels := make([]string, len(e.Labels))
			for i, l := range e.Labels {
				labels[i] = quoted(l)
			}
			place := func(v string) string {
				return "list_position([" + strings.Join(labels, ", ") + "], CAST(" + v + " AS VARCHAR))"
			}
			return "(" + place(x[0]) + " " + op + " " + place(x[1]) + ")"
		}}
		f := &Func{Name: op, Kind: Operator, Args: oids(anyEnum, anyEnum), Result: yes, TotalForm: spell, RaisingForm: spell}
		out = append(out, f.eval(func(v []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
			c := sqltype.CompareAs(v[0], v[1], types[0])
			return map[string]bool{"=": c == 0, "<>": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[op], nil
		}))
	}
	return append(out, enumText())
}

// enumText is an enum's label as text: it cannot fail.
func enumText() *Func {
	spell := Forms{
		Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			return "CAST(" + x[0] + " AS pg_catalog.text)"
		},
		DuckDB: func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return "CAST(" + x[0] + " AS VARCHAR)" },
	}
	f := &Func{Name: "cast", Kind: Cast, Args: oids(anyEnum), Result: text, TotalForm: spell, RaisingForm: spell}
	return f.eval(func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) { return v[0], nil })
}
