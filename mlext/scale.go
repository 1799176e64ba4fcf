package mlext

import "math"

// rowScale is what encoded rows are multiplied by, from the policy alone: for classes such that a row whose numbers are spread evenly over [-1, 1], of square 1/3 each, has norm 1; else such that the longest row has.
func (t *Training) rowScale() float64 {
	square := 1.0 // the intercept's
	for i := range t.Features {
		if t.classes() && t.Features[i].Levels == nil {
			square += float64(t.Features[i].cells()) / 3
		} else {
			square += float64(t.Features[i].cells())
		}
	}
	return 1 / math.Sqrt(square)
}

// learningRate of noisy gradient descent is 4 over the curvature that the loss has where training begins, at scores of 0: of one score its largest, of k classes 1/k, of which no less than a tenth is believed, since it grows again as the classes come apart.
func (t *Training) learningRate() float64 {
	if k := float64(t.Loss.Outputs); k > 1 {
		return 4 * math.Min(k, 10)
	}
	return 4 / t.Loss.Smooth
}
