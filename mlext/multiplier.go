package mlext

import (
	"maps"
	"math"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Noise is the noise multiplier that was asked for instead of an epsilon: the noise's deviation in units of what one person changes; 0: none.
func (s *Spec) Noise() float64 { return s.number("noise_multiplier", 0) }

// Calibrated is a copy whose noise follows from its epsilon and delta.
func (s *Spec) Calibrated() *Spec {
	c := *s
	c.numbers = maps.Clone(s.numbers)
	delete(c.numbers, "noise_multiplier")
	return &c
}

// together refuses options that contradict each other: an epsilon beside a noise multiplier, which says it, and what is said of a clip that is fixed.
func (s *Spec) together() error {
	for _, name := range []string{"clip_quantile", "clip_rate"} {
		if at, ok := s.at[name]; ok && s.words["clipping"] != "adaptive" {
			return sqlerr.New(sqlerr.InvalidParam, "%s is of a clip that follows a quantile", name).At(int(at)).WithHint("Add clipping = 'adaptive', or leave %s out.", name)
		}
	}
	at, noise := s.at["noise_multiplier"]
	if _, both := s.at["epsilon"]; noise && both {
		return sqlerr.New(sqlerr.InvalidParam, "epsilon and noise_multiplier say the same: one follows from the other").At(int(at)).WithHint("Leave one of them out; EXPLAIN TRAIN shows what follows.")
	}
	for _, other := range []string{"epsilon", "noise_multiplier"} {
		if _, both := s.at[other]; both && s.Price > 0 {
			return sqlerr.New(sqlerr.InvalidParam, "price and %s say the same: one follows from the other", other).At(int(s.at["price"])).WithHint("Leave one of them out; EXPLAIN TRAIN shows what follows.")
		}
	}
	if noise && s.Pure {
		return sqlerr.New(sqlerr.InvalidParam, "noise_multiplier is of Gaussian noise, which needs a delta").At(int(at)).WithHint("Give epsilon, or a delta above 0.")
	}
	return nil
}

// What epsilons are looked for.
const (
	leastOfNoise = 1e-5
	mostOfNoise  = 1000
)

// fromNoise sets epsilon where a noise multiplier was asked for: the least at which calibrated noise is no more. The training is calibrated to that epsilon then, so that what is claimed does not rest on the search.
func (t *Training) fromNoise(multiplier func(epsilon float64) float64) error {
	z := t.Spec.Noise()
	if z == 0 {
		return nil
	}
	over := func(epsilon float64) float64 { return math.Log(multiplier(epsilon) / z) } // falls nearly as a line over ln epsilon
	lo, hi := leastOfNoise, 1.0
	above, below := over(lo), over(hi)
	for ; below > 0 && hi <= mostOfNoise; below = over(hi) {
		lo, hi, above = hi, 2*hi, below
	}
	for i := 0; i < 40 && below < -1e-6 && hi > lo*(1+1e-6); i++ {
		part := 0.5
		if !math.IsInf(above, 1) && i%3 < 2 {
			part = math.Max(0.01, math.Min(0.99, above/(above-below)+1e-7))
		}
		mid := lo * math.Pow(hi/lo, part)
		if o := over(mid); o > 0 {
			lo, above = mid, o
		} else {
			hi, below = mid, o
		}
	}
	t.Epsilon = hi
	return t.withinNoise()
}

// withinNoise refuses noise that means no epsilon that can be spent.
func (t *Training) withinNoise() error {
	if t.Epsilon > leastOfNoise*(1+1e-3) && t.Epsilon <= mostOfNoise {
		return nil
	}
	return sqlerr.New(sqlerr.InvalidParam, "a noise multiplier of %g means an epsilon that is not between %g and %g", t.Spec.Noise(), leastOfNoise, float64(mostOfNoise)).At(int(t.Spec.at["noise_multiplier"])).WithHint("Ask for an epsilon instead.")
}
