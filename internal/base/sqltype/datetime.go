package sqltype

import (
	"math"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// The infinities of date and timestamp, as PostgreSQL stores them.
const (
	DateInfinity         Days   = math.MaxInt32
	DateMinusInfinity    Days   = math.MinInt32
	InstantInfinity      Micros = math.MaxInt64
	InstantMinusInfinity Micros = math.MinInt64
)

// The ranges of datetime/timestamp.h: 4714-11-24 BC up to 5874897-12-31 and 294276-12-31.
const (
	minDays   Days   = -2451545
	endDays   Days   = 2147483494 - 2451545
	minMicros Micros = -211813488000000000
	endMicros Micros = 9223371331200000000
)

const (
	microsPerDay = 86400 * 1e6
	epochUnix    = 946684800 // 2000-01-01 in Unix seconds
	julianEpoch  = 2451545   // 2000-01-01 in Julian days

	maxZoneSeconds = (maxZoneHour + 1) * 3600 // of a timetz's zone, exclusive
)

// Work spaces of PostgreSQL's input functions: longer texts are of no date.
const (
	shortRoom    = 129
	longRoom     = 153 // of timestamps
	intervalRoom = 256
)

// InstantOf is a moment in microseconds, rounded down.
func InstantOf(t time.Time) Micros { return Micros(t.UnixMicro() - epochUnix*1e6) }

func (d Days) valid() bool {
	return d == DateInfinity || d == DateMinusInfinity || d >= minDays && d < endDays
}

func (m Micros) valid() bool {
	return m == InstantInfinity || m == InstantMinusInfinity || m >= minMicros && m < endMicros
}

func (c Clock) valid() bool { return c >= 0 && c <= microsPerDay }

func (c ClockTZ) valid() bool {
	return c.Micros >= 0 && c.Micros <= microsPerDay && c.Zone > -maxZoneSeconds && c.Zone < maxZoneSeconds
}

// time is midnight of the date in UTC.
func (d Days) time() time.Time { return time.Unix(epochUnix+int64(d)*86400, 0).UTC() }

// unix is the second of a moment, rounded down, and the microseconds beyond it.
func (m Micros) unix() (sec int64, micros int) {
	sec = floorDiv(int64(m), 1e6)
	return epochUnix + sec, int(int64(m) - sec*1e6)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (s *Settings) parseDate(text string) (Value, error) {
	d, err := s.decodeDatetime(text, false, shortRoom)
	if err != nil {
		return nil, datetimeError(err, text, "date")
	}
	switch d.reserved {
	case resLate:
		return DateInfinity, nil
	case resEarly:
		return DateMinusInfinity, nil
	case resEpoch:
		return Days(-epochUnix / 86400), nil
	}
	days, ok := d.tm.days()
	if !ok || days < int64(minDays) || days >= int64(endDays) {
		return nil, sqlerr.New(sqlerr.DatetimeRange, "date out of range: \"%s\"", text)
	}
	return Days(days), nil
}

func (s *Settings) parseTimestamp(text string, t Type) (Value, error) {
	zoned := t.OID == OIDTimestamptz
	name := "timestamp"
	if zoned {
		name = "timestamp with time zone"
	}
	d, err := s.decodeDatetime(text, false, longRoom)
	if err != nil {
		return nil, datetimeError(err, text, name)
	}
	switch d.reserved {
	case resLate:
		return InstantInfinity, nil
	case resEarly:
		return InstantMinusInfinity, nil
	case resEpoch:
		return Micros(-epochUnix * 1e6), nil
	}
	outside := sqlerr.New(sqlerr.DatetimeRange, "timestamp out of range: \"%s\"", text)
	days, ok := d.tm.days()
	if !ok || days < int64(minDays)-2 || days > int64(endMicros)/microsPerDay+2 { // before it could overflow
		return nil, outside
	}
	m := days*microsPerDay + d.tm.clock()
	if days > 0 && m < 0 || days < -1 && m > 0 { // a clock of many hours
		return nil, outside
	}
	if zoned {
		m += int64(d.west) * 1e6
		if days > 0 && m < 0 {
			return nil, outside
		}
	}
	if m < int64(minMicros) || m >= int64(endMicros) {
		return nil, outside
	}
	return Micros(roundMicros(m, t)), nil
}

// roundMicros rounds half away from zero to the type's digits of a second.
func roundMicros(m int64, t Type) int64 {
	p, ok := t.Precision()
	if !ok || p >= maxPrecision {
		return m
	}
	unit := int64(1)
	for range maxPrecision - p {
		unit *= 10
	}
	half := unit / 2
	if m >= 0 {
		return (m + half) / unit * unit
	}
	return -((-m + half) / unit * unit)
}

func (s *Settings) parseTime(text string, t Type) (Value, error) {
	d, err := s.decodeDatetime(text, true, shortRoom)
	if err != nil {
		return nil, datetimeError(err, text, "time")
	}
	return Clock(roundMicros(d.tm.clock(), t)), nil
}

func (s *Settings) parseTimetz(text string, t Type) (Value, error) {
	d, err := s.decodeDatetime(text, true, shortRoom)
	if err != nil {
		return nil, datetimeError(err, text, "time with time zone")
	}
	if d.today {
		return nil, needsToday(text)
	}
	return ClockTZ{roundMicros(d.tm.clock(), t), int32(d.west)}, nil
}
