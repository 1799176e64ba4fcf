package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// What PostgreSQL defines of dates and times by other functions, or for NULLs too, so that a row of the registry, which is strict, cannot say it.

// ofTimes is how such a function of times is bound; nil if it is none of these.
func (b *binder) ofTimes(name string, args []Scalar) func([]Scalar, pgsyntax.Pos) (Scalar, error) {
	switch {
	case name == "overlaps":
		return b.overlaps
	case name == "age" && len(args) == 1 && (args[0].Type().OID == sqltype.OIDTimestamp || args[0].Type().OID == sqltype.OIDTimestamptz):
		return b.ageToday
	}
	return nil
}

// ageToday is age(x): of the midnight with which the day of the statement begins.
func (b *binder) ageToday(args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	now, ok := b.session(Now, 0)
	if !ok {
		return nil, sqlerr.New(sqlerr.UnsupportedFunction, "age of one argument is not supported here").At(int(pos))
	}
	today, err := b.explicit(now, sqltype.Date, pos)
	if err != nil {
		return nil, err
	}
	t := b.of(args[0].Type().OID)
	if today, err = b.explicit(today, t, pos); err != nil {
		return nil, err
	}
	return b.called(funcs.Function, "age", []Scalar{today, args[0]}, sqltype.IntervalType, pos)
}

// called is a call of a row by its types.
func (b *binder) called(kind funcs.Kind, name string, args []Scalar, t sqltype.Type, pos pgsyntax.Pos) (Scalar, error) {
	fn := b.find.call(kind, name, oidsOf(args), oidsOf(args), t.OID)
	if fn == nil {
		return nil, sqlerr.New(sqlerr.UnsupportedFunction, "%s is not supported", b.signature(name, oidsOf(args), nil)).At(int(pos))
	}
	fn, err := b.special(fn, args, pos)
	if err != nil {
		return nil, err
	}
	return &Call{Fn: fn, Args: args, T: t, Pos: int(pos)}, nil
}

// overlaps is overlaps_timestamp and its like. With s and e for the lesser and the greater end of a side, s where one is NULL the other, e then NULL:
// where the sides begin together the answer is true, or NULL if an e is; else it is whether the later s lies before the e of the earlier side, or NULL where that is
// NULL, or false and the e of the later side is NULL.
func (b *binder) overlaps(args []Scalar, pos pgsyntax.Pos) (Scalar, error) {
	var s, e [2]Scalar
	for side := range 2 {
		from, to := args[2*side], args[2*side+1]
		for _, x := range []Scalar{from, to} {
			if size(x) > mostOverlapping {
				return nil, sqlerr.New(sqlerr.TooComplex, "an operand of OVERLAPS is too long").At(int(b.place(x, pos)))
			}
		}
		t := from.Type()
		if to.Type().OID == sqltype.OIDInterval {
			sum, err := b.operator("+", []Scalar{from, to}, pos)
			if err != nil {
				return nil, err
			}
			to = sum
		}
		null := &Is{X: from, What: "NULL"}
		s[side] = &MinMax{Args: []Scalar{from, to}, T: t}
		e[side] = &Case{Whens: []When{{Cond: &Logic{Op: Or, Args: []Scalar{null, &Is{X: to, What: "NULL"}}}, Result: &Const{T: t}}}, Else: &MinMax{Greatest: true, Args: []Scalar{from, to}, T: t}, T: t}
	}
	less := func(x, y Scalar) (Scalar, error) { return b.operator("<", []Scalar{x, y}, pos) }
	before := func(early, late int) (w When, err error) {
		if w.Cond, err = less(s[early], s[late]); err != nil {
			return w, err
		}
		in, err := less(s[late], e[early])
		if err != nil {
			return w, err
		}
		unknown := &Logic{Op: And, Args: []Scalar{&Is{X: e[late], What: "NULL"}, &Const{T: sqltype.Bool}}}
		w.Result = &Logic{Op: Or, Args: []Scalar{in, unknown}}
		return w, nil
	}
	first, err := before(0, 1)
	if err != nil {
		return nil, err
	}
	second, err := before(1, 0)
	if err != nil {
		return nil, err
	}
	same, err := b.operator("=", []Scalar{s[0], s[1]}, pos)
	if err != nil {
		return nil, err
	}
	both := &Logic{Op: And, Args: []Scalar{&Is{X: e[0], What: "NULL", Not: true}, &Is{X: e[1], What: "NULL", Not: true}}}
	together := When{Cond: same, Result: &Logic{Op: Or, Args: []Scalar{both, &Const{T: sqltype.Bool}}}}
	return &Case{Whens: []When{first, second, together}, T: sqltype.Bool}, nil
}
