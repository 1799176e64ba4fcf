package account

import "math"

// gather counts equal steps together, and makes one of all Gaussians without sampling.
//
// Proof: claim: the gathered steps have the privacy loss of the steps. (1) Losses of steps that are fixed in advance add up, so their order and which are counted together do not matter. (2) A Gaussian that is not sampled (rate 1) has a normal loss, and several together are exactly one with
// the root of the sum of their mu^2, mu = 1/sigma (Dong, Roth, Su 2022, Corollary 3.3; ComposeGDP). Sampled ones are no Gaussians and stay apart. (3) Errors of rounding are those of a few float64 operations.
func gather(steps []Step) []Step {
	var out []Step
	at := map[any]int{}
	type unsampled struct{} // the key of all Gaussians of rate 1
	for _, s := range steps {
		var key any = [2]any{s.Mechanism, s.Rate}
		if m, ok := s.Mechanism.(Gaussian); ok && s.Rate == 1 && m.Sigma > 0 && s.Count > 0 {
			key = unsampled{} // (2) not sampled
		}
		i, ok := at[key]
		switch {
		case !ok:
			if key == any(unsampled{}) {
				s = Step{Gaussian{s.Mechanism.(Gaussian).Sigma / math.Sqrt(float64(s.Count))}, 1, 1}
			}
			at[key], out = len(out), append(out, s)
		case key == any(unsampled{}):
			mu := 1 / out[i].Mechanism.(Gaussian).Sigma
			out[i].Mechanism = Gaussian{1 / ComposeGDP(mu, math.Sqrt(float64(s.Count))/s.Mechanism.(Gaussian).Sigma)}
		default:
			out[i].Count += s.Count
		}
	}
	return out
}
