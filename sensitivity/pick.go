package sensitivity

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// mostCandidates bounds what one group may return.
const mostCandidates = 10_000

// mostTop bounds dp_top_k's k: each pick takes its part of the price.
const mostTop = 100

// mostFrequent gives MODE and dp_top_k their picks.
//
// Proof: claim: without one unit the numbers of rows of the candidates in a group do not rise, and each falls by at most PerGroup = m, in at most Limit.PerUnit groups: the print keeps at most m of the unit's rows
// in a group (sqlgen.TreeLeaves). So in each group Most picks are made of numbers that one unit changes so: noise.PermuteAndFlip's assumption, and dp.Picks of Most PerUnit. The candidates follow from the policy, public
// tables and the statement, as public groups do (8); rows with other values are not counted.
func (z *measurer) mostFrequent(g plan.AggItem, f *Formula) error {
	x, k := g.Arg, uint64(1)
	f.Kind = IsMode
	if g.Fn == plan.TopK {
		f.Kind = IsTop
		n, err := z.topOf(g)
		if err != nil {
			return err
		}
		k = n
	} else if len(g.Order) == 1 {
		x = g.Order[0].Expr
	}
	p, err := z.candidates(x)
	if err != nil {
		return err
	}
	if p == nil || len(p.Values) == 0 || len(p.Values) > mostCandidates {
		return sqlerr.New(sqlerr.PrivateShape, "the values that %s of private rows is among are not public", g.Fn).At(g.Pos).
			WithHint("GROUP BY x ORDER BY count(*) DESC LIMIT 1 shows values that are chosen with noise; the owner can declare values: in the policy.")
	}
	p.Most = min(k, uint64(len(p.Values)))
	if f.Sum, err = z.measure(Measure{Kind: Candidates, Arg: x, Pick: p}, g); err != nil {
		return err
	}
	m := &z.out.Measures[f.Sum]
	m.Pick.Most = max(m.Pick.Most, p.Most)
	f.Top = p.Most
	return nil
}

// topOf is dp_top_k's k.
func (z *measurer) topOf(g plan.AggItem) (uint64, error) {
	v, err := relation.Constant(g.More[0])
	k, ok := v.(int64)
	if err != nil || !ok || k < 1 || k > mostTop {
		return 0, sqlerr.New(sqlerr.InvalidParam, "dp_top_k takes a number of values from 1 to %d", mostTop).At(g.Pos).WithHint("For example, dp_top_k(x, 5).")
	}
	return uint64(k), nil
}

// candidates are an expression's public values, by the rules of keys; nil: there are none.
func (z *measurer) candidates(x plan.Scalar) (*Pick, error) {
	keys, groups, joined, padded := z.out.Keys, z.out.Groups, z.joined, z.padded
	defer func() { z.out.Keys, z.out.Groups, z.joined, z.padded = keys, groups, joined, padded }()
	t := x.Type()
	z.out.Keys, z.out.Groups, z.joined, z.padded = []Key{{Type: t}}, Groups{}, map[*scanInfo]int{}, map[int]bool{}
	if c, ok := x.(*plan.Col); ok {
		z.out.Keys[0].Col = c.ID
		if err := z.addSource(0); err != nil {
			return nil, err
		}
	} else if !z.addFixed(0, x, t, false) {
		if err := z.addDerived(0, x); err != nil {
			return nil, err
		}
	}
	if len(z.out.Groups.Sources) != 1 {
		return nil, nil
	}
	if err := z.readSource(0); err != nil {
		return nil, err
	}
	s := z.out.Groups.Sources[0]
	if len(s.Keys) != 1 {
		return nil, nil
	}
	p := &Pick{Type: t, Why: s.Why}
	for _, tuple := range s.Tuples {
		if tuple[0] != nil {
			p.Values = append(p.Values, tuple[0])
		}
	}
	return p, nil
}
