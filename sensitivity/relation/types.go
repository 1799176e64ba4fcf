package relation

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// HasOneSpelling reports whether equal values of the type are spelled alike, so that equality of columns is equality of what is computed from them.
func HasOneSpelling(t sqltype.Type) bool {
	switch t.OID {
	case sqltype.OIDBool, sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDText, sqltype.OIDVarchar,
		sqltype.OIDTimestamptz, sqltype.OIDTime, sqltype.OIDTimetz, sqltype.OIDUUID, sqltype.OIDBytea:
		return true
	}
	return t.IsEnum()
}

// HasTransitiveEquality reports whether "=" of two types is transitive, and the "=" by which keys of either are unique, so that a value equals one row of a key at most.
// What is not known to be is not. Two wall clocks of a time zone may be one instant: a date or timestamp with a timestamp with time zone is not. Nor are intervals,
// which DuckDB tells apart otherwise.
func HasTransitiveEquality(a, b sqltype.Type) bool {
	local := func(t sqltype.Type) bool { return t.OID == sqltype.OIDDate || t.OID == sqltype.OIDTimestamp }
	switch {
	case a.IsInteger() && b.IsInteger(), a.IsFloat() && b.IsFloat(), IsVarText(a) && IsVarText(b), local(a) && local(b):
		return true
	}
	return a.OID == b.OID && (HasOneSpelling(a) || a.IsNumber() || a.OID == sqltype.OIDBPChar || a.OID == sqltype.OIDName)
}

// IsVarText reports a text type of any length.
func IsVarText(t sqltype.Type) bool { return t.OID == sqltype.OIDText || t.OID == sqltype.OIDVarchar }

// IsDay reports a date or an instant, with intervals as funcs has them.
func IsDay(t sqltype.Type) bool { return funcs.TimeRange(t.OID) != nil }
