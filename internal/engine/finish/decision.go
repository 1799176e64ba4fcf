package finish

import (
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/sensitivity"
)

// decision is BOOL_AND's and BOOL_OR's value; nil for other aggregates. Somebody has a deciding row where the noisy number of people who have is more than the 97.5% quantile of its
// noise, which is public. So where nobody has, it is right with probability 0.975, and where at least twice as many as the quantile have, too; of fewer people no mechanism of this price
// could tell for sure. Over nobody it is BOOL_AND's true and BOOL_OR's false, never NULL.
//
// Why not half a person: for one person against none that errs least, (1 + exp(epsilon))^-1 both ways, which is nearly 1/2 at prices that people pay; a column without
// a false row would be called true about every other time.
func (e *Errors) decision(i int, v []*big.Int) (sqltype.Value, error) {
	f := e.a.Formulas[i]
	if f.Kind != sensitivity.IsSome && f.Kind != sensitivity.IsNone {
		return nil, nil
	}
	limit := e.Measure(f.Count)
	if math.IsNaN(limit) { // the statement has ended
		return nil, e.ctx.Err()
	}
	most, _ := new(big.Float).SetFloat64(limit).Int(nil)
	return (v[f.Count].Cmp(most) > 0) == (f.Kind == sensitivity.IsSome), nil
}
