package sqltype

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/sqlerr"
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
)

// InstantOf is a moment in microseconds, rounded down.
func InstantOf(t time.Time) Micros { return Micros(t.UnixMicro() - epochUnix*1e6) }

func (d Days) valid() bool {
	return d == DateInfinity || d == DateMinusInfinity || d >= minDays && d < endDays
}

func (m Micros) valid() bool {
	return m == InstantInfinity || m == InstantMinusInfinity || m >= minMicros && m < endMicros
}

// append writes the ISO form.
func (d Days) append(dst []byte) []byte {
	switch d {
	case DateInfinity:
		return append(dst, "infinity"...)
	case DateMinusInfinity:
		return append(dst, "-infinity"...)
	}
	dst, bc := appendDate(dst, time.Unix(epochUnix+int64(d)*86400, 0).UTC())
	return append(dst, bc...)
}

// append writes the ISO form; zoned values are shown in UTC.
func (m Micros) append(dst []byte, zoned bool) []byte {
	switch m {
	case InstantInfinity:
		return append(dst, "infinity"...)
	case InstantMinusInfinity:
		return append(dst, "-infinity"...)
	}
	at := time.Unix(epochUnix+floorDiv(int64(m), 1e6), 0).UTC()
	dst, bc := appendDate(dst, at)
	dst = at.AppendFormat(dst, " 15:04:05")
	if frac := int64(m) - floorDiv(int64(m), 1e6)*1e6; frac != 0 {
		digits := strconv.FormatInt(1e6+frac, 10)[1:]
		dst = append(append(dst, '.'), strings.TrimRight(digits, "0")...)
	}
	if zoned {
		dst = append(dst, "+00"...)
	}
	return append(dst, bc...)
}

// appendDate writes the date; bc is what belongs at the very end.
func appendDate(dst []byte, at time.Time) (out []byte, bc string) {
	y, mon, d := at.Date()
	if y <= 0 { // there is no year 0
		y, bc = 1-y, " BC"
	}
	year := strconv.Itoa(y)
	dst = append(dst, strings.Repeat("0", max(0, 4-len(year)))...)
	dst = append(append(dst, year...), '-', byte('0'+mon/10), byte('0'+mon%10), '-')
	return append(dst, byte('0'+d/10), byte('0'+d%10)), bc
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

var isoDatetime = regexp.MustCompile(`^(\d{3,7})-(\d{1,2})-(\d{1,2})` +
	`(?:(?:[tT]|\s+)(\d{1,2}):(\d{2})(?::(\d{2})(\.\d*)?)?)?` +
	`\s*(z|Z|utc|UTC|gmt|GMT|[+-]\d{1,2}(?::?\d{2})?(?::\d{2})?)?` +
	`(?:\s*(ad|AD|bc|BC))?$`)

func parseDate(s string, t Type) (Value, error) {
	switch strings.ToLower(strings.Trim(s, space)) {
	case "infinity":
		return DateInfinity, nil
	case "-infinity":
		return DateMinusInfinity, nil
	case "epoch":
		return Days(-epochUnix / 86400), nil
	}
	at, _, err := readISO(s, t)
	if err != nil {
		return nil, err
	}
	days := floorDiv(at.Unix()-epochUnix, 86400)
	if days < int64(minDays) || days >= int64(endDays) {
		return nil, sqlerr.New(sqlerr.DatetimeRange, "date out of range: \"%s\"", s)
	}
	return Days(days), nil
}

func parseTimestamp(s string, t Type) (Value, error) {
	switch strings.ToLower(strings.Trim(s, space)) {
	case "infinity":
		return InstantInfinity, nil
	case "-infinity":
		return InstantMinusInfinity, nil
	case "epoch":
		return Micros(-epochUnix * 1e6), nil
	}
	at, rest, err := readISO(s, t)
	if err != nil {
		return nil, err
	}
	secs := at.Unix() - epochUnix
	if secs > int64(endMicros)/1e6+86400*2 || secs < int64(minMicros)/1e6-86400*2 { // before it could overflow
		return nil, sqlerr.New(sqlerr.DatetimeRange, "timestamp out of range: \"%s\"", s)
	}
	m := secs*1e6 + rest.micros
	if t.OID == OIDTimestamptz {
		m -= rest.offset * 1e6
	}
	if m < int64(minMicros) || m >= int64(endMicros) {
		return nil, sqlerr.New(sqlerr.DatetimeRange, "timestamp out of range: \"%s\"", s)
	}
	return Micros(m), nil
}

// clock is the part of a timestamp below the day: microseconds since midnight and the offset from UTC in seconds.
type clock struct{ micros, offset int64 }

// readISO reads a date with what may follow it; at is midnight of the date in UTC.
func readISO(s string, t Type) (at time.Time, c clock, err error) {
	m := isoDatetime.FindStringSubmatch(strings.Trim(s, space))
	if m == nil {
		return at, c, sqlerr.New(sqlerr.InvalidDatetime, "invalid input syntax for type %s: \"%s\"", t.base(), s).
			WithHint("Write it as YYYY-MM-DD or YYYY-MM-DD HH:MM:SS.")
	}
	y, mon, d := atoi(m[1]), atoi(m[2]), atoi(m[3])
	outside := sqlerr.New(sqlerr.DatetimeRange, "date/time field value out of range: \"%s\"", s)
	if y == 0 || mon < 1 || mon > 12 || d < 1 || d > 31 {
		return at, c, outside
	}
	if strings.EqualFold(m[9], "bc") {
		y = 1 - y
	}
	at = time.Date(y, time.Month(mon), d, 0, 0, 0, 0, time.UTC)
	if at.Day() != d {
		return at, c, outside
	}
	hour, minute, sec := atoi(m[4]), atoi(m[5]), atoi(m[6])
	frac := int64(0)
	if len(m[7]) > 1 {
		f, ferr := strconv.ParseFloat("0"+m[7], 64)
		if ferr != nil {
			return at, c, outside
		}
		frac = int64(math.RoundToEven(f * 1e6))
	}
	c.micros = (int64(hour)*3600+int64(minute)*60+int64(sec))*1e6 + frac
	if minute > 59 || sec > 60 || c.micros > microsPerDay {
		return at, c, outside
	}
	c.offset, err = readOffset(m[8], s)
	return at, c, err
}

// readOffset reads ±HH[[:]MM[:SS]]; names of zones are UTC's.
func readOffset(z, s string) (int64, error) {
	if z == "" || z[0] != '+' && z[0] != '-' {
		return 0, nil
	}
	digits := strings.ReplaceAll(z[1:], ":", "")
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	digits += "0000"
	h, m, sec := atoi(digits[:2]), atoi(digits[2:4]), atoi(digits[4:6])
	if h > 15 || m > 59 || sec > 59 {
		return 0, sqlerr.New(sqlerr.TimeZoneRange, "time zone displacement out of range: \"%s\"", s)
	}
	off := int64(h)*3600 + int64(m)*60 + int64(sec)
	if z[0] == '-' {
		off = -off
	}
	return off, nil
}

// atoi reads digits that a pattern has matched; nothing is 0.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
