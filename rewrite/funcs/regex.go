package funcs

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// A pattern is one of PostgreSQL's advanced regular expressions that matches the same texts for engines without backtracking: Go's
// and DuckDB's RE2. What it reads: alternation, groups, sets, . ^ $, the quantifiers with and without ?, the escapes \d \w \s and their
// opposites, \t \n \r \f \v, and escaped punctuation. Back references, constraints (\y, lookahead), options and equivalence classes are refused.
//
// Proof of cost: without back references and constraints PostgreSQL decides a match by one pass of its automaton over the text, as the others
// do, so that the time is linear in it for a constant pattern; bounds of repeats multiply to no more than Go's limit of 1000.
//
// Letters and digits of \w, \d, [[:alpha:]] and so on are ASCII's in Go and DuckDB; in PostgreSQL they are the collation's.
type pattern struct {
	src  []rune
	at   int
	fold bool // ~*
	out  strings.Builder
}

// translatePattern gives the pattern's spelling for RE2, and compiles it.
func translatePattern(src string, fold bool) (string, *regexp.Regexp, error) {
	p := &pattern{src: []rune(src), fold: fold}
	if len(p.src) > maxPattern {
		return "", nil, p.unsupported("so many characters")
	}
	if strings.HasPrefix(src, "***") || strings.HasPrefix(src, "(?") && !strings.HasPrefix(src, "(?:") {
		return "", nil, p.unsupported("options")
	}
	if err := p.alternatives(0); err != nil {
		return "", nil, err
	}
	if p.at < len(p.src) {
		return "", nil, badPattern("parentheses () not balanced")
	}
	text := p.out.String()
	re, err := regexp.Compile(text)
	if err != nil || programSize(text) > maxProgram {
		return "", nil, p.unsupported("so many repetitions")
	}
	return text, re, nil
}

// maxProgram keeps every pattern far below what DuckDB's engine takes.
const maxProgram = 2000

// maxPattern keeps the time of compiling one, which nothing interrupts, at tenths of a second: only sets make a pattern that long fit a program.
const maxPattern = 20000

func programSize(text string) int {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return maxProgram + 1
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return maxProgram + 1
	}
	return len(prog.Inst)
}

func badPattern(why string) error {
	return sqlerr.New(sqlerr.InvalidRegex, "invalid regular expression: %s", why)
}

func (p *pattern) unsupported(what string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s in regular expressions are not supported", what).
		WithHint("Use what matches in one pass over the text: alternatives, groups, sets, repetitions.")
}

func (p *pattern) peek() rune {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return -1
}

// maxNesting bounds the recursion.
const maxNesting = 50

func (p *pattern) alternatives(depth int) error {
	if depth > maxNesting {
		return p.unsupported("such deep groups")
	}
	for {
		for p.at < len(p.src) && p.peek() != '|' && p.peek() != ')' {
			if err := p.piece(depth); err != nil {
				return err
			}
		}
		if p.peek() != '|' {
			return nil
		}
		p.at++
		p.out.WriteByte('|')
	}
}

// piece reads an atom and its quantifier.
func (p *pattern) piece(depth int) error {
	c := p.src[p.at]
	p.at++
	constraint := false
	switch c {
	case '*', '+', '?':
		return badPattern("quantifier operand invalid")
	case '(':
		if p.peek() == '?' {
			if p.at+1 >= len(p.src) || p.src[p.at+1] != ':' {
				return p.unsupported("constraints")
			}
			p.at += 2
		}
		p.out.WriteString("(?:")
		if err := p.alternatives(depth + 1); err != nil {
			return err
		}
		if p.peek() != ')' {
			return badPattern("parentheses () not balanced")
		}
		p.at++
		p.out.WriteByte(')')
	case '.':
		p.out.WriteString("(?s:.)")
	case '^', '$':
		p.out.WriteRune(c)
		constraint = true
	case '[':
		if err := p.set(); err != nil {
			return err
		}
	case '\\':
		set, char, err := p.escape()
		if err != nil {
			return err
		}
		if set != "" {
			p.out.WriteString("[" + set + "]")
		} else {
			p.literal(char)
		}
	case '{':
		if unicode.IsDigit(p.peek()) && p.peek() < 128 {
			return badPattern("quantifier operand invalid")
		}
		p.literal(c)
	default:
		p.literal(c)
	}
	return p.quantifier(constraint)
}

func (p *pattern) quantifier(constraint bool) error {
	q := ""
	switch c := p.peek(); {
	case c == '*' || c == '+' || c == '?':
		p.at++
		q = string(c)
	case c == '{' && p.at+1 < len(p.src) && p.src[p.at+1] >= '0' && p.src[p.at+1] <= '9':
		end := p.at
		for end < len(p.src) && p.src[end] != '}' {
			end++
		}
		if end == len(p.src) {
			return badPattern("braces {} not balanced")
		}
		low, high, ranged := strings.Cut(string(p.src[p.at+1:end]), ",")
		m, err1 := strconv.Atoi(low)
		n, err2 := strconv.Atoi(high)
		if err1 != nil || ranged && high != "" && err2 != nil || m > 255 || n > 255 || ranged && high != "" && m > n {
			return badPattern("invalid repetition count(s)")
		}
		p.at = end + 1
		switch {
		case !ranged:
			q = fmt.Sprintf("{%d}", m)
		case high == "":
			q = fmt.Sprintf("{%d,}", m)
		default:
			q = fmt.Sprintf("{%d,%d}", m, n)
		}
	default:
		return nil
	}
	if constraint {
		return badPattern("quantifier operand invalid")
	}
	p.out.WriteString(q)
	if p.peek() == '?' { // whether a text matches does not depend on it
		p.at++
	}
	if c := p.peek(); c == '*' || c == '+' || c == '?' {
		return badPattern("quantifier operand invalid")
	}
	return nil
}

// literal writes a character; for ~* its other case, too.
func (p *pattern) literal(c rune) {
	other := c
	if p.fold {
		if other = unicode.ToLower(c); other == c {
			other = unicode.ToUpper(c)
		}
	}
	if other != c {
		fmt.Fprintf(&p.out, `[\x{%x}\x{%x}]`, c, other)
		return
	}
	if c == '_' || c == ' ' || unicode.IsLetter(c) && c < 128 || unicode.IsDigit(c) && c < 128 {
		p.out.WriteRune(c)
		return
	}
	fmt.Fprintf(&p.out, `\x{%x}`, c)
}

// escape reads what follows a backslash: a set, or a character.
func (p *pattern) escape() (set string, char rune, err error) {
	if p.at == len(p.src) {
		return "", 0, badPattern(`invalid escape \ sequence`)
	}
	c := p.src[p.at]
	p.at++
	if s, ok := sets[c]; ok {
		return s, 0, nil
	}
	if i := strings.IndexRune("tnrfv", c); i >= 0 {
		return "", []rune("\t\n\r\f\v")[i], nil
	}
	if unicode.IsLetter(c) || unicode.IsDigit(c) {
		return "", 0, p.unsupported(`escapes such as \` + string(c))
	}
	return "", c, nil
}

var sets = map[rune]string{'d': "0-9", 'w': "0-9A-Za-z_", 's': `\t-\r `, 'D': `^0-9`, 'W': "^0-9A-Za-z_", 'S': `^\t-\r `}

var classes = map[string]string{"alpha": "A-Za-z", "digit": "0-9", "alnum": "0-9A-Za-z", "upper": "A-Z", "lower": "a-z", "space": `\t-\r `, "blank": `\t `, "punct": `!-/:-@\[-` + "`{-~", "xdigit": "0-9A-Fa-f",
	"cntrl": `\x00-\x1f\x7f`, "print": " -~", "graph": "!-~", "word": "0-9A-Za-z_"}

// set reads a bracket expression.
func (p *pattern) set() error {
	p.out.WriteByte('[')
	if p.peek() == '^' {
		p.at++
		p.out.WriteByte('^')
	}
	whole := false // what stands before is no single character, from which a range could go on
	for first := true; ; first = false {
		if p.at >= len(p.src) {
			return badPattern("brackets [] not balanced")
		}
		if whole && p.peek() == '-' && p.at+1 < len(p.src) && p.src[p.at+1] != ']' {
			return badPattern("invalid character range")
		}
		whole = true
		c := p.src[p.at]
		p.at++
		switch {
		case c == ']' && !first:
			p.out.WriteByte(']')
			return nil
		case c == '[' && p.peek() == ':':
			rest := string(p.src[p.at+1:])
			name, _, closed := strings.Cut(rest, ":]")
			if !closed {
				return badPattern("invalid character class")
			}
			set, ok := classes[name]
			if !ok {
				return badPattern("invalid character class")
			}
			if p.fold && (name == "upper" || name == "lower") {
				set = "A-Za-z"
			}
			p.at += len([]rune(name)) + 3
			p.out.WriteString(set)
			continue
		case c == '[' && (p.peek() == '.' || p.peek() == '='):
			return p.unsupported("collating elements")
		case c == '\\':
			set, char, err := p.escape()
			switch {
			case err != nil:
				return err
			case strings.HasPrefix(set, "^"):
				return p.unsupported("negated classes inside of sets")
			case set != "":
				p.out.WriteString(set)
				continue
			}
			c = char
		}
		last := c
		if p.peek() == '-' && p.at+1 < len(p.src) && p.src[p.at+1] != ']' {
			p.at++
			last = p.src[p.at]
			p.at++
			switch last {
			case '[':
				return p.unsupported("classes as ends of ranges")
			case '\\':
				set, char, err := p.escape()
				if err != nil || set != "" {
					return badPattern("invalid character range")
				}
				last = char
			}
			if last < c {
				return badPattern("invalid character range")
			}
		} else {
			whole = false
		}
		p.member(c, last)
	}
}

// member writes a range of a set; for ~* that of the other case, too.
func (p *pattern) member(a, b rune) {
	one := func(a, b rune) {
		if a == b {
			fmt.Fprintf(&p.out, `\x{%x}`, a)
			return
		}
		fmt.Fprintf(&p.out, `\x{%x}-\x{%x}`, a, b)
	}
	one(a, b)
	if !p.fold {
		return
	}
	for c := a; c <= b && c-a < 1000; c++ {
		if o := unicode.ToLower(c); o != c {
			one(o, o)
		}
		if o := unicode.ToUpper(c); o != c {
			one(o, o)
		}
	}
}
