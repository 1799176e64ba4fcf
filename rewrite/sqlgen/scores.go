package sqlgen

import "github.com/dpsql/dpsql/rewrite/plan"

// ofScores prints the arguments of scores, arrays as they are read there.
func (p *printer) ofScores(xs []plan.Scalar, f *from, m mode) []string {
	out := make([]string, len(xs))
	for i, x := range xs {
		if x.Type().IsArray() {
			out[i] = p.listOf(x, f)
		} else {
			out[i] = p.scalar(x, f, m)
		}
	}
	return out
}
