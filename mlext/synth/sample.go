package synth

import (
	"math"
	"slices"
)

// Sample draws rows of bins. Each clique's counts are the model's, rounded at random, so that drawing adds little error.
func (m *Model) Sample(rows int, draw *Draw) [][]uint16 {
	out := make([][]uint16, len(m.sizes)) // by column
	for i := range out {
		out[i] = make([]uint16, rows)
	}
	known := make([]bool, len(m.sizes))
	for i, n := range m.nodes {
		var given []int // in the order of the clique
		for _, v := range n.columns {
			if known[v] {
				given = append(given, v)
			}
		}
		for _, v := range n.columns {
			if known[v] {
				continue
			}
			m.drawColumn(i, v, given, out, rows, draw)
			known[v] = true
			given = append(given, v)
		}
	}
	return out
}

// drawColumn draws one column's bins given those of others in its clique.
func (m *Model) drawColumn(node, column int, given []int, out [][]uint16, rows int, draw *Draw) {
	n, size := &m.nodes[node], m.sizes[column]
	joint := make([]float64, cellsOf(m.sizes, given)*size)
	for c, to := range project(m.sizes, n.columns, append(slices.Clone(given), column)) {
		joint[to] += m.cells[node][c]
	}
	groups := make([][]int32, len(joint)/size)
	for r := range rows {
		cell := 0
		for _, v := range given {
			cell = cell*m.sizes[v] + int(out[v][r])
		}
		groups[cell] = append(groups[cell], int32(r)) //nolint:gosec // a row's number
	}
	for cell, list := range groups {
		if len(list) == 0 {
			continue
		}
		bins := apportion(joint[cell*size:(cell+1)*size], len(list), draw)
		shuffle(draw, list)
		at := 0
		for b, k := range bins {
			for range k {
				out[column][list[at]] = uint16(b) //nolint:gosec // a bin
				at++
			}
		}
	}
}

// apportion divides n rows by shares: their whole parts, and what is left at random by the fractions.
func apportion(shares []float64, n int, draw *Draw) []int {
	out, sum := make([]int, len(shares)), 0.0
	for _, s := range shares {
		sum += s
	}
	if !(sum > 0) {
		for range n {
			out[draw.Below(int64(len(out)))]++
		}
		return out
	}
	// One uniform number decides all fractions, along a random order of the bins (systematic sampling).
	order := make([]int, len(shares))
	for b := range order {
		order[b] = b
	}
	shuffle(draw, order)
	end, taken := draw.part(), 0
	for _, b := range order {
		end += shares[b] / sum * float64(n)
		k := int(math.Floor(end)) - taken
		out[b], taken = k, taken+k
	}
	for taken < n { // by rounding of floats alone
		out[order[0]]++
		taken++
	}
	for b := 0; taken > n; b++ {
		if out[b%len(out)] > 0 {
			out[b%len(out)]--
			taken--
		}
	}
	return out
}
