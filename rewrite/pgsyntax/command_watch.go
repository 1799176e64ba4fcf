package pgsyntax

import "github.com/dpsql/dpsql/internal/base/sqlerr"

// watch reads CREATE DP WATCH behind its words.
func (r *reader) watch(t *token) (Node, error) {
	n := &Watch{Pos: Pos(t.pos)}
	var err error
	if n.Name, err = r.word(); err != nil {
		return nil, err
	}
	if !r.accept("as") {
		return nil, r.unexpected()
	}
	end := r.threshold()
	if end < 0 {
		at := r.toks[len(r.toks)-1]
		return nil, sqlerr.New(sqlerr.Syntax, "a watch needs a threshold").At(at.pos).WithHint("Write it behind the query: CREATE DP WATCH %s AS SELECT count(*) FROM ... THRESHOLD 1000.", ident(n.Name.Text))
	}
	if n.Query, err = r.inner(r.i, end); err != nil {
		return nil, err
	}
	r.i = end
	for {
		switch {
		case n.Threshold.Text == "" && r.accept("threshold"):
			n.Threshold, err = r.value()
		case n.Every.Text == "" && r.accept("every"):
			n.Every, err = r.value()
		case n.Times.Text == "" && r.accept("times"):
			n.Times, err = r.value()
		case n.With == nil && r.words("with") && r.tok(1).punct("("):
			r.i++
			n.With, err = r.options()
		default:
			return n, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// threshold is where the query of a watch ends: at the last THRESHOLD outside of brackets that a number follows, perhaps in quotes; -1 where there is none.
func (r *reader) threshold() int {
	end := -1
	for i := r.i; i < len(r.toks)-1; i++ {
		switch next := &r.toks[i+1]; {
		case r.match[i] > i:
			i = r.match[i]
		case r.toks[i].is("threshold") && (next.kind == tInteger || next.kind == tNumeric || next.kind == tString || next.kind == tOp && next.text == "-"):
			end = i
		}
	}
	return end
}

// value reads a value, and where it stands.
func (r *reader) value() (Word, error) {
	t := r.tok(0)
	v, err := r.settingValue()
	return Word{Pos(t.pos), v}, err
}

// dropWatch reads DROP DP WATCH behind its words.
func (r *reader) dropWatch(t *token) (Node, error) {
	n := &DropWatch{Pos: Pos(t.pos), IfExists: r.accept("if", "exists")}
	var err error
	n.Name, err = r.word()
	return n, err
}
