package flow

import (
	"errors"
	"math"
	"math/big"
)

// What one unit more changes a score by: Up at most, and at least -Down. Their sum is what a choice takes for one unit (noise.ChoiceSteps).
const (
	Down = 21
	Up   = 2 * Down
)

// Scores say, for each cap t, how much more flow there is at larger caps u: the largest whole number that is at most 42 (f(u) - f(t)) / (G u) for some u of the caps and their doubles from 2t on, f the sum over the graphs, one a group, and a unit in at most G of them.
// It is about the number of units that cap t cuts: 21 of one of which it cuts as much as it leaves, up to 42 of one of which it leaves next to nothing. Scores above most are most. Caps ascend.
//
// Proof: claim: one unit more, of either kind, changes each score by a number between -Down and Up. In each graph the unit is in, f(t) changes by 0 to t and f(u) by 0 to u (Value's proof (a)), in the other ones by nothing, so 42 (f(u) - f(t)) / (G u) changes by at least -42 t/u, which is not below -21 as u >= 2t, and by at
// most 42. So does the largest of these numbers, as which u there are is public. These ends are whole, so the largest whole number below changes by no more; nor does the smaller of that and a public number.
// What is left out is no part of the claim: with a smaller t every f(u) - f(t) is as large or larger and there are no fewer u, so from the largest cap down no score is below the one before, and below a cap whose score is most all are. A u below 2t would have to be divided by 2t as well (-Down), and f(u) is no more than f(2t).
func Scores(graphs []*Graph, caps []uint64, groups uint64, most int64) ([]int64, error) {
	if groups == 0 || most < 0 {
		return nil, errors.New("flow: scores of nothing")
	}
	ends := map[uint64]*big.Int{} // f where it is known: at all larger caps and their doubles
	value := func(t uint64) *big.Int {
		v := ends[t]
		if v == nil {
			v = new(big.Int)
			for _, g := range graphs {
				v.Add(v, big.NewInt(g.Value(int64(min(t, math.MaxInt64)))))
			}
		}
		return v
	}
	out := make([]int64, len(caps))
	for i := len(caps) - 1; i >= 0; i-- {
		t := caps[i]
		if t == 0 || t > math.MaxInt64/2 || i > 0 && caps[i-1] >= t {
			return nil, errors.New("flow: caps ascend from 1")
		}
		if i+1 < len(caps) && out[i+1] == most {
			out[i] = most
			continue
		}
		ends[2*t], ends[t] = value(2*t), value(t)
		score := new(big.Int)
		for u, end := range ends {
			if u < 2*t {
				continue
			}
			more := new(big.Int).Sub(end, ends[t])
			more.Mul(more, big.NewInt(Up))
			if more.Div(more, new(big.Int).Mul(new(big.Int).SetUint64(groups), new(big.Int).SetUint64(u))); more.Cmp(score) > 0 {
				score = more
			}
		}
		if out[i] = most; score.IsInt64() {
			out[i] = min(most, score.Int64())
		}
	}
	return out, nil
}
