package sensitivity

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// hasOneSpelling: equal values of the type are spelled alike, so that equality of columns is equality of what is computed from them.
func hasOneSpelling(t sqltype.Type) bool {
	switch t.OID {
	case sqltype.OIDBool, sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDText, sqltype.OIDVarchar,
		sqltype.OIDTimestamptz, sqltype.OIDTime, sqltype.OIDTimetz, sqltype.OIDUUID, sqltype.OIDBytea:
		return true
	}
	return t.IsEnum()
}

// sameValues tells whether "=" of two types is transitive, and the "=" by which keys of either are unique, so that a value equals one row of a key at most.
// What is not known to be is not. Two wall clocks of a time zone may be one instant: a date or timestamp with a timestamp with time zone is not. Nor are intervals,
// which DuckDB tells apart otherwise.
func sameValues(a, b sqltype.Type) bool {
	local := func(t sqltype.Type) bool { return t.OID == sqltype.OIDDate || t.OID == sqltype.OIDTimestamp }
	switch {
	case a.IsInteger() && b.IsInteger(), a.IsFloat() && b.IsFloat(), isVarText(a) && isVarText(b), local(a) && local(b):
		return true
	}
	return a.OID == b.OID && (hasOneSpelling(a) || a.IsNumber() || a.OID == sqltype.OIDBPChar || a.OID == sqltype.OIDName)
}

func isVarText(t sqltype.Type) bool { return t.OID == sqltype.OIDText || t.OID == sqltype.OIDVarchar }

// isDay: a date or an instant, with intervals as funcs has them.
func isDay(t sqltype.Type) bool { return funcs.TimeRange(t.OID) != nil }
