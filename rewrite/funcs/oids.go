package funcs

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const numeric = sqltype.OIDNumeric

const f8 = sqltype.OIDFloat8

var (
	intOIDs   = []sqltype.OID{sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8}
	floatOIDs = []sqltype.OID{sqltype.OIDFloat4, sqltype.OIDFloat8}
)

// widest is PostgreSQL's result type of an integer operator over two integer types.
func widest(a, b sqltype.OID) sqltype.OID {
	if slices.Index(intOIDs, b) > slices.Index(intOIDs, a) {
		return b
	}
	return a
}

func isFloat(o sqltype.OID) bool { return o == sqltype.OIDFloat4 || o == sqltype.OIDFloat8 }

func isInt(o sqltype.OID) bool { return slices.Contains(intOIDs, o) }

// sqlName is a type's name that both backends read.
func sqlName(t sqltype.OID) string {
	switch t {
	case sqltype.OIDBool:
		return "boolean"
	case sqltype.OIDInt2:
		return "smallint"
	case sqltype.OIDInt4:
		return "integer"
	case sqltype.OIDInt8:
		return "bigint"
	case sqltype.OIDFloat4:
		return "real"
	case sqltype.OIDFloat8:
		return "double precision"
	case sqltype.OIDNumeric:
		return "numeric"
	case sqltype.OIDDate:
		return "date"
	case sqltype.OIDTimestamp:
		return "timestamp"
	case sqltype.OIDTimestamptz:
		return "timestamptz"
	case sqltype.OIDTime:
		return "time"
	case sqltype.OIDTimetz:
		return "timetz"
	case sqltype.OIDInterval:
		return "interval"
	case sqltype.OIDUUID:
		return "uuid"
	case sqltype.OIDBytea:
		return "bytea"
	case sqltype.OIDJSON:
		return "json"
	case sqltype.OIDJSONB:
		return "jsonb"
	}
	if elem, ok := (sqltype.Type{OID: t, Typmod: -1}).Elem(); ok {
		return sqlName(elem.OID) + "[]"
	}
	return "text"
}

// oids is a list of argument types.
func oids(o ...sqltype.OID) []sqltype.OID { return o }
