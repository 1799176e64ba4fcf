package sqltype

import (
	"math"
	"strconv"
	"strings"
)

// isoReader reads ISO 8601's durations: P1Y2M3DT4H5M6S, and the alternative forms P0001-02-03T04:05:06 and P00010203T040506.
type isoReader struct {
	sum  *intervalSum
	rest string
}

func decodeISOInterval(z *intervalSum, s string) error {
	if len(s) < 2 || s[0] != 'P' {
		return errFormat
	}
	r := &isoReader{z, s[1:]}
	date, first := true, true
	for r.rest != "" {
		if r.rest[0] == 'T' {
			date, first, r.rest = false, true, r.rest[1:]
			continue
		}
		width := span(strings.TrimPrefix(r.rest, "-"), 0, isDigit)
		n, f, err := r.number()
		if err != nil {
			return err
		}
		u := peek(r.rest, 0)
		r.rest = r.rest[min(1, len(r.rest)):]
		var done bool
		if date {
			done, err = r.dateUnit(u, n, f, width, first)
		} else {
			done, err = r.clockUnit(u, n, f, width, first)
		}
		if err != nil || done && r.rest == "" {
			return err
		}
		first = false
		if done { // the time follows
			date, first = false, true
		}
	}
	return nil
}

// number reads what strtod reads, up to 10^15.
func (r *isoReader) number() (n int64, f float64, err error) {
	s := r.rest
	if s == "" || !isDigit(s[0]) && s[0] != '-' && s[0] != '.' {
		return 0, 0, errFormat
	}
	i := 0
	if s[0] == '-' {
		i++
	}
	start := i
	i = span(s, i, isDigit)
	digits := i - start
	if peek(s, i) == '.' {
		end := span(s, i+1, isDigit)
		digits += end - i - 1
		i = end
	}
	if digits == 0 {
		return 0, 0, errFormat
	}
	if e := peek(s, i); e == 'e' || e == 'E' {
		j := i + 1
		if c := peek(s, j); c == '+' || c == '-' {
			j++
		}
		if isDigit(peek(s, j)) {
			i = span(s, j, isDigit)
		}
	}
	v, perr := strconv.ParseFloat(s[:i], 64)
	if perr != nil {
		return 0, 0, errFormat
	}
	if math.Abs(v) > 1e15 {
		return 0, 0, errField
	}
	r.rest = s[i:]
	whole := math.Trunc(v)
	return int64(whole), v - whole, nil
}

// dateUnit adds a number before T; done says that the alternative form ended the date.
func (r *isoReader) dateUnit(u byte, n int64, f float64, width int, first bool) (done bool, err error) {
	z := r.sum
	switch u {
	case 'Y':
		return false, z.add(unitYear, n, f)
	case 'M':
		return false, z.add(unitMonth, n, f)
	case 'W':
		return false, z.add(unitWeek, n, f)
	case 'D':
		return false, z.add(unitDay, n, f)
	case 'T', 0:
		if width == 8 && first {
			if err := z.addAll(unitYear, n/10000, unitMonth, n/100%100, unitDay, n%100); err != nil {
				return true, err
			}
			return true, z.add(unitDay, 0, f)
		}
	case '-':
	default:
		return false, errFormat
	}
	if !first {
		return false, errFormat
	}
	if err := z.add(unitYear, n, f); err != nil || u != '-' {
		return true, err
	}
	return true, r.alternative('-', 'T', unitMonth, unitDay)
}

// alternative reads the two fields after the first of the extended alternative form, or one.
func (r *isoReader) alternative(sep, end byte, units ...unit) error {
	for i, u := range units {
		n, f, err := r.number()
		if err != nil {
			return err
		}
		if err := r.sum.add(u, n, f); err != nil {
			return err
		}
		switch c := peek(r.rest, 0); {
		case c == 0:
			return nil
		case c == end && end != 0:
			r.rest = r.rest[1:]
			return nil
		case c != sep || i == len(units)-1:
			return errFormat
		}
		r.rest = r.rest[1:]
	}
	return nil
}

// clockUnit adds a number behind T.
func (r *isoReader) clockUnit(u byte, n int64, f float64, width int, first bool) (done bool, err error) {
	z := r.sum
	switch u {
	case 'H':
		return false, z.add(unitHour, n, f)
	case 'M':
		return false, z.add(unitMinute, n, f)
	case 'S':
		return false, z.add(unitSecond, n, f)
	case 0:
		if width == 6 && first {
			if err := z.addAll(unitHour, n/10000, unitMinute, n/100%100, unitSecond, n%100); err != nil {
				return true, err
			}
			return true, z.add(unitMicrosecond, 0, f) // PostgreSQL takes the second's fraction for a microsecond's
		}
	case ':':
	default:
		return false, errFormat
	}
	if !first {
		return false, errFormat
	}
	if err := z.add(unitHour, n, f); err != nil || u == 0 {
		return true, err
	}
	return true, r.alternative(':', 0, unitMinute, unitSecond)
}

func (z *intervalSum) addAll(u1 unit, n1 int64, u2 unit, n2 int64, u3 unit, n3 int64) error {
	if err := z.add(u1, n1, 0); err != nil {
		return err
	}
	if err := z.add(u2, n2, 0); err != nil {
		return err
	}
	return z.add(u3, n3, 0)
}
