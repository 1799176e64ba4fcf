package sqltype

// arrayOf has the array types' OIDs by their elements'.
var arrayOf = map[OID]OID{
	OIDBool: 1000, OIDBytea: 1001, OIDChar: 1002, OIDName: 1003, OIDInt8: 1016, OIDInt2: 1005, OIDInt4: 1007, OIDText: 1009, OIDOid: 1028,
	OIDJSON: 199, OIDFloat4: 1021, OIDFloat8: 1022, OIDBPChar: 1014, OIDVarchar: 1015, OIDDate: 1182, OIDTime: 1183, OIDTimestamp: 1115,
	OIDTimestamptz: 1185, OIDInterval: 1187, OIDTimetz: 1270, OIDNumeric: 1231, OIDUUID: 2951, OIDJSONB: 3807,
}

var elemOf = func() map[OID]OID {
	m := map[OID]OID{}
	for e, a := range arrayOf {
		m[a] = e
	}
	return m
}()

// Elem is the element type of an array type; an array's modifier is its elements'.
func (t Type) Elem() (Type, bool) {
	if e, ok := elemOf[t.OID]; ok {
		return Type{OID: e, Typmod: t.Typmod}, true
	}
	if t.enum != (enumHandle{}) && t.OID == t.enum.Value().array && t.OID != 0 {
		return Type{OID: t.enum.Value().oid, Typmod: t.Typmod, enum: t.enum}, true
	}
	return Type{}, false
}

// IsArray reports an array type.
func (t Type) IsArray() bool { _, ok := t.Elem(); return ok }

// ArrayOf is the type of arrays of t; ok is false where there is none, as of arrays (theirs are the same type with more
// dimensions).
func ArrayOf(t Type) (array Type, ok bool) {
	if a, ok := arrayOf[t.OID]; ok {
		return Type{OID: a, Typmod: t.Typmod}, true
	}
	if t.IsEnum() && t.enum.Value().array != 0 {
		return Type{OID: t.enum.Value().array, Typmod: t.Typmod, enum: t.enum}, true
	}
	return Type{}, false
}
