package account

import "math"

// gather counts equal steps together, and makes one of all Gaussians without sampling, whose losses are normal: their mus add up in squares.
func gather(steps []Step) []Step {
	var out []Step
	at := map[any]int{}
	for _, s := range steps {
		var key any = [2]any{s.Mechanism, s.Rate}
		if m, ok := s.Mechanism.(Gaussian); ok && s.Rate == 1 && m.Sigma > 0 && s.Count > 0 {
			key = "gaussian"
		}
		i, ok := at[key]
		switch {
		case !ok:
			if key == "gaussian" {
				s = Step{Gaussian{s.Mechanism.(Gaussian).Sigma / math.Sqrt(float64(s.Count))}, 1, 1}
			}
			at[key], out = len(out), append(out, s)
		case key == "gaussian":
			mu := 1 / out[i].Mechanism.(Gaussian).Sigma
			out[i].Mechanism = Gaussian{1 / ComposeGDP(mu, math.Sqrt(float64(s.Count))/s.Mechanism.(Gaussian).Sigma)}
		default:
			out[i].Count += s.Count
		}
	}
	return out
}
