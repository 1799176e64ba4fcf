package sqltype

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

func (s *Settings) appendBytea(dst []byte, v Bytes) []byte {
	if !s.ByteaEscape {
		return hex.AppendEncode(append(dst, `\x`...), []byte(v))
	}
	for i := range len(v) {
		switch c := v[i]; {
		case c == '\\':
			dst = append(dst, `\\`...)
		case c < 0x20 || c > 0x7e:
			dst = fmt.Appendf(dst, `\%03o`, c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// parseBytea reads both forms: \x and hexadecimal digits with blanks between pairs, or text with \\ and octal \nnn.
func parseBytea(s string) (Value, error) {
	if rest, ok := strings.CutPrefix(s, `\x`); ok {
		return parseHex(rest)
	}
	if !strings.Contains(s, `\`) {
		return Bytes(s), nil
	}
	var out strings.Builder
	octal := func(c byte, most byte) bool { return c >= '0' && c <= most }
	for i := 0; i < len(s); {
		switch {
		case s[i] != '\\':
			out.WriteByte(s[i])
			i++
		case i+3 < len(s) && octal(s[i+1], '3') && octal(s[i+2], '7') && octal(s[i+3], '7'):
			out.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 4
		case peek(s, i+1) == '\\':
			out.WriteByte('\\')
			i += 2
		default:
			return nil, sqlerr.New(sqlerr.InvalidText, "invalid input syntax for type bytea")
		}
	}
	return Bytes(out.String()), nil
}

func parseHex(s string) (Value, error) {
	digit := func(i int) (byte, error) {
		switch c := s[i]; {
		case isDigit(c):
			return c - '0', nil
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			return c | 0x20 - 'a' + 10, nil
		}
		end := i + 1
		for end < len(s) && s[end]&0xc0 == 0x80 { // the whole character
			end++
		}
		return 0, sqlerr.New(sqlerr.InvalidParam, "invalid hexadecimal digit: \"%s\"", s[i:end])
	}
	out := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); i += 2 {
		if strings.IndexByte(" \n\t\r", s[i]) >= 0 {
			i--
			continue
		}
		hi, err := digit(i)
		if err != nil {
			return nil, err
		}
		if i+1 == len(s) {
			return nil, sqlerr.New(sqlerr.InvalidParam, "invalid hexadecimal data: odd number of digits")
		}
		lo, err := digit(i + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, hi<<4|lo)
	}
	return Bytes(out), nil
}

func appendUUID(dst []byte, v UUID) []byte {
	for i, n := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, v[:n])
		copy(v[:], v[n:])
	}
	return dst
}

// parseUUID reads 32 hexadecimal digits, perhaps in braces, with a hyphen allowed behind every fourth.
func parseUUID(s string) (Value, error) {
	rest, braces := strings.CutPrefix(s, "{")
	var u UUID
	for i := range u {
		if len(rest) < 2 {
			return nil, badText(s, UUIDType)
		}
		if _, err := hex.Decode(u[i:i+1], []byte(rest[:2])); err != nil {
			return nil, badText(s, UUIDType)
		}
		if rest = rest[2:]; i%2 == 1 && i < len(u)-1 {
			rest = strings.TrimPrefix(rest, "-")
		}
	}
	if braces {
		if !strings.HasPrefix(rest, "}") {
			return nil, badText(s, UUIDType)
		}
		rest = rest[1:]
	}
	if rest != "" {
		return nil, badText(s, UUIDType)
	}
	return u, nil
}
