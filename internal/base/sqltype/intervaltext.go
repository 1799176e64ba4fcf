package sqltype

import (
	"strconv"
)

// intervalParts are an interval's fields as they are written; all of a time's have its sign.
type intervalParts struct {
	year, month, day       int64
	hour, min, sec, micros int64
}

func (v Interval) parts() intervalParts {
	return intervalParts{int64(v.Months / 12), int64(v.Months % 12), int64(v.Days),
		v.Micros / perHour, v.Micros / perMinute % 60, v.Micros / perSecond % 60, v.Micros % perSecond}
}

func (s *Settings) appendInterval(dst []byte, v Interval) []byte {
	p := v.parts()
	switch s.IntervalStyle {
	case IntervalSQL:
		return p.appendSQL(dst, v)
	case IntervalISO:
		return p.appendISO(dst, v)
	case IntervalVerbose:
		return p.appendVerbose(dst, v)
	}
	return p.appendPostgres(dst, v)
}

func magnitude(n int64) int64 { return max(n, -n) }

// appendSeconds writes seconds of at least so many digits, without a sign.
func (p intervalParts) appendSeconds(dst []byte, digits int) []byte {
	return appendFraction(appendPadded(dst, int(magnitude(p.sec)), digits), int(magnitude(p.micros)))
}

// appendHMS writes hours of at least so many digits, minutes and seconds, without a sign.
func (p intervalParts) appendHMS(dst []byte, digits int) []byte {
	dst = append(appendPadded(dst, int(magnitude(p.hour)), digits), ':')
	dst = append(appendPadded(dst, int(magnitude(p.min)), 2), ':')
	return p.appendSeconds(dst, 2)
}

func plural(n int64) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func (p intervalParts) appendPostgres(dst []byte, v Interval) []byte {
	start := len(dst)
	minus := false // the field before was negative: a positive one shows its sign
	for _, f := range []struct {
		n    int64
		name string
	}{{p.year, " year"}, {p.month, " mon"}, {p.day, " day"}} {
		if f.n == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if minus && f.n > 0 {
			dst = append(dst, '+')
		}
		dst = append(append(strconv.AppendInt(dst, f.n, 10), f.name...), plural(f.n)...)
		minus = f.n < 0
	}
	if len(dst) > start {
		if v.Micros == 0 {
			return dst
		}
		dst = append(dst, ' ')
	}
	switch {
	case v.Micros < 0:
		dst = append(dst, '-')
	case minus:
		dst = append(dst, '+')
	}
	return p.appendHMS(dst, 2)
}

func (p intervalParts) appendVerbose(dst []byte, v Interval) []byte {
	dst = append(dst, '@')
	none, ago := true, false // the first field's sign is shown by "ago", and turns the others'
	for _, f := range []struct {
		n    int64
		name string
	}{{p.year, " year"}, {p.month, " mon"}, {p.day, " day"}, {p.hour, " hour"}, {p.min, " min"}} {
		if f.n == 0 {
			continue
		}
		if none {
			ago = f.n < 0
		}
		if ago {
			f.n = -f.n
		}
		none = false
		dst = strconv.AppendInt(append(dst, ' '), f.n, 10)
		dst = append(append(dst, f.name...), plural(f.n)...)
	}
	if p.sec != 0 || p.micros != 0 {
		dst = append(dst, ' ')
		negative := v.Micros < 0
		switch {
		case none:
			ago = negative
		case ago != negative:
			dst = append(dst, '-')
		}
		none = false
		dst = append(p.appendSeconds(dst, 1), " sec"...)
		if p.micros != 0 || magnitude(p.sec) != 1 {
			dst = append(dst, 's')
		}
	}
	if none {
		dst = append(dst, " 0"...)
	}
	if ago {
		dst = append(dst, " ago"...)
	}
	return dst
}

func (p intervalParts) appendSQL(dst []byte, v Interval) []byte {
	negative := v.Months < 0 || v.Days < 0 || v.Micros < 0
	positive := v.Months > 0 || v.Days > 0 || v.Micros > 0
	clock := v.Days != 0 || v.Micros != 0
	switch {
	case !negative && !positive:
		return append(dst, '0')
	case negative && positive || v.Months != 0 && clock: // no interval of the standard
		sign := func(n int64) byte {
			if n < 0 {
				return '-'
			}
			return '+'
		}
		dst = strconv.AppendInt(append(dst, sign(int64(v.Months))), magnitude(p.year), 10)
		dst = strconv.AppendInt(append(dst, '-'), magnitude(p.month), 10)
		dst = strconv.AppendInt(append(dst, ' ', sign(p.day)), magnitude(p.day), 10)
		return p.appendHMS(append(dst, ' ', sign(v.Micros)), 1)
	}
	if negative {
		dst = append(dst, '-')
	}
	if v.Months != 0 {
		dst = strconv.AppendInt(dst, magnitude(p.year), 10)
		return strconv.AppendInt(append(dst, '-'), magnitude(p.month), 10)
	}
	if v.Days != 0 {
		dst = append(strconv.AppendInt(dst, magnitude(p.day), 10), ' ')
	}
	return p.appendHMS(dst, 1)
}

func (p intervalParts) appendISO(dst []byte, v Interval) []byte {
	if v == (Interval{}) {
		return append(dst, "PT0S"...)
	}
	part := func(n int64, unit byte) {
		if n != 0 {
			dst = append(strconv.AppendInt(dst, n, 10), unit)
		}
	}
	dst = append(dst, 'P')
	part(p.year, 'Y')
	part(p.month, 'M')
	part(p.day, 'D')
	if v.Micros != 0 {
		dst = append(dst, 'T')
	}
	part(p.hour, 'H')
	part(p.min, 'M')
	if p.sec != 0 || p.micros != 0 {
		if v.Micros < 0 {
			dst = append(dst, '-')
		}
		dst = append(p.appendSeconds(dst, 1), 'S')
	}
	return dst
}
