package sqltype

// Settings are a session's settings of how values are written and read. Zone is part of what a literal means; the others
// belong to the reply, and to what the order of a date's fields is. The zero value has PostgreSQL's defaults, in UTC.
type Settings struct {
	Zone          *Zone // nil is UTC
	DateStyle     DateStyle
	DateOrder     DateOrder
	IntervalStyle IntervalStyle
	ByteaEscape   bool // bytea_output = escape
	RoundFloats   bool // extra_float_digits below 1: floats are rounded to 15 (6) digits and ExtraDigits more
	ExtraDigits   int  // from -15 to 0

	Path string // search_path, where it is not the default one
}

// DateStyle is the first part of the setting of that name.
type DateStyle int

// The styles of dates; SQL and Postgres heed the DateOrder.
const (
	DateISO DateStyle = iota
	DateSQL
	DatePostgres
	DateGerman
)

// DateOrder is the second part of the setting DateStyle.
type DateOrder int

// The orders of day, month and year.
const (
	OrderMDY DateOrder = iota
	OrderDMY
	OrderYMD
)

// IntervalStyle is the setting of that name.
type IntervalStyle int

// The styles of intervals.
const (
	IntervalPostgres IntervalStyle = iota
	IntervalVerbose
	IntervalSQL
	IntervalISO
)

var defaults Settings

// zone is the session's time zone.
func (s *Settings) zone() *Zone {
	if s.Zone == nil {
		return utcZone
	}
	return s.Zone
}
