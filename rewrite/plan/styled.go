package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// styled refuses to write values as text, or to read them from a text that is computed, under a setting that makes PostgreSQL do it otherwise than the registry's
// rows do: they know the settings' defaults alone. Literals, parameters and results are read and written under the settings.
func (b *binder) styled(fn *funcs.Func, args []Scalar, pos pgsyntax.Pos) error {
	if b.find.open || len(args) == 0 {
		return nil
	}
	from, to := args[0].Type(), sqltype.Type{OID: fn.Result, Typmod: -1}
	elem, isArray := from.Elem()
	switch {
	case isArray && to.IsString(): // array_to_string, or a cast
		from = elem
	case fn.Kind != funcs.Cast:
		return nil
	}
	set, what := &b.opts.Values, from
	cure := ""
	switch {
	case to.IsString() && !from.IsString():
		cure = writing(set, from.OID)
	case from.IsString() && !to.IsString():
		cure, what = reading(set, to.OID), to
	}
	if cure == "" {
		return nil
	}
	act, instead := "written as", "to_char"
	if from.IsString() {
		act, instead = "read from", "a literal"
	}
	return sqlerr.New(sqlerr.UnsupportedCast, "values of type %s cannot be %s text within a statement under this session's settings", typeName(what), act).At(int(pos)).
		WithHint("Use SET %s first, or %s.", cure, instead)
}

const (
	plainDates     = "DateStyle TO 'ISO, MDY'"
	plainIntervals = "IntervalStyle TO 'postgres'"
)

// writing is the setting that a type's text form needs, if the session has another.
func writing(set *sqltype.Settings, t sqltype.OID) string {
	switch t {
	case sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		if set.DateStyle != sqltype.DateISO {
			return plainDates
		}
	case sqltype.OIDInterval:
		if set.IntervalStyle != sqltype.IntervalPostgres {
			return plainIntervals
		}
	case sqltype.OIDFloat4, sqltype.OIDFloat8:
		if set.RoundFloats {
			return "extra_float_digits TO 1"
		}
	case sqltype.OIDBytea:
		if set.ByteaEscape {
			return "bytea_output TO 'hex'"
		}
	}
	return ""
}

// reading is the setting that reading a type needs, if the session has another.
func reading(set *sqltype.Settings, t sqltype.OID) string {
	switch t {
	case sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		if set.DateOrder != sqltype.OrderMDY {
			return plainDates
		}
	case sqltype.OIDInterval:
		if set.IntervalStyle == sqltype.IntervalSQL {
			return plainIntervals
		}
	}
	return ""
}
