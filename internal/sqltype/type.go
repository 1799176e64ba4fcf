// Package sqltype holds PostgreSQL's types, OIDs and values as dpsql uses them: the types that binder, backends, finishing
// and wire agree on, their text and binary forms, and their order. It is a leaf: it imports no other room.
package sqltype

import "fmt"

// ServerVersion is the PostgreSQL that dpsql behaves as: clients pick their catalog queries by it.
const ServerVersion = "15.18"

// OID is a PostgreSQL type OID.
type OID uint32

// The types that dpsql knows. A column of any other type can be listed in a policy but not used in a statement.
const (
	OIDBool        OID = 16
	OIDChar        OID = 18 // "char", catalogs only
	OIDName        OID = 19
	OIDInt8        OID = 20
	OIDInt2        OID = 21
	OIDInt4        OID = 23
	OIDText        OID = 25
	OIDOid         OID = 26
	OIDFloat4      OID = 700
	OIDFloat8      OID = 701
	OIDUnknown     OID = 705
	OIDBPChar      OID = 1042
	OIDVarchar     OID = 1043
	OIDDate        OID = 1082
	OIDTimestamp   OID = 1114
	OIDTimestamptz OID = 1184
	OIDInterval    OID = 1186
	OIDNumeric     OID = 1700
)

// Type is a PostgreSQL type with its modifier; Typmod is -1 where there is none. Types compare with ==.
type Type struct {
	OID    OID
	Typmod int32
}

// The unmodified types.
var (
	Bool      = Type{OIDBool, -1}
	Int2      = Type{OIDInt2, -1}
	Int4      = Type{OIDInt4, -1}
	Int8      = Type{OIDInt8, -1}
	Float4    = Type{OIDFloat4, -1}
	Float8    = Type{OIDFloat8, -1}
	Numeric   = Type{OIDNumeric, -1}
	Text      = Type{OIDText, -1}
	Varchar   = Type{OIDVarchar, -1}
	BPChar    = Type{OIDBPChar, -1}
	Name      = Type{OIDName, -1}
	Date      = Type{OIDDate, -1}
	Timestamp = Type{OIDTimestamp, -1}
	Unknown   = Type{OIDUnknown, -1}
)

// NumericOf is numeric(precision, scale), with PostgreSQL's typmod encoding.
func NumericOf(precision, scale int) Type {
	return Type{OIDNumeric, int32(precision<<16|(scale&0x7ff)) + 4}
}

// NumericMod returns a numeric type's declared precision and scale; ok is false for numeric without a modifier.
func (t Type) NumericMod() (precision, scale int, ok bool) {
	if t.OID != OIDNumeric || t.Typmod < 4 {
		return 0, 0, false
	}
	m := t.Typmod - 4
	scale = int(m & 0x7ff)
	if scale >= 1024 { // negative scales are 11-bit two's complement
		scale -= 2048
	}
	return int(m>>16) & 0xffff, scale, true
}

// IsInteger reports int2, int4 or int8.
func (t Type) IsInteger() bool { return t.OID == OIDInt2 || t.OID == OIDInt4 || t.OID == OIDInt8 }

// IsFloat reports float4 or float8.
func (t Type) IsFloat() bool { return t.OID == OIDFloat4 || t.OID == OIDFloat8 }

// IsNumber reports an integer, a float or numeric.
func (t Type) IsNumber() bool { return t.IsInteger() || t.IsFloat() || t.OID == OIDNumeric }

// IsString reports text, varchar, char(n), name or an untyped literal.
func (t Type) IsString() bool {
	switch t.OID {
	case OIDText, OIDVarchar, OIDBPChar, OIDName, OIDUnknown:
		return true
	}
	return false
}

// Len is pg_type.typlen, as RowDescription carries it.
func (t Type) Len() int16 {
	switch t.OID {
	case OIDBool, OIDChar:
		return 1
	case OIDInt2:
		return 2
	case OIDInt4, OIDFloat4, OIDDate, OIDOid:
		return 4
	case OIDInt8, OIDFloat8, OIDTimestamp, OIDTimestamptz:
		return 8
	case OIDInterval:
		return 16
	case OIDName:
		return 64
	case OIDUnknown:
		return -2
	}
	return -1
}

var typeNames = map[OID]string{
	OIDBool: "boolean", OIDChar: `"char"`, OIDName: "name", OIDInt8: "bigint", OIDInt2: "smallint", OIDInt4: "integer",
	OIDText: "text", OIDOid: "oid", OIDFloat4: "real", OIDFloat8: "double precision", OIDUnknown: "unknown",
	OIDBPChar: "character", OIDVarchar: "character varying", OIDDate: "date", OIDTimestamp: "timestamp without time zone",
	OIDTimestamptz: "timestamp with time zone", OIDInterval: "interval", OIDNumeric: "numeric",
}

// String is the type as PostgreSQL's format_type spells it.
func (t Type) String() string {
	name, ok := typeNames[t.OID]
	if !ok {
		return fmt.Sprintf("type %d", t.OID)
	}
	if p, s, ok := t.NumericMod(); ok {
		return fmt.Sprintf("numeric(%d,%d)", p, s)
	}
	if (t.OID == OIDVarchar || t.OID == OIDBPChar) && t.Typmod >= 4 {
		return fmt.Sprintf("%s(%d)", name, t.Typmod-4)
	}
	return name
}

// Known reports whether dpsql can compute with the type.
func (t Type) Known() bool { _, ok := typeNames[t.OID]; return ok }
