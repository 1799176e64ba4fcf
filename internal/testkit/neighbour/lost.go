package neighbour

import (
	"fmt"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Lost is what sqlgen.Lost returned: for each measure that loses and each of its signs what is lost up to C, and from there up to sensitivity.LostFar more of them.
type Lost struct {
	Analysis *sensitivity.Analysis
	Bounds   sqlgen.LostBounds
	Sides    [][][2]*big.Int // a measure
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
	l := &Lost{a, b, make([][][2]*big.Int, len(a.Measures))}
	for i := range a.Measures {
		for k := 0; b.Units[i] > 0 && k < a.Measures[i].LostSides(); k++ {
			if len(all) < 2 {
				return nil, fmt.Errorf("neighbour: there are only %d columns", len(rows[0]))
			}
			l.Sides[i] = append(l.Sides[i], [2]*big.Int{all[0], all[1]})
			all = all[2:]
		}
	}
	if len(all) > 0 {
		return nil, fmt.Errorf("neighbour: %d columns are of no measure", len(all))
	}
	return l, nil
}

// CompareLost holds two of them, the second without one unit, against the claim of sensitivity.Loses: a unit raises each number by at most C, or LostFar C, never lowers one, and those of as many signs of a measure as LostMoves
// says. It gives the largest change as a share of the claim.
func CompareLost(before, after *Lost) (share float64, err error) {
	a := before.Analysis
	for i := range a.Measures {
		moved := uint64(0)
		for k, side := range before.Sides[i] {
			changed := false
			for far, n := range side {
				d := new(big.Int).Sub(n, after.Sides[i][k][far])
				limit := new(big.Int).SetUint64(before.Bounds.Units[i])
				limit.Mul(limit, big.NewInt([]int64{1, sensitivity.LostFar}[far]))
				if d.Sign() < 0 || d.Cmp(limit) > 0 {
					return 0, fmt.Errorf("measure %d, sign %d, segment %d: a unit adds %s, the claim is 0 to %s", i+1, k+1, far+1, d, limit)
				}
				changed = changed || d.Sign() > 0
				f, _ := new(big.Rat).SetFrac(d, limit).Float64()
				share = max(share, f)
			}
			if changed {
				moved++
			}
		}
		if most := a.LostMoves(&a.Measures[i]); moved > most {
			return 0, fmt.Errorf("measure %d: a unit adds to %d signs, the claim is %d", i+1, moved, most)
		}
	}
	return share, nil
}
