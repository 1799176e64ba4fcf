package funcs

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// Form prints SQL from printed arguments, their types and the result's.
type Form func(args []string, types []sqltype.Type, result sqltype.Type) string

// Forms are a row's by dialect. A dialect that is not among them has none, and so needs a reason in Func.Refused.
type Forms map[dialect.Dialect]Form

// Print is a dialect's form; empty where it has none.
func (f Forms) Print(d dialect.Dialect, args []string, types []sqltype.Type, result sqltype.Type) string {
	if form := f[d]; form != nil {
		return form(args, types, result)
	}
	return ""
}

// alike is a form that all dialects read.
func alike(form Form) Forms { return Forms{Postgres: form, DuckDB: form} }

// each makes forms of forms.
func (f Forms) each(of func(d dialect.Dialect, form Form) Form) Forms {
	out := Forms{}
	for d, form := range f {
		out[d] = of(d, form)
	}
	return out
}

// dialects are those that the registry's rows have forms for.
var dialects = []dialect.Dialect{Postgres, DuckDB}

// HasDecimals tells whether a database whose numerics have few digits computes the row.
func (f *Func) HasDecimals() bool {
	return slices.ContainsFunc(dialects, func(d dialect.Dialect) bool { return d.Decimals() != nil && f.Refused[d] == "" })
}

// infix is a op b.
func infix(op string) Form {
	return func(a []string, _ []sqltype.Type, _ sqltype.Type) string {
		return "(" + a[0] + " " + op + " " + a[1] + ")"
	}
}

// call is name(args).
func call(name string) Form {
	return func(a []string, _ []sqltype.Type, _ sqltype.Type) string {
		s := name + "("
		for i, x := range a {
			if i > 0 {
				s += ", "
			}
			s += x
		}
		return s + ")"
	}
}
