package pgsyntax

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// The limits of a message, all checked before the parser sees it. Memory follows the tokens: reading takes up to 1.4 KB a token at
// once, the trees keep up to 0.3 KB (TestMemory).
const (
	MaxText       = 4 << 20 // bytes of a message
	MaxTokens     = 50000   // words, literals and signs of a message; a long list of literals behind IN is one
	MaxListed     = 1 << 19 // literals in these lists: over a megabyte of them
	MaxStatements = 1000    // of a message
	MaxParams     = 65535   // the highest $n, as the wire protocol's
	MaxNest       = 200     // brackets and CASE in each other
	MaxDepth      = 10000   // operators and clauses on one path of the tree: bounds every recursion over it
)

// tokKind is the sort of a token.
type tokKind uint8

const (
	tEnd    tokKind = iota
	tWord           // an unquoted name or keyword, folded to lower case
	tQuoted         // a quoted name
	tString
	tBit
	tHex
	tParam
	tInteger
	tNumeric
	tOp    // an operator, "!=" as "<>"
	tPunct // one of ( ) [ ] , ; . : and the pairs :: := => ..
	tList  // many literals with their commas, behind "IN ("
	tPsql  // a command of psql, to the end of its line
)

// token is one token; text is what it means, raw the analyst's own spelling at pos.
type token struct {
	kind  tokKind
	bound bool // a keyword that PostgreSQL's lexer ties to the next one (NOT IN, NULLS FIRST): never a name
	cut   bool // a name that is longer than nameLimit
	pos   int
	raw   string
	text  string
	list  []Expr // of tList
}

// end is the offset behind the token.
func (t *token) end() int { return t.pos + len(t.raw) }

// ties are the pairs of keywords that PostgreSQL's lexer makes one of.
var ties = map[string]string{"not": " between in like ilike similar ", "nulls": " first last ", "with": " time ordinality ",
	"without": " time ", "format": " json "}

// is says whether the token is the keyword w (lower case, unquoted).
func (t *token) is(w string) bool { return t.kind == tWord && t.text == w }

// punct says whether the token is the punctuation p.
func (t *token) punct(p string) bool { return t.kind == tPunct && t.text == p }

// nameLimit is NAMEDATALEN - 1: PostgreSQL cuts longer names.
const nameLimit = 63

type lexer struct {
	src    string
	pos    int
	toks   []token
	script bool               // a file for psql: a backslash begins a command of it
	listed int                // literals in lists that are one token
	gap    func(from, to int) // hears of blanks and comments, of some more than once; nil: nothing does
}

// lex cuts a whole message into at most so many tokens and a tEnd behind them. The text is valid UTF-8 without NUL.
func lex(src string, most int) ([]token, error) {
	return (&lexer{src: src, toks: make([]token, 0, min(len(src)/5+8, MaxTokens+1))}).all(most)
}

func (l *lexer) all(most int) ([]token, error) {
	src := l.src
	for {
		if err := l.skipBlank(); err != nil {
			return nil, err
		}
		if l.pos >= len(src) {
			l.toks = append(l.toks, token{kind: tEnd, pos: len(src)})
			l.tie()
			return l.toks, nil
		}
		if len(l.toks) >= most {
			return nil, sqlerr.New(sqlerr.TooComplex, "message of more than %d words, literals and signs", most).At(l.pos).
				WithHint("A message has at most %d: split it, and a long list into several statements or a range (BETWEEN).", most)
		}
		if l.script && src[l.pos] == '\\' {
			at := l.pos
			line, _, _ := strings.Cut(src[at:], "\n")
			l.pos += len(strings.TrimRight(line, " \t\r"))
			l.add(tPsql, at, "")
			continue
		}
		if err := l.next(); err != nil {
			return nil, err
		}
		if err := l.list(); err != nil {
			return nil, err
		}
	}
}

func (l *lexer) tie() {
	for i := range l.toks[:len(l.toks)-1] {
		if t, next := &l.toks[i], &l.toks[i+1]; t.kind == tWord && next.kind == tWord {
			if second, ok := ties[t.text]; ok {
				t.bound = strings.Contains(second, " "+next.text+" ")
			}
		}
	}
}

func (l *lexer) errorf(pos int, format string, args ...any) error {
	return sqlerr.New(sqlerr.Syntax, format, args...).At(pos)
}

func (l *lexer) add(kind tokKind, pos int, text string) {
	l.toks = append(l.toks, token{kind: kind, pos: pos, raw: l.src[pos:l.pos], text: text})
}

func (l *lexer) at(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isNameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
func isName(c byte) bool   { return isNameStart(c) || isDigit(c) || c == '$' }
func isOpChar(c byte) bool { return strings.IndexByte("~!@#^&|`?+-*/%<>=", c) >= 0 && c != 0 }

// skipBlank passes white space and comments (/* */ nests).
func (l *lexer) skipBlank() error {
	if from := l.pos; l.gap != nil {
		defer func() { l.gap(from, l.pos) }()
	}
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case isBlank(c):
			l.pos++
		case c != '-' && c != '/':
			return nil
		case strings.HasPrefix(l.src[l.pos:], "--"):
			l.skipLine()
		case strings.HasPrefix(l.src[l.pos:], "/*"):
			start, depth := l.pos, 0
			for {
				switch {
				case l.pos >= len(l.src):
					return l.errorf(start, "unterminated /* comment at or near \"%s\"", clip(l.src[start:]))
				case strings.HasPrefix(l.src[l.pos:], "/*"):
					depth++
					l.pos += 2
				case strings.HasPrefix(l.src[l.pos:], "*/"):
					depth--
					l.pos += 2
				default:
					l.pos++
				}
				if depth == 0 {
					break
				}
			}
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) skipLine() {
	for l.pos < len(l.src) && l.src[l.pos] != '\n' && l.src[l.pos] != '\r' {
		l.pos++
	}
}

func (l *lexer) next() error {
	start, c := l.pos, l.src[l.pos]
	follow := l.at(start + 1)
	switch {
	case c == '\'':
		return l.str(start, start, false)
	case (c == 'e' || c == 'E') && follow == '\'':
		return l.str(start, start+1, true)
	case (c == 'b' || c == 'B') && follow == '\'':
		return l.bits(tBit, "binary", "01")
	case (c == 'x' || c == 'X') && follow == '\'':
		return l.bits(tHex, "hexadecimal", "0123456789abcdefABCDEF")
	case (c == 'n' || c == 'N') && follow == '\'':
		return sqlerr.New(sqlerr.Unsupported, "N'...' strings are not supported").At(start).WithHint("Write the string without the N.")
	case (c == 'u' || c == 'U') && follow == '&' && (l.at(start+2) == '\'' || l.at(start+2) == '"'):
		return l.unicodeEscaped(start)
	case c == '"':
		text, err := l.quoted(start, start)
		if err != nil {
			return err
		}
		l.addName(tQuoted, start, text)
		return nil
	case isNameStart(c):
		for l.pos < len(l.src) && isName(l.src[l.pos]) {
			l.pos++
		}
		l.addName(tWord, start, foldName(l.src[start:l.pos]))
		return nil
	case c == '$':
		return l.dollar(start)
	case isDigit(c) || c == '.' && isDigit(follow):
		return l.number(start)
	case c == ':' && (follow == ':' || follow == '='), c == '.' && follow == '.':
		l.pos += 2
		l.add(tPunct, start, l.src[start:l.pos])
		return nil
	case strings.IndexByte("()[],;.:", c) >= 0:
		l.pos++
		l.add(tPunct, start, l.src[start:l.pos])
		return nil
	case isOpChar(c):
		return l.operator(start)
	}
	_, size := utf8.DecodeRuneInString(l.src[start:])
	err := sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", l.src[start:start+size]).At(start)
	if c == '\\' {
		return err.WithHint("What begins with a backslash is a command of psql, which no other client has. SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'dpsql') lists the tables.")
	}
	return err
}

// foldName folds ASCII only, as PostgreSQL does in a UTF-8 database.
func foldName(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// addName adds a name, cut as PostgreSQL cuts it.
func (l *lexer) addName(kind tokKind, start int, text string) {
	l.add(kind, start, cutName(text))
	l.toks[len(l.toks)-1].cut = len(text) > nameLimit
}

func cutName(s string) string {
	if len(s) <= nameLimit {
		return s
	}
	n := nameLimit
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}

// operator follows PostgreSQL's rule: the longest run of operator characters, cut before a comment; of several characters a
// trailing + or - is given back unless one of ~!@#^&|`?% is among them.
func (l *lexer) operator(start int) error {
	end := start
	for end < len(l.src) && isOpChar(l.src[end]) {
		if end > start && (strings.HasPrefix(l.src[end:], "--") || strings.HasPrefix(l.src[end:], "/*")) {
			break
		}
		if end++; end-start > nameLimit {
			return l.errorf(start, "operator too long")
		}
	}
	for end-start > 1 && (l.src[end-1] == '+' || l.src[end-1] == '-') && !strings.ContainsAny(l.src[start:end], "~!@#^&|`?%") {
		end--
	}
	l.pos = end
	text := l.src[start:end]
	switch text {
	case "!=":
		text = "<>"
	case "=>":
		l.add(tPunct, start, text)
		return nil
	}
	l.add(tOp, start, text)
	return nil
}

// digits passes digits of a base with single underscores between them.
func (l *lexer) digits(ok func(byte) bool) {
	for l.pos < len(l.src) && (ok(l.src[l.pos]) || l.src[l.pos] == '_' && ok(l.at(l.pos+1))) {
		l.pos++
	}
}

func (l *lexer) number(start int) error {
	kind := tInteger
	base := 0
	if l.src[start] == '0' {
		switch l.at(start+1) | 0x20 {
		case 'x':
			base = 16
		case 'o':
			base = 8
		case 'b':
			base = 2
		}
	}
	if base != 0 {
		ok := func(c byte) bool {
			v, err := strconv.ParseUint(string(c), base, 8)
			return err == nil && v < uint64(base)
		}
		l.pos = start + 2
		l.digits(ok)
		if l.pos == start+2 {
			return l.errorf(start, "trailing junk after numeric literal at or near \"%s\"", l.src[start:l.pos])
		}
	} else {
		l.digits(isDigit)
		if l.at(l.pos) == '.' && l.at(l.pos+1) != '.' {
			kind = tNumeric
			l.pos++
			if isDigit(l.at(l.pos)) {
				l.digits(isDigit)
			}
		}
		if l.at(l.pos)|0x20 == 'e' {
			p := l.pos + 1
			if l.at(p) == '+' || l.at(p) == '-' {
				p++
			}
			if isDigit(l.at(p)) {
				kind = tNumeric
				l.pos = p
				l.digits(isDigit)
			}
		}
	}
	if l.pos < len(l.src) && isNameStart(l.src[l.pos]) {
		return l.errorf(start, "trailing junk after numeric literal at or near \"%s\"", l.src[start:l.pos+1])
	}
	text := l.src[start:l.pos]
	if strings.IndexByte(text, '_') >= 0 {
		text = strings.ReplaceAll(text, "_", "")
	}
	if base != 0 {
		if len(text) > 1024 { // the conversion is quadratic
			return sqlerr.New(sqlerr.TooLong, "integer literal too long").At(start)
		}
		n, _ := new(big.Int).SetString(text[2:], base)
		text = n.String()
	}
	l.add(kind, start, text)
	return nil
}

// dollar reads $1 and $tag$...$tag$.
func (l *lexer) dollar(start int) error {
	if isDigit(l.at(start + 1)) {
		l.pos++
		for isDigit(l.at(l.pos)) {
			l.pos++
		}
		if l.pos < len(l.src) && isNameStart(l.src[l.pos]) {
			return l.errorf(start, "trailing junk after parameter at or near \"%s\"", l.src[start:l.pos+1])
		}
		n, err := strconv.Atoi(l.src[start+1 : l.pos])
		if err != nil || n > MaxParams {
			return sqlerr.New(sqlerr.TooComplex, "parameter number too large at or near \"%s\"", clip(l.src[start:l.pos])).
				At(start).WithHint("A statement has at most %d parameters.", MaxParams)
		}
		if n == 0 {
			return sqlerr.New(sqlerr.UndefinedParam, "there is no parameter $0").At(start)
		}
		l.add(tParam, start, strconv.Itoa(n))
		return nil
	}
	p := start + 1
	if p < len(l.src) && isNameStart(l.src[p]) {
		for p < len(l.src) && isName(l.src[p]) && l.src[p] != '$' {
			p++
		}
	}
	if l.at(p) != '$' {
		return l.errorf(start, "syntax error at or near \"$\"")
	}
	tag := l.src[start : p+1]
	n := strings.Index(l.src[p+1:], tag)
	if n < 0 {
		return l.errorf(start, "unterminated dollar-quoted string at or near \"%s\"", clip(l.src[start:]))
	}
	l.pos = p + 1 + n + len(tag)
	l.add(tString, start, l.src[p+1:p+1+n])
	return nil
}

// clip shortens what a message quotes.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// syntaxAt is PostgreSQL's syntax error at a token.
func syntaxAt(t *token) error {
	if t.kind == tEnd && t.raw == "" {
		return sqlerr.New(sqlerr.Syntax, "syntax error at end of input").At(t.pos)
	}
	return sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(t.raw)).At(t.pos)
}

func unsupported(t *token, what string) error { return unsupportedAt(Pos(t.pos), what) }

func unsupportedAt(pos Pos, what string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s is not supported", what).At(int(pos))
}
