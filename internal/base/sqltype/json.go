package sqltype

import (
	"strings"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// maxJSONDepth bounds nesting; PostgreSQL's own bound is the depth of its stack, some thousands.
const maxJSONDepth = 5000

// jsonReader reads JSON by PostgreSQL's grammar. With values unset it only checks it, as the type json does.
type jsonReader struct {
	s      string
	pos    int
	depth  int
	values bool
}

// parseJSON checks a json, which keeps its text.
func parseJSON(s string) (Value, error) {
	r := &jsonReader{s: s}
	if _, err := r.document(); err != nil {
		return nil, err
	}
	return JSON(s), nil
}

func (r *jsonReader) document() (jsonNode, error) {
	n, err := r.value()
	if err != nil {
		return n, err
	}
	if r.skip(); r.pos < len(r.s) {
		return n, r.unexpected("end of input")
	}
	return n, nil
}

func jsonError(format string, args ...any) error {
	return sqlerr.New(sqlerr.InvalidText, "invalid input syntax for type json").WithDetail(format, args...)
}

// skip passes over blanks.
func (r *jsonReader) skip() {
	r.pos = span(r.s, r.pos, func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' })
}

// token is the end of the token at pos: one sign, a string, or a run of letters and the like.
func (r *jsonReader) token() string {
	if r.pos >= len(r.s) {
		return ""
	}
	if strings.IndexByte("{}[],:", r.s[r.pos]) >= 0 {
		return r.s[r.pos : r.pos+1]
	}
	end := span(r.s, r.pos, func(c byte) bool { return isAlnum(c) || c == '_' || c >= utf8.RuneSelf })
	if end == r.pos {
		end++
	}
	return r.s[r.pos:end]
}

// unexpected is the error of a token where another was due. A token that is none of JSON's is named as such.
func (r *jsonReader) unexpected(want string) error {
	if r.pos >= len(r.s) {
		return jsonError("The input string ended unexpectedly.")
	}
	at := *r
	tok, err := at.lex()
	if err != nil {
		return err
	}
	return jsonError("Expected %s, but found \"%s\".", want, tok)
}

// lex passes one token, which must be one of JSON's.
func (r *jsonReader) lex() (string, error) {
	start := r.pos
	switch c := r.s[r.pos]; {
	case strings.IndexByte("{}[],:", c) >= 0:
		r.pos++
	case c == '"':
		if _, err := r.str(); err != nil {
			return "", err
		}
	case c == '-' || isDigit(c):
		if _, err := r.number(); err != nil {
			return "", err
		}
	default:
		tok := r.token()
		r.pos += len(tok)
		if tok != "true" && tok != "false" && tok != "null" {
			return "", jsonError("Token \"%s\" is invalid.", tok)
		}
	}
	return r.s[start:r.pos], nil
}

func (r *jsonReader) value() (n jsonNode, err error) {
	if r.skip(); r.pos >= len(r.s) {
		return n, jsonError("The input string ended unexpectedly.")
	}
	switch c := r.s[r.pos]; {
	case c == '{' || c == '[':
		if r.depth++; r.depth > maxJSONDepth {
			return n, sqlerr.New(sqlerr.TooComplex, "stack depth limit exceeded")
		}
		defer func() { r.depth-- }()
		if c == '{' {
			return r.object()
		}
		return r.array()
	case c == '"':
		n.kind = jsonString
		n.text, err = r.str()
		return n, err
	case c == '-' || isDigit(c):
		text, err := r.number()
		if err != nil || !r.values {
			return n, err
		}
		return jsonNumberNode(text)
	case isAlpha(c) || c == '_' || c >= utf8.RuneSelf:
		tok, err := r.lex()
		switch tok {
		case "true":
			return jsonNode{kind: jsonBool, truth: true}, err
		case "false":
			return jsonNode{kind: jsonBool}, err
		}
		return n, err
	}
	return n, r.unexpected("JSON value")
}

// expect passes a sign.
func (r *jsonReader) next() byte {
	r.skip()
	return peek(r.s, r.pos)
}

func (r *jsonReader) array() (n jsonNode, err error) {
	n.kind = jsonArray
	r.pos++
	if r.next() == ']' {
		r.pos++
		return n, nil
	}
	for {
		elem, err := r.value()
		if err != nil {
			return n, err
		}
		if r.values {
			n.elems = append(n.elems, elem)
		}
		switch r.next() {
		case ',':
			r.pos++
		case ']':
			r.pos++
			return n, nil
		default:
			return n, r.unexpected("\",\" or \"]\"")
		}
	}
}

func (r *jsonReader) object() (n jsonNode, err error) {
	n.kind = jsonObject
	r.pos++
	if r.next() == '}' {
		r.pos++
		return n, nil
	}
	for first := true; ; first = false {
		if r.next() != '"' {
			if first {
				return n, r.unexpected("string or \"}\"")
			}
			return n, r.unexpected("string")
		}
		key, err := r.str()
		if err != nil {
			return n, err
		}
		if r.next() != ':' {
			return n, r.unexpected("\":\"")
		}
		r.pos++
		val, err := r.value()
		if err != nil {
			return n, err
		}
		if r.values {
			n.keys, n.elems = append(n.keys, key), append(n.elems, val)
		}
		switch r.next() {
		case ',':
			r.pos++
		case '}':
			r.pos++
			return n.unique(), nil
		default:
			return n, r.unexpected("\",\" or \"}\"")
		}
	}
}

// number passes a number; what runs on behind it makes it none.
func (r *jsonReader) number() (string, error) {
	start, i := r.pos, r.pos
	bad := false
	if peek(r.s, i) == '-' {
		i++
	}
	switch c := peek(r.s, i); {
	case c == '0':
		i++
	case isDigit(c):
		i = span(r.s, i, isDigit)
	default:
		bad = true
	}
	if peek(r.s, i) == '.' {
		end := span(r.s, i+1, isDigit)
		bad = bad || end == i+1
		i = end
	}
	if c := peek(r.s, i); c == 'e' || c == 'E' {
		i++
		if c := peek(r.s, i); c == '+' || c == '-' {
			i++
		}
		end := span(r.s, i, isDigit)
		bad = bad || end == i
		i = end
	}
	end := span(r.s, i, func(c byte) bool { return isAlnum(c) || c == '_' || c >= utf8.RuneSelf })
	if r.pos = end; bad || end > i {
		return "", jsonError("Token \"%s\" is invalid.", r.s[start:end])
	}
	return r.s[start:end], nil
}

func errNoHigh() error { return jsonError("Unicode low surrogate must follow a high surrogate.") }

// str reads a string and, with values, undoes its escapes.
func (r *jsonReader) str() (string, error) {
	start := r.pos
	r.pos++
	var out strings.Builder
	high := rune(0) // the first half of a pair
	for {
		if r.pos >= len(r.s) {
			return "", jsonError("Token \"%s\" is invalid.", r.s[start:])
		}
		c := r.s[r.pos]
		if c < 0x20 {
			return "", jsonError("Character with value 0x%02x must be escaped.", c)
		}
		if c == '\\' && peek(r.s, r.pos+1) == 'u' {
			x, err := r.hex(start)
			if err != nil {
				return "", err
			}
			if !r.values {
				continue
			}
			switch {
			case x >= 0xd800 && x < 0xdc00:
				if high != 0 {
					return "", jsonError("Unicode high surrogate must not follow a high surrogate.")
				}
				high = x
				continue
			case x >= 0xdc00 && x < 0xe000:
				if high == 0 {
					return "", errNoHigh()
				}
				x, high = 0x10000+(high-0xd800)<<10+(x-0xdc00), 0
			case high != 0:
				return "", errNoHigh()
			case x == 0:
				return "", sqlerr.New(sqlerr.UntranslatableChar, "unsupported Unicode escape sequence").
					WithDetail("\\u0000 cannot be converted to text.")
			}
			out.WriteRune(x)
			continue
		}
		if high != 0 {
			return "", errNoHigh()
		}
		r.pos++
		switch c {
		case '"':
			return out.String(), nil
		case '\\':
			if r.pos >= len(r.s) {
				continue // ends as a token
			}
			e := peek(r.s, r.pos)
			i := strings.IndexByte(`"\/bfnrt`, e)
			if i < 0 {
				_, size := utf8.DecodeRuneInString(r.s[r.pos:])
				return "", jsonError("Escape sequence \"\\%s\" is invalid.", r.s[r.pos:r.pos+size])
			}
			r.pos++
			out.WriteByte("\"\\/\b\f\n\r\t"[i])
		default:
			out.WriteByte(c)
		}
	}
}

// hex reads \uXXXX of the string that began at start.
func (r *jsonReader) hex(start int) (rune, error) {
	var x rune
	for i := r.pos + 2; i < r.pos+6; i++ {
		switch c := peek(r.s, i); {
		case i >= len(r.s):
			return 0, jsonError("Token \"%s\" is invalid.", r.s[start:])
		case isDigit(c):
			x = x<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			x = x<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, jsonError("\"\\u\" must be followed by four hexadecimal digits.")
		}
	}
	r.pos += 6
	return x, nil
}
