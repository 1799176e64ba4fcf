package policy

import (
	"math"

	"github.com/goccy/go-yaml/ast"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Windows are the words that budget.per knows: calendar windows in UTC.
var Windows = []string{"day", "week", "month", "quarter", "year"}

func (f *file) budget(n ast.Node) {
	b := &f.p.Budget
	b.Accountant = "rdp"
	if n == nil {
		return
	}
	var per, lifetime ast.Node
	f.fields(n, "budget", []field{
		{name: "epsilon", required: true, read: func(n ast.Node) {
			b.Epsilon, _ = f.float(n, "budget.epsilon", bounds{minEpsilon, maxEpsilon, true})
			f.epsilonAt = at(n)
		}},
		{name: "delta", required: true, read: func(n ast.Node) {
			b.Delta, _ = f.float(n, "budget.delta", bounds{0, maxDelta, true})
			f.deltaAt = at(n)
		}},
		{name: "accountant", read: func(n ast.Node) {
			b.Accountant = f.choice(n, "budget.accountant", []string{"rdp", "pure"}, []string{"zcdp", "gdp", "pld"})
		}},
		{name: "per", read: func(n ast.Node) { per = n }},
		{name: "lifetime", read: func(n ast.Node) { lifetime = n }},
	})
	f.deltaOfPeople(f.deltaAt, "budget.delta", b.Delta)
	if per != nil && lifetime != nil {
		defer func() {
			if total := b.allDelta(); total >= 1 {
				f.add(f.deltaAt, "budget.delta %g in each of %g windows adds up to %g: that promises nothing", b.Delta, math.Floor(b.Lifetime/b.Epsilon), total).
					hint("a smaller delta, or a smaller lifetime")
			}
		}()
	}
	if per != nil {
		b.Per = f.choice(per, "budget.per", Windows, nil)
	}
	given := lifetime != nil && f.lifetime(lifetime)
	switch {
	case given || lifetime != nil:
	case per != nil:
		f.add(at(per), "budget.lifetime is missing beside per: a budget that comes back has no end of its own").
			hint("give the epsilon that all windows may cost together, or none on purpose")
	case f.p.People != f.p.Dataset:
		f.add(at(n), "budget.lifetime is missing: policies over the same people share one").
			hint("give the epsilon that all of them may cost together, the same in each")
	}
}

// deltaOfPeople refuses a tenth of one over the declared population (of several kinds the largest), and more: with that chance a person could be published whole, and with one over it nothing is promised.
func (f *file) deltaOfPeople(where position, what string, delta float64) {
	n, of := f.p.most()
	if n == 0 || decimal.NewFromFloat(delta).Mul(decimal.NewFromUint64(n)).LessThan(decimal.New(1, -1)) { // as they are written
		return
	}
	tens := decimal.NewFromUint64(10 * n)
	below := decimal.NewFromInt(1).DivRound(tens, 30).Truncate(int32(tens.NumDigits()))
	f.add(where, "%s %g is a tenth of 1/population (%d %s) or more: it would allow to publish one of them whole", what, delta, n, of).
		hint("less than %g", below.InexactFloat64())
}

// allDelta is the delta of all windows that the lifetime holds; of one window where there is no lifetime.
func (b *Budget) allDelta() float64 {
	if b.Per == "" || !(b.Lifetime > 0) || !(b.Epsilon > 0) {
		return b.Delta
	}
	return math.Floor(b.Lifetime/b.Epsilon) * b.Delta
}

// lifetime reads the epsilon that all windows may cost together, or none.
func (f *file) lifetime(n ast.Node) bool {
	b := &f.p.Budget
	f.tell(n, sight{kind: sawWord, words: []string{"none"}})
	if s, ok := n.(*ast.StringNode); ok && s.Token.Value == "none" {
		if f.p.People != f.p.Dataset {
			f.add(at(n), "budget.lifetime: policies over the same people need one")
		}
		return true
	}
	x, ok := f.float(n, "budget.lifetime", bounds{minEpsilon, maxEpsilon * 1000, true})
	if ok && x < b.Epsilon {
		f.add(at(n), "budget.lifetime %g does not hold one window of epsilon %g", x, b.Epsilon)
	}
	b.Lifetime = x
	return ok
}

func (f *file) query(n ast.Node) {
	b, q := f.p.Budget, &f.p.Query
	*q = Query{Epsilon: b.Epsilon / 100, Delta: b.Delta / 2000, Mechanism: defaultMechanism, Bounding: "auto", Joins: JoinsOnUnit,
		MaxPublicGroups: defaultPublic}
	if n == nil {
		return
	}
	gaussian := func(n ast.Node, what string) {
		if b.Accountant == "pure" || b.Delta == 0 {
			f.add(at(n), "%s needs budget.delta above 0 and the accountant rdp", what)
		}
	}
	var l2 ast.Node
	f.fields(n, "query", []field{
		{name: "price", was: "epsilon", read: func(n ast.Node) {
			x, ok := f.float(n, "query.price", bounds{minEpsilon, maxEpsilon, true})
			if ok && b.Epsilon > 0 && x > b.Epsilon {
				f.add(at(n), "query.price %g is more than budget.epsilon %g", x, b.Epsilon)
			}
			q.Epsilon = x
		}},
		{name: "delta", read: func(n ast.Node) {
			x, ok := f.float(n, "query.delta", bounds{0, maxDelta, true})
			if ok && x > b.Delta {
				f.add(at(n), "query.delta %g is more than budget.delta %g", x, b.Delta)
			}
			f.deltaOfPeople(at(n), "query.delta", x)
			q.Delta = x
		}},
		{name: "mechanism", read: func(n ast.Node) {
			q.Mechanism = f.choice(n, "query.mechanism", mechanismWords(), nil)
			if dp.NoiseKind(q.Mechanism).HasL2Scale() {
				gaussian(n, "query.mechanism "+q.Mechanism)
			}
		}},
		{name: "bounding", read: func(n ast.Node) {
			q.Bounding = f.choice(n, "query.bounding", []string{"linf", "auto", "l2", "elastic", "truncate", "flow"}, nil)
			if q.Bounding == "l2" {
				gaussian(n, "query.bounding l2")
				l2 = n
			}
		}},
		{name: "joins", read: func(n ast.Node) {
			q.Joins = f.choice(n, "query.joins", []string{JoinsOnUnit, JoinsAny}, nil)
		}},
		{name: "max_groups", read: func(n ast.Node) {
			if x, _, ok := f.countOr(n, auto, "query.max_groups", maxGroupsLimit); ok {
				q.MaxGroups = uint64(x)
			}
		}},
		{name: "max_public_groups", read: func(n ast.Node) {
			if x, _, ok := f.count(n, "query.max_public_groups", maxPublicGroups); ok {
				q.MaxPublicGroups = int(x)
			}
		}},
		{name: "min_people", read: func(n ast.Node) {
			if x, _, ok := f.countOr(n, "none", "query.min_people", maxRowsLimit); ok {
				q.MinPeople = x
			}
		}},
	})
	if k := dp.NoiseKind(q.Mechanism); l2 != nil && k.IsAdded() && !k.HasL2Scale() {
		f.add(at(l2), "query.bounding l2 is for Gaussian noise, but query.mechanism is %s", q.Mechanism)
	}
}

// mechanismWords are what query.mechanism may be.
func mechanismWords() []string {
	out := []string{defaultMechanism}
	for _, k := range dp.Mechanisms {
		out = append(out, string(k))
	}
	return out
}
