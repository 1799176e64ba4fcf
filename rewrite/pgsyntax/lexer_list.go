package pgsyntax

import "github.com/dpsql/dpsql/internal/base/sqlerr"

// A long list of literals behind IN is one token: BI tools write lists of a megabyte, and as tokens, atoms and nodes of the parser each
// literal would cost over a kilobyte on its way. What is not a list of literals, or is short, stays as it is.

// foldFrom is how many literals make a list a token.
const foldFrom = 64

// list reads the literals behind "IN (" as one token, if there are enough. The rest of the list, if something else stands in it, follows
// as tokens.
func (l *lexer) list() error {
	n := len(l.toks)
	if n < 2 || !l.toks[n-1].punct("(") || !l.toks[n-2].is("in") {
		return nil
	}
	var items []Expr
	var pool []Literal
	open, start, end := l.pos, 0, 0
	for {
		if err := l.skipBlank(); err != nil {
			return err
		}
		at := l.pos
		sign, err := l.listItem()
		if err != nil {
			return err
		}
		if len(l.toks) == n { // no literal
			break
		}
		t := l.toks[n]
		l.toks = l.toks[:n]
		past := l.pos
		if err := l.skipBlank(); err != nil {
			return err
		}
		if c := l.at(l.pos); c != ',' && c != ')' { // the literal is a part of something longer
			break
		}
		if len(pool) == cap(pool) {
			pool = make([]Literal, 0, min(1024, foldFrom+len(items)))
		}
		pool = append(pool, Literal{Pos: Pos(t.pos), Kind: literalKinds[t.kind], Text: t.text})
		item := Expr(&pool[len(pool)-1])
		if sign != "" {
			item = &Unary{Pos: Pos(at), Op: sign, X: item}
		}
		if len(items) == 0 {
			start = at
		}
		items, end = append(items, item), past
		if l.listed+len(items) > MaxListed {
			return sqlerr.New(sqlerr.TooComplex, "message with lists of more than %d literals", MaxListed).At(at).
				WithHint("A message lists at most %d literals: join a table of them, or use a range (BETWEEN).", MaxListed)
		}
		if l.at(l.pos) == ')' {
			break
		}
		l.pos++
	}
	if len(items) < foldFrom {
		l.pos = open
		return nil
	}
	l.pos = end
	l.listed += len(items)
	l.toks = append(l.toks, token{kind: tList, pos: start, raw: l.src[start:end], list: items})
	return nil
}

// listItem reads a literal with its sign; it adds no token if there is none.
func (l *lexer) listItem() (sign string, err error) {
	c := l.at(l.pos)
	if c == '-' || c == '+' {
		next := l.at(l.pos + 1)
		if !isDigit(next) && (next != '.' || !isDigit(l.at(l.pos+2))) {
			return "", nil
		}
		sign = l.src[l.pos : l.pos+1]
		l.pos++
		return sign, l.number(l.pos)
	}
	switch {
	case c == '\'':
		return "", l.str(l.pos, l.pos, false)
	case isDigit(c), c == '.' && isDigit(l.at(l.pos+1)):
		return "", l.number(l.pos)
	}
	return "", nil
}

var literalKinds = [...]LiteralKind{tString: StringLit, tInteger: IntegerLit, tNumeric: NumericLit, tBit: BitLit, tHex: HexLit}
