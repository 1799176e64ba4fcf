package funcs

import (
	"math/big"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

const (
	day     = sqltype.OIDDate
	stamp   = sqltype.OIDTimestamp
	zoned   = sqltype.OIDTimestamptz
	clock   = sqltype.OIDTime
	span    = sqltype.OIDInterval
	clockTZ = sqltype.OIDTimetz
	second  = 1_000_000 // in microseconds

	epochSeconds = 946684800 // 2000-01-01 in Unix seconds
	firstMicros  = -211813488000000000
	endMicros    = 9223371331200000000 // the first instant that no timestamp holds
)

// civil is a timestamp's wall clock.
type civil struct {
	y, mon, d int // the year is astronomical: 0 is 1 BC
	micros    int64
	t         time.Time // midnight, in UTC
}

func civilOf(m sqltype.Micros) civil {
	days := floorDiv(int64(m), microsPerDay)
	t := time.Unix(epochSeconds+days*86400, 0).UTC()
	y, mon, d := t.Date()
	return civil{y: y, mon: int(mon), d: d, micros: int64(m) - days*microsPerDay, t: t}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

func infinite(m sqltype.Micros) bool {
	return m == sqltype.InstantInfinity || m == sqltype.InstantMinusInfinity
}

// units are PostgreSQL's names of fields, which it reads to the tenth character.
var units = func() map[string]string {
	m := map[string]string{}
	for unit, names := range map[string]string{
		"century": "c cent century centuries", "day": "d day days", "decade": "dec decade decades decs", "hour": "h hour hours hr hrs",
		"minute": "m min mins minute minutes", "microseconds": "us usec usecond useconds usecs microsecond microseconds",
		"millennium": "mil mils millennia millennium", "milliseconds": "ms msec msecond mseconds msecs millisecond milliseconds",
		"month": "mon mons month months", "quarter": "qtr quarter", "second": "s sec second seconds secs", "week": "w week weeks",
		"year": "y year years yr yrs", "dow": "dow", "doy": "doy", "isodow": "isodow", "isoyear": "isoyear", "epoch": "epoch", "julian": "j jd julian",
		"timezone": "timezone", "timezone_hour": "timezone_hour", "timezone_minute": "timezone_minute",
	} {
		for _, n := range strings.Fields(names) {
			m[n[:min(len(n), 10)]] = unit
		}
	}
	return m
}()

func unitOf(name string) string {
	name = strings.ToLower(name)
	return units[name[:min(len(name), 10)]]
}

func notRecognized(unit string, t sqltype.OID) error {
	return sqlerr.New(sqlerr.InvalidParam, "unit \"%s\" not recognized for type %s", unit, sqltype.Type{OID: t, Typmod: -1})
}

func notSupported(unit string, t sqltype.OID) error {
	return sqlerr.New(sqlerr.Unsupported, "unit \"%s\" not supported for type %s", unit, sqltype.Type{OID: t, Typmod: -1})
}

// Time zones are taken by their full names, as in Europe/Berlin, and UTC: other names are abbreviations to PostgreSQL in some places and
// zones in others.

func location(name string) (*time.Location, error) {
	switch strings.ToUpper(name) {
	case "UTC", "GMT", "ETC/UTC", "ETC/GMT":
		return time.UTC, nil
	}
	l, err := time.LoadLocation(name)
	if err != nil || !strings.Contains(name, "/") || strings.ContainsAny(name, `'"\`) {
		return nil, sqlerr.New(sqlerr.Unsupported, "time zone \"%s\" is not supported here", name).WithHint("Name it as in 'Europe/Berlin' or 'UTC'.")
	}
	return l, nil
}

// local is an instant's wall clock in a zone.
func local(m sqltype.Micros, l *time.Location) sqltype.Micros {
	if infinite(m) {
		return m
	}
	_, offset := time.Unix(epochSeconds+floorDiv(int64(m), second), 0).In(l).Zone()
	return m + sqltype.Micros(offset)*second
}

// unlocal is the instant of a wall clock, as PostgreSQL's DetermineTimeZoneOffset finds it: by the offsets around the first change after the day
// before. A time that does not exist takes the offset before the change, one that exists twice the later.
func unlocal(m sqltype.Micros, l *time.Location) (sqltype.Micros, error) {
	if infinite(m) {
		return m, nil
	}
	t := epochSeconds + floorDiv(int64(m), second)
	earlier := time.Unix(t-86400, 0).In(l)
	_, before := earlier.Zone()
	offset := before
	if _, end := earlier.ZoneBounds(); !end.IsZero() {
		boundary := end.Unix()
		_, after := end.Zone()
		first, then := t-int64(before), t-int64(after)
		switch {
		case first < boundary && then < boundary:
		case first > boundary && then >= boundary, first <= then:
			offset = after
		}
	}
	u := m - sqltype.Micros(offset)*second
	if u < firstMicros || u >= endMicros {
		return 0, sqlerr.New(sqlerr.DatetimeRange, "timestamp out of range")
	}
	return u, nil
}

const microsPerDay = 86_400_000_000

// The days that timestamps reach: 24 November 4714 BC, before which PostgreSQL has no date either, to 31 December 294276.
const (
	firstDay = -2451545
	lastDay  = 106751982
)

func stampRange() error { return sqlerr.New(sqlerr.DatetimeRange, "timestamp out of range") }

// The days of PostgreSQL's dates.
const endDay = 2147483494 - 2451545

func spanLength(x sqltype.Interval) *big.Int {
	n := new(big.Int).Mul(big.NewInt(int64(x.Months)*30+int64(x.Days)), big.NewInt(microsPerDay))
	return n.Add(n, big.NewInt(x.Micros))
}

// micros is a date as a timestamp where it is compared with one: infinities stay, dates after all timestamps come after them.
func micros(x, other sqltype.Value) sqltype.Value {
	d, isDate := x.(sqltype.Days)
	if _, ok := other.(sqltype.Micros); !ok || !isDate {
		return x
	}
	switch {
	case d == sqltype.DateInfinity:
		return sqltype.InstantInfinity
	case d == sqltype.DateMinusInfinity:
		return sqltype.InstantMinusInfinity
	case d > lastDay:
		return sqltype.InstantInfinity - 1
	}
	return sqltype.Micros(int64(d) * microsPerDay)
}
