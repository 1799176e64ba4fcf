package mlext

import "github.com/dpsql/dpsql/mlext/descent"

// interval is what a number may be: from lo to hi, or below hi where that is out.
type interval struct {
	lo, hi float64
	below  bool
}

func (i interval) has(x float64) bool { return x >= i.lo && (x < i.hi || x == i.hi && !i.below) }

// numbersAllowed are the options that are numbers. None may be so small or large that float64 arithmetic on rows overflows, or loses them in rounding: whether it does would be these rows' to say.
var numbersAllowed = map[string]interval{
	"epsilon": {lo: leastOfNoise, hi: 1000}, "price": {lo: leastOfNoise, hi: 1000}, "delta": {lo: 1e-30, hi: 1, below: true}, "noise_multiplier": {lo: 0.01, hi: 1e6}, "max_rows_per_unit": {lo: 1, hi: 1 << 20}, "population": {lo: 1, hi: 1e12}, "split": {lo: 1e-6, hi: 1, below: true},
	"lambda": {lo: 1e-6, hi: 1e12}, "width": {lo: 1e-3, hi: 10}, binsOption: {hi: 64}, "residual_clip": {lo: 1e-6, hi: 1e9}, "clip": {lo: descent.LeastClip, hi: descent.MostClip}, "clip_quantile": {lo: 1e-6, hi: 1, below: true}, "clip_rate": {lo: 1e-6, hi: 10},
	"steps": {lo: 1, hi: 1e6}, "sampling_rate": {lo: 1e-6, hi: 1}, "learning_rate": {lo: 1e-9, hi: 1e6}, "momentum": {hi: 1, below: true}, temperature: {lo: 0.1, hi: 10}, "decay": {hi: 1, below: true}, "average": {hi: 1},
}
