package pgsyntax

import (
	"math"
	"strconv"
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

// Parse reads a whole message: any number of statements separated by ';'. A syntax error anywhere is an error of the whole
// message. Empty statements between others are dropped; a message with nothing else gives one *Empty. Errors are *sqlerr.Error
// with a position in text.
func Parse(text string) ([]Statement, error) {
	if len(text) > MaxText {
		return nil, sqlerr.New(sqlerr.TooLong, "statement of %d bytes is longer than the limit of %d", len(text), MaxText).
			WithHint("Send shorter statements, or parameters for long values.")
	}
	for i, r := range text {
		if r == 0 || r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); r == 0 || size == 1 {
				return nil, sqlerr.New(sqlerr.InvalidEncoding, "invalid byte sequence for encoding \"UTF8\"").At(i)
			}
		}
	}
	toks, err := lex(text, MaxTokens)
	if err != nil {
		return nil, err
	}
	spans := cut(toks)
	if len(spans) > MaxStatements {
		return nil, sqlerr.New(sqlerr.TooComplex, "message of %d statements, the limit is %d", len(spans), MaxStatements).
			At(toks[spans[MaxStatements].first].pos).WithHint("Send at most %d statements in one message: a long script in several parts.", MaxStatements)
	}
	if len(spans) == 0 {
		return []Statement{{Node: &Empty{}, Text: text}}, nil
	}
	out := make([]Statement, 0, len(spans))
	for _, s := range spans {
		st, err := parseStatement(text, toks[s.first:s.end+1:s.end+1])
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, nil
}

// span is a statement's tokens: [first, end).
type span struct{ first, end int }

// cut finds the statements between semicolons that are not empty.
func cut(toks []token) []span {
	var out []span
	first := 0
	for i := range toks {
		if toks[i].kind == tEnd || toks[i].punct(";") {
			if i > first {
				out = append(out, span{first, i})
			}
			first = i + 1
		}
	}
	return out
}

// Split cuts a script at the semicolons between statements, without reading them: each can be parsed, and fail, by itself.
// Offset says where each begins. What the lexer cannot read (a quote that is not closed) is an error of the whole. A script is the
// owner's own file: it may be as long as it is.
func Split(text string) ([]Statement, error) {
	toks, err := lex(text, math.MaxInt)
	if err != nil {
		return nil, err
	}
	spans := cut(toks)
	out := make([]Statement, len(spans))
	for i, s := range spans {
		first, last := toks[s.first], toks[s.end-1]
		out[i] = Statement{Text: text[first.pos:last.end()], Offset: first.pos}
	}
	return out, nil
}

// parseStatement reads one statement; its last token is the one behind it, and becomes its end.
func parseStatement(text string, toks []token) (Statement, error) {
	first, last := toks[0], toks[len(toks)-2]
	st := Statement{Text: text[first.pos:last.end()], Offset: first.pos}
	for i := range toks {
		if toks[i].kind == tParam {
			if n, _ := strconv.Atoi(toks[i].text); n > st.Params {
				st.Params = n
			}
		}
	}
	toks[len(toks)-1].kind = tEnd
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
		case t.punct("("), t.punct("["), t.is("case") && !nameAt(toks, i) && !toks[i+1].endsItem():
			if len(stack) > MaxNest {
				return nil, sqlerr.New(sqlerr.TooComplex, "statement is nested deeper than %d levels", MaxNest).At(t.pos).
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
		if top.depth() > MaxDepth {
			return nil, sqlerr.New(sqlerr.TooComplex, "expression is deeper than %d operators", MaxDepth).At(t.pos).
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
	if t.kind == tEnd && t.raw == "" {
		return sqlerr.New(sqlerr.Syntax, "syntax error at end of input").At(t.pos)
	}
	return sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(t.raw)).At(t.pos)
}

func unsupported(t *token, what string) error { return unsupportedAt(Pos(t.pos), what) }

func unsupportedAt(pos Pos, what string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s is not supported", what).At(int(pos))
}

func frameError(pos Pos, text string) error {
	return sqlerr.New(sqlerr.Windowing, "%s", text).At(int(pos))
}
