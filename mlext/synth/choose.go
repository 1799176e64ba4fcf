package synth

import (
	"cmp"
	"math"
	"slices"
)

// choice is a pair to be measured, and its weight.
type choice struct {
	pair   int
	weight float64
}

// mostClique limits the cells of a clique of the model.
const mostClique = 1 << 13

// shrinks is about which part of a pair's noise is left when its counts are fitted: most cells of a pair are empty, and noise below 0 is cut.
const shrinks = 0.35

// choose takes pairs in the order of what measuring gains, while the sum of errors falls and the model stays small. deviation is that of noise on one pair alone.
//
// Pairs of c cells whose noise has deviation/w have an error of about c deviation/w. Of squared weights that add up to 1, those proportional to c^(2/3) make the sum of errors the least: deviation S^(3/2), S the sum of c^(2/3).
func (m *Measured) choose(deviation float64) []choice {
	type candidate struct {
		pair        int
		score, part float64
	}
	var all, taken []candidate
	left, sum := 0.0, 0.0
	for k, p := range m.pairs {
		c := candidate{k, m.Scores[k] - m.floor(p), math.Pow(float64(m.sizes[p.A]*m.sizes[p.B]), 2.0/3)}
		if c.score > 0 {
			all, left = append(all, c), left+c.score
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.score/b.part, a.score/a.part) })
	var edges []Pair
	best, most := left, 0
	for _, c := range all {
		next := append(slices.Clone(edges), m.pairs[c.pair])
		if largest(m.sizes, next) > mostClique {
			continue
		}
		edges, taken, left, sum = next, append(taken, c), left-c.score, sum+c.part
		if e := left + shrinks*math.Sqrt(2/math.Pi)*deviation*math.Pow(sum, 1.5); e < best {
			best, most = e, len(taken)
		}
	}
	sum = 0
	for _, c := range taken[:most] {
		sum += c.part
	}
	var out []choice
	for _, c := range taken[:most] {
		out = append(out, choice{c.pair, math.Sqrt(c.part/sum) * (1 - 1e-9)})
	}
	return out
}

// floor is about the score of independent columns: the noise of what is expected, and of the rows.
func (m *Measured) floor(p Pair) float64 {
	shares := [2][]float64{onSimplex(m.ones[p.A].counts, m.Total), onSimplex(m.ones[p.B].counts, m.Total)}
	sum := 0.0
	for _, x := range shares[0] {
		for _, y := range shares[1] {
			sum += math.Min(math.Sqrt(x*y/m.Total), 2*x*y/m.Total)
		}
	}
	sum *= math.Sqrt(2 / math.Pi)
	for i := range shares {
		mine := []int{p.A, p.B}[i]
		for _, x := range shares[i] {
			sum += math.Min(x, m.ones[mine].sigma*math.Sqrt(2/math.Pi))
		}
	}
	return sum
}

// onSimplex is the nearest list of numbers from 0 on with a given sum.
func onSimplex(list []float64, total float64) []float64 {
	sorted := slices.Sorted(slices.Values(list))
	slices.Reverse(sorted)
	sum, shift := 0.0, 0.0
	for i, v := range sorted {
		sum += v
		if t := (sum - total) / float64(i+1); v-t > 0 {
			shift = t
		}
	}
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = math.Max(0, v-shift)
	}
	return out
}
