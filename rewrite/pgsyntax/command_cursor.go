package pgsyntax

import (
	"math"
	"strconv"
)

// Cursors: DECLARE, FETCH and MOVE.

// declare reads DECLARE name CURSOR FOR query.
func (r *reader) declare(t *token) (Node, error) {
	d := &DeclareCursor{Pos: Pos(t.pos)}
	var err error
	if d.Name, err = r.name(); err != nil {
		return nil, err
	}
	for !r.accept("cursor") {
		switch {
		case r.accept("binary"):
			d.Binary = true
		case r.accept("insensitive"):
			d.Insensitive = true
		case r.accept("asensitive"):
			d.Asensitive = true
		case r.accept("no", "scroll"):
			d.NoScroll = true
		case r.accept("scroll"):
			d.Scroll = true
		default:
			return nil, r.unexpected()
		}
	}
	if r.accept("with", "hold") {
		d.Hold = true
	} else {
		r.accept("without", "hold")
	}
	if !r.accept("for") {
		return nil, r.unexpected()
	}
	d.At = r.span(r.i, len(r.toks)-1)
	d.Query, err = r.query()
	return d, err
}

// span is where the tokens [first, end) stand.
func (r *reader) span(first, end int) Span {
	if first >= end { // an error will say so
		return Span{}
	}
	return Span{Pos(r.toks[first].pos), Pos(r.toks[end-1].end())}
}

// fetch reads FETCH and MOVE.
func (r *reader) fetch(move bool) (Node, error) {
	f := &Fetch{Move: move, Direction: "FORWARD", Count: 1}
	switch {
	case r.words("next"), r.words("prior"), r.words("first"), r.words("last"):
		f.Direction = upper(r.tok(0).text)
		r.i++
	case r.words("absolute"), r.words("relative"):
		f.Direction = upper(r.tok(0).text)
		r.i++
		n, ok, err := r.count()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, r.unexpected()
		}
		f.Count = n
	case r.words("forward"), r.words("backward"):
		f.Direction = upper(r.tok(0).text)
		r.i++
	}
	if f.Direction == "FORWARD" || f.Direction == "BACKWARD" {
		n, ok, err := r.count()
		switch {
		case err != nil:
			return nil, err
		case ok && n < 0: // the other way
			f.Count = -n
			f.Direction = map[string]string{"FORWARD": "BACKWARD", "BACKWARD": "FORWARD"}[f.Direction]
		case ok:
			f.Count = n
		case r.accept("all"):
			f.Count = -1
		}
	}
	if !r.accept("from") {
		r.accept("in")
	}
	var err error
	f.Name, err = r.name()
	return f, err
}

// count reads a signed whole number; ok is false if there is none.
func (r *reader) count() (n int64, ok bool, err error) {
	t := r.tok(0)
	sign := ""
	if t.kind == tOp && (t.text == "-" || t.text == "+") {
		sign = t.text
		r.i++
		t = r.tok(0)
		if t.kind != tInteger {
			return 0, false, syntaxAt(t)
		}
	}
	if t.kind != tInteger {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(sign+t.text, 10, 64)
	if err != nil || n > math.MaxInt32 || n < -math.MaxInt32 {
		return 0, false, syntaxAt(t)
	}
	r.i++
	return n, true, nil
}
