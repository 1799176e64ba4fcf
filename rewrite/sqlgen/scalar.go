package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/interval"
)

// scalar prints an expression, parenthesised where it is no single term.
func (p *printer) scalar(x plan.Scalar, f *from, m mode) string {
	if p.err != nil {
		return "NULL"
	}
	before := p.size.texts
	text := p.scalarText(x, f, m)
	p.size.texts = before // its parts are in the text
	return p.held(text)
}

func (p *printer) scalarText(x plan.Scalar, f *from, m mode) string {
	switch n := x.(type) {
	case *plan.Col:
		return f.column(p, n.ID, m)
	case *plan.Const:
		if !p.form.exact && !p.form.comparing && p.noDecimal(n) {
			return p.fail(p.tooManyDigits())
		}
		return p.constant(n.Value, n.T)
	case *plan.Param:
		return p.argument(Arg{Type: p.paramType(n), Param: n.N})
	case *plan.Call:
		return p.call(n, f, m)
	case *plan.Logic:
		return p.logic(n, f, m)
	case *plan.Is:
		return p.is(n, f, m)
	case *plan.In:
		not := ""
		if n.Not {
			not = "NOT "
		}
		list := p.sideBySide(append([]plan.Scalar{n.X}, n.List...), f, m, true)
		return fmt.Sprintf("(%s %sIN (%s))", list[0], not, strings.Join(list[1:], ", "))
	case *plan.Case:
		return p.caseText(n, f, m)
	case *plan.Coalesce:
		return "COALESCE(" + strings.Join(p.sideBySide(n.Args, f, m, false), ", ") + ")"
	case *plan.MinMax:
		return p.minMax(n, f, m)
	case *plan.DistinctFrom:
		return p.distinctFrom(n, f, m)
	case *plan.ArrayExpr:
		return p.array(n, f, m)
	case *plan.Subscript:
		return p.subscript(n, f, m)
	case *plan.AnyAll:
		return p.anyAll(n, f, m)
	case *plan.Subquery:
		return p.subselect(n, f)
	}
	return p.fail(internalError("an expression of type %T cannot be printed", x))
}

func (p *printer) list(xs []plan.Scalar, f *from, m mode) []string {
	out := make([]string, len(xs))
	for i, x := range xs {
		out[i] = p.scalar(x, f, m)
	}
	return out
}

func (p *printer) caseText(n *plan.Case, f *from, m mode) string {
	var conds, results []plan.Scalar
	for _, w := range n.Whens {
		conds, results = append(conds, w.Cond), append(results, w.Result)
	}
	if n.Else != nil {
		results = append(results, n.Else)
	}
	whens, list, before := p.list(conds, f, m), make([]string, len(results)), len(p.holds)
	for i, r := range results {
		if i == len(conds) {
			list[i] = p.scalar(r, f, m)
			break
		}
		end := p.under(conds[i])
		list[i] = p.scalar(r, f, m)
		end()
		p.holdNot(conds[i])
	}
	p.holds = p.holds[:before]
	list = p.alignScales(results, list, f, false)
	var b strings.Builder
	b.WriteString("(CASE")
	for i, w := range whens {
		fmt.Fprintf(&b, " WHEN %s THEN %s", w, list[i])
	}
	if n.Else != nil {
		b.WriteString(" ELSE " + list[len(list)-1])
	}
	return b.String() + " END)"
}

// sideBySide prints what CASE, COALESCE or IN brings to one type. Beside each other, decimals of all digits are rounded to the scale
// that the widest leaves, and in IN raises for a value without room: so each is brought to the scale that holds all of them, and a
// value without room there is NULL. Where a scale is not known beside anything but NULL and 0, it is refused, but where they are only compared over public tables.
func (p *printer) sideBySide(xs []plan.Scalar, f *from, m mode, compared bool) []string {
	return p.alignScales(xs, p.list(xs, f, m), f, compared)
}

// alignScales is sideBySide of what is printed already.
func (p *printer) alignScales(xs []plan.Scalar, out []string, f *from, compared bool) []string {
	decimals := p.d.Decimals()
	if decimals == nil || len(xs) < 2 || xs[0].Type().OID != sqltype.OIDNumeric {
		return out
	}
	most, known, differ, alike := int32(0), true, 0, true
	for _, x := range xs {
		_, _, declared := x.Type().NumericMod()
		alike = alike && declared && x.Type() == xs[0].Type()
		s := p.placesOf(x, f)
		if c, isConst := x.(*plan.Const); !isConst || !hasRoom(c) {
			differ++
		}
		most, known = max(most, s.N), known && s.Known
	}
	switch {
	case !p.form.exact && slices.ContainsFunc(xs, p.noDecimal):
		p.fail(p.tooManyDigits())
	case alike:
	case !known && differ > 1 && !(p.form.exact && compared):
		p.fail(dialect.DifferentScales())
	case known && most <= decimals.Digits():
		for i := range out {
			out[i] = decimals.ToScale(out[i], most)
		}
	}
	return out
}

// isSafe: neither raises nor gives NULL of itself on this backend (sensitivity.Body.Safe).
func (p *printer) isSafe(n *plan.Call) bool {
	holds := interval.FewDigits
	if p.d.Decimals() == nil {
		holds = interval.ManyDigits
	}
	digits, ok := p.safe[n]
	return ok && digits <= holds
}

func (p *printer) call(n *plan.Call, f *from, m mode) string {
	types := make([]sqltype.Type, len(n.Args))
	for i, a := range n.Args {
		types[i] = a.Type()
	}
	p.multiplies(n, f)
	if n.T.OID == sqltype.OIDNumeric && !p.form.exact && slices.ContainsFunc(n.Args, p.noDecimal) {
		return p.fail(p.tooManyDigits())
	}
	if was := p.form.comparing; n.T.OID == sqltype.OIDBool {
		p.form.comparing = true
		defer func() { p.form.comparing = was }()
	}
	spell := n.Fn.TotalForm
	if p.form.exact && !p.forgives(n) || m == inRange && p.isSafe(n) && (!p.d.Facts().HasTry || !n.Fn.Calls("error", p.d, n.Fn.RaisingForm, types, n.T)) { // TRY around error() takes none
		spell = n.Fn.RaisingForm
	} else {
		p.leavesOut(n, types)
	}
	text := ""
	switch {
	case n.Fn.Name == "||" && !p.form.exact && (n.T.IsString() || n.T.OID == sqltype.OIDBytea):
		text = p.chain(n, f, m)
	case spell != nil:
		args := make([]string, len(n.Args))
		if n.Fn.Name == plan.ScoresCall {
			copy(args[1:], p.ofScores(n.Args[1:], f, m))
		}
		for i, a := range n.Args {
			if args[i] == "" && (n.Fn.With != nil || !slices.Contains(n.Fn.Const, i)) { // the row was made for these constants
				args[i] = p.scalar(a, f, m)
			}
		}
		text = spell.Print(p.d, args, types, n.T)
		if p.d.Facts().HasTry && slices.ContainsFunc(args, dialect.HasSubquery) && n.Fn.Calls("TRY", p.d, spell, types, n.T) {
			err := dialect.NotHere("a subquery inside "+n.Fn.Name, n.Pos) // its TRY takes none
			if slices.ContainsFunc(types, func(t sqltype.Type) bool { return t.OID == sqltype.OIDNumeric }) {
				err = err.WithHint("Cast its numeric to double precision, as in (SELECT sum(x)::float8 FROM ...).")
			}
			return p.fail(err)
		}
	}
	p.checkLength(n, text)
	if text == "" {
		return p.fail(noForm(n, types, p.d))
	}
	return "(" + text + ")"
}

// forgives: a call has its total form, since it would raise by the value of a noisy number. What is divided by a literal still raises.
func (p *printer) forgives(n *plan.Call) bool {
	args := n.Args
	switch n.Fn.Name {
	case "/", "%", "mod", "div":
		args = args[len(args)-1:]
	}
	return n.Fn.TotalForm != nil && slices.ContainsFunc(args, func(x plan.Scalar) bool { return plan.ReadsAny(x, p.form.noisy) })
}

// noForm tells which function has no form on the backend, of which types, and why.
func noForm(n *plan.Call, types []sqltype.Type, d dialect.Dialect) error {
	e := sqlerr.New(sqlerr.PrivateFunction, "%s cannot be computed by the data set's database here", callName(n, types)).At(n.Pos)
	if why := n.Fn.Refused[d]; why == funcs.HashesPublicOnly {
		return sqlerr.New(sqlerr.PrivateFunction, "%s is not computed of private values, as a hash hides nothing", callName(n, types)).At(n.Pos).
			WithHint("Use the value itself: GROUP BY x has the groups of GROUP BY %s(x).", n.Fn.Name)
	} else if why != "" {
		return e.WithHint("The reason: %s.", why)
	}
	return e.WithHint("It has no form there that cannot fail on some value. Cast what it reads to double precision, or use another function.")
}

// callName is a function with the types of its arguments, for messages.
func callName(n *plan.Call, types []sqltype.Type) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	what := fmt.Sprintf("%s %s(%s)", n.Fn.Kind, n.Fn.Name, strings.Join(names, ", "))
	switch {
	case n.Fn.Kind == funcs.Cast:
		what = fmt.Sprintf("the cast from %s to %s", names[0], n.T)
	case n.Fn.Kind == funcs.Operator && len(names) == 2:
		what = fmt.Sprintf("operator %s %s %s", names[0], n.Fn.Name, names[1])
	case n.Fn.Kind == funcs.Operator:
		what = fmt.Sprintf("operator %s %s", n.Fn.Name, names[0])
	}
	return what
}

// leavesOut notes what the total form of a call leaves out.
func (p *printer) leavesOut(n *plan.Call, types []sqltype.Type) {
	args := make([]funcs.Known, len(n.Args))
	for i, a := range n.Args {
		switch x := a.(type) {
		case *plan.Const:
			args[i] = funcs.Known{Fixed: true, Value: x.Value}
		case *plan.Param:
			args[i].Fixed = true
		}
	}
	gaps := n.Fn.Gaps(p.d, types, args)
	if r := n.Fn.Raising(n.T); r != nil && !p.isSafe(n) && p.mayRaise(r, n.Args[r.Arg]) {
		gaps = append(gaps, r.Gap)
	}
	for _, g := range gaps {
		if gap := (Gap{callName(n, types), g}); !slices.Contains(p.gaps, gap) {
			p.gaps = append(p.gaps, gap)
		}
	}
}

func (p *printer) logic(n *plan.Logic, f *from, m mode) string {
	args := p.list(n.Args, f, m)
	switch {
	case n.Op == plan.Not && len(args) == 1:
		return "(NOT " + args[0] + ")"
	case (n.Op == plan.And || n.Op == plan.Or) && len(args) > 0:
		return "(" + strings.Join(args, " "+string(n.Op)+" ") + ")"
	}
	return p.fail(internalError("%s of %d conditions cannot be printed", n.Op, len(args)))
}

func (p *printer) is(n *plan.Is, f *from, m mode) string {
	what := n.What
	switch what {
	case "NULL", "TRUE", "FALSE":
	case "UNKNOWN":
		what = "NULL" // of a boolean
	default:
		return p.fail(internalError("IS %s cannot be printed", n.What))
	}
	if n.Not {
		what = "NOT " + what
	}
	if n.What == "NULL" && p.clampedColumn(n.X, f) {
		m = stored
	}
	if _, column := n.X.(*plan.Col); column && n.What == "NULL" && n.X.Type().IsArray() {
		return fmt.Sprintf("(%s IS %s)", p.listOf(n.X, f), what)
	}
	return fmt.Sprintf("(%s IS %s)", p.scalar(n.X, f, m), what)
}
