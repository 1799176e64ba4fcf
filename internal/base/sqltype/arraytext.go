package sqltype

import (
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// maxDims is MAXDIM.
const maxDims = 6

func (s *Settings) appendArray(dst []byte, a *Array, elem Type) ([]byte, error) {
	if len(a.Dims) == 0 {
		return append(dst, "{}"...), nil
	}
	bounds := false
	for _, l := range a.Lower {
		bounds = bounds || l != 1
	}
	if bounds {
		for i, l := range a.Lower {
			dst = append(strconv.AppendInt(append(dst, '['), int64(l), 10), ':')
			dst = append(strconv.AppendInt(dst, int64(l)+int64(a.Dims[i])-1, 10), ']')
		}
		dst = append(dst, '=')
	}
	next := 0
	var level func(dst []byte, dim int) ([]byte, error)
	level = func(dst []byte, dim int) (_ []byte, err error) {
		dst = append(dst, '{')
		for i := range int(a.Dims[dim]) {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dim < len(a.Dims)-1 {
				dst, err = level(dst, dim+1)
			} else {
				dst, err = s.appendElement(dst, a.Values[next], elem)
				next++
			}
			if err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
	return level(dst, 0)
}

func (s *Settings) appendElement(dst []byte, v Value, elem Type) ([]byte, error) {
	if v == nil {
		return append(dst, "NULL"...), nil
	}
	start := len(dst)
	dst, err := s.appendText(dst, v, elem)
	if err != nil {
		return dst, err
	}
	text := string(dst[start:])
	if text != "" && !strings.EqualFold(text, "NULL") && !strings.ContainsAny(text, "\"\\{}, \t\n\v\f\r") {
		return dst, nil
	}
	dst = append(dst[:start], '"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"'), nil
}

// arrayReader reads an array's text form.
type arrayReader struct {
	s     string
	pos   int
	start int // of the contents, behind the bounds, while they are read
	out   *Array
	full  bool      // all dimensions are known: an innermost level was read
	raw   []*string // the elements' texts, read when the whole has its form; nil is NULL
}

// bad names the text from where its contents begin.
func (r *arrayReader) bad(format string, args ...any) error {
	return sqlerr.New(sqlerr.InvalidText, "malformed array literal: \"%s\"", r.s[r.start:]).WithDetail(format, args...)
}

func (s *Settings) parseArray(text string, t Type) (Value, error) {
	elem, _ := t.Elem()
	r := &arrayReader{s: text, out: &Array{Elem: elem.OID}}
	dims, lower, err := r.bounds()
	if err != nil {
		return nil, err
	}
	if r.skip(); peek(text, r.pos) != '{' {
		if dims != nil {
			return nil, r.bad("Array contents must start with \"{\".")
		}
		return nil, r.bad("Array value must start with \"{\" or dimension information.")
	}
	r.start = r.pos
	if err := r.level(0); err != nil {
		return nil, err
	}
	if r.skip(); r.pos < len(text) {
		return nil, r.bad("Junk after closing right brace.")
	}
	r.start = 0
	a := r.out
	if dims != nil {
		if len(dims) != len(a.Dims) {
			return nil, r.bad("Specified array dimensions do not match array contents.")
		}
		for i, n := range dims {
			if n != int64(a.Dims[i]) {
				return nil, r.bad("Specified array dimensions do not match array contents.")
			}
			if n+int64(lower[i]) > 1<<31-1 {
				return nil, sqlerr.New(sqlerr.TooLong, "array lower bound is too large: %d", lower[i])
			}
		}
		a.Lower = lower
	}
	for _, text := range r.raw {
		if text == nil {
			a.Values = append(a.Values, nil)
			continue
		}
		v, err := s.ParseText(*text, elem)
		if err != nil {
			return nil, err
		}
		a.Values = append(a.Values, v)
	}
	if len(a.Values) == 0 {
		return &Array{Elem: elem.OID}, nil
	}
	if a.Lower == nil {
		for range a.Dims {
			a.Lower = append(a.Lower, 1)
		}
	}
	return a, nil
}

func (r *arrayReader) skip() { r.pos = span(r.s, r.pos, isSpace) }

// bounds reads [l:u][n]... =
func (r *arrayReader) bounds() (dims []int64, lower []int32, err error) {
	for {
		if r.skip(); peek(r.s, r.pos) != '[' {
			break
		}
		if len(dims) >= maxDims {
			return nil, nil, tooManyDims(len(dims) + 1)
		}
		r.pos++
		low, high, err := r.bound()
		if err != nil {
			return nil, nil, err
		}
		if high < low {
			return nil, nil, sqlerr.New(sqlerr.ArraySubscript, "upper bound cannot be less than lower bound")
		}
		dims, lower = append(dims, int64(high)-int64(low)+1), append(lower, low)
	}
	if dims == nil {
		return nil, nil, nil
	}
	if peek(r.s, r.pos) != '=' {
		return nil, nil, r.bad("Missing \"=\" after array dimensions.")
	}
	r.pos++
	return dims, lower, nil
}

func tooManyDims(n int) error {
	return sqlerr.New(sqlerr.TooLong, "number of array dimensions (%d) exceeds the maximum allowed (%d)", n, maxDims)
}

func (r *arrayReader) bound() (low, high int32, err error) {
	number := func(missing string) (int32, error) {
		v, rest, ok := leadingInt(r.s[r.pos:])
		if n := len(r.s) - r.pos - len(rest); n == 0 {
			return 0, r.bad("%s", missing)
		} else if !ok {
			return 0, sqlerr.New(sqlerr.NumericRange, "array bound is out of integer range")
		} else {
			r.pos += n
		}
		return int32(v), nil
	}
	if low, err = number("\"[\" must introduce explicitly-specified array dimensions."); err != nil {
		return 0, 0, err
	}
	if peek(r.s, r.pos) == ':' {
		r.pos++
		if high, err = number("Missing array dimension value."); err != nil {
			return 0, 0, err
		}
	} else {
		low, high = 1, low
	}
	if peek(r.s, r.pos) != ']' {
		return 0, 0, r.bad("Missing \"]\" after array dimensions.")
	}
	r.pos++
	return low, high, nil
}

// level reads {...}. The first time that a level ends says how many elements all of its sisters have.
func (r *arrayReader) level(dim int) error {
	if dim >= maxDims {
		return tooManyDims(dim + 1)
	}
	if len(r.out.Dims) <= dim {
		if r.full {
			return r.bad("Multidimensional arrays must have sub-arrays with matching dimensions.")
		}
		r.out.Dims = append(r.out.Dims, -1)
	}
	r.pos++
	n := int32(0)
	if r.skip(); peek(r.s, r.pos) == '}' {
		if dim > 0 {
			return r.bad("Unexpected \"}\" character.")
		}
		r.pos++
		return r.close(dim, 0, true)
	}
	leaf := false
	for {
		r.skip()
		var err error
		if peek(r.s, r.pos) == '{' {
			if leaf {
				return r.bad("Unexpected \"{\" character.")
			}
			err = r.level(dim + 1)
		} else {
			leaf = true
			last := dim == len(r.out.Dims)-1
			if !last && n > 0 { // behind a level
				return r.bad("Unexpected array element.")
			}
			if err = r.element(); err == nil && !last {
				return r.bad("Multidimensional arrays must have sub-arrays with matching dimensions.")
			}
		}
		if err != nil {
			return err
		}
		n++
		r.skip()
		switch c := peek(r.s, r.pos); c {
		case ',':
			r.pos++
		case '}':
			r.pos++
			return r.close(dim, n, leaf)
		case 0:
			return r.bad("Unexpected end of input.")
		case '{':
			return r.bad("Unexpected \"{\" character.")
		default:
			return r.bad("Unexpected array element.")
		}
	}
}

func (r *arrayReader) close(dim int, n int32, innermost bool) error {
	if have := r.out.Dims[dim]; have >= 0 && have != n {
		return r.bad("Multidimensional arrays must have sub-arrays with matching dimensions.")
	}
	r.out.Dims[dim] = n
	r.full = r.full || innermost
	return nil
}

// element reads one element: quoted, or up to the next delimiter.
func (r *arrayReader) element() error {
	quoted := peek(r.s, r.pos) == '"'
	var text strings.Builder
	if quoted {
		r.pos++
		for ; peek(r.s, r.pos) != '"'; r.pos++ {
			if r.pos < len(r.s) && r.s[r.pos] == '\\' {
				r.pos++
			}
			if r.pos >= len(r.s) {
				return r.bad("Unexpected end of input.")
			}
			text.WriteByte(r.s[r.pos])
		}
		r.pos++
	} else {
		keep := 0 // what stands behind an escape is no trailing blank
		for ; strings.IndexByte(",}", peek(r.s, r.pos)) < 0; r.pos++ {
			switch c := peek(r.s, r.pos); {
			case r.pos >= len(r.s):
				return r.bad("Unexpected end of input.")
			case c == '{':
				return r.bad("Unexpected \"{\" character.")
			case c == '"':
				return r.bad("Unexpected array element.")
			case c == '\\':
				if r.pos++; r.pos >= len(r.s) {
					return r.bad("Unexpected end of input.")
				}
				quoted = true
				text.WriteByte(r.s[r.pos])
				keep = text.Len()
				continue
			}
			text.WriteByte(r.s[r.pos])
		}
		t := text.String()
		t = t[:keep] + strings.TrimRight(t[keep:], space)
		text.Reset()
		text.WriteString(t)
		if t == "" {
			return r.bad("Unexpected \"%c\" character.", r.s[r.pos])
		}
		if !quoted && strings.EqualFold(t, "NULL") {
			r.raw = append(r.raw, nil)
			return nil
		}
	}
	whole := text.String()
	r.raw = append(r.raw, &whole)
	return nil
}

func (s *Settings) appendVector(dst []byte, a *Array) []byte {
	for i, v := range a.Values {
		if i > 0 {
			dst = append(dst, ' ')
		}
		if n, ok := v.(int64); ok {
			dst = strconv.AppendInt(dst, n, 10)
		}
	}
	return dst
}

func (s *Settings) parseVector(text string, t Type) (Value, error) {
	elem, _ := t.Elem()
	words := strings.Fields(text)
	if len(words) == 0 {
		return &Array{Elem: elem.OID}, nil
	}
	a := &Array{Elem: elem.OID, Dims: []int32{int32(len(words))}, Lower: []int32{0}} //nolint:gosec // G115: words of one text
	for _, w := range words {
		v, err := s.ParseText(w, elem)
		if err != nil {
			return nil, err
		}
		a.Values = append(a.Values, v)
	}
	return a, nil
}
