package loss

// Weighted is the loss with a weight for each class, within (0, 1].
//
// Proof: the weight w of a row's class is a constant of it, so residual and derivative are w times what they were: convex still, and Lipschitz and Smooth, which bound them for all targets, still do, as w <= 1. What rests on these bounds holds as before. No weight may be above 1, which is refused with a panic: it is the caller's
// to divide by the largest.
func (l *Loss) Weighted(weights []float64) *Loss {
	for _, w := range weights {
		if !(w > 0 && w <= 1) {
			panic("loss: a weight is not within (0, 1]")
		}
	}
	out := *l
	if l.residual != nil {
		out.residual = func(z, y float64) float64 { return weights[int(y)] * l.residual(z, y) }
	} else {
		out.residuals = func(z []float64, y float64) {
			l.residuals(z, y)
			for k := range z {
				z[k] *= weights[int(y)]
			}
		}
	}
	out.value = func(z []float64, y float64) float64 { return weights[int(y)] * l.value(z, y) }
	return &out
}
