package plan

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/sqltype"
)

// A share is a quotient of two counts of which the first counts a part of what the second counts, so without noise it is between 0 and 1. Times a constant, as 100.0 * a / b, it is between 0 and that.

// isPartOf reports that count a counts a part of what count b does, in each group.
//
// Proof: (1) count(*) counts rows, count(x) those in which x is not NULL, count(DISTINCT x) no more than those. (2) A FILTER with more conditions keeps fewer rows. So the number of a is at most that of b where b counts rows, or values of the same x, with no condition that a has not; and where b tells
// values apart, a does so too.
func isPartOf(a, b AggItem) bool {
	counts := func(g AggItem) bool { return (g.Fn == CountRows || g.Fn == Count) && len(g.More) == 0 && !g.Within }
	if !counts(a) || !counts(b) || b.Distinct && !a.Distinct {
		return false
	}
	if b.Fn == Count && (a.Fn != Count || scalarText(a.Arg) != scalarText(b.Arg)) {
		return false
	}
	has := map[string]bool{}
	for _, c := range Conjuncts(a.Filter) {
		has[scalarText(c)] = true
	}
	return !slices.ContainsFunc(Conjuncts(b.Filter), func(c Scalar) bool { return !has[scalarText(c)] })
}

// counted is what a column is: a count of a row of a released relation, or the sum of such a count over rows of which that row is one.
type counted struct {
	row int // the same for columns of the same row
	of  AggItem
	sum bool
}

// shareOf gives the constant that a quotient is a share of; false if it is none.
func shareOf(x, y Scalar, of func(ColID) (counted, bool)) (most decimal.Decimal, ok bool) {
	uncast := func(x Scalar) Scalar {
		for {
			c, ok := x.(*Call)
			if !ok || c.Fn.Name != "cast" || len(c.Args) != 1 || !c.T.IsNumber() {
				return x
			}
			x = c.Args[0]
		}
	}
	most, x, y = decimal.NewFromInt(1), uncast(x), uncast(y)
	if c, ok := x.(*Call); ok && c.Fn.Name == "*" && len(c.Args) == 2 {
		for i := range c.Args {
			k, ok := uncast(c.Args[i]).(*Const)
			if !ok {
				continue
			}
			switch v := k.Value.(type) {
			case int64:
				most = decimal.NewFromInt(v)
			case decimal.Decimal:
				most = v
			default:
				return most, false
			}
			x = uncast(c.Args[1-i])
			break
		}
	}
	if c, ok := y.(*Case); ok && len(c.Whens) == 1 && c.Else != nil { // NULLIF
		if k, null := c.Whens[0].Result.(*Const); null && k.Value == nil {
			y = uncast(c.Else)
		}
	}
	a, isCol := x.(*Col)
	b, areCols := y.(*Col)
	if !isCol || !areCols || most.Sign() <= 0 {
		return most, false
	}
	part, ok1 := of(a.ID)
	whole, ok2 := of(b.ID)
	return most, ok1 && ok2 && part.row == whole.row && !part.sum && isPartOf(part.of, whole.of)
}

// clamped is a quotient between 0 and most; NULL stays NULL.
func clamped(x Scalar, most decimal.Decimal) Scalar {
	t := x.Type()
	number := func(d decimal.Decimal) Scalar {
		switch {
		case t.IsInteger():
			return &Const{Value: d.IntPart(), T: t}
		case t.OID == sqltype.OIDNumeric:
			return &Const{Value: d, T: t}
		}
		return &Const{Value: d.InexactFloat64(), T: t}
	}
	inside := &MinMax{Args: []Scalar{&MinMax{Greatest: true, Args: []Scalar{x, number(decimal.Zero)}, T: t}, number(most)}, T: t}
	return &Case{Whens: []When{{Cond: &Is{X: x, What: "NULL", Not: true}, Result: inside}}, T: t}
}

// ClampShares puts shares that are computed of released counts between their ends; counts are the columns of released relations that are counts. Whatever changes nothing is given back as it is.
func ClampShares(root Rel, counts map[Rel]map[ColID]AggItem) (Rel, error) {
	s := &sharing{counts: counts}
	out, _, err := s.rel(root)
	if err != nil || s.found == 0 {
		return root, err
	}
	return out, nil
}

type sharing struct {
	counts      map[Rel]map[ColID]AggItem
	rows, found int
}

// rel gives which columns of a relation are counts of its rows.
func (s *sharing) rel(r Rel) (Rel, map[ColID]counted, error) {
	of := map[ColID]counted{}
	if items, given := s.counts[r]; given {
		s.rows++ // a relation that is read twice has two rows
		for id, g := range items {
			of[id] = counted{row: s.rows, of: g}
		}
		return r, of, nil
	}
	inputs := map[Rel][]Rel{}
	for _, in := range Inputs(r) {
		x, below, err := s.rel(in)
		if err != nil {
			return nil, nil, err
		}
		inputs[in] = append(inputs[in], x)
		for id, c := range below {
			of[id] = c
		}
	}
	out, err := MapParts(r, func(in Rel) (Rel, error) {
		x := inputs[in][0]
		inputs[in] = inputs[in][1:]
		return x, nil
	}, func(x Scalar) (Scalar, error) { return s.scalar(x, of) })
	switch n := r.(type) {
	case *Project:
		above := map[ColID]counted{}
		for _, it := range n.Items {
			if c, ok := it.Expr.(*Col); ok {
				if from, ok := of[c.ID]; ok {
					above[it.ID] = from
				}
			}
		}
		return out, above, err
	case *Window:
		for _, it := range n.Items {
			if it.Fn != Sum || it.Filter != nil || len(it.Order) > 0 || it.Frame != nil || len(it.Args) != 1 {
				continue
			}
			arg := it.Args[0]
			if c, ok := arg.(*Call); ok && c.Fn.Name == "cast" && len(c.Args) == 1 && c.T.IsNumber() {
				arg = c.Args[0]
			}
			if c, ok := arg.(*Col); ok {
				if from, ok := of[c.ID]; ok && !from.sum {
					from.sum = true
					of[it.ID] = from
				}
			}
		}
		return out, of, err
	case *Filter, *Sort, *Limit, *Distinct, *DistinctOn, *Join:
		return out, of, err
	}
	return out, nil, err
}

func (s *sharing) scalar(x Scalar, of map[ColID]counted) (Scalar, error) {
	if _, ok := x.(*Subquery); ok {
		return x, nil
	}
	y, err := mapChildren(x, func(y Scalar) (Scalar, error) { return s.scalar(y, of) })
	c, ok := y.(*Call)
	if err != nil || !ok || c.Fn.Name != "/" || len(c.Args) != 2 {
		return y, err
	}
	most, ok := shareOf(c.Args[0], c.Args[1], func(id ColID) (counted, bool) { v, ok := of[id]; return v, ok })
	if !ok {
		return y, nil
	}
	s.found++
	return clamped(y, most), nil
}
