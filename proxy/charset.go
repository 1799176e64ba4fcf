package proxy

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
	"golang.org/x/text/encoding/charmap"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
)

// The client's character sets of one byte a character. Everything behind the wire is UTF-8: texts are brought to it where messages come in, and from
// it where they go out.

// charset is one of them, by PostgreSQL's name.
type charset struct {
	name string
	m    *charmap.Charmap
}

// charsets by their names in letters and digits.
var charsets = map[string]charset{}

func init() {
	for _, c := range []struct {
		name, more string
		m          *charmap.Charmap
	}{
		{"LATIN1", "iso88591", charmap.ISO8859_1}, {"LATIN2", "iso88592", charmap.ISO8859_2}, {"LATIN3", "iso88593", charmap.ISO8859_3},
		{"LATIN4", "iso88594", charmap.ISO8859_4}, {"LATIN5", "iso88599", charmap.ISO8859_9}, {"LATIN6", "iso885910", charmap.ISO8859_10},
		{"LATIN7", "iso885913", charmap.ISO8859_13}, {"LATIN8", "iso885914", charmap.ISO8859_14}, {"LATIN9", "iso885915", charmap.ISO8859_15},
		{"LATIN10", "iso885916", charmap.ISO8859_16}, {"ISO_8859_5", "", charmap.ISO8859_5}, {"ISO_8859_6", "", charmap.ISO8859_6},
		{"ISO_8859_7", "", charmap.ISO8859_7}, {"ISO_8859_8", "", charmap.ISO8859_8}, {"KOI8R", "koi8", charmap.KOI8R}, {"KOI8U", "", charmap.KOI8U},
		{"WIN866", "alt windows866", charmap.CodePage866}, {"WIN874", "windows874", charmap.Windows874}, {"WIN1250", "windows1250", charmap.Windows1250},
		{"WIN1251", "win windows1251", charmap.Windows1251}, {"WIN1252", "windows1252", charmap.Windows1252}, {"WIN1253", "windows1253", charmap.Windows1253},
		{"WIN1254", "windows1254", charmap.Windows1254}, {"WIN1255", "windows1255", charmap.Windows1255}, {"WIN1256", "windows1256", charmap.Windows1256},
		{"WIN1257", "windows1257", charmap.Windows1257}, {"WIN1258", "abc tcvn tcvn5712 vscii windows1258", charmap.Windows1258},
	} {
		for _, key := range append(strings.Fields(c.more), plainName(c.name)) {
			charsets[key] = charset{c.name, c.m}
		}
	}
}

// plainName is a name's letters and digits, which is what counts.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

func charsetOf(name string) *charset {
	if name == "UTF8" || name == "SQL_ASCII" {
		return nil
	}
	c := charsets[plainName(name)]
	return &c
}

// untranslatable is PostgreSQL's error for a character that the other set does not have.
func untranslatable(char []byte, from, to string) error {
	hex := make([]string, len(char))
	for i, b := range char {
		hex[i] = fmt.Sprintf("0x%02x", b)
	}
	return sqlerr.New(sqlerr.UntranslatableChar, "character with byte sequence %s in encoding \"%s\" has no equivalent in encoding \"%s\"", strings.Join(hex, " "), from, to)
}

// control: the sets of ISO 8859 have the control characters from U+0080 at their own numbers, though not all tables do.
func (c *charset) control(r rune) bool {
	return r >= 0x80 && r < 0xa0 && (strings.HasPrefix(c.name, "LATIN") || strings.HasPrefix(c.name, "ISO"))
}

// decode brings bytes of the client to UTF-8.
func (c *charset) decode(in []byte) ([]byte, error) {
	if c == nil || ascii(in) {
		return in, nil
	}
	out := make([]byte, 0, len(in)+len(in)/2)
	for i, b := range in {
		r := c.m.DecodeByte(b)
		if c.control(rune(b)) {
			r = rune(b)
		}
		if r == utf8.RuneError || r == '\u05ba' && c.name == "WIN1255" { // which PostgreSQL's table lacks
			return nil, untranslatable(in[i:i+1], c.name, "UTF8")
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}

// encode appends a text in the client's set.
func (c *charset) encode(out, text []byte) ([]byte, error) {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		b, ok := c.m.EncodeRune(r)
		if c.control(r) {
			b, ok = byte(r), true
		}
		ok = ok && (r != '\u05ba' || c.name != "WIN1255")
		if !ok {
			return out, untranslatable(text[i:i+n], "UTF8", c.name)
		}
		out = append(out, b)
		i += n
	}
	return out, nil
}

// shown is a text of ours in the client's set, with ? for what that does not have.
func (c *charset) shown(text string) string {
	if c == nil || ascii([]byte(text)) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if x, ok := c.m.EncodeRune(r); ok {
			b.WriteByte(x)
		} else {
			b.WriteByte('?')
		}
	}
	return b.String()
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// decoded brings the texts of a message to UTF-8; parameters are brought to it with their types (decodeArgs).
func (c *charset) decoded(msg pgproto3.FrontendMessage) error {
	if c == nil {
		return nil
	}
	var texts []*string
	switch m := msg.(type) {
	case *pgproto3.Query:
		texts = []*string{&m.String}
	case *pgproto3.Parse:
		texts = []*string{&m.Name, &m.Query}
	case *pgproto3.Bind:
		texts = []*string{&m.DestinationPortal, &m.PreparedStatement}
	case *pgproto3.Describe:
		texts = []*string{&m.Name}
	case *pgproto3.Execute:
		texts = []*string{&m.Portal}
	case *pgproto3.Close:
		texts = []*string{&m.Name}
	}
	for _, t := range texts {
		out, err := c.decode([]byte(*t))
		if err != nil {
			return err
		}
		*t = string(out)
	}
	return nil
}

// textual says whether a value goes over the wire as text of the client's set: in text form, or of a type that is text.
func textual(t sqltype.Type, format int16) bool {
	return format == sqltype.TextFormat || t.IsString() || t.IsEnum() || t.OID == sqltype.OIDJSON || t.OID == sqltype.OIDJSONB || t.OID == sqltype.OIDUnknown
}

// values brings a row's texts to the client's set.
func (c *charset) values(row [][]byte, columns []answer.Column, formats []int16) error {
	for i, v := range row {
		if v == nil || ascii(v) {
			continue
		}
		out, err := translated(v, columns[i].Type, formatOf(formats, i), func(text []byte) ([]byte, error) { return c.encode(make([]byte, 0, len(text)), text) })
		if err != nil {
			return err
		}
		row[i] = out
	}
	return nil
}

// translated is a value with its texts translated: the value itself, or the elements of an array in binary form.
func translated(v []byte, t sqltype.Type, format int16, translate func([]byte) ([]byte, error)) ([]byte, error) {
	if textual(t, format) {
		return translate(v)
	}
	if elem, ok := t.Elem(); ok && textual(elem, format) {
		return elements(v, translate)
	}
	return v, nil
}

// elements translates those of an array in binary form: a head of dimensions, flags and type, 8 bytes a dimension, and each element after its length. What does not have that
// form stays as it is, to be refused where it is read.
func elements(v []byte, translate func([]byte) ([]byte, error)) ([]byte, error) {
	const head = 12
	if len(v) < head {
		return v, nil
	}
	dims := int64(binary.BigEndian.Uint32(v))
	at := head + 8*dims
	if at > int64(len(v)) {
		return v, nil
	}
	out := append(make([]byte, 0, len(v)), v[:at]...)
	for rest := v[at:]; len(rest) > 0; {
		if len(rest) < 4 {
			return v, nil
		}
		n := int32(binary.BigEndian.Uint32(rest)) //nolint:gosec // -1 is NULL
		rest = rest[4:]
		if n < 0 {
			out = binary.BigEndian.AppendUint32(out, math.MaxUint32)
			continue
		}
		if int(n) > len(rest) {
			return v, nil
		}
		text, err := translate(rest[:n])
		if err != nil {
			return nil, err
		}
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(text))), text...) //nolint:gosec // as long as a message at most
		rest = rest[n:]
	}
	return out, nil
}

// formatOf is the format of column i: none given is text, one is for all.
func formatOf(formats []int16, i int) int16 {
	switch len(formats) {
	case 0:
		return sqltype.TextFormat
	case 1:
		return formats[0]
	}
	return formats[i]
}
