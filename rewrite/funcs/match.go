package funcs

import (
	"strings"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// matching has LIKE of name and char(n), ILIKE, regular expressions of constant patterns, and the functions that make patterns of
// LIKE ... ESCAPE and SIMILAR TO.
func matching() []*Func {
	var out []*Func
	for _, t := range []sqltype.OID{sqltype.OIDName, sqltype.OIDBPChar} {
		out = append(out, liked("~~", t))
	}
	for _, t := range []sqltype.OID{text, sqltype.OIDName, sqltype.OIDBPChar} {
		out = append(out, liked("~~*", t), matched("~", t), matched("~*", t))
	}
	constant := "it makes a pattern, which must be a constant"
	return append(out, regexpLike(2), regexpLike(3),
		row(Function, "like_escape", oids(text, text), text, false, forms{why: constant}).eval(of2(likeEscape)),
		row(Function, "similar_to_escape", oids(text, text), text, false, forms{why: constant}).eval(of2(similarToRegex)),
		row(Function, "similar_to_escape", oids(text), text, false, forms{why: constant}).eval(of1(func(s string) (sqltype.Value, error) { return similarToRegex(s, `\`) })))
}

const paddedThere = "DuckDB has no char(n): whether its blanks are stored is not known"

// liked is LIKE or ILIKE. A pattern that ends in a lone backslash gives NULL. ILIKE compares lower cases, as PostgreSQL does in
// databases of encoding UTF8.
func liked(op string, t sqltype.OID) *Func {
	word, fold := "LIKE", func(s string) string { return s }
	if op == "~~*" {
		word, fold = "ILIKE", strings.ToLower
	}
	fm := forms{own: "{x} " + word + " {y}", pg: "CASE WHEN " + evenBackslashes("{y}") + " THEN {x} " + word + " {y} END", why: paddedThere}
	f := row(Operator, op, oids(t, text), yes, true, fm)
	f.Short = []int{1}
	if t != sqltype.OIDBPChar {
		duck := func(x []string, _ []sqltype.Type, _ sqltype.Type) string {
			x = []string{x[0], x[1]}
			if op == "~~*" {
				x = []string{"lower(" + x[0] + ")", "lower(" + x[1] + ")"}
			}
			return "(CASE WHEN " + duckFill(evenBackslashes("{y}"), x) + " THEN " + duckLike(x) + " END)"
		}
		f.Refused, f.TotalForm[DuckDB], f.RaisingForm[DuckDB] = nil, duck, duck
	}
	f.Slow = slowLike(fold)
	return f.eval(of2(func(s, p string) (sqltype.Value, error) { return matchLike(never, []rune(fold(s)), []rune(fold(p))) }))
}

// slowLike is LIKE over texts of which a case is compared.
func slowLike(fold func(string) string) func(func() error, []sqltype.Value, []sqltype.Type, sqltype.Type) (sqltype.Value, error) {
	return func(stop func() error, v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return matchLike(stop, []rune(fold(v[0].(string))), []rune(fold(v[1].(string))))
	}
}

func never() error { return nil }

// stoppable is a text that ends where the statement does.
type stoppable struct {
	text *strings.Reader
	stop func() error
	read int
	err  error
}

// stopEvery is how many characters pass between two looks at whether the statement goes on.
const stopEvery = 1024

func (t *stoppable) ReadRune() (rune, int, error) {
	if t.read++; t.read%stopEvery == 0 {
		if t.err = t.stop(); t.err != nil {
			return 0, 0, t.err
		}
	}
	return t.text.ReadRune()
}

func evenBackslashes(y string) string {
	return "(length(" + y + ") - length(rtrim(" + y + `, '\'))) % 2 = 0`
}

// matched is ~ or ~* with a constant pattern.
func matched(op string, t sqltype.OID) *Func {
	f := &Func{Name: op, Kind: Operator, Args: oids(t, text), Result: yes, Const: []int{1}}
	f.With = func(c Constants) (*Func, error) { return matchRow(f, c.Values[0].(string), op, "{x} "+op+" ") }
	return f
}

func matchRow(f *Func, src, op, own string) (*Func, error) {
	re2, re, err := translatePattern(src, op == "~*")
	if err != nil {
		return nil, err
	}
	// PostgreSQL compiles a pattern with its first row, and what it refused then would tell that there is one. So a constant text is matched first, when
	// the statement is planned: a pattern that is refused is refused with rows or without.
	//
	// Over a group that captures, DuckDB runs its automaton; from a pattern of letters, . and .* it would make its own LIKE, which tries every way to place each %,
	// and reads $ before a letter as nothing.
	mine := op + " " + quoted(src)
	fm := forms{pg: "CASE WHEN (CAST('' AS text) " + mine + ") IS NOT NULL THEN {x} " + mine + " END", own: "{x} " + mine,
		duck: "regexp_matches({x}, " + quoted("("+re2+")") + ")"}
	if f.Kind == Function {
		fm.own = own
	}
	if f.Args[0] == sqltype.OIDBPChar {
		fm.duck, fm.why = "", paddedThere
	}
	g := row(f.Kind, f.Name, f.Args, yes, false, fm) // not Safe: over private rows the guarded form is printed everywhere
	g.Const = f.Const
	g.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return re.MatchString(v[0].(string)), nil
	}
	g.Slow = func(stop func() error, v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		t := &stoppable{text: strings.NewReader(v[0].(string)), stop: stop}
		matches := re.MatchReader(t)
		return matches, t.err
	}
	return g, nil
}

// regexpLike is regexp_like with or without flags.
func regexpLike(n int) *Func {
	f := &Func{Name: "regexp_like", Kind: Function, Args: oids(text, text, text)[:n], Result: yes, Const: []int{1, 2}[:n-1]}
	f.With = func(c Constants) (*Func, error) {
		src, op := c.Values[0].(string), "~"
		own := "regexp_like({x}, " + quoted(src)
		if n == 3 {
			flags := c.Values[1].(string)
			for _, r := range flags {
				switch r {
				case 'i':
					op = "~*"
				case 'c':
					op = "~"
				default:
					return nil, sqlerr.New(sqlerr.Unsupported, "the regular expression option \"%c\" is not supported", r)
				}
			}
			own += ", " + quoted(flags)
		}
		return matchRow(f, src, op, own+")")
	}
	return f
}

// likeEscape writes a LIKE pattern with its escape character as one with the backslash (like_match.c, do_like_escape).
func likeEscape(p, e string) (sqltype.Value, error) {
	switch utf8.RuneCountInString(e) {
	case 0:
		return strings.ReplaceAll(p, `\`, `\\`), nil
	case 1:
	default:
		return nil, invalidEscapeString()
	}
	if e == `\` {
		return p, nil
	}
	var b strings.Builder
	after := false
	for _, c := range p {
		switch {
		case string(c) == e && !after:
			b.WriteByte('\\')
			after = true
			continue
		case c == '\\' && after:
			b.WriteString(`\`)
		case c == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteRune(c)
		}
		after = false
	}
	return b.String(), nil
}

func invalidEscapeString() error {
	return sqlerr.New(sqlerr.InvalidEscape, "invalid escape string").WithHint("Escape string must be empty or one character.")
}

// similarToRegex writes a SIMILAR TO pattern as a regular expression (regexp.c, similar_escape_internal).
func similarToRegex(p, e string) (sqltype.Value, error) {
	if utf8.RuneCountInString(e) > 1 {
		return nil, invalidEscapeString()
	}
	var b strings.Builder
	b.WriteString("^(?:")
	after, inSet, quotes := false, false, 0
	for _, c := range p {
		switch {
		case after && c == '"' && !inSet:
			if quotes++; quotes > 2 {
				return nil, sqlerr.New(sqlerr.InvalidRegex, "SQL regular expression may not contain more than two escape-double-quote separators")
			}
			b.WriteString([]string{"){1,1}?(", "){1,1}(?:"}[quotes-1])
			after = false
		case after:
			b.WriteByte('\\')
			b.WriteRune(c)
			after = false
		case string(c) == e:
			after = true
		case inSet:
			if c == '\\' {
				b.WriteByte('\\')
			}
			b.WriteRune(c)
			inSet = c != ']'
		case c == '[':
			b.WriteRune(c)
			inSet = true
		case c == '%':
			b.WriteString(".*")
		case c == '_':
			b.WriteByte('.')
		case c == '(':
			b.WriteString("(?:")
		case strings.ContainsRune(`\.^$`, c):
			b.WriteByte('\\')
			b.WriteRune(c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteString(")$")
	return b.String(), nil
}

// duckLike is LIKE by DuckDB's regular expressions, which are linear in the text: its own LIKE tries every way to place each %, so
// that one person's text could keep it busy for hours. Each character of the pattern becomes its code point, % and _ their
// expressions; a backslash takes the next character as it is.
func duckLike(x []string) string {
	return "regexp_full_match(" + x[0] + ", array_to_string(list_transform(regexp_extract_all(" + x[1] + `, '\\.|.', 0, 's'), lambda t: ` +
		`CASE WHEN t = '%' THEN '.*' WHEN t = '_' THEN '.' ELSE '\x{' || to_hex(ord(right(t, 1))) || '}' END), ''), 's')`
}

// matchLike goes back to the last % alone, in time length of text times length of pattern. Like PostgreSQL it raises for a
// lone backslash at the pattern's end only where the match gets there.
func matchLike(stop func() error, s, p []rune) (sqltype.Value, error) {
	i, j, star, mark := 0, 0, -1, 0
	for steps := 1; i < len(s); steps++ {
		if steps%(64*stopEvery) == 0 {
			if err := stop(); err != nil {
				return nil, err
			}
		}
		switch {
		case j < len(p) && p[j] == '%':
			star, mark = j, i
			j++
			continue
		case j < len(p) && p[j] == '\\':
			if j+1 == len(p) {
				return nil, sqlerr.New(sqlerr.InvalidEscape, "LIKE pattern must not end with escape character")
			}
			if p[j+1] == s[i] {
				i, j = i+1, j+2
				continue
			}
		case j < len(p) && (p[j] == '_' || p[j] == s[i]):
			i, j = i+1, j+1
			continue
		}
		if star < 0 {
			return false, nil
		}
		mark++
		i, j = mark, star+1
	}
	for j < len(p) && p[j] == '%' {
		j++
	}
	return j == len(p), nil
}
