package synth

import (
	"errors"
	"fmt"
)

// mostCells limits the counts of all pairs of columns, which are in memory, and mostColumns the pairs that are chosen from.
const (
	mostCells   = 1 << 22
	mostColumns = 64
)

// Pair is two columns, the first before the second.
type Pair struct{ A, B int }

// Counts are the exact counts of bins and of pairs of bins. They are secret: only Measure makes something of them that may be shown.
type Counts struct {
	design *Design
	pairs  [][]int64 // by the place of Design.pairs
	ones   [][]int64
	unit   int64
	rows   int // of unit
}

var errRow = errors.New("synth: a row is not as was declared")

// Add counts a row of a unit, by its bins. Units are numbered from 1 and come by ascending number; unit 0 is one that has this row alone.
func (c *Counts) Add(unit int64, bins []int) error {
	d := c.design
	if len(bins) != len(d.sizes) {
		return errRow
	}
	for i, b := range bins {
		if b < 0 || b >= d.sizes[i] { // (2) each row is in one cell of each marginal
			return errRow
		}
	}
	if unit < c.unit {
		return errRow
	}
	if unit == 0 || unit != c.unit {
		c.unit, c.rows = unit, 0
	}
	if c.rows++; c.rows > d.rows { // (1) a unit has at most rows rows
		return errRow
	}
	for i, b := range bins {
		c.ones[i][b]++
	}
	for k, p := range d.pairs {
		c.pairs[k][bins[p.A]*d.sizes[p.B]+bins[p.B]]++
	}
	return nil
}

// Wipe overwrites the counts.
func (c *Counts) Wipe() {
	for _, list := range [][][]int64{c.ones, c.pairs} {
		for _, t := range list {
			clear(t)
		}
	}
}

// Counts begins to count.
func (d *Design) Counts() *Counts {
	c := &Counts{design: d}
	for _, n := range d.sizes {
		c.ones = append(c.ones, make([]int64, n))
	}
	for _, p := range d.pairs {
		c.pairs = append(c.pairs, make([]int64, d.sizes[p.A]*d.sizes[p.B]))
	}
	return c
}

// TooLarge says why columns of these sizes cannot be counted; "" where they can.
func TooLarge(sizes []int) string {
	if len(sizes) > mostColumns {
		return fmt.Sprintf("it has %d columns, the limit is %d", len(sizes), mostColumns)
	}
	cells, of := 0, 0
	for i, a := range sizes {
		for _, b := range sizes[:i] {
			cells += a * b
			of++
		}
	}
	if cells > mostCells {
		return fmt.Sprintf("the %d pairs of columns have %d combinations of values, the limit is %d", of, cells, mostCells)
	}
	return ""
}
