package mlext

import "math"

// mostEqual is the most steps that a range from 0 on has for bins of one width; a longer one, as of amounts, has bins of one width of the logarithm.
const mostEqual = 1 << 10

// Cut cuts a number's range into bins, at most most of them, by public facts alone: it gives the first step of each bin, and behind the last the step after To.
func (f *Feature) Cut(most int) []int64 {
	steps, out := f.To-f.From+1, []int64{f.From}
	for j := 1; j < most; j++ {
		part := float64(j) / float64(most)
		n := int64(math.Ceil(part * float64(steps)))
		if f.Lo == 0 && steps > mostEqual {
			n = int64(math.Ceil(math.Expm1(part * math.Log1p(float64(steps-1)))))
		}
		if n += f.From; n > out[len(out)-1] && n <= f.To {
			out = append(out, n)
		}
	}
	return append(out, f.To+1)
}
