package sqltype

// Value is one SQL value that is public or released. NULL is nil; otherwise the dynamic type is
//
//	bool             boolean
//	int64            smallint, integer, bigint, oid
//	float64          real, double precision
//	decimal.Decimal  numeric; -Exponent() is PostgreSQL's display scale
//	string           text, varchar, char(n), name, unknown
//	Days             date
//	Micros           timestamp (with or without time zone)
//
// Values read from private rows are never a Value: they are secret.Value.
type Value any

// Days is a date: days since 2000-01-01, PostgreSQL's own epoch.
type Days int32

// Micros is a timestamp: microseconds since 2000-01-01 00:00 (UTC for timestamptz).
type Micros int64
