// Package sqltype holds PostgreSQL's types, OIDs and values as dpsql uses them: the types that binder, backends, finishing
// and wire agree on, their text and binary forms, and their order. It is a leaf: it imports no other room.
package sqltype

// ServerVersion is the PostgreSQL that dpsql behaves as: clients pick their catalog queries by it.
const ServerVersion = "15.18"

// OID is a PostgreSQL type OID.
type OID uint32

// The types that dpsql knows. A column of any other type can be listed in a policy but not used in a statement.
const (
	OIDBool        OID = 16
	OIDBytea       OID = 17
	OIDChar        OID = 18 // "char", catalogs only
	OIDName        OID = 19
	OIDInt8        OID = 20
	OIDInt2        OID = 21
	OIDInt4        OID = 23
	OIDText        OID = 25
	OIDOid         OID = 26
	OIDJSON        OID = 114
	OIDFloat4      OID = 700
	OIDFloat8      OID = 701
	OIDUnknown     OID = 705
	OIDBPChar      OID = 1042
	OIDVarchar     OID = 1043
	OIDDate        OID = 1082
	OIDTime        OID = 1083
	OIDTimestamp   OID = 1114
	OIDTimestamptz OID = 1184
	OIDInterval    OID = 1186
	OIDTimetz      OID = 1266
	OIDNumeric     OID = 1700
	OIDUUID        OID = 2950
	OIDJSONB       OID = 3802
)

// Type is a PostgreSQL type with its modifier; Typmod is -1 where there is none. A domain is its base type. Types compare
// with ==.
type Type struct {
	OID    OID
	Typmod int32
	enum   enumHandle // of an enum and of arrays of one
}

// The unmodified types.
var (
	Bool         = Type{OID: OIDBool, Typmod: -1}
	Bytea        = Type{OID: OIDBytea, Typmod: -1}
	Char         = Type{OID: OIDChar, Typmod: -1}
	Int2         = Type{OID: OIDInt2, Typmod: -1}
	Int4         = Type{OID: OIDInt4, Typmod: -1}
	Int8         = Type{OID: OIDInt8, Typmod: -1}
	Oid          = Type{OID: OIDOid, Typmod: -1}
	Float4       = Type{OID: OIDFloat4, Typmod: -1}
	Float8       = Type{OID: OIDFloat8, Typmod: -1}
	Numeric      = Type{OID: OIDNumeric, Typmod: -1}
	Text         = Type{OID: OIDText, Typmod: -1}
	Varchar      = Type{OID: OIDVarchar, Typmod: -1}
	BPChar       = Type{OID: OIDBPChar, Typmod: -1}
	Name         = Type{OID: OIDName, Typmod: -1}
	Date         = Type{OID: OIDDate, Typmod: -1}
	Time         = Type{OID: OIDTime, Typmod: -1}
	Timetz       = Type{OID: OIDTimetz, Typmod: -1}
	Timestamp    = Type{OID: OIDTimestamp, Typmod: -1}
	Timestamptz  = Type{OID: OIDTimestamptz, Typmod: -1}
	IntervalType = Type{OID: OIDInterval, Typmod: -1}
	UUIDType     = Type{OID: OIDUUID, Typmod: -1}
	JSONType     = Type{OID: OIDJSON, Typmod: -1}
	JSONBType    = Type{OID: OIDJSONB, Typmod: -1}
	Unknown      = Type{OID: OIDUnknown, Typmod: -1}
)

// NumericOf is numeric(precision, scale), with PostgreSQL's typmod encoding.
func NumericOf(precision, scale int) Type {
	return Type{OID: OIDNumeric, Typmod: int32(precision<<16|(scale&0x7ff)) + 4}
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
	case OIDInt8, OIDFloat8, OIDTimestamp, OIDTimestamptz, OIDTime:
		return 8
	case OIDTimetz:
		return 12
	case OIDInterval, OIDUUID:
		return 16
	case OIDName:
		return 64
	case OIDUnknown:
		return -2
	}
	if m, ok := metaTypes[t.OID]; ok {
		return m.len
	}
	if t.IsEnum() {
		return 4
	}
	return -1
}

// IsKnown reports whether dpsql has values of the type: literals, parameters and results.
func (t Type) IsKnown() bool {
	if e, ok := t.Elem(); ok {
		t = e
	}
	return typeNames[t.OID] != "" || t.IsEnum()
}

// IsReadable reports whether columns of the type exist for analysts: both backends read its values and compare them as
// PostgreSQL does.
func (t Type) IsReadable() bool { return t.IsKnown() && !t.IsCatalogType() }

// Key types that dpsql does not compute with; catalogs know inet.
const (
	oidCIDR     OID = 650
	oidMacaddr8 OID = 774
	oidMacaddr  OID = 829
	oidBit      OID = 1560
	oidVarbit   OID = 1562
)

// IsKey reports whether keys of the type lead to one row: "=" of two values of it is exact, never fails, and is what the database's unique indexes and
// foreign keys compare by. Some such types are not readable: columns of them exist for joins along a policy's paths alone.
func (t Type) IsKey() bool {
	switch t.OID {
	case OIDBool, OIDBytea, OIDChar, OIDName, OIDText, OIDVarchar, OIDBPChar, OIDOid, OIDNumeric, OIDDate, OIDTime, OIDTimetz, OIDTimestamp, OIDTimestamptz,
		OIDUUID, OIDInet, oidCIDR, oidMacaddr, oidMacaddr8, oidBit, oidVarbit:
		return true
	}
	return t.IsInteger() || t.IsEnum()
}

// SameKey reports whether values of two key types compare without a cast that could fail or change them.
func SameKey(a, b Type) bool {
	text := func(t Type) bool { return t.OID == OIDText || t.OID == OIDVarchar }
	address := func(t Type) bool { return t.OID == OIDInet || t.OID == oidCIDR }
	return a.OID == b.OID || a.IsInteger() && b.IsInteger() || text(a) && text(b) || address(a) && address(b)
}

// IsGroupable reports whether values of the type can be keys of private rows: where they are grouped, equal ones are spelled alike
// or can be. Equal intervals and documents are not (1 day and 24 hours, 1.0 and 1.00), and json has no equality.
func (t Type) IsGroupable() bool {
	switch t.OID {
	case OIDInterval, OIDJSON, OIDJSONB:
		return false
	}
	return t.IsReadable() && !t.IsArray()
}

// fits reports whether an integer is in the type's range.
func fits(x int64, t Type) bool {
	switch t.OID {
	case OIDInt2:
		return x == int64(int16(x))
	case OIDInt4:
		return x == int64(int32(x))
	case OIDInt8:
		return true
	}
	return t.IsObject() && x == int64(uint32(x))
}
