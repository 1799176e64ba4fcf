package sqltype

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// nameLen is NAMEDATALEN - 1.
const nameLen = 63

// FormatText is the value's text form with PostgreSQL's default settings (DateStyle ISO, TimeZone UTC); NULL is "". A value that
// is not of the type gives "": callers that can't be sure use Encode.
func FormatText(v Value, t Type) string { return defaults.FormatText(v, t) }

// FormatText is FormatText with the session's settings.
func (s *Settings) FormatText(v Value, t Type) string {
	if x, ok := v.(string); ok && t.isText() { // a long one is not copied
		return x
	}
	b, err := s.appendText(nil, v, t)
	if err != nil {
		return ""
	}
	return string(b)
}

// isText: a value is its own text form.
func (t Type) isText() bool {
	return t.IsString() || t.OID == OIDChar || t.IsEnum() || metaTypes[t.OID].name != ""
}

func (s *Settings) appendText(dst []byte, v Value, t Type) ([]byte, error) {
	switch x := v.(type) {
	case bool:
		if t.OID == OIDBool {
			if x {
				return append(dst, 't'), nil
			}
			return append(dst, 'f'), nil
		}
	case int64:
		if fits(x, t) {
			return strconv.AppendInt(dst, x, 10), nil
		}
	case float64:
		switch t.OID {
		case OIDFloat4:
			return s.appendFloat(dst, x, 32), nil
		case OIDFloat8:
			return s.appendFloat(dst, x, 64), nil
		}
	case decimal.Decimal:
		if t.OID == OIDNumeric {
			return append(dst, x.StringFixed(max(0, -x.Exponent()))...), nil
		}
	case string:
		if t.isText() {
			return append(dst, x...), nil
		}
	case Named:
		if t.IsReg() {
			return appendNamed(dst, x, TextFormat), nil
		}
	case Days:
		if t.OID == OIDDate {
			return s.appendDate(dst, x), nil
		}
	case Micros:
		if t.OID == OIDTimestamp || t.OID == OIDTimestamptz {
			return s.appendTimestamp(dst, x, t.OID == OIDTimestamptz), nil
		}
	case Clock:
		if t.OID == OIDTime {
			return appendTime(dst, int64(x)), nil
		}
	case ClockTZ:
		if t.OID == OIDTimetz {
			return appendTimetz(dst, x), nil
		}
	case Interval:
		if t.OID == OIDInterval {
			return s.appendInterval(dst, x), nil
		}
	case UUID:
		if t.OID == OIDUUID {
			return appendUUID(dst, x), nil
		}
	case Bytes:
		if t.OID == OIDBytea {
			return s.appendBytea(dst, x), nil
		}
	case JSON:
		if t.OID == OIDJSON || t.OID == OIDJSONB {
			return append(dst, x...), nil
		}
	case *Array:
		if elem, ok := t.Elem(); ok && x != nil && x.Elem == elem.OID {
			if t.IsVector() {
				return s.appendVector(dst, x), nil
			}
			return s.appendArray(dst, x, elem)
		}
	}
	return dst, notOfType(v, t)
}

// ParseText reads a value's text form as PostgreSQL's input functions do, with the type's modifier and the default settings.
// numeric has no NaN and no infinity here, and what PostgreSQL reads from the clock ('now', 'today') is refused.
func ParseText(s string, t Type) (Value, error) { return defaults.ParseText(s, t) }

// ParseText is ParseText with the session's settings.
func (set *Settings) ParseText(s string, t Type) (Value, error) {
	switch t.OID {
	case OIDBool:
		return parseBool(s)
	case OIDInt2:
		return parseInt(s, t, 16)
	case OIDInt4:
		return parseInt(s, t, 32)
	case OIDInt8:
		return parseInt(s, t, 64)
	case OIDOid:
		return parseOid(s)
	case OIDFloat4:
		return parseFloat(s, t, 32)
	case OIDFloat8:
		return parseFloat(s, t, 64)
	case OIDNumeric:
		return parseNumeric(s, t)
	case OIDText, OIDUnknown:
		return s, nil
	case OIDName:
		return clipName(s), nil
	case OIDChar:
		return parseChar(s)
	case OIDVarchar, OIDBPChar:
		return limitLength(s, t)
	case OIDDate:
		return set.parseDate(s)
	case OIDTimestamp, OIDTimestamptz:
		return set.parseTimestamp(s, t)
	case OIDTime:
		return set.parseTime(s, t)
	case OIDTimetz:
		return set.parseTimetz(s, t)
	case OIDInterval:
		return set.parseInterval(s, t)
	case OIDUUID:
		return parseUUID(s)
	case OIDBytea:
		return parseBytea(s)
	case OIDJSON:
		return parseJSON(s)
	case OIDJSONB:
		return parseJSONB(s)
	}
	switch {
	case t.IsReg():
		return parseReg(s)
	case t.IsObject():
		return parseOid(s)
	case t.IsVector():
		return set.parseVector(s, t)
	case t.IsEnum():
		return parseEnum(s, t)
	case t.IsArray():
		return set.parseArray(s, t)
	case metaTypes[t.OID].name != "":
		return s, nil
	}
	return nil, notReadable(t)
}

var boolWords = map[bool][]string{true: {"true", "yes", "on"}, false: {"false", "no", "off"}}

// parseBool takes 1, 0 and every prefix of the words that means one thing ("o" does not).
func parseBool(s string) (Value, error) {
	w := strings.ToLower(strings.Trim(s, space))
	switch w {
	case "1":
		return true, nil
	case "0":
		return false, nil
	case "", "o":
		return nil, badText(s, Bool)
	}
	for val, words := range boolWords {
		for _, full := range words {
			if strings.HasPrefix(full, w) {
				return val, nil
			}
		}
	}
	return nil, badText(s, Bool)
}

func parseInt(s string, t Type, bits int) (Value, error) {
	digits := strings.Trim(s, space)
	if !isInteger(digits) {
		return nil, badText(s, t)
	}
	x, err := strconv.ParseInt(digits, 10, bits)
	if err != nil {
		return nil, sqlerr.New(sqlerr.NumericRange, "value \"%s\" is out of range for type %s", s, t)
	}
	return x, nil
}

// parseOid wraps negative numbers around, as PostgreSQL does.
func parseOid(s string) (Value, error) {
	t := Oid
	digits := strings.Trim(s, space)
	if !isInteger(digits) {
		return nil, badText(s, t)
	}
	x, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || x != int64(uint32(x)) && x != int64(int32(x)) {
		return nil, sqlerr.New(sqlerr.NumericRange, "value \"%s\" is out of range for type oid", s)
	}
	return int64(uint32(x)), nil
}

// parseReg reads an OID; what is no number is a name, which stays one until somebody with a catalog looks it up.
func parseReg(s string) (Value, error) {
	if s == "-" {
		return int64(0), nil
	}
	if digits := strings.Trim(s, space); isInteger(digits) {
		return parseOid(digits)
	}
	return s, nil
}

// parseChar keeps the first byte; bytes above 127 are no text of their own.
func parseChar(s string) (Value, error) {
	if s == "" {
		return "", nil
	}
	if s[0] >= utf8.RuneSelf {
		return nil, sqlerr.New(sqlerr.Unsupported, "values of type \"char\" above 127 are not supported")
	}
	return s[:1], nil
}

// clipName cuts a name at NAMEDATALEN - 1 bytes, between characters.
func clipName(s string) string {
	if len(s) <= nameLen {
		return s
	}
	n := nameLen
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// limitLength applies the length of varchar(n) and char(n): blanks beyond it are cut, char(n) is padded.
func limitLength(s string, t Type) (Value, error) {
	if t.Typmod < 4 {
		return s, nil
	}
	limit := int(t.Typmod - 4)
	n := utf8.RuneCountInString(s)
	if n > limit {
		cut := len(string([]rune(s)[:limit]))
		if strings.Trim(s[cut:], " ") != "" {
			return nil, sqlerr.New(sqlerr.StringTooLong, "value too long for type %s", t)
		}
		return s[:cut], nil
	}
	if t.OID == OIDBPChar {
		s += strings.Repeat(" ", limit-n)
	}
	return s, nil
}

func parseEnum(s string, t Type) (Value, error) {
	if t.enumOrder(s) < 0 {
		err := sqlerr.New(sqlerr.InvalidText, "invalid input value for enum %s: \"%s\"", t, s)
		e, _ := t.Enum()
		if near := sqlerr.NearestValue(s, e.Labels); near != "" {
			err = err.WithHint("Write '%s' for '%s'.", near, s)
		}
		return nil, err
	}
	return s, nil
}

// ValidText checks that bytes are UTF-8 without NUL; the error names the bytes as PostgreSQL does and holds their position.
func ValidText(b []byte) error {
	for i := 0; i < len(b); {
		if c := b[i]; c != 0 && c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == 0 || r == utf8.RuneError && n == 1 {
			return invalidBytes(b[i:]).At(i)
		}
		i += n
	}
	return nil
}

func invalidBytes(b []byte) *sqlerr.Error {
	n := 1
	switch c := b[0]; {
	case c >= 0xf0 && c < 0xf8:
		n = 4
	case c >= 0xe0 && c < 0xf0:
		n = 3
	case c >= 0xc0 && c < 0xe0:
		n = 2
	}
	var hex strings.Builder
	for i, c := range b[:min(n, len(b))] {
		if i > 0 {
			hex.WriteByte(' ')
		}
		hex.WriteString("0x")
		if c < 16 {
			hex.WriteByte('0')
		}
		hex.WriteString(strconv.FormatUint(uint64(c), 16))
	}
	return sqlerr.New(sqlerr.InvalidEncoding, "invalid byte sequence for encoding \"UTF8\": %s", hex.String())
}
