package neighbour

import (
	"fmt"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Lost is what sqlgen.Lost returned: for each measure that loses and each of its signs what units count in each class of sensitivity.LostSteps.
type Lost struct {
	Analysis *sensitivity.Analysis
	Bounds   sqlgen.LostBounds
	Sides    [][][]*big.Int // a measure
}

// LostOf reads the one row of the statement.
func LostOf(a *sensitivity.Analysis, b sqlgen.LostBounds, st *sqlgen.Statement, rows [][]sqltype.Value) (*Lost, error) {
	if len(rows) != 1 || len(rows[0]) != len(st.Columns) {
		return nil, fmt.Errorf("neighbour: %d rows of lost mass", len(rows))
	}
	var all []*big.Int
	for i, v := range rows[0] {
		if st.Columns[i].Role != sqlgen.RoleLost || st.Columns[i].Index != i {
			return nil, fmt.Errorf("neighbour: column %d is %+v", i, st.Columns[i])
		}
		n, err := integer(v)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	l := &Lost{a, b, make([][][]*big.Int, len(a.Measures))}
	for i := range a.Measures {
		for k := 0; b.Units[i] > 0 && k < a.Measures[i].LostSides(); k++ {
			n := sensitivity.LostClasses
			if len(all) < n {
				return nil, fmt.Errorf("neighbour: there are only %d columns", len(rows[0]))
			}
			l.Sides[i] = append(l.Sides[i], all[:n])
			all = all[n:]
		}
	}
	if len(all) > 0 {
		return nil, fmt.Errorf("neighbour: %d columns are of no measure", len(all))
	}
	return l, nil
}

// CompareLost holds two of them, the second without one unit, against the claim of sensitivity.Analysis.CanBeClipped: a unit raises the numbers of a sign by at most C together, never lowers one, and those of as many signs of a measure as LostMoves
// says. It gives the largest change as a share of the claim.
func CompareLost(before, after *Lost) (share float64, err error) {
	a := before.Analysis
	for i := range a.Measures {
		moved := uint64(0)
		for k, side := range before.Sides[i] {
			unit := before.Bounds.Units[i]
			limit, all := new(big.Int).SetUint64(unit*sensitivity.LostParts(unit)), new(big.Int)
			for class, n := range side {
				d := new(big.Int).Sub(n, after.Sides[i][k][class])
				if d.Sign() < 0 {
					return 0, fmt.Errorf("measure %d, sign %d, class %d: a unit takes %s", i+1, k+1, class+1, d)
				}
				all.Add(all, d)
			}
			if all.Cmp(limit) > 0 {
				return 0, fmt.Errorf("measure %d, sign %d: a unit adds %s, the claim is 0 to %s", i+1, k+1, all, limit)
			}
			if all.Sign() > 0 {
				moved++
			}
			f, _ := new(big.Rat).SetFrac(all, limit).Float64()
			share = max(share, f)
		}
		if most := a.LostMoves(&a.Measures[i]); moved > most {
			return 0, fmt.Errorf("measure %d: a unit adds to %d signs, the claim is %d", i+1, moved, most)
		}
	}
	return share, nil
}
