package funcs

import (
	"slices"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// The binder chooses an overload among all of PostgreSQL's (rewrite/pgcat) and then asks here for its row. A row's Name and Args are
// those of pg_proc or pg_operator (LIKE is "~~", ILIKE "~~*", x AT TIME ZONE z "timezone"(z, x), EXTRACT "extract", SIMILAR TO "~" of
// similar_to_escape; "<>" and not "!="), with these liberties:
//   - Of a polymorphic one ("=" of anyarray or anyenum, array_length(anyarray, int4)), a row with the call's own types is looked
//     for first ({int4[], int4}), then the row as declared ({anyarray, int4}); Call.T has the type that the call gives.
//   - Of a variadic one Args is as declared (concat {"any"}, jsonb_extract_path {jsonb, text[]}): arguments to VARIADIC "any" come one
//     by one, so that TotalForm and Eval get any number of them; to VARIADIC text[] and the like they come as one array.
//   - Arguments that a default stands for are in the call, as constants.
//   - A cast is Kind Cast, Name "cast", Args {source}, Result target; the wanted modifier is result.Typmod. One to a type's own
//     (varchar to varchar(3)) applies the modifier.

type rowKey struct {
	kind Kind
	name string
}

var rows = sync.OnceValue(func() map[rowKey][]*Func {
	out := map[rowKey][]*Func{}
	for _, f := range All() {
		k := rowKey{f.Kind, f.Name}
		out[k] = append(out[k], f)
	}
	return out
})

// Lookup finds the row of a function or operator; nil if there is none.
func Lookup(kind Kind, name string, args ...sqltype.OID) *Func {
	for _, f := range rows()[rowKey{kind, name}] {
		if slices.Equal(f.Args, args) {
			return f
		}
	}
	return nil
}

// LookupCast finds the row of a cast; nil if there is none.
func LookupCast(source, target sqltype.OID) *Func {
	for _, f := range rows()[rowKey{Cast, "cast"}] {
		if f.Args[0] == source && f.Result == target {
			return f
		}
	}
	return nil
}
