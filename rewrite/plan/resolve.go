package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgcat"
)

// The choice of an operator or function among PostgreSQL's own (parse_oper.c, parse_func.c; manual, chapter 10).

// candidate is an overload with its argument types as this call sees them: a variadic one spread out, a named call in the
// order of its arguments.
type candidate struct {
	oper     *pgcat.Oper
	proc     *pgcat.Proc
	args     []sqltype.OID
	spread   int // how many arguments a VARIADIC one took
	defaults int // how many arguments were left out
	order    []int
	rivals   bool // another overload is as good: the call is ambiguous
}

// verdict is how a choice ended.
type verdict int

const (
	notFound verdict = iota
	chosen
	ambiguous
	coercion // a function's name that is a type's: a cast
)

// chooseOper is oper() and left_oper(): left is 0 for a prefix operator.
func (ts *types) chooseOper(name string, left, right sqltype.OID) (*pgcat.Oper, verdict) {
	l, r, guessed := left, right, false
	if left != 0 && left == sqltype.OIDUnknown {
		l, guessed = right, true
	} else if left != 0 && right == sqltype.OIDUnknown {
		r, guessed = left, true
	}
	list := pgcat.Opers(name)
	exact := func(l, r sqltype.OID) *pgcat.Oper {
		for _, o := range list {
			if o.Left == l && o.Right == r {
				return o
			}
		}
		return nil
	}
	if o := exact(l, r); o != nil {
		return o, chosen
	}
	if guessed && ts.base(l) != l {
		if o := exact(ts.base(l), ts.base(l)); o != nil {
			return o, chosen
		}
	}
	all, each, args := make([]*candidate, 0, len(list)), make([]candidate, len(list)), make([]sqltype.OID, 0, 2*len(list))
	for i, o := range list {
		if (left == 0) != (o.Left == 0) {
			continue
		}
		from := len(args)
		if o.Left != 0 {
			args = append(args, o.Left)
		}
		args = append(args, o.Right)
		each[i] = candidate{oper: o, args: args[from:len(args):len(args)]}
		all = append(all, &each[i])
	}
	inputs := []sqltype.OID{left, right}
	if left == 0 {
		inputs = inputs[1:]
	}
	c, v := ts.choose(inputs, all)
	if v != chosen {
		return nil, v
	}
	return c.oper, chosen
}

// choose keeps what implicit casts reach and picks the best of it.
func (ts *types) choose(inputs []sqltype.OID, all []*candidate) (*candidate, verdict) {
	var fit []*candidate
	for _, c := range all {
		if ts.canCoerce(inputs, c.args[:len(inputs)], implicitly) {
			fit = append(fit, c)
		}
	}
	switch len(fit) {
	case 0:
		return nil, notFound
	case 1:
		return fit[0], chosen
	}
	if c := ts.best(inputs, fit); c != nil {
		return c, chosen
	}
	return nil, ambiguous
}

// best is func_select_candidate.
func (ts *types) best(inputs []sqltype.OID, fit []*candidate) *candidate {
	base := make([]sqltype.OID, len(inputs))
	unknowns := 0
	for i, o := range inputs {
		if base[i] = o; o == sqltype.OIDUnknown {
			unknowns++
		} else {
			base[i] = ts.base(o)
		}
	}
	count := func(match func(i int, o sqltype.OID) bool) func(*candidate) int {
		return func(c *candidate) int {
			n := 0
			for i, o := range base {
				if o != sqltype.OIDUnknown && match(i, c.args[i]) {
					n++
				}
			}
			return n
		}
	}
	exact := func(i int, o sqltype.OID) bool { return o == base[i] }
	if fit = most(fit, count(exact)); len(fit) == 1 {
		return fit[0]
	}
	fit = most(fit, count(func(i int, o sqltype.OID) bool { return exact(i, o) || ts.preferred(ts.category(base[i]), o) }))
	if len(fit) == 1 {
		return fit[0]
	}
	if unknowns == 0 {
		return nil
	}
	if fit = ts.byCategory(base, fit); len(fit) == 1 {
		return fit[0]
	}
	return ts.asKnown(base, fit)
}

func (ts *types) preferred(category byte, o sqltype.OID) bool {
	t := ts.info(o)
	return t.Preferred && t.Category == category
}

// most keeps the candidates with the highest score.
func most(fit []*candidate, score func(*candidate) int) []*candidate {
	top := -1
	var out []*candidate
	for _, c := range fit {
		switch n := score(c); {
		case n > top:
			top, out = n, []*candidate{c}
		case n == top:
			out = append(out, c)
		}
	}
	return out
}

// byCategory settles the arguments of unknown type: strings if any candidate takes one, else the one category of all.
func (ts *types) byCategory(base []sqltype.OID, fit []*candidate) []*candidate {
	category, preferred := make([]byte, len(base)), make([]bool, len(base))
	for i, o := range base {
		if o != sqltype.OIDUnknown {
			continue
		}
		conflict := false
		for _, c := range fit {
			t := ts.info(c.args[i])
			switch {
			case category[i] == 0:
				category[i], preferred[i] = t.Category, t.Preferred
			case t.Category == category[i]:
				preferred[i] = preferred[i] || t.Preferred
			case t.Category == 'S':
				category[i], preferred[i] = 'S', t.Preferred
			default:
				conflict = true
			}
		}
		if conflict && category[i] != 'S' {
			return fit
		}
	}
	var kept []*candidate
	for _, c := range fit {
		keep := true
		for i, o := range base {
			if o == sqltype.OIDUnknown {
				t := ts.info(c.args[i])
				keep = keep && t.Category == category[i] && (!preferred[i] || t.Preferred)
			}
		}
		if keep {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return fit
	}
	return kept
}

// asKnown takes the unknown arguments for the type that all the others have.
func (ts *types) asKnown(base []sqltype.OID, fit []*candidate) *candidate {
	known := sqltype.OIDUnknown
	for _, o := range base {
		switch {
		case o == sqltype.OIDUnknown:
		case known == sqltype.OIDUnknown:
			known = o
		case known != o:
			return nil
		}
	}
	if known == sqltype.OIDUnknown {
		return nil
	}
	all := slices.Repeat([]sqltype.OID{known}, len(base))
	var found *candidate
	for _, c := range fit {
		if ts.canCoerce(all, c.args[:len(all)], implicitly) {
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}

// chooseProc is func_get_detail: names are of the last arguments, variadic says that the call itself spelled VARIADIC. A
// parameter without a type is no literal that a cast could read.
func (ts *types) chooseProc(name string, args []Scalar, names []string, variadic bool) (*candidate, verdict) {
	return ts.chooseAmong(pgcat.Procs(name), name, args, names, variadic)
}

// chooseAmong is chooseProc among some functions of the name.
func (ts *types) chooseAmong(procs []*pgcat.Proc, name string, args []Scalar, names []string, variadic bool) (*candidate, verdict) {
	inputs := oidsOf(args)
	all := candidates(procs, len(inputs), names, !variadic)
	for _, c := range all {
		if slices.Equal(c.args[:len(inputs)], inputs) {
			if c.rivals {
				return c, ambiguous
			}
			return c, chosen
		}
	}
	if len(inputs) == 1 && len(names) == 0 {
		_, literal := args[0].(*Const)
		if t := pgcat.TypeNamed(name); t != nil && (inputs[0] == sqltype.OIDUnknown && literal || ts.castByName(t.OID, inputs[0])) {
			return nil, coercion
		}
	}
	c, v := ts.choose(inputs, all)
	if v == chosen && c.rivals {
		v = ambiguous
	}
	return c, v
}

// castByName: type(x) is a cast where that needs no function of pg_cast.
func (ts *types) castByName(target, source sqltype.OID) bool {
	switch ts.path(target, source, explicitly) {
	case relabels:
		return true
	case byText:
		return source != oidRecord || ts.category(target) != 'S'
	}
	return false
}

// candidates is FuncnameGetCandidates.
func candidates(procs []*pgcat.Proc, n int, names []string, expand bool) []*candidate {
	var out []*candidate
	special := false
	for _, p := range procs {
		c := &candidate{proc: p, args: p.Args}
		spreads := false
		switch {
		case len(names) > 0:
			if p.Variadic != 0 && expand || !c.named(n, names) {
				continue
			}
		default:
			spreads = p.Variadic != 0 && expand && len(p.Args) <= n
			if len(p.Args) > n {
				if n+len(p.Defaults) < len(p.Args) {
					continue
				}
				c.defaults = len(p.Args) - n
			} else if len(p.Args) != n && !spreads {
				continue
			}
		}
		if spreads {
			c.spread = n - len(p.Args) + 1
			c.args = append(slices.Clone(p.Args[:len(p.Args)-1]), slices.Repeat([]sqltype.OID{p.Variadic}, c.spread)...)
		}
		special = special || c.spread > 0 || c.defaults > 0 || c.order != nil
		if special && duplicate(&out, c, n) {
			continue
		}
		out = append(out, c)
	}
	return out
}

// duplicate settles overloads that this call cannot tell apart: a plain one is taken before a variadic one, else the call is
// ambiguous. It says whether c is to be left out.
func duplicate(list *[]*candidate, c *candidate, n int) bool {
	for i, prev := range *list {
		if !slices.Equal(prev.args[:n], c.args[:n]) {
			continue
		}
		switch {
		case prev.spread > 0 && c.spread == 0:
			(*list)[i] = c
		case c.spread > 0 && prev.spread == 0:
		default:
			prev.rivals = true
		}
		return true
	}
	return false
}

// named is MatchNamedCall: it puts the argument types in the order of the call.
func (c *candidate) named(n int, names []string) bool {
	p := c.proc
	if p.ArgNames == nil || n > len(p.Args) {
		return false
	}
	positional := n - len(names)
	taken := make([]bool, len(p.Args))
	for i := range positional {
		taken[i] = true
		c.order = append(c.order, i)
	}
	for _, name := range names {
		i := slices.Index(p.ArgNames, name)
		if i < 0 || taken[i] {
			return false
		}
		taken[i] = true
		c.order = append(c.order, i)
	}
	for i, t := range taken {
		if t {
			continue
		}
		if i < len(p.Args)-len(p.Defaults) {
			return false
		}
		c.order = append(c.order, i)
		c.defaults++
	}
	c.args = make([]sqltype.OID, len(p.Args))
	for k, i := range c.order {
		c.args[k] = p.Args[i]
	}
	return true
}
