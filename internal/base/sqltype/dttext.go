package sqltype

import (
	"strconv"
	"strings"
	"time"
)

// appendPadded writes a number of at least so many digits.
func appendPadded(dst []byte, n, digits int) []byte {
	text := strconv.Itoa(n)
	for range digits - len(text) {
		dst = append(dst, '0')
	}
	return append(dst, text...)
}

// appendFraction writes the microseconds of a second without trailing zeros.
func appendFraction(dst []byte, micros int) []byte {
	if micros == 0 {
		return dst
	}
	return append(append(dst, '.'), strings.TrimRight(strconv.Itoa(1e6 + micros)[1:], "0")...)
}

func appendClock(dst []byte, hour, minute, sec, micros int) []byte {
	dst = append(appendPadded(dst, hour, 2), ':')
	dst = append(appendPadded(dst, minute, 2), ':')
	return appendFraction(appendPadded(dst, sec, 2), micros)
}

// appendOffset writes an offset in seconds east of UTC with as many parts as it has.
func appendOffset(dst []byte, east int) []byte {
	sign := byte('+')
	if east < 0 {
		sign, east = '-', -east
	}
	dst = appendPadded(append(dst, sign), east/3600, 2)
	if east%3600 != 0 {
		dst = appendPadded(append(dst, ':'), east/60%60, 2)
	}
	if east%60 != 0 {
		dst = appendPadded(append(dst, ':'), east%60, 2)
	}
	return dst
}

// yearOf is a year as it is written: there is no year 0.
func yearOf(at time.Time) (year int, bc string) {
	if y := at.Year(); y > 0 {
		return y, ""
	}
	return 1 - at.Year(), " BC"
}

// appendDay writes the date's numbers in the session's style, not of style Postgres.
func (s *Settings) appendDay(dst []byte, at time.Time, sep byte) []byte {
	year, _ := yearOf(at)
	day, month := at.Day(), int(at.Month())
	if s.DateStyle == DateISO {
		dst = append(appendPadded(dst, year, 4), '-')
		dst = append(appendPadded(dst, month, 2), '-')
		return appendPadded(dst, day, 2)
	}
	first, second := month, day
	if s.DateOrder == OrderDMY || s.DateStyle == DateGerman {
		first, second = day, month
	}
	dst = append(appendPadded(dst, first, 2), sep)
	dst = append(appendPadded(dst, second, 2), sep)
	return appendPadded(dst, year, 4)
}

var dateSeparators = [...]byte{DateISO: '-', DateSQL: '/', DatePostgres: '-', DateGerman: '.'}

func (s *Settings) appendDate(dst []byte, d Days) []byte {
	switch d {
	case DateInfinity:
		return append(dst, "infinity"...)
	case DateMinusInfinity:
		return append(dst, "-infinity"...)
	}
	at := d.time()
	_, bc := yearOf(at)
	return append(s.appendDay(dst, at, dateSeparators[s.DateStyle]), bc...)
}

// maxAbbrev is MAXTZLEN: how much of a zone's abbreviation is written.
const maxAbbrev = 10

// appendTimestamp writes a moment; a zoned one in the session's zone.
func (s *Settings) appendTimestamp(dst []byte, m Micros, zoned bool) []byte {
	switch m {
	case InstantInfinity:
		return append(dst, "infinity"...)
	case InstantMinusInfinity:
		return append(dst, "-infinity"...)
	}
	sec, micros := m.unix()
	east, abbrev := 0, ""
	if zoned {
		east, abbrev = s.zone().offsetAt(sec)
	}
	at := time.Unix(sec+int64(east), 0).UTC()
	year, bc := yearOf(at)
	if s.DateStyle == DatePostgres {
		dst = append(dst, at.Weekday().String()[:3]...)
		dst = append(dst, ' ')
		if s.DateOrder == OrderDMY {
			dst = append(appendPadded(dst, at.Day(), 2), ' ')
			dst = append(dst, at.Month().String()[:3]...)
		} else {
			dst = append(append(dst, at.Month().String()[:3]...), ' ')
			dst = appendPadded(dst, at.Day(), 2)
		}
	} else {
		dst = s.appendDay(dst, at, dateSeparators[s.DateStyle])
	}
	dst = appendClock(append(dst, ' '), at.Hour(), at.Minute(), at.Second(), micros)
	if s.DateStyle == DatePostgres {
		dst = appendPadded(append(dst, ' '), year, 4)
	}
	switch {
	case !zoned:
	case s.DateStyle == DateISO:
		dst = appendOffset(dst, east)
	default:
		dst = append(append(dst, ' '), abbrev[:min(len(abbrev), maxAbbrev)]...)
	}
	return append(dst, bc...)
}

func appendTime(dst []byte, micros int64) []byte {
	var c civil
	c.setClock(micros)
	return appendClock(dst, c.hour, c.min, c.sec, c.micros)
}

func appendTimetz(dst []byte, c ClockTZ) []byte {
	return appendOffset(appendTime(dst, c.Micros), -int(c.Zone))
}
