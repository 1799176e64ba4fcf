package account

import "math"

// Determinants bounds the logarithm of how much larger the determinant of the objective's Hessian is with a unit than without.
//
// Proof: det(I + A^-1 M), A >= Lambda I and M the unit's Hessian, is a product of 1 + eigenvalue of at most Rows degrees() eigenvalues that add up to at most trace()/Lambda: by concavity it is largest where they are equal.
func (o Objective) Determinants() float64 {
	k := float64(o.degrees() * o.Rows)
	return k * math.Log1p(o.trace()/(k*o.Lambda)) * (1 + 1e-12)
}

// LambdaFor is the least Lambda for which Determinants is at most a number.
func (o Objective) LambdaFor(determinants float64) float64 {
	k := float64(o.degrees() * o.Rows)
	return o.trace() / (k * math.Expm1(determinants/k)) * (1 + 1e-11)
}

// PureObjective is the epsilon of objective perturbation whose linear term has independent Laplace noise of a scale in each coordinate; change bounds the sum of the absolute entries of one unit's gradient.
//
// Proof: conditions and notation are Objective.Delta's, but that b has the density prod exp(-|b_j|/scale)/(2 scale). b is a one-to-one Lipschitz function of theta with a Lipschitz inverse (each loss's gradient is Lipschitz, the objective strongly convex), for either database, so
// ln p'(theta)/p(theta) = ln det ratio + (|b|_1 - |b'|_1)/scale with b' = b - g: the first is within [0, Determinants()], the second within change/scale either way (triangle inequality). Sum loss, units added or removed; Chaudhuri, Monteleoni, Sarwate 2011, Theorem 9, has
// noise of density exp(-|b|_2/scale) instead. That has no exact sampler on a lattice here; this one has (noise.RoundedLaplace), and rows that are mostly 0 have little more than |x|_1 = 1 each: its noise is then the smaller one.
func PureObjective(o Objective, change, scale float64) float64 {
	return (o.Determinants() + change/scale) * (1 + 1e-12)
}
