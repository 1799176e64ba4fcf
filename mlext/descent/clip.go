package descent

import (
	"math"
	"slices"
)

// Clipping says how a unit's summed gradient is bounded by the clip.
type Clipping string

// The ways of clipping.
const (
	Fixed     Clipping = ""          // longer ones are shortened to the clip
	Automatic Clipping = "automatic" // all become clip g/(|g| + clip/100): Bu, Wang, Zha, Karypis 2023, AUTO-S
	Adaptive  Clipping = "adaptive"  // as Fixed, and the clip follows a quantile of their norms: Andrew, Thakkar, Ramaswamy, McMahan 2021
)

// automatic is Automatic's gamma, in clips.
const automatic = 0.01

// known refuses words that are none.
func (p *Plan) known() bool {
	if p.Clipping == Adaptive && !(p.Quantile > 0 && p.Quantile < 1 && p.ClipRate > 0) {
		return false
	}
	return slices.Contains([]Clipping{Fixed, Automatic, Adaptive}, p.Clipping) && slices.Contains([]Schedule{Constant, Linear, Cosine}, p.Schedule)
}

// factor is what a gradient is multiplied by whose norm is long clips.
//
// Proof: the product is at most 1 - 2^-40 clips, which leaves room for rounding: long factor(long) <= 1 - 2^-40 in each case.
func (s *summer) factor(long float64) float64 {
	switch {
	case s.automatic:
		return (1 - 0x1p-40) / (long + automatic)
	case long > 1-0x1p-40:
		return (1 - 0x1p-40) / long
	}
	return 1
}

// counted is what a unit adds to the count of norms within the clip: +1 or -1, so that it is bounded by 1 either way (Andrew et al. subtract a half).
func counted(long float64) float64 {
	if long <= 1 {
		return 1
	}
	return -1
}

// countSteps is how much a unit adds to the count, in steps of the lattice: so that the count's noise, which is of as many steps as each other entry's, is a twentieth of the expected batch, in units, as they propose, but no less than 1/64 and no more than 1/5 of a clip.
func (p *Plan) countSteps() int64 {
	if p.Clipping != Adaptive {
		return 0
	}
	return int64(math.Min(1.0/5, math.Max(1.0/64, 10*p.Noise/(p.Rate*p.Population))) * Unit)
}

// deviation is the noise's, in steps: Noise times the norm of what a unit adds to the vector of totals.
//
// Proof: a unit adds its clipped gradient, of norm at most Unit, and to the count plus or minus countSteps: together a vector of norm at most the root of the sum of squares. So noise of Noise times that in each entry is one Gaussian mechanism of multiplier Noise. The clip of a step is a function of the noisy counts
// before it: an adaptive choice. (Andrew et al. split a multiplier z into z_Delta for the gradient and sigma_b for the count with 1/z^2 = 1/z_Delta^2 + 1/(2 sigma_b)^2, which is this: Noise^2 (1 + f^2) = z_Delta^2 and sigma_b = z_Delta/2f for a count of f clips.)
func (p *Plan) deviation() float64 {
	return math.Ceil(p.Noise * math.Hypot(Unit, float64(p.countSteps())) * (1 + 0x1p-50))
}

// most is how far an adaptive clip goes from the first, either way.
const most = 1 << 20

// follow moves the clip towards the quantile: by the noisy share of a step's expected batch that was within it.
func (p *Plan) follow(clip, within float64) float64 {
	share := math.Max(0, math.Min(1, within/(p.Rate*p.Population)/2+0.5))
	return math.Max(p.Clip/most, math.Min(p.Clip*most, clip*math.Exp(-p.ClipRate*(share-p.Quantile))))
}

// Schedule says how the learning rate falls over the steps.
type Schedule string

// The schedules.
const (
	Constant Schedule = ""
	Linear   Schedule = "linear"
	Cosine   Schedule = "cosine" // Loshchilov, Hutter 2017, without restarts
)

// rate is the learning rate of a step.
func (p *Plan) rate(step int) float64 {
	part := float64(step) / float64(p.Steps)
	switch p.Schedule {
	case Linear:
		return p.LearningRate * (1 - part)
	case Cosine:
		return p.LearningRate * (1 + math.Cos(math.Pi*part)) / 2
	}
	return p.LearningRate
}
