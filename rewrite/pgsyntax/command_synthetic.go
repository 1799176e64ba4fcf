package pgsyntax

import "github.com/dpsql/dpsql/internal/base/sqlerr"

// synthetic reads a statement of synthetic tables behind its first word; ok is false where it is none.
func (r *reader) synthetic(t *token) (n Node, ok bool, err error) {
	switch {
	case t.is("create") && (r.words("dp", "synthetic", "table") || r.words("or", "replace", "dp", "synthetic", "table")):
		replace := r.accept("or", "replace")
		r.i += 3
		n, err = r.synthesize(t, replace)
	case t.is("show") && r.accept("dp", "synthetic", "tables"):
		n = &SyntheticTables{Pos: Pos(t.pos), Verb: "SHOW"}
	case t.is("drop") && r.accept("dp", "synthetic", "table"):
		x := &SyntheticTables{Pos: Pos(t.pos), Verb: "DROP", IfExists: r.accept("if", "exists")}
		x.Name, err = r.word()
		n = x
	default:
		return nil, false, nil
	}
	return n, true, err
}

// synthesize reads the name, WITH before or behind the query, and the query.
func (r *reader) synthesize(t *token, replace bool) (Node, error) {
	n := &Synthesize{Pos: Pos(t.pos), Replace: replace}
	var err error
	if n.Name, err = r.word(); err != nil {
		return nil, err
	}
	if r.words("with") && r.tok(1).punct("(") {
		r.i++
		if n.With, err = r.options(); err != nil {
			return nil, err
		}
	}
	if u := r.tok(0); !r.accept("as") {
		return nil, sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(u.raw)).At(u.pos).WithHint("Write CREATE DP SYNTHETIC TABLE %s AS SELECT ... WITH (price = 1).", ident(n.Name.Text))
	}
	first := r.i
	end := r.optionsBehind(first)
	if n.Query, err = r.inner(first, end); err != nil {
		return nil, err
	}
	if r.i = end; r.words("with") {
		r.i++
		var more []Option
		if more, err = r.options(); err != nil {
			return nil, err
		}
		n.With = append(n.With, more...)
	}
	return n, nil
}

// optionsBehind is where the options behind a query begin, or the statement's end: WITH and a bracket, outside of other brackets, which no query has.
func (r *reader) optionsBehind(from int) int {
	for i := from; i < len(r.toks)-1; i++ {
		switch t := &r.toks[i]; {
		case t.punct("("), t.punct("["):
			i = r.match[i]
		case t.is("with") && r.toks[i+1].punct("("):
			return i
		}
	}
	return len(r.toks) - 1
}
