package pgsyntax

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// The quoted tokens: '..', E'..', B'..', X'..', U&'..', "..", U&"..".

// str reads a string whose quote stands at open. Strings with only white space and a newline between them are one.
func (l *lexer) str(start, open int, escapes bool) error {
	var b strings.Builder
	l.pos = open + 1
	for {
		run := l.pos
		for l.pos < len(l.src) && l.src[l.pos] != '\'' && (!escapes || l.src[l.pos] != '\\') {
			l.pos++
		}
		if b.Len() == 0 && l.at(l.pos) == '\'' && l.at(l.pos+1) != '\'' { // the usual string is a piece of the text
			l.pos++
			if l.continued() == 0 {
				l.add(tString, start, l.src[run:l.pos-1])
				return nil
			}
			l.pos--
		}
		b.WriteString(l.src[run:l.pos])
		switch {
		case l.pos >= len(l.src):
			return l.errorf(start, "unterminated quoted string at or near \"%s\"", clip(l.src[start:]))
		case l.src[l.pos] == '\\':
			if err := l.escape(&b); err != nil {
				return err
			}
		case l.at(l.pos+1) == '\'':
			b.WriteByte('\'')
			l.pos += 2
		default:
			l.pos++
			if next := l.continued(); next > 0 {
				if l.gap != nil {
					l.gap(l.pos, next-1)
				}
				l.pos = next
				continue
			}
			text := b.String()
			if escapes && (strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text)) {
				return sqlerr.New(sqlerr.InvalidEncoding, "invalid byte sequence for encoding \"UTF8\"").At(start)
			}
			l.add(tString, start, text)
			return nil
		}
	}
}

// continued looks for the next part of a string: white space holding a newline, then a quote. It gives the offset behind that
// quote, or 0.
func (l *lexer) continued() int {
	if c := l.at(l.pos); !isBlank(c) && c != '-' {
		return 0
	}
	save, newline := l.pos, false
	defer func() { l.pos = save }()
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == '\n' || c == '\r':
			newline = true
			l.pos++
		case isBlank(c):
			l.pos++
		case strings.HasPrefix(l.src[l.pos:], "--"):
			l.skipLine()
		case c == '\'' && newline:
			return l.pos + 1
		default:
			return 0
		}
	}
	return 0
}

// escape reads one backslash escape of an E string.
func (l *lexer) escape(b *strings.Builder) error {
	start := l.pos
	c := l.at(l.pos + 1)
	if l.pos+1 >= len(l.src) {
		l.pos++
		return nil // unterminated: the caller says so
	}
	l.pos += 2
	switch c {
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'v':
		b.WriteByte('\v')
	case 'x':
		n := 0
		for n < 2 && isHex(l.at(l.pos+n)) {
			n++
		}
		if n == 0 {
			b.WriteByte('x')
			return nil
		}
		v, _ := strconv.ParseUint(l.src[l.pos:l.pos+n], 16, 8)
		b.WriteByte(byte(v))
		l.pos += n
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := 0
		for n < 2 && l.at(l.pos+n) >= '0' && l.at(l.pos+n) <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(l.src[l.pos-1:l.pos+n], 8, 16)
		b.WriteByte(byte(v & 0xff))
		l.pos += n
	case 'u', 'U':
		digits := 4
		if c == 'U' {
			digits = 8
		}
		r, err := l.codePoint(start, l.pos, digits)
		if err != nil {
			return err
		}
		l.pos += digits
		if utf16.IsSurrogate(r) {
			if l.at(l.pos) != '\\' || l.at(l.pos+1)|0x20 != 'u' {
				return l.errorf(start, "invalid Unicode surrogate pair")
			}
			digits = 4
			if l.at(l.pos+1) == 'U' {
				digits = 8
			}
			low, err := l.codePoint(start, l.pos+2, digits)
			if err != nil {
				return err
			}
			l.pos += 2 + digits
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return l.errorf(start, "invalid Unicode surrogate pair")
			}
		}
		b.WriteRune(r)
	default:
		b.WriteByte(c)
	}
	return nil
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// codePoint reads hexadecimal digits at p as a code point.
func (l *lexer) codePoint(start, p, digits int) (rune, error) {
	for i := 0; i < digits; i++ {
		if !isHex(l.at(p + i)) {
			return 0, l.errorf(start, "invalid Unicode escape")
		}
	}
	v, err := strconv.ParseUint(l.src[p:p+digits], 16, 32)
	if err != nil || v == 0 || v > utf8.MaxRune {
		return 0, l.errorf(start, "invalid Unicode escape value")
	}
	return rune(v), nil
}

// bits reads B'..' and X'..'.
func (l *lexer) bits(kind tokKind, what, digits string) error {
	start := l.pos
	if err := l.str(start, start+1, false); err != nil {
		return err
	}
	t := &l.toks[len(l.toks)-1]
	t.kind = kind
	for i := 0; i < len(t.text); i++ {
		if strings.IndexByte(digits, t.text[i]) < 0 {
			return l.errorf(start, "\"%s\" is not a valid %s digit", t.text[i:i+1], what)
		}
	}
	return nil
}

// quoted reads "..", whose first quote stands at open.
func (l *lexer) quoted(start, open int) (string, error) {
	var b strings.Builder
	for p := open + 1; p < len(l.src); p++ {
		if l.src[p] != '"' {
			b.WriteByte(l.src[p])
			continue
		}
		if l.at(p+1) == '"' {
			b.WriteByte('"')
			p++
			continue
		}
		l.pos = p + 1
		if b.Len() == 0 {
			return "", l.errorf(start, "zero-length delimited identifier at or near \"\"\"\"")
		}
		return b.String(), nil
	}
	return "", l.errorf(start, "unterminated quoted identifier at or near \"%s\"", clip(l.src[start:]))
}

// unicodeEscaped reads U&'..' and U&"..", with UESCAPE 'c' behind it.
func (l *lexer) unicodeEscaped(start int) error {
	kind := tString
	if l.src[start+2] == '"' {
		kind = tQuoted
		text, err := l.quoted(start, start+2)
		if err != nil {
			return err
		}
		l.add(kind, start, text)
	} else if err := l.str(start, start+2, false); err != nil {
		return err
	}
	n := len(l.toks) - 1
	esc := byte('\\')
	end := l.pos
	if err := l.skipBlank(); err != nil {
		return err
	}
	const word = "uescape"
	if p := l.pos; len(l.src)-p >= len(word) && strings.EqualFold(l.src[p:p+len(word)], word) && !isName(l.at(p+len(word))) {
		l.pos += len(word)
		if err := l.skipBlank(); err != nil {
			return err
		}
		if l.at(l.pos) != '\'' {
			return l.errorf(l.pos, "UESCAPE must be followed by a simple string literal")
		}
		if err := l.str(l.pos, l.pos, false); err != nil {
			return err
		}
		e := l.toks[len(l.toks)-1]
		l.toks = l.toks[:len(l.toks)-1]
		if len(e.text) != 1 || isHex(e.text[0]) || strings.ContainsAny(e.text, "+'\"") || isBlank(e.text[0]) {
			return l.errorf(e.pos, "invalid Unicode escape character at or near \"%s\"", clip(e.raw))
		}
		esc = e.text[0]
	} else {
		l.pos = end
	}
	text, err := l.unescape(start, l.toks[n].text, esc)
	if err != nil {
		return err
	}
	if kind == tQuoted {
		l.toks[n].cut = len(text) > nameLimit
		text = cutName(text)
	}
	l.toks[n].text, l.toks[n].raw = text, l.src[start:l.pos]
	return nil
}

// unescape replaces \XXXX and \+XXXXXX by their code points.
func (l *lexer) unescape(start int, s string, esc byte) (string, error) {
	var b strings.Builder
	sub := &lexer{src: s}
	var high rune
	for i := 0; i < len(s); {
		if s[i] != esc || i+1 < len(s) && s[i+1] == esc {
			if high != 0 {
				return "", l.errorf(start, "invalid Unicode surrogate pair")
			}
			if s[i] == esc {
				i++
			}
			b.WriteByte(s[i])
			i++
			continue
		}
		p, digits := i+1, 4
		if sub.at(p) == '+' {
			p, digits = p+1, 6
		}
		r, err := sub.codePoint(0, p, digits)
		if err != nil {
			return "", l.errorf(start, "invalid Unicode escape")
		}
		i = p + digits
		switch {
		case high != 0:
			if r = utf16.DecodeRune(high, r); r == utf8.RuneError {
				return "", l.errorf(start, "invalid Unicode surrogate pair")
			}
			high = 0
		case utf16.IsSurrogate(r):
			high = r
			continue
		}
		b.WriteRune(r)
	}
	if high != 0 {
		return "", l.errorf(start, "invalid Unicode surrogate pair")
	}
	return b.String(), nil
}
