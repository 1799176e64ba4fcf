package attacker

import (
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// Reconstruct guesses everybody's bit from noisy counts over subsets: bits between 0 and 1 that leave the least sum of absolute errors (Dinur, Nissim 2003; Cohen, Nissim 2018), rounded.
//
// With p and m the parts of an error above and below 0, u what a bit lacks to 1: the least sum of p + m, where subsets*x + m - p = counts, x + u = 1, and nothing is negative.
func Reconstruct(subsets [][]bool, counts []float64) ([]bool, error) {
	q, n := len(subsets), len(subsets[0])
	a := mat.NewDense(q+n, 2*n+2*q, nil)
	b, cost, basis := make([]float64, q+n), make([]float64, 2*n+2*q), make([]int, q+n)
	for i, s := range subsets {
		for j, in := range s {
			if in {
				a.Set(i, j, 1)
			}
		}
		above, below := 2*n+i, 2*n+q+i
		a.Set(i, above, -1)
		a.Set(i, below, 1)
		cost[above], cost[below] = 1, 1
		if b[i], basis[i] = counts[i], below; counts[i] < 0 {
			basis[i] = above
		}
	}
	for j := range n { // all bits 0 is a corner to start from
		a.Set(q+j, j, 1)
		a.Set(q+j, n+j, 1)
		b[q+j], basis[q+j] = 1, n+j
	}
	_, x, err := lp.Simplex(cost, a, b, 1e-9, basis)
	if err != nil {
		return nil, err
	}
	bits := make([]bool, n)
	for j := range bits {
		bits[j] = x[j] > 0.5
	}
	return bits, nil
}
