package pgsyntax

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
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
		psql := toks[i].kind == tPsql
		if toks[i].kind == tEnd || toks[i].punct(";") || psql {
			if i > first {
				out = append(out, span{first, i})
			}
			first = i + 1
		}
		if psql {
			out = append(out, span{i, i + 1})
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
	return statementsOf(text, toks), nil
}

// SplitFile is Split of a file that may be written for psql. Each command of psql (IsPsql) is a piece of its own, to the end of its line, and ends the statement before it.
func SplitFile(text string) ([]Statement, error) {
	toks, err := (&lexer{src: text, script: true}).all(math.MaxInt)
	if err != nil {
		return nil, err
	}
	return statementsOf(text, toks), nil
}

// IsPsql says whether a piece of a file is a command of psql, such as \dt.
func (s Statement) IsPsql() bool { return strings.HasPrefix(s.Text, "\\") }

func statementsOf(text string, toks []token) []Statement {
	spans := cut(toks)
	out := make([]Statement, len(spans))
	for i, s := range spans {
		first, last := toks[s.first], toks[s.end-1]
		out[i] = Statement{Text: text[first.pos:last.end()], Offset: first.pos}
	}
	return out
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
