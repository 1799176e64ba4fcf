package flow

import (
	"errors"
	"math"
	"math/big"
)

// Ladder lists the caps among which one is chosen: whole numbers from first on, up to last, of 1 to 7 and 8, 10, 12, 14 and their doubles, so that the double of a cap is on the ladder too.
func Ladder(first, last uint64) (out []uint64) {
	for octave := uint64(1); octave != 0 && octave <= last; octave *= 2 {
		for _, part := range []uint64{4, 5, 6, 7} {
			if part*octave%4 != 0 || part > math.MaxUint64/octave {
				continue
			}
			if t := part * octave / 4; t >= first && t <= last {
				out = append(out, t)
			}
		}
	}
	return out
}

// What one unit more changes a score by: Up at most, and at least -Down. Their sum is what a choice takes for one unit (noise.ChoiceSteps).
const (
	perPart = 21
	Up      = 2 * perPart
	Down    = perPart
)

// Scores say, for each cap t, how much more flow there is at twice the cap, in caps: the largest whole number that is at most 21 (f(2t) - f(t)) / (G t), f the sum over the graphs, one a group, and a unit in at most G of them. It is about the number of units, in 21sts, that cap t cuts something of. Scores above most are most.
// Caps ascend.
//
// Proof: claim: one unit more, of either kind, changes each score by a number between -Down and Up. In each graph the unit is in, f(t) changes by 0 to t and f(2t) by 0 to 2t (Value's proof (a)), in the other ones by nothing, so 21 (f(2t) - f(t)) / (G t) changes by at least -21 and at most 42. These are whole, so the largest whole
// number below changes by no more; nor does the smaller of that and a public number.
// What is left out is no part of the claim: (f(2t) - f(t))/t is the mean slope of f between t and 2t, which falls with t, as each f is concave (Value's proof (b)). So from the largest cap down no score is below the one before, and below a cap whose score is most all are.
func Scores(graphs []*Graph, caps []uint64, groups uint64, most int64) ([]int64, error) {
	if groups == 0 || most < 0 {
		return nil, errors.New("flow: scores of nothing")
	}
	known := map[uint64]*big.Int{}
	value := func(t uint64) *big.Int {
		v := known[t]
		if v == nil {
			v = new(big.Int)
			for _, g := range graphs {
				v.Add(v, big.NewInt(g.Value(int64(min(t, math.MaxInt64)))))
			}
			known[t] = v
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
		more := new(big.Int).Sub(value(2*t), value(t))
		more.Mul(more, big.NewInt(perPart))
		more.Div(more, new(big.Int).Mul(new(big.Int).SetUint64(groups), new(big.Int).SetUint64(t)))
		if out[i] = most; more.IsInt64() {
			out[i] = min(most, more.Int64())
		}
	}
	return out, nil
}
