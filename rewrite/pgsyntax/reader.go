package pgsyntax

import "github.com/dpsql/dpsql/internal/base/sqlerr"

// reader is a statement's tokens, the last one a tEnd, with the brackets matched.
type reader struct {
	toks  []token
	match []int
	i     int
}

// tok is the token n behind the present one; past the end it is the end.
func (r *reader) tok(n int) *token {
	if r.i+n >= len(r.toks) {
		return &r.toks[len(r.toks)-1]
	}
	return &r.toks[r.i+n]
}

// words says whether the next tokens are these keywords.
func (r *reader) words(words ...string) bool {
	for n, w := range words {
		if !r.tok(n).is(w) {
			return false
		}
	}
	return true
}

// accept passes the keywords if they come next.
func (r *reader) accept(words ...string) bool {
	if !r.words(words...) {
		return false
	}
	r.i += len(words)
	return true
}

// acceptPunct passes a punctuation if it comes next.
func (r *reader) acceptPunct(p string) bool {
	if !r.tok(0).punct(p) {
		return false
	}
	r.i++
	return true
}

func (r *reader) unexpected() error { return syntaxAt(r.tok(0)) }

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
