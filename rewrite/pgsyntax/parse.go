package pgsyntax

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/sqlerr"
)

// The limits of a message, all checked before the parser sees it.
const (
	maxText   = 4 << 20 // bytes of a message
	maxParams = 65535   // the highest $n, as the wire protocol's
	maxNest   = 200     // brackets and CASE in each other
	maxDepth  = 10000   // operators and clauses on one path of the tree: bounds every recursion over it
)

// Parse reads a whole message: any number of statements separated by ';'. A syntax error anywhere is an error of the whole
// message. Empty statements between others are dropped; a message with nothing else gives one *Empty. Errors are *sqlerr.Error
// with a position in text.
func Parse(text string) ([]Statement, error) {
	if len(text) > maxText {
		return nil, sqlerr.New(sqlerr.TooLong, "statement of %d bytes is longer than the limit of %d", len(text), maxText).
			WithHint("Send shorter statements, or parameters for long values.")
	}
	for i, r := range text {
		if r == 0 || r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); r == 0 || size == 1 {
				return nil, sqlerr.New(sqlerr.InvalidEncoding, "invalid byte sequence for encoding \"UTF8\"").At(i)
			}
		}
	}
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	var out []Statement
	for len(toks) > 0 {
		n := 0
		for toks[n].kind != tEnd && !toks[n].punct(";") {
			n++
		}
		if n > 0 {
			st, err := parseStatement(text, toks[:n:n], toks[n])
			if err != nil {
				return nil, err
			}
			out = append(out, st)
		}
		toks = toks[n+1:]
	}
	if len(out) == 0 {
		out = append(out, Statement{Node: &Empty{}, Text: text})
	}
	return out, nil
}

// Split cuts a script at the semicolons between statements, without reading them: each can be parsed, and fail, by itself.
// Offset says where each begins. What the lexer cannot read (a quote that is not closed) is an error of the whole.
func Split(text string) (out []Statement, err error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	first := -1
	for i, t := range toks {
		switch end := t.kind == tEnd || t.punct(";"); {
		case !end && first < 0:
			first = i
		case end && first >= 0:
			out = append(out, Statement{Text: text[toks[first].pos:toks[i-1].end], Offset: toks[first].pos})
			first = -1
		}
	}
	return out, nil
}

// parseStatement reads one statement; stop is the token behind it.
func parseStatement(text string, toks []token, stop token) (Statement, error) {
	first, last := toks[0], toks[len(toks)-1]
	st := Statement{Text: text[first.pos:last.end], Offset: first.pos}
	for i := range toks {
		if toks[i].kind == tParam {
			if n, _ := strconv.Atoi(toks[i].text); n > st.Params {
				st.Params = n
			}
		}
	}
	stop.kind, stop.text = tEnd, text[stop.pos:stop.end]
	toks = append(toks, stop)
	match, err := measure(toks)
	if err != nil {
		return st, err
	}
	st.Node, err = command(&reader{toks: toks, match: match})
	return st, err
}

// measure matches the brackets and bounds nesting and depth. match[i] is the index of the bracket that belongs to bracket i.
func measure(toks []token) ([]int, error) {
	match := make([]int, len(toks))
	stack := []nest{{open: -1}}
	closers := map[string]string{")": "(", "]": "["}
	for i := range toks {
		t, top := &toks[i], &stack[len(stack)-1]
		switch {
		case t.punct("("), t.punct("["), t.is("case") && !nameAt(toks, i):
			if len(stack) > maxNest {
				return nil, sqlerr.New(sqlerr.TooComplex, "statement is nested deeper than %d levels", maxNest).At(t.pos).
					WithHint("Simplify the statement.")
			}
			stack = append(stack, nest{open: i})
			continue
		case t.punct(")"), t.punct("]"), t.is("end") && top.open >= 0 && toks[top.open].is("case") && !nameAt(toks, i):
			if len(stack) == 1 || closers[t.text] != "" && !toks[top.open].punct(closers[t.text]) {
				return nil, syntaxAt(t)
			}
			match[top.open], match[i] = i, top.open
			below := top.depth()
			stack = stack[:len(stack)-1]
			top = &stack[len(stack)-1]
			top.below = max(top.below, below)
		case t.punct(","):
			top.most, top.run = max(top.most, top.run), 0
		case t.kind == tOp, t.kind == tPunct, t.kind == tWord && t.class() >= colName:
			top.run++
		}
		if top.depth() > maxDepth {
			return nil, sqlerr.New(sqlerr.TooComplex, "expression is deeper than %d operators", maxDepth).At(t.pos).
				WithHint("Split the statement, or write long OR lists as IN (...).")
		}
	}
	if len(stack) > 1 {
		return nil, syntaxAt(&toks[len(toks)-1])
	}
	return match, nil
}

// nest is one bracket being read: its index, the operators since its last comma, the most between two commas, and the
// deepest bracket in it.
type nest struct{ open, run, most, below int }

func (n *nest) depth() int { return max(n.most, n.run) + n.below + 1 }

// nameAt says whether the word at i is surely a name: it stands behind a point or AS.
func nameAt(toks []token, i int) bool {
	return i > 0 && (toks[i-1].punct(".") || toks[i-1].is("as"))
}

// syntaxAt is PostgreSQL's syntax error at a token.
func syntaxAt(t *token) error {
	if t.kind == tEnd && t.text == "" {
		return sqlerr.New(sqlerr.Syntax, "syntax error at end of input").At(t.pos)
	}
	text := t.text
	if t.kind == tString {
		text = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(text)).At(t.pos)
}

func unsupported(t *token, what string) error { return unsupportedAt(Pos(t.pos), what) }

func unsupportedAt(pos Pos, what string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s is not supported", what).At(int(pos))
}

func frameError(pos Pos, text string) error {
	return sqlerr.New(sqlerr.Windowing, "%s", text).At(int(pos))
}
