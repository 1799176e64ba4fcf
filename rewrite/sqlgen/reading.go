package sqlgen

import "math"

// Reading is how the proxy makes whole numbers of steps of a column that comes as it is stored: the database then computes nothing of it, and sends what COPY would.
type Reading struct {
	Float  bool    // cells are floats by their bits
	From   float64 // step 0
	Grid   float64
	Lo, Hi int64
	Length int  // of an array, of whose elements all this is; 0: no array
	Fill   bool // NULL is the middle of the range; else its row is left out
}

// Steps is a cell as a whole number of steps; false where its row is left out.
//
// Proof: claim: a number in [Lo, Hi], whatever the cell, which follows from the cell alone. NaN fails the first comparison and is Hi, as in the databases; infinities are an end; what is left is between Lo and Hi as floats, so its rounding is within int64, and is clamped once more where Lo or Hi is no float64.
func (r *Reading) Steps(cell int64, null bool) (int64, bool) {
	switch {
	case null:
		return r.Lo + (r.Hi-r.Lo)/2, r.Fill
	case !r.Float:
		return min(max(cell, r.Lo), r.Hi), true
	}
	x := (math.Float64frombits(uint64(cell)) - r.From) / r.Grid //nolint:gosec // bits
	if !(x < float64(r.Hi)) {
		return r.Hi, true
	}
	if x <= float64(r.Lo) {
		return r.Lo, true
	}
	return min(max(int64(math.RoundToEven(x)), r.Lo), r.Hi), true
}
