package sqltype

import (
	"errors"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Reading of dates, times and intervals. PostgreSQL splits the text into fields by their first characters and then finds out
// what each field is from those before it. What is read here is read as it reads it; bits of what was seen keep one part from
// being given twice, and their overlaps are PostgreSQL's.

type fieldKind int

const (
	fieldNumber  fieldKind = iota // digits, perhaps with a point
	fieldDate                     // digits and delimiters, or a name with punctuation: also America/New_York
	fieldClock                    // digits and colons
	fieldWord                     // letters
	fieldSigned                   // a sign and digits, colons, points, hyphens
	fieldSpecial                  // a sign and letters
)

type dtField struct {
	kind fieldKind
	text string // in lower case
}

// What a text cannot be. The callers name it by the type.
var (
	errFormat      = errors.New("bad format")
	errField       = errors.New("field out of range")
	errMonthDay    = errors.New("month or day out of range")
	errIntervalMax = errors.New("interval field out of range")
	errZoneOffset  = errors.New("time zone displacement out of range")
)

// datetimeError is what PostgreSQL says of a text.
func datetimeError(err error, s, typeName string) error {
	switch {
	case errors.Is(err, errFormat):
		return sqlerr.New(sqlerr.InvalidDatetime, "invalid input syntax for type %s: \"%s\"", typeName, s)
	case errors.Is(err, errField):
		return sqlerr.New(sqlerr.DatetimeRange, "date/time field value out of range: \"%s\"", s)
	case errors.Is(err, errMonthDay):
		return sqlerr.New(sqlerr.DatetimeRange, "date/time field value out of range: \"%s\"", s).
			WithHint("Perhaps you need a different \"datestyle\" setting.")
	case errors.Is(err, errIntervalMax):
		return sqlerr.New(sqlerr.IntervalRange, "interval field value out of range: \"%s\"", s)
	case errors.Is(err, errZoneOffset):
		return sqlerr.New(sqlerr.TimeZoneRange, "time zone displacement out of range: \"%s\"", s)
	}
	return err
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isAlnum(c byte) bool { return isDigit(c) || isAlpha(c) }
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isPunct(c byte) bool { return c > ' ' && c < 0x7f && !isAlnum(c) }

// maxFields is MAXDATEFIELDS.
const maxFields = 25

// splitDatetime cuts a text into fields. room is the size of PostgreSQL's work space, which longer texts do not fit.
func splitDatetime(s string, room int) ([]dtField, error) {
	var fields []dtField
	used := 0
	for i := 0; i < len(s); {
		c := s[i]
		if isSpace(c) {
			i++
			continue
		}
		if len(fields) >= maxFields {
			return nil, errFormat
		}
		f, end, err := nextField(s, i)
		if err != nil {
			return nil, err
		}
		i = end
		if f.text == "" { // punctuation
			continue
		}
		if used += len(f.text) + 1; used > room {
			return nil, errFormat
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// span is the end of the run of bytes from i on that are of a kind.
func span(s string, i int, is func(byte) bool) int {
	for i < len(s) && is(s[i]) {
		i++
	}
	return i
}

// peek is the byte at i, 0 at the end.
func peek(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

func nextField(s string, i int) (f dtField, end int, err error) {
	start := i
	switch c := s[i]; {
	case isDigit(c):
		f.kind, end = numberField(s, i)
	case c == '.':
		end = span(s, i+1, isDigit)
		f.kind = fieldNumber
	case isAlpha(c):
		f.kind, end = wordField(s, i)
	case c == '+' || c == '-':
		start = span(s, i+1, isSpace)
		switch d := peek(s, start); {
		case isDigit(d):
			end = span(s, start, func(c byte) bool { return isDigit(c) || c == ':' || c == '.' || c == '-' })
			return dtField{fieldSigned, string(c) + s[start:end]}, end, nil
		case isAlpha(d):
			end = span(s, start, isAlpha)
			return dtField{fieldSpecial, string(c) + strings.ToLower(s[start:end])}, end, nil
		}
		return f, 0, errFormat
	case isPunct(c):
		return f, i + 1, nil
	default:
		return f, 0, errFormat
	}
	f.text = strings.ToLower(s[start:end])
	return f, end, nil
}

// numberField is a field that begins with a digit.
func numberField(s string, i int) (fieldKind, int) {
	i = span(s, i, isDigit)
	switch delim := peek(s, i); delim {
	case ':':
		return fieldClock, span(s, i, func(c byte) bool { return isDigit(c) || c == ':' || c == '.' })
	case '-', '/', '.':
		i++
		if !isDigit(peek(s, i)) { // a month's name may follow
			return fieldDate, span(s, i, func(c byte) bool { return isAlnum(c) || c == delim })
		}
		i = span(s, i, isDigit)
		if peek(s, i) == delim {
			return fieldDate, span(s, i, func(c byte) bool { return isDigit(c) || c == delim })
		}
		if delim != '.' {
			return fieldDate, i
		}
	}
	return fieldNumber, i
}

// wordField is a field that begins with a letter: a word, or a date or zone with punctuation. A digit or plus after a word of
// dates begins a field of its own.
func wordField(s string, i int) (fieldKind, int) {
	start := i
	i = span(s, i, isAlpha)
	switch c := peek(s, i); {
	case c == '-' || c == '/' || c == '.':
	case c == '+' || isDigit(c):
		if _, known := dateWord(strings.ToLower(s[start:i])); known {
			return fieldWord, i
		}
	default:
		return fieldWord, i
	}
	return fieldDate, span(s, i, func(c byte) bool { return isAlnum(c) || strings.IndexByte("+-/_.:", c) >= 0 })
}

// leadingInt reads a sign and digits and gives the rest, as strtol does; ok is false beyond 32 bits.
func leadingInt(s string) (v int, rest string, ok bool) {
	wide, rest, ok := leadingInt64(s)
	return int(wide), rest, ok && wide == int64(int32(wide))
}

func leadingInt64(s string) (v int64, rest string, ok bool) {
	i, neg := 0, false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		neg = s[i] == '-'
		i++
	}
	start := i
	ok = true
	for ; i < len(s) && isDigit(s[i]); i++ {
		d := int64(s[i] - '0') // counted below zero, where there is one more
		if v < (minInt64+d)/10 {
			ok = false
			v = 0
		}
		v = v*10 - d
	}
	if i == start {
		return 0, s, true
	}
	if !neg {
		if v == minInt64 {
			return 0, s[i:], false
		}
		v = -v
	}
	return v, s[i:], ok
}

const minInt64 = -1 << 63
