package sqltype

import (
	"fmt"
	"regexp"
	"strings"
)

var typeNames = map[OID]string{
	OIDBool: "boolean", OIDBytea: "bytea", OIDChar: `"char"`, OIDName: "name", OIDInt8: "bigint", OIDInt2: "smallint", OIDInt4: "integer",
	OIDText: "text", OIDOid: "oid", OIDJSON: "json", OIDFloat4: "real", OIDFloat8: "double precision", OIDUnknown: "unknown",
	OIDBPChar: "character", OIDVarchar: "character varying", OIDDate: "date", OIDTime: "time without time zone",
	OIDTimestamp: "timestamp without time zone", OIDTimestamptz: "timestamp with time zone", OIDInterval: "interval",
	OIDTimetz: "time with time zone", OIDNumeric: "numeric", OIDUUID: "uuid", OIDJSONB: "jsonb",
}

// String is the type as PostgreSQL's format_type spells it, if its schema is in the search path.
func (t Type) String() string {
	if name, ok := vectorNames[t.OID]; ok {
		return name
	}
	if e, ok := t.Elem(); ok {
		return e.String() + "[]"
	}
	if e, ok := t.Enum(); ok {
		return e.String()
	}
	name, ok := typeNames[t.OID]
	if !ok {
		return fmt.Sprintf("type %d", t.OID)
	}
	if p, s, ok := t.NumericMod(); ok {
		return fmt.Sprintf("numeric(%d,%d)", p, s)
	}
	switch t.OID {
	case OIDVarchar, OIDBPChar:
		if t.Typmod >= 4 {
			return fmt.Sprintf("%s(%d)", name, t.Typmod-4)
		}
	case OIDTime, OIDTimetz, OIDTimestamp, OIDTimestamptz:
		if p, ok := t.Precision(); ok {
			word, rest, _ := strings.Cut(name, " ")
			return fmt.Sprintf("%s(%d) %s", word, p, rest)
		}
	case OIDInterval:
		if f, ok := t.IntervalFields(); ok {
			name += " " + f.String()
		}
		if p, ok := t.Precision(); ok {
			name += fmt.Sprintf("(%d)", p)
		}
	}
	return name
}

var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// String is the enum's name, with its schema unless that is public.
func (e Enum) String() string {
	quote := func(s string) string {
		if plainName.MatchString(s) {
			return s
		}
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	if e.Schema == "" || e.Schema == "public" {
		return quote(e.Name)
	}
	return quote(e.Schema) + "." + quote(e.Name)
}

// maxPrecision is MAX_TIMESTAMP_PRECISION: digits of a fraction of a second.
const maxPrecision = 6

// Precision is the declared number of digits of a second; ok is false for none.
func (t Type) Precision() (p int, ok bool) {
	switch t.OID {
	case OIDTime, OIDTimetz, OIDTimestamp, OIDTimestamptz:
		return int(t.Typmod), t.Typmod >= 0
	case OIDInterval:
		p = int(t.Typmod & fullPrecision)
		return p, t.Typmod >= 0 && p != fullPrecision
	}
	return 0, false
}

// The parts of an interval's modifier (utils/timestamp.h): fields in the upper half, precision in the lower.
const (
	fullRange     = 0x7fff
	fullPrecision = 0xffff
)

// IntervalFields are the fields that an interval type keeps; the smallest counts for what is cut off.
type IntervalFields int32

// The fields, as PostgreSQL numbers them (utils/datetime.h: 1 << DTK).
const (
	FieldMonth  IntervalFields = 1 << 1
	FieldYear   IntervalFields = 1 << 2
	FieldDay    IntervalFields = 1 << 3
	FieldHour   IntervalFields = 1 << 10
	FieldMinute IntervalFields = 1 << 11
	FieldSecond IntervalFields = 1 << 12
)

var intervalFields = map[IntervalFields]string{
	FieldYear: "year", FieldMonth: "month", FieldDay: "day", FieldHour: "hour", FieldMinute: "minute", FieldSecond: "second",
	FieldYear | FieldMonth: "year to month", FieldDay | FieldHour: "day to hour", FieldDay | FieldHour | FieldMinute: "day to minute",
	FieldDay | FieldHour | FieldMinute | FieldSecond: "day to second", FieldHour | FieldMinute: "hour to minute",
	FieldHour | FieldMinute | FieldSecond: "hour to second", FieldMinute | FieldSecond: "minute to second",
}

// String spells the fields as SQL does: "day to second".
func (f IntervalFields) String() string { return intervalFields[f] }

// ParseIntervalFields reads what String writes.
func ParseIntervalFields(s string) (IntervalFields, bool) {
	for f, name := range intervalFields {
		if name == s {
			return f, true
		}
	}
	return 0, false
}

// IntervalFields are the declared fields of an interval type; ok is false for all.
func (t Type) IntervalFields() (f IntervalFields, ok bool) {
	f = IntervalFields(t.Typmod >> 16 & fullRange)
	return f, t.OID == OIDInterval && t.Typmod >= 0 && f != fullRange && intervalFields[f] != ""
}

// IntervalOf is interval with fields (0 for all) and precision (-1 for none).
func IntervalOf(f IntervalFields, precision int) Type {
	if f == 0 {
		f = fullRange
	}
	p := int32(precision)
	if precision < 0 {
		p = fullPrecision
	}
	return Type{OID: OIDInterval, Typmod: int32(f)<<16 | p}
}
