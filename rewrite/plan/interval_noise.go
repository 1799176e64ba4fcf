package plan

import (
	"math"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// A linear form is a sum of released numbers times constants. The noise of a few of them is less than the box of their intervals allows for: half widths of independent noises add by squares.
//
// Proof: claim: as of Intervals, for a linear form of two or more terms, a sum over rows, and a quotient of two linear forms. (7) All terms are aggregates of one row of one release, or sums of such over rows. Noise of different rows is independent where each is there once (term.once) and grouping sets
// are none. Noise of aggregates of one row is independent, or finish makes the parts so wide that any dependence is covered (finish.Errors.part). A number that occurs twice is one term. (8) x is a sum of k_i (A_i + N_i), w_i the half width of N_i at 95%, so the noise is beyond the root of the sum of (k_i w_i)^2
// no more often than one interval misses: an equality of normal laws, and finish.TestSquaresOfWidths for the others. What bounds take away moves an end by its own amount, and adds in full: by squares it is less (f(w, s) = hypot(w, s) - w is at least f(W, s) for w <= W, and f adds up). (9) s/c of two forms: of the true quotient r
// the form s - r c has no value, so |s - r c| is within the root of the sum of ((k_i - r l_i) w_i)^2 = x^2 - 2 r g + r^2 y^2 with 95% (Fieller 1954; of sides of unlike widths, Donner, Zou 2012). Those r are an interval where c > y. Bounds move s and c within a box, and the upper end is the largest at the box's corner (finish.Errors.average (3)).
type term struct {
	of    ColID
	in    *Aggregate
	fn    AggFunc
	over  string // the window that it is summed over; empty: it is of one row
	whole bool   // the window has the row itself, and each once
	once  bool   // each row of the release is there at most once
	times float64
	total bool // it is summed over rows
	// item is a part of the aggregate's interval.
	item func(kind ErrorKind, beside Beside, total bool) Scalar
}

func (t term) part(kind ErrorKind, beside Beside) Scalar { return t.item(kind, beside, t.total) }

// The parts of an interval: the half widths by noise, and what bounds may have taken away.
const (
	NoiseBelow ErrorKind = "noise below"
	NoiseAbove ErrorKind = "noise above"
	LostBelow  ErrorKind = "lost below"
	LostAbove  ErrorKind = "lost above"
	NoisyValue ErrorKind = "noisy value" // not a part: what they are around
)

// mostFactor and MostPart keep fourth powers of numbers times constants within double precision; so do their inverses.
const (
	mostFactor = 1e15
	MostPart   = 1e50
)

// linear gives the terms of an expression that is a linear form; false where it is none.
func (n *Intervals) linear(x Scalar) (terms []term, ok bool) {
	if !x.Type().IsNumber() || n.terms == nil {
		return nil, false
	}
	switch x := x.(type) {
	case *Col:
		return n.terms(x.ID)
	case *Case:
		if y, z := nullifs(x); y != nil && n.Exact(z) {
			return n.linear(y)
		}
	case *Call:
		if y := Uncast(x); y != Scalar(x) && x.T.OID != sqltype.OIDFloat4 {
			return n.linear(y)
		}
		if x.Fn.Kind != funcs.Operator || len(x.Args) == 0 || len(x.Args) > 2 {
			return nil, false
		}
		last := x.Args[len(x.Args)-1]
		switch name := x.Fn.Name; {
		case name == "+" || name == "-":
			if terms, ok = n.linear(x.Args[0]); ok && len(x.Args) == 2 {
				more, is := n.linear(last)
				return added(terms, more, map[string]float64{"+": 1, "-": -1}[name]), is
			}
			if name == "-" {
				terms = added(nil, terms, -1)
			}
			return terms, ok
		case name == "/" && x.Args[0].Type().IsInteger() && last.Type().IsInteger():
		case name == "*" || name == "/":
			of, by := x.Args[0], last
			if _, is := Uncast(of).(*Const); is && name == "*" {
				of, by = by, of
			}
			c, is := doubleOf(Uncast(by)).(*Const)
			if !is {
				return nil, false
			}
			k, is := c.Value.(float64)
			if name == "/" {
				k = 1 / k
			}
			if terms, ok = n.linear(of); !ok || !is || math.Abs(k) > mostFactor || math.Abs(k) < 1/mostFactor {
				return nil, false
			}
			return added(nil, terms, k), true
		}
	}
	return nil, false
}

// added are terms and k times others.
func added(terms, more []term, k float64) []term {
	out := slices.Clone(terms)
	for _, t := range more {
		t.times *= k
		if at := slices.IndexFunc(out, func(u term) bool { return u.of == t.of && u.over == t.over && u.in == t.in }); at >= 0 {
			out[at].times += t.times
		} else {
			out = append(out, t)
		}
	}
	return slices.DeleteFunc(out, func(t term) bool { return t.times == 0 })
}

// besides names the aggregates of forms; false where their noise is not known together. (7)
func besides(forms ...[]term) (b Beside, ok bool) {
	all := slices.Concat(forms...)
	var ids []ColID
	for i, t := range all {
		ids = append(ids, t.of)
		for _, u := range all[:i] {
			totals := t.over != u.over && (!t.whole || u.over != "") && (!u.whole || t.over != "")
			if t.in != u.in || t.of == u.of && (t.fn == Avg || totals) {
				return b, false
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 || ids[0] == 0 || len(ids) > len(b) {
		return b, false
	}
	copy(b[:], ids)
	return b, true
}

// form is a linear form's value, its half widths by noise and what may be lost, each downwards and upwards.
type form struct {
	value       Scalar
	noise, lost [2]Scalar
	size        int
}

// formOf is that of the sum of terms. (8)
func formOf(terms []term, b Beside) form {
	times := func(k float64, x Scalar) Scalar {
		if k == 1 {
			return x
		}
		return op("*", double(k), x)
	}
	f := form{size: 14 * len(terms)}
	var values []Scalar
	for _, t := range terms {
		values = append(values, times(t.times, t.part(NoisyValue, b)))
	}
	f.value = sumOf(values)
	for side := range 2 {
		var all [2][]Scalar // squares of noise, and what is lost
		for _, t := range terms {
			at := side
			if t.times < 0 {
				at = 1 - side
			}
			part := func(kind ErrorKind) Scalar { return times(math.Abs(t.times), t.part(kind, b)) }
			w := part([]ErrorKind{NoiseBelow, NoiseAbove}[at])
			f.noise[side] = w
			all[0], all[1] = append(all[0], op("*", w, w)), append(all[1], part([]ErrorKind{LostBelow, LostAbove}[at]))
		}
		if f.lost[side] = sumOf(all[1]); len(terms) > 1 {
			f.noise[side] = doubles(funcs.Function, "sqrt", sumOf(all[0]))
		}
	}
	return f
}

func sumOf(list []Scalar) (sum Scalar) {
	for i, x := range list {
		if i == 0 {
			sum = x
			continue
		}
		sum = op("+", sum, x)
	}
	return sum
}

func (f form) minus() form {
	return form{value: op("-", f.value), noise: [2]Scalar{f.noise[1], f.noise[0]}, lost: [2]Scalar{f.lost[1], f.lost[0]}, size: f.size}
}

func (f form) ends() Interval {
	return Interval{Low: op("-", op("-", f.value, f.noise[0]), f.lost[0]), High: op("+", op("+", f.value, f.noise[1]), f.lost[1]), size: 2 * f.size}
}

// upper is the upper end of s/c where c is above 0, g being what their noises have in common, in squared half widths. (9)
func upper(s, c form, g Scalar) Scalar {
	a, x := op("+", s.value, s.lost[1]), s.noise[1]
	least, most := op("-", c.value, c.lost[0]), op("+", c.value, c.lost[1])
	root := func(c, y Scalar) Scalar {
		square := func(z Scalar) Scalar { return op("*", z, z) }
		ac, d := op("*", a, c), op("*", op("-", c, y), op("+", c, y)) // above 0, whatever rounding does
		under := op("+", op("+", square(op("*", a, y)), op("*", square(x), d)), op("*", g, op("-", g, op("*", double(2), ac))))
		return op("/", op("+", op("-", ac, g), doubles(funcs.Function, "sqrt", doubles(funcs.Function, "abs", under))), d)
	}
	negative := op("<", op("+", a, x), double(0))
	return when(&Logic{Op: And, Args: []Scalar{op(">", least, c.noise[0]), op(">", most, c.noise[1])}},
		&Case{Whens: []When{{Cond: negative, Result: root(most, c.noise[1])}}, Else: root(least, c.noise[0]), T: sqltype.Float8})
}

// ofNoise is the interval of a sum, a difference or a quotient by the noise of its parts together; false: it has none but the box.
func (n *Intervals) ofNoise(x *Call) (v Interval, ok bool) {
	if x.Fn.Kind != funcs.Operator || len(x.Args) != 2 || !slices.Contains([]string{"+", "-", "/"}, x.Fn.Name) {
		return v, false
	}
	if x.Fn.Name != "/" {
		terms, ok := n.linear(x)
		b, known := besides(terms)
		if !ok || !known || len(terms) < 2 {
			return v, false
		}
		n.reads(x, terms)
		return formOf(terms, b).ends(), true
	}
	over, ok1 := n.linear(x.Args[0])
	under, ok2 := n.linear(x.Args[1])
	b, known := besides(over, under)
	if !ok1 || !ok2 || !known || len(over) == 0 || len(under) == 0 {
		return v, false
	}
	n.reads(x, slices.Concat(over, under))
	s, c := formOf(over, b), formOf(under, b)
	g := double(0)
	positive := true
	for _, u := range under {
		positive = positive && u.times > 0 && (u.fn == Count || u.fn == CountRows)
		for _, t := range over {
			if t.of == u.of {
				one := u
				if u.over != "" {
					one = t
				}
				w := one.part(NoiseAbove, b)
				g = op("+", g, op("*", double(t.times*u.times), op("*", w, w)))
				s.size += 3
			}
		}
	}
	of := func(s, c form) Interval {
		return Interval{Low: op("-", upper(s.minus(), c, op("-", g))), High: upper(s, c, g), size: 16 * (s.size + c.size)}
	}
	v = of(s, c)
	if !positive {
		minus, above := of(s.minus(), c.minus()), op(">", c.value, double(0))
		v.Low = &Case{Whens: []When{{Cond: above, Result: v.Low}}, Else: minus.Low, T: sqltype.Float8}
		v.High = &Case{Whens: []When{{Cond: above, Result: v.High}}, Else: minus.High, T: sqltype.Float8}
		v.size *= 2
	}
	return n.cut(x, v), true
}

// reads counts what is made of several aggregates as one source.
func (n *Intervals) reads(x Scalar, terms []term) {
	total := slices.ContainsFunc(terms, func(t term) bool { return t.total })
	n.read[Source{Joined: scalarText(x), Total: total || n.total}] = true
}

// totals are the terms of a sum over a window; column makes a column of it. (4)
func (n *Intervals) totals(x WindowItem, column func(WindowItem) Scalar) ([]term, bool) {
	if x.Fn != Sum || !n.isExactWindow(x) {
		return nil, false
	}
	terms, ok := n.linear(x.Args[0])
	if _, known := besides(terms); !ok || !known || !isOnce(terms) {
		return nil, false
	}
	spec := x
	spec.Fn, spec.Args, spec.Type = "", nil, sqltype.Type{}
	over := windowText(&printer{}, spec)
	for i, t := range terms {
		one := t.item
		terms[i].over, terms[i].total, terms[i].whole = over, true, len(x.Order) == 0 && x.Frame == nil && x.Filter == nil
		terms[i].item = func(kind ErrorKind, beside Beside, _ bool) Scalar {
			w := one(kind, beside, true)
			return sumOfParts(w, kind, func(arg Scalar) Scalar {
				it := x
				it.Type, it.Args = sqltype.Float8, []Scalar{arg}
				return column(it)
			})
		}
	}
	return terms, true
}

// isOnce: each row of each release is there at most once, and is of one row.
func isOnce(terms []term) bool {
	return !slices.ContainsFunc(terms, func(t term) bool { return !t.once || t.over != "" })
}

// sumOfParts adds up a part of intervals over rows; NULL where one is. (6), (8)
func sumOfParts(w Scalar, kind ErrorKind, sum func(Scalar) Scalar) Scalar {
	missing := &Case{Whens: []When{{Cond: there(w), Result: double(0)}}, Else: double(1), T: sqltype.Float8}
	of := sum(w)
	if kind == NoiseBelow || kind == NoiseAbove {
		of = doubles(funcs.Function, "sqrt", sum(op("*", w, w)))
	}
	return when(op("=", sum(missing), double(0)), of)
}

// linearSum is the interval of a sum or an average of a linear form over rows; false: it has none but by the rows' ends.
func (n *Intervals) linearSum(fn AggFunc, arg Scalar, over func(AggFunc, sqltype.Type, Scalar) Scalar) (v Interval, ok bool) {
	terms, ok := n.linear(arg)
	b, known := besides(terms)
	if !ok || !known || !isOnce(terms) {
		return v, false
	}
	for i := range terms {
		terms[i].total = true
	}
	n.reads(&Coalesce{Args: []Scalar{arg}, T: arg.Type()}, terms)
	f := formOf(terms, b)
	sum := func(x Scalar) Scalar { return over(Sum, sqltype.Float8, x) }
	of := form{value: sumOfParts(f.value, NoisyValue, sum), size: 2*f.size + 40}
	for side, kind := range []ErrorKind{NoiseBelow, NoiseAbove} {
		of.noise[side], of.lost[side] = sumOfParts(f.noise[side], kind, sum), sumOfParts(f.lost[side], LostBelow, sum)
	}
	v = of.ends()
	if fn == Avg {
		rows := sum(double(1))
		v.Low, v.High = op("/", v.Low, rows), op("/", v.High, rows)
	}
	return v, true
}
