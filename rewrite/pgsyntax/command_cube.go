package pgsyntax

import "github.com/dpsql/dpsql/internal/base/sqlerr"

// cube reads a statement of cubes behind its first word; ok is false where it is none.
func (r *reader) cube(t *token) (n Node, ok bool, err error) {
	switch {
	case t.is("create") && r.accept("dp", "cube"):
		n, err = r.createCube(t)
	case t.is("drop") && r.accept("dp", "cube"):
		x := &DropCube{Pos: Pos(t.pos), IfExists: r.accept("if", "exists")}
		x.Name, err = r.word()
		n = x
	default:
		return nil, false, nil
	}
	return n, true, err
}

// createCube reads the name, the query and WITH behind it.
func (r *reader) createCube(t *token) (Node, error) {
	n := &Cube{Pos: Pos(t.pos)}
	var err error
	if n.Name, err = r.word(); err != nil {
		return nil, err
	}
	if u := r.tok(0); !r.accept("as") {
		return nil, sqlerr.New(sqlerr.Syntax, "syntax error at or near \"%s\"", clip(u.raw)).At(u.pos).
			WithHint("Write CREATE DP CUBE %s AS SELECT a, b, count(*) FROM ... GROUP BY CUBE (a, b) WITH (price = 1).", ident(n.Name.Text))
	}
	end := r.optionsBehind(r.i)
	if n.Query, err = r.inner(r.i, end); err != nil {
		return nil, err
	}
	if r.i = end; r.words("with") {
		r.i++
		n.With, err = r.options()
	}
	return n, err
}
