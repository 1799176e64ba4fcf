package eval

import (
	"math"
	"strconv"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// orderedSet is an ordered-set aggregate: of what it is told and the group's values in order, none NULL, one a row.
type orderedSet func(direct []sqltype.Value, rows [][]sqltype.Value) (sqltype.Value, error)

// orderedSetOf finds one by name and types; nil if it has no evaluation.
func orderedSetOf(it *plan.AggItem) orderedSet {
	if len(it.Order) != 1 || len(it.More) > 0 {
		return nil
	}
	t := it.Order[0].Expr.Type()
	switch it.Fn {
	case "mode":
		return func(_ []sqltype.Value, rows [][]sqltype.Value) (sqltype.Value, error) { return mode(rows, t), nil }
	case "percentile_disc":
		return fractions(it, discrete)
	case "percentile_cont":
		if t.OID != sqltype.OIDFloat8 {
			return nil
		}
		return fractions(it, continuous)
	}
	return nil
}

// mode is the first in order of the most frequent values.
func mode(rows [][]sqltype.Value, t sqltype.Type) sqltype.Value {
	var best sqltype.Value
	most := 0
	for i := 0; i < len(rows); {
		j := i + 1
		for j < len(rows) && sqltype.CompareAs(rows[i][0], rows[j][0], t) == 0 {
			j++
		}
		if j-i > most {
			best, most = rows[i][0], j-i
		}
		i = j
	}
	return best
}

// fractions applies one at the fraction, or at each of an array of them.
func fractions(it *plan.AggItem, at func(p float64, rows [][]sqltype.Value) sqltype.Value) orderedSet {
	if it.Arg == nil {
		return nil
	}
	one := func(v sqltype.Value, rows [][]sqltype.Value) (sqltype.Value, error) {
		p, ok := v.(float64)
		switch {
		case !ok:
			return nil, nil
		case !(p >= 0 && p <= 1):
			return nil, outOfRange("percentile value " + strconv.FormatFloat(p, 'g', 6, 64) + " is not between 0 and 1")
		case len(rows) == 0:
			return nil, nil
		}
		return at(p, rows), nil
	}
	if !it.Arg.Type().IsArray() {
		return func(direct []sqltype.Value, rows [][]sqltype.Value) (sqltype.Value, error) {
			return one(direct[0], rows)
		}
	}
	elem, ok := it.Type.Elem()
	if !ok {
		return nil
	}
	return func(direct []sqltype.Value, rows [][]sqltype.Value) (sqltype.Value, error) {
		list, ok := direct[0].(*sqltype.Array)
		if !ok || len(rows) == 0 {
			return nil, nil
		}
		out := &sqltype.Array{Elem: elem.OID, Dims: list.Dims, Lower: list.Lower}
		for _, p := range list.Values {
			v, err := one(p, rows)
			if err != nil {
				return nil, err
			}
			out.Values = append(out.Values, v)
		}
		return out, nil
	}
}

func discrete(p float64, rows [][]sqltype.Value) sqltype.Value {
	return rows[max(1, int(math.Ceil(p*float64(len(rows)))))-1][0]
}

func continuous(p float64, rows [][]sqltype.Value) sqltype.Value {
	at := p * float64(len(rows)-1)
	lo, hi := math.Floor(at), math.Ceil(at)
	first := rows[int(lo)][0].(float64)
	if lo == hi {
		return first
	}
	second := rows[int(hi)][0].(float64)
	return first + float64((at-lo)*(second-first))
}
