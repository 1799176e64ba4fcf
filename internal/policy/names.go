package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is PostgreSQL's limit on identifiers, in bytes.
const maxName = 63

// qualified joins the parts of a name that are not empty.
func qualified(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, quoteName(p))
		}
	}
	return strings.Join(out, ".")
}

func quoteName(s string) string {
	if plainName(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func plainName(s string) bool {
	for i, c := range s {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c) && c != '$') {
			return false
		}
	}
	return s != ""
}

// names scans the names of a reference. Names are exact: they are not folded to lower case; what is not letters, digits, _ and $
// is written in double quotes.
type names struct{ rest string }

func (s *names) blank() { s.rest = strings.TrimLeft(s.rest, " \t") }

// accept takes a piece of punctuation.
func (s *names) accept(p string) bool {
	s.blank()
	after, ok := strings.CutPrefix(s.rest, p)
	if ok {
		s.rest = after
	}
	return ok
}

func (s *names) name() (string, error) {
	s.blank()
	if after, ok := strings.CutPrefix(s.rest, `"`); ok {
		return s.quotedName(after)
	}
	n := 0
	for n < len(s.rest) {
		c, size := utf8.DecodeRuneInString(s.rest[n:])
		if !plainName("_" + string(c)) {
			break
		}
		n += size
	}
	name := s.rest[:n]
	if !plainName(name) {
		return "", fmt.Errorf("a name was expected before %q", clip(s.rest))
	}
	s.rest = s.rest[n:]
	return name, tooLong(name)
}

func (s *names) quotedName(rest string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] != '"':
			b.WriteByte(rest[i])
		case strings.HasPrefix(rest[i+1:], `"`):
			b.WriteByte('"')
			i++
		case b.Len() == 0:
			return "", fmt.Errorf(`"" is not a name`)
		default:
			s.rest = rest[i+1:]
			return b.String(), tooLong(b.String())
		}
	}
	return "", fmt.Errorf("a name's closing quote is missing")
}

func tooLong(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("%q is longer than %d bytes", clip(name), maxName)
	}
	return nil
}

// dotted reads a.b.c.
func (s *names) dotted(most int) ([]string, error) {
	var parts []string
	for {
		n, err := s.name()
		if err != nil {
			return nil, err
		}
		parts = append(parts, n)
		if len(parts) > most {
			return nil, fmt.Errorf("a name with %d parts", len(parts))
		}
		if !s.accept(".") {
			return parts, nil
		}
		s.blank()
		if strings.HasPrefix(s.rest, "(") {
			return parts, nil
		}
	}
}

func (s *names) end() error {
	s.blank()
	if s.rest != "" {
		return fmt.Errorf("%q is left over", clip(s.rest))
	}
	return nil
}

// parens reads (a, b).
func (s *names) parens() ([]string, error) {
	var out []string
	for {
		n, err := s.name()
		if err != nil {
			return nil, err
		}
		out = append(out, n)
		if s.accept(")") {
			return out, nil
		}
		if !s.accept(",") {
			return nil, fmt.Errorf("a comma or ) is missing")
		}
	}
}

// pathRef is a written unit path. Of coalesce(a, b) -> t.c the others are b, and of coalesce(a, b) alone there is no table.
type pathRef struct {
	columns         []string
	fallbackColumns []string
	schema, table   string
	parentColumns   []string
}

// coalesce takes the word and its parenthesis; a column may have that name.
func (s *names) coalesce() bool {
	s.blank()
	after, ok := strings.CutPrefix(strings.ToLower(s.rest), "coalesce")
	if ok = ok && strings.HasPrefix(strings.TrimLeft(after, " \t"), "("); ok {
		s.rest = strings.TrimLeft(s.rest[len("coalesce"):], " \t")[1:]
	}
	return ok
}

// parsePath reads "a -> t.b", "a -> s.t.b" or "(a, b) -> t.(c, d)", each with coalesce(..., x, y) around what leads, or "coalesce(a, x)" alone.
func parsePath(text string) (p pathRef, err error) {
	s := &names{text}
	coalesce := s.coalesce()
	if s.accept("(") {
		p.columns, err = s.parens()
	} else {
		var n string
		n, err = s.name()
		p.columns = []string{n}
	}
	if err == nil && coalesce {
		if !s.accept(",") {
			return p, fmt.Errorf("coalesce has one column: a comma and another are missing")
		}
		p.fallbackColumns, err = s.parens()
	}
	if err != nil {
		return p, err
	}
	if coalesce && s.end() == nil {
		return p, distinct(append(slices.Clone(p.columns), p.fallbackColumns...))
	}
	if !s.accept("->") {
		return p, fmt.Errorf("an arrow -> is missing, or double quotes around a name that has spaces")
	}
	parts, err := s.dotted(3)
	if err != nil {
		return p, err
	}
	if s.accept("(") {
		p.parentColumns, err = s.parens()
	} else {
		p.parentColumns, parts = parts[len(parts)-1:], parts[:len(parts)-1]
	}
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return p, err
	case len(parts) == 1:
		p.table = parts[0]
	case len(parts) == 2:
		p.schema, p.table = parts[0], parts[1]
	default:
		return p, fmt.Errorf("table.column is expected after the arrow")
	}
	if len(p.columns) != len(p.parentColumns) {
		return p, fmt.Errorf("%d columns lead to %d columns", len(p.columns), len(p.parentColumns))
	}
	if err := distinct(append(slices.Clone(p.columns), p.fallbackColumns...)); err != nil {
		return p, err
	}
	return p, distinct(p.parentColumns)
}

func distinct(list []string) error {
	for i, c := range list {
		if slices.Contains(list[:i], c) {
			return fmt.Errorf("%s is given twice", c)
		}
	}
	return nil
}

// parseDotted reads a name of at most most parts and nothing else.
func parseDotted(text string, most int) ([]string, error) {
	s := &names{text}
	parts, err := s.dotted(most)
	if err == nil {
		err = s.end()
	}
	return parts, err
}

// clip keeps messages short.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return fmt.Sprintf("%s...", string(r[:60]))
	}
	return s
}

var (
	datasetName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)
	analystName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.@-]{0,62}$`)
	settingName = regexp.MustCompile(`^[a-z_][a-z0-9_.]{0,62}$`)
)

// auto leaves a bound to each statement, as if its key were left out.
const auto = "auto"
