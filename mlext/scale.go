package mlext

import "math"

// classes says that a score counts by which side of 0, or of another score, it is on: shortening a row, the 1 of the intercept too, changes no such side, so rows may be scaled as they mostly are and the few long ones be shortened.
// A number that is predicted would be another one for a shortened row: there all rows that the policy allows must fit.
func (t *Training) classes() bool { return familyOf(t.Spec.Model).target.classes() }

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

// isFromZero says that a number is coded from 0 to 2 and not from -1 to 1: where its range begins at 0, as that of amounts, counts and brightness, which are 0 or small in most rows and take nothing of a row's norm then.
func (t *Training) isFromZero(f *Feature) bool { return t.classes() && f.Levels == nil && f.Lo == 0 }

// learningRate of noisy gradient descent is 4 over the curvature that the loss has where training begins, at scores of 0: of one score its largest, of k classes 1/k, of which no less than a tenth is believed, since it grows again as the classes come apart.
func (t *Training) learningRate() float64 {
	if k := float64(t.Loss.Outputs); k > 1 {
		return 4 * math.Min(k, 10)
	}
	return 4 / t.Loss.Smooth
}
