package mlext

import "math"

// rowScale is what encoded rows are multiplied by, from the policy alone: for classes such that a row whose numbers are spread evenly over [-1, 1], of square 1/3 each, has norm 1; else such that the longest row has, which of a network is of numbers up to 2 where they are coded from 0.
func (t *Training) rowScale() float64 {
	square := 1.0 // the intercept's
	for i := range t.Features {
		f := &t.Features[i]
		cells := float64(f.cells())
		switch {
		case t.family.network && t.isFromZero(f):
			cells *= 4
		case !t.family.network && t.classes() && f.Levels == nil:
			cells /= 3
		}
		square += cells + float64(len(t.parts[i])) // one bin of each
	}
	return 1 / math.Sqrt(square)
}

// learningRate of noisy gradient descent is 4 over the curvature that the loss has where training begins, at scores of 0: of one score its largest, of k classes 1/k, of which no less than a tenth is believed, since it grows again as the classes come apart. With bins, which make rows longer and so each feature smaller,
// it is 10 over that.
func (t *Training) learningRate() float64 {
	over := 4.0
	if t.hasBins() {
		over = 10
	}
	if k := float64(t.Loss.Outputs); k > 1 {
		return over * math.Min(k, 10)
	}
	return over / t.Loss.Smooth
}
