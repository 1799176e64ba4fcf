package sqltype

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// finish checks the date, applies am and pm, and finds the offset of zones that need the date.
func (d *dateDecoder) finish() error {
	if err := d.checkDate(); err != nil {
		return err
	}
	if d.meridian != meridianNone && d.tm.hour > 12 {
		return errField
	}
	switch {
	case d.meridian == meridianAM && d.tm.hour == 12:
		d.tm.hour = 0
	case d.meridian == meridianPM && d.tm.hour != 12:
		d.tm.hour += 12
	}
	if d.clockOnly {
		if d.tm.clockOverflows() {
			return errField
		}
		if d.seen&sawClock != sawClock {
			return errFormat
		}
	} else {
		if d.reserved != resDate {
			return nil
		}
		if d.seen&sawDate != sawDate {
			return errFormat
		}
	}
	return d.resolveZone()
}

// resolveZone finds the offset where it depends on the date. A time of day without one has no offset in a zone that changes
// its own: PostgreSQL takes today's, which would make an answer depend on when it is asked.
func (d *dateDecoder) resolveZone() error {
	z := d.named
	if z == nil && d.seen&sawZone == 0 {
		z = d.set.zone()
	}
	if (z != nil || d.abbrevOf != nil) && d.seen&sawSummerWord != 0 {
		return errFormat
	}
	if z == nil && d.abbrevOf == nil {
		return nil
	}
	if date := d.seen & sawDate; d.named == nil && date != 0 && date != sawDate {
		return errFormat
	}
	if z != nil && (d.clockOnly || d.seen&sawDate == 0) {
		if east, ok := z.fixedOffset(); ok {
			d.west = -east
			return nil
		}
	}
	if d.seen&sawDate != sawDate {
		if d.named != nil {
			return errFormat
		}
		d.west, d.today = 0, true
		return nil
	}
	if d.abbrevOf != nil {
		east, at := d.abbrevOf.offsetOfLocal(d.tm.unix())
		if e, ok := d.abbrevOf.offsetOfAbbrev(at, d.abbrev); ok {
			east = e
		}
		d.west = -east
		return nil
	}
	east, _ := z.offsetOfLocal(d.tm.unix())
	d.west = -east
	return nil
}

func needsToday(s string) error {
	return sqlerr.New(sqlerr.Unsupported, "the offset of the time \"%s\" depends on today's date, which is not supported", s).
		WithHint("Write the offset, such as 12:30+01.")
}

// checkDate settles the year's century and era and the day of a year, and checks month and day.
func (d *dateDecoder) checkDate() error {
	tm := &d.tm
	if d.seen&sawYear != 0 && !d.julian {
		switch {
		case d.bc:
			if tm.year <= 0 {
				return errField
			}
			tm.year = 1 - tm.year
		case d.twoDigits:
			switch {
			case tm.year < 0:
				return errField
			case tm.year < 70:
				tm.year += 2000
			case tm.year < 100:
				tm.year += 1900
			}
		case tm.year <= 0: // there is no year 0
			return errField
		}
	}
	if d.seen&sawYearDay != 0 {
		at := time.Date(tm.year, time.January, d.yearDay, 0, 0, 0, 0, time.UTC)
		tm.year, tm.month, tm.day = at.Year(), int(at.Month()), at.Day()
	}
	if d.seen&sawMonth != 0 && (tm.month < 1 || tm.month > 12) {
		return errMonthDay
	}
	if d.seen&sawDay != 0 && (tm.day < 1 || tm.day > 31) {
		return errMonthDay
	}
	if d.seen&sawDate == sawDate && tm.day > daysIn(tm.year, tm.month) {
		return errField
	}
	return nil
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// clockOverflows: the clock is not within 00:00 and 24:00.
func (c *civil) clockOverflows() bool {
	if c.hour < 0 || c.hour > 24 || c.min < 0 || c.min > 59 || c.sec < 0 || c.sec > 60 || c.micros < 0 || c.micros > 1e6 {
		return true
	}
	return c.clock() > microsPerDay
}

// clock is the time of day in microseconds.
func (c *civil) clock() int64 {
	return (int64(c.hour)*3600+int64(c.min)*60+int64(c.sec))*1e6 + int64(c.micros)
}

func (c *civil) setClock(m int64) {
	c.hour, c.min = int(m/3600e6), int(m/60e6%60)
	c.sec, c.micros = int(m/1e6%60), int(m%1e6)
}

func (c *civil) setDate(d Days) {
	at := d.time()
	c.year, c.month, c.day = at.Year(), int(at.Month()), at.Day()
}

// days is the date; ok is false where Julian days do not reach.
func (c *civil) days() (d int64, ok bool) {
	if c.year < -4713 || c.year == -4713 && c.month < 11 || c.year > 5874898 || c.year == 5874898 && c.month >= 6 {
		return 0, false
	}
	at := time.Date(c.year, time.Month(c.month), c.day, 0, 0, 0, 0, time.UTC)
	return floorDiv(at.Unix()-epochUnix, 86400), true
}

// unix is the second that the clock would show in UTC. A date that days refuses counts as the epoch: no caller keeps it.
func (c *civil) unix() int64 {
	d, ok := c.days()
	if !ok {
		return 0
	}
	return d*86400 + epochUnix + int64(c.hour)*3600 + int64(c.min)*60 + int64(c.sec)
}

// clockParts are the fields of hh:mm:ss, whose hours may be many in an interval.
type clockParts struct {
	hour             int64
	min, sec, micros int
}

// parseClock reads hh:mm[:ss[.fff]]; mm:ss.fff has no hours, nor has mm:ss where the range says so.
func parseClock(s string, fields IntervalFields) (c clockParts, err error) {
	hour, rest, ok := leadingInt64(s)
	if !ok {
		return c, errField
	}
	if !strings.HasPrefix(rest, ":") {
		return c, errFormat
	}
	if c.min, rest, ok = leadingInt(rest[1:]); !ok {
		return c, errField
	}
	c.hour = hour
	short := func() error { // the two numbers are minutes and seconds
		if c.hour != int64(int32(c.hour)) {
			return errField
		}
		c.hour, c.min, c.sec = 0, int(c.hour), c.min
		return nil
	}
	switch {
	case rest == "":
		if fields == FieldMinute|FieldSecond {
			err = short()
		}
	case rest[0] == '.':
		if c.micros, err = parseMicros(rest); err == nil {
			err = short()
		}
	case rest[0] == ':':
		if c.sec, rest, ok = leadingInt(rest[1:]); !ok {
			return c, errField
		}
		if strings.HasPrefix(rest, ".") {
			c.micros, err = parseMicros(rest)
		} else if rest != "" {
			err = errFormat
		}
	default:
		err = errFormat
	}
	if err != nil {
		return c, err
	}
	if c.hour < 0 || c.min < 0 || c.min > 59 || c.sec < 0 || c.sec > 60 || c.micros < 0 || c.micros > 1e6 {
		return c, errField
	}
	return c, nil
}

// parseFraction reads .fff; a point alone is 0.
func parseFraction(s string) (float64, error) {
	if span(s, 1, isDigit) != len(s) {
		return 0, errFormat
	}
	f, err := strconv.ParseFloat("0"+s+"0", 64)
	if err != nil {
		return 0, errFormat
	}
	return f, nil
}

// parseMicros is a fraction of a second in microseconds.
func parseMicros(s string) (int, error) {
	f, err := parseFraction(s)
	return int(math.RoundToEven(f * 1e6)), err
}

// parseZoneOffset reads ±hh[[:]mm[:ss]] and gives seconds west of UTC.
func parseZoneOffset(s string) (west int, err error) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, errFormat
	}
	minute, sec := 0, 0
	hour, rest, ok := leadingInt(s[1:])
	switch {
	case ok && strings.HasPrefix(rest, ":"):
		minute, rest, ok = leadingInt(rest[1:])
		if ok && strings.HasPrefix(rest, ":") {
			sec, rest, ok = leadingInt(rest[1:])
		}
	case ok && rest == "" && len(s) > 3:
		hour, minute = hour/100, hour%100
	}
	if !ok || hour < 0 || hour > maxZoneHour || minute < 0 || minute > 59 || sec < 0 || sec > 59 {
		return 0, errZoneOffset
	}
	if rest != "" {
		return 0, errFormat
	}
	west = -(hour*3600 + minute*60 + sec)
	if s[0] == '-' {
		west = -west
	}
	return west, nil
}

// maxZoneHour is MAX_TZDISP_HOUR.
const maxZoneHour = 15
