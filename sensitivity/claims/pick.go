package claims

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
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
func (z *Measurer) mostFrequent(g plan.AggItem, f *sensitivity.Formula) error {
	x, k := g.Arg, uint64(1)
	f.Kind = sensitivity.IsMode
	if g.Fn == plan.TopK {
		f.Kind = sensitivity.IsTop
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
	if f.Sum, err = z.measure(sensitivity.Measure{Kind: sensitivity.Candidates, Arg: x, Pick: p}, g); err != nil {
		return err
	}
	m := &z.Out.Measures[f.Sum]
	m.Pick.Most = max(m.Pick.Most, p.Most)
	f.Top = p.Most
	return nil
}

// topOf is dp_top_k's k.
func (z *Measurer) topOf(g plan.AggItem) (uint64, error) {
	v, err := relation.Constant(g.More[0])
	k, ok := v.(int64)
	if err != nil || !ok || k < 1 || k > mostTop {
		return 0, sqlerr.New(sqlerr.InvalidParam, "dp_top_k takes a number of values from 1 to %d", mostTop).At(g.Pos).WithHint("For example, dp_top_k(x, 5).")
	}
	return uint64(k), nil
}

// candidates are an expression's public values, by the rules of keys; nil: there are none.
func (z *Measurer) candidates(x plan.Scalar) (*sensitivity.Pick, error) {
	keys, groups, joined, padded := z.Out.Keys, z.Out.Groups, z.Joined, z.Padded
	defer func() { z.Out.Keys, z.Out.Groups, z.Joined, z.Padded = keys, groups, joined, padded }()
	t := x.Type()
	z.Out.Keys, z.Out.Groups, z.Joined, z.Padded = []sensitivity.Key{{Type: t}}, sensitivity.Groups{}, map[*scope.ScanInfo]int{}, map[int]bool{}
	if c, ok := x.(*plan.Col); ok {
		z.Out.Keys[0].Col = c.ID
		if err := z.AddSource(0); err != nil {
			return nil, err
		}
	} else if !z.AddFixed(0, x, t, false) {
		if err := z.AddDerived(0, x); err != nil {
			return nil, err
		}
	}
	if len(z.Out.Groups.Sources) != 1 {
		return nil, nil
	}
	if err := z.ReadSource(0); err != nil {
		return nil, err
	}
	s := z.Out.Groups.Sources[0]
	if len(s.Keys) != 1 {
		return nil, nil
	}
	p := &sensitivity.Pick{Type: t, Why: s.Why}
	for _, tuple := range s.Tuples {
		if tuple[0] != nil {
			p.Values = append(p.Values, tuple[0])
		}
	}
	return p, nil
}
