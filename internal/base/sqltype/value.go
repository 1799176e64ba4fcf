package sqltype

// Value is one SQL value that is public or released. NULL is nil; otherwise the dynamic type is
//
//	bool             boolean
//	int64            smallint, integer, bigint, oid
//	float64          real, double precision
//	decimal.Decimal  numeric; -Exponent() is PostgreSQL's display scale
//	string           text, varchar, char(n), name, "char", unknown, enums (the label)
//	Days             date
//	Micros           timestamp (with or without time zone)
//	Clock            time
//	ClockTZ          timetz
//	Interval         interval
//	UUID             uuid
//	Bytes            bytea
//	JSON             json, as it was written, and jsonb, in PostgreSQL's canonical text
//	Named            of an answer: an OID of a type such as regclass; elsewhere it is its number
//	*Array           arrays; nobody changes one that was made
//
// Values read from private rows are never a Value: they are secret.Value.
type Value any

// Days is a date: days since 2000-01-01, PostgreSQL's own epoch.
type Days int32

// Micros is a timestamp: microseconds since 2000-01-01 00:00 (UTC for timestamptz).
type Micros int64

// Clock is a time of day: microseconds since midnight, up to 24:00.
type Clock int64

// ClockTZ is a time of day with an offset: Zone is seconds west of UTC, as PostgreSQL stores it.
type ClockTZ struct {
	Micros int64
	Zone   int32
}

// Interval is an interval in PostgreSQL's three parts.
type Interval struct {
	Months, Days int32
	Micros       int64
}

// UUID is a uuid.
type UUID [16]byte

// Bytes is a bytea.
type Bytes string

// JSON is the text of a json or jsonb.
type JSON string

// Array is an array of any dimensions: Dims holds their lengths and Lower their lower bounds; an empty array has none. Values
// are in row-major order, NULL is nil.
type Array struct {
	Elem        OID
	Dims, Lower []int32
	Values      []Value
}

// The wire's format codes.
const (
	TextFormat   int16 = 0
	BinaryFormat int16 = 1
)
