package plan

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// A share is a quotient of two counts of which the first counts a part of what the second counts, so without noise it is between 0 and 1. Times a constant, as 100.0 * a / b, it is between 0 and that; casts to numbers change neither.

// isPartOf reports that count a counts a part of what count b does, in each group.
//
// Proof: (1) count(*) counts rows, count(x) those in which x is not NULL, count(DISTINCT x) no more than those. A sum of ones and zeros counts the rows with a one (asCount). (2) A FILTER with more conditions keeps fewer rows. So the number of a is at most that of b where b counts rows, or values of the same x, with no condition that a has not; and where b tells
// values apart, a does so too.
func isPartOf(a, b AggItem) bool {
	a, b = asCount(a), asCount(b)
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

// asCount is a sum of CASE WHEN c THEN 1 ELSE 0 END, or of c::integer, as the count of rows for which c is true; other aggregates as they are.
func asCount(g AggItem) AggItem {
	if g.Fn != Sum || g.Distinct {
		return g
	}
	isInt := func(x Scalar, n int64) bool {
		c, ok := Uncast(x).(*Const)
		return ok && c.Value == sqltype.Value(n)
	}
	var cond Scalar
	switch x := Uncast(g.Arg).(type) {
	case *Case:
		c, _ := x.Else.(*Const)
		if len(x.Whens) != 1 || !isInt(x.Whens[0].Result, 1) || x.Else != nil && !isInt(x.Else, 0) && (c == nil || c.Value != nil) {
			return g
		}
		cond = x.Whens[0].Cond
	case *Call:
		if x.Fn.Kind != funcs.Cast || len(x.Args) != 1 || x.Args[0].Type().OID != sqltype.OIDBool {
			return g
		}
		cond = x.Args[0]
	default:
		return g
	}
	g.Fn, g.Arg = CountRows, nil
	if g.Filter != nil {
		cond = &Logic{Op: And, Args: []Scalar{g.Filter, cond}}
	}
	g.Filter = cond
	return g
}

// unscaled takes the constants away that a number is multiplied by; false where one is no positive number.
func unscaled(x Scalar) (of Scalar, times decimal.Decimal, ok bool) {
	times = decimal.NewFromInt(1)
	for {
		x = Uncast(x)
		c, is := x.(*Call)
		if !is || c.Fn.Name != "*" || len(c.Args) != 2 {
			return x, times, true
		}
		at := slices.IndexFunc(c.Args, func(y Scalar) bool { _, is := Uncast(y).(*Const); return is })
		if at < 0 {
			return x, times, true
		}
		switch v := Uncast(c.Args[at]).(*Const).Value.(type) {
		case int64:
			times = times.Mul(decimal.NewFromInt(v))
		case decimal.Decimal:
			times = times.Mul(v)
		default:
			return x, times, false
		}
		if times.Sign() <= 0 || len(times.Coefficient().Bits()) > 8 {
			return x, times, false
		}
		x = c.Args[1-at]
	}
}

// counted is what a column is: a count of a row of a released relation, or the sum of such a count over rows of which that row is one.
type counted struct {
	row int // the same for columns of the same row
	of  AggItem
	sum bool
}

// shareOf gives the constant that a quotient is a share of; false if it is none.
func shareOf(x, y Scalar, of func(ColID) (counted, bool)) (most decimal.Decimal, ok bool) {
	x, most, ok = unscaled(x)
	if !ok {
		return most, false
	}
	y = Uncast(y)
	if c, is := y.(*Case); is {
		if z, _ := nullifs(c); z != nil {
			y = z
		}
	}
	y, by, ok := unscaled(y)
	if !ok {
		return most, false
	}
	most = most.DivRound(by, 40)
	a, isCol := x.(*Col)
	b, areCols := y.(*Col)
	if !isCol || !areCols {
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
			if total, ok := totalOf(it, func(id ColID) (counted, bool) { c, ok := of[id]; return c, ok }); ok {
				of[it.ID] = total
			}
		}
		return out, of, err
	case *Filter, *Sort, *Limit, *Distinct, *DistinctOn, *Join:
		return out, of, err
	}
	return out, nil, err
}

// totalOf is a window's sum of counts of all rows of a partition.
func totalOf(it WindowItem, of func(ColID) (counted, bool)) (c counted, ok bool) {
	if it.Fn != Sum || it.Filter != nil || len(it.Order) > 0 || it.Frame != nil || len(it.Args) != 1 {
		return c, false
	}
	arg := it.Args[0]
	if x, is := arg.(*Call); is && x.Fn.Name == "cast" && len(x.Args) == 1 && x.T.IsNumber() {
		arg = x.Args[0]
	}
	if x, is := arg.(*Col); is {
		if c, ok = of(x.ID); ok && !c.sum {
			c.sum = true
			return c, true
		}
	}
	return c, false
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

// countColumns tells the columns of a relation that are counts, so that none of their values is below 0 without noise.
//
// Proof: claim: without noise such a column has no value below 0. (1) It is COUNT itself. (2) Or each of its values is one of a count's, or one of a constant's that is not below 0, or NULL: the column of a derived table, of a join, of VALUES or of a set operation, the least or greatest of counts,
// and COALESCE, CASE, GREATEST, LEAST and casts to numbers over these.
type countColumns struct {
	made map[ColID][]Scalar // what a column's values are of: of set operations and VALUES more than one expression
	kind map[ColID]countKind
}

// countKind is what is known of an expression's values.
type countKind int

const (
	notCounts   countKind = iota // they may be below 0
	notNegative                  // constants, of which none is below 0
	someCounts                   // counts, and perhaps such constants
)

func countsOf(r Rel) *countColumns {
	n := &countColumns{map[ColID][]Scalar{}, map[ColID]countKind{}}
	VisitRels(r, func(r Rel) bool {
		switch r := r.(type) {
		case *Project:
			for _, it := range r.Items {
				if c, ok := it.Expr.(*Col); !ok || c.ID != it.ID {
					n.made[it.ID] = []Scalar{it.Expr}
				}
			}
		case *Values:
			for i, id := range r.Columns {
				n.made[id] = nil
				for _, row := range r.Rows {
					n.made[id] = append(n.made[id], row[i])
				}
			}
		case *SetOp:
			for i, id := range r.Columns {
				n.made[id] = []Scalar{&Col{ID: r.LeftCols[i]}, &Col{ID: r.RightCols[i]}}
			}
		case *Aggregate:
			for _, g := range r.Aggs {
				switch g.Fn {
				case CountRows, Count, "regr_count": // (1) COUNT itself
					n.kind[g.ID] = someCounts
				case Min, Max:
					n.made[g.ID] = []Scalar{g.Arg}
				}
			}
		}
		return true
	})
	return n
}

// has reports a column that is a count.
func (n *countColumns) has(id ColID) bool { return n.column(id) == someCounts }

func (n *countColumns) column(id ColID) countKind {
	kind, known := n.kind[id]
	if !known {
		n.kind[id] = notCounts // of what a recursive query makes of itself nothing is known
		kind = n.all(n.made[id])
		n.kind[id] = kind
	}
	return kind
}

// all is of values of several expressions. (2)
func (n *countColumns) all(list []Scalar) (kind countKind) {
	for _, x := range list {
		of := n.scalar(x)
		if of == notCounts {
			return of
		}
		kind = max(kind, of)
	}
	return kind
}

func (n *countColumns) scalar(x Scalar) countKind {
	switch x := x.(type) {
	case *Const:
		if isBelowZero(x.Value) {
			return notCounts
		}
		return notNegative
	case *Col:
		return n.column(x.ID)
	case *Coalesce:
		return n.all(x.Args)
	case *MinMax:
		return n.all(x.Args)
	case *Case:
		list := make([]Scalar, 0, len(x.Whens)+1)
		for _, w := range x.Whens {
			list = append(list, w.Result)
		}
		if x.Else != nil {
			list = append(list, x.Else)
		}
		return n.all(list)
	case *Subquery:
		if x.Kind == ScalarQuery {
			return n.column(x.Cols[0])
		}
	case *Call:
		if x.Fn.Kind == funcs.Cast && len(x.Args) == 1 && x.T.IsNumber() && x.Args[0].Type().IsNumber() {
			return n.all(x.Args)
		}
	}
	return notCounts
}

// isBelowZero reports a constant that may be a number below 0.
func isBelowZero(v sqltype.Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case int64:
		return v < 0
	case float64:
		return !(v >= 0)
	case decimal.Decimal:
		return v.Sign() < 0
	}
	return true
}
