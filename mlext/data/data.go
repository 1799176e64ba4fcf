// Package data holds the rows that a training reads: private rows in memory, never printed, wiped when the training ends.
package data

import (
	"errors"
	"fmt"
	"math"
)

// Step is the grid that features lie on. With residuals on Step's square or coarser a product of both is a whole number of a step, and sums of
// them are exact in float64 up to 2^53 steps.
const Step = 1.0 / (1 << 14)

// Table is a matrix of features, a target beside each row, and which rows are of one unit. Each row's norm is at most 1.
type Table struct {
	width  int
	x      []float32 // row after row
	y      []float32
	norm   []float32 // of each row, rounded up
	starts []uint32  // of each unit's rows, which stand together; nil: each row is a unit of its own
}

// Builder takes rows in.
type Builder struct {
	t    Table
	most int     // rows of one unit
	sum  float64 // of a row's absolute features, at most; 0: no bound
	last int64
	open bool
}

// NewBuilder makes a table of a width in which no unit has more than most rows; with 1 each row is a unit.
func NewBuilder(width, most int) (*Builder, error) {
	if width < 1 || most < 1 {
		return nil, fmt.Errorf("data: a table of width %d with %d rows of a unit", width, most)
	}
	b := &Builder{t: Table{width: width}, most: most}
	if most > 1 {
		b.t.starts = []uint32{}
	}
	return b, nil
}

var (
	errRows  = errors.New("data: a unit has more rows than it may have, or they do not stand together")
	errWidth = errors.New("data: a row is not as wide as the table")
	errValue = errors.New("data: a value is not a number")
	errMany  = errors.New("data: too many rows")
)

// Within bounds the sum of a row's absolute features too: a row above it is scaled to it.
func (b *Builder) Within(sum float64) { b.sum = sum }

// Add takes one row of a unit in. Units come one after the other, by ascending number. What is longer than 1 is scaled to norm 1 (and to the sum of Within); a
// row with a value that is no number is an error (the caller's statement lets none through).
//
// Proof: claim: the stored row's norm is at most 1 and its values lie on Step's grid. It is scaled by at most 1/|v| less 2^-40, so that rounding does not make it longer (and to Within's sum, less 2^-30), then each value is cut towards zero to the grid, which makes none larger.
func (b *Builder) Add(unit int64, features []float64, target float64) error {
	if len(features) != b.t.width {
		return errWidth
	}
	if len(b.t.y) >= math.MaxInt32 {
		return errMany
	}
	norm2, absolute := 0.0, 0.0
	for _, v := range features {
		norm2 += v * v
		absolute += math.Abs(v)
	}
	if math.IsNaN(norm2) || math.IsInf(norm2, 0) || math.IsNaN(target) || math.IsInf(target, 0) {
		return errValue
	}
	if b.most > 1 {
		n := len(b.t.starts)
		switch {
		case !b.open || unit > b.last:
			b.t.starts = append(b.t.starts, uint32(len(b.t.y)))
		case unit < b.last || len(b.t.y)-int(b.t.starts[n-1]) >= b.most:
			return errRows
		}
		b.open, b.last = true, unit
	}
	scale := 1.0 / Step
	if norm2 > 1-0x1p-40 {
		scale *= (1 - 0x1p-40) / math.Sqrt(norm2)
	}
	if least := (1 - 0x1p-30) / absolute * b.sum / Step; b.sum > 0 && least < scale { // sums of 2^20 numbers are exact to 2^-32
		scale = least
	}
	squares := 0.0 // of whole numbers of at most 2^14: exact
	for _, v := range features {
		v = math.Trunc(v * scale)
		squares += v * v
		b.t.x = append(b.t.x, float32(v*Step))
	}
	b.t.norm = append(b.t.norm, math.Nextafter32(float32(math.Sqrt(squares)*Step), 2))
	b.t.y = append(b.t.y, float32(target))
	return nil
}

// Bytes is about what the rows take.
func (b *Builder) Bytes() int { return 4*len(b.t.x) + 12*len(b.t.y) }

// Table ends the taking in.
func (b *Builder) Table() *Table {
	t := b.t
	b.t = Table{}
	return &t
}

// Width is the number of features.
func (t *Table) Width() int { return t.width }

// Rows is how many rows there are: a secret.
func (t *Table) Rows() int { return len(t.y) }

// Units is how many units there are: a secret.
func (t *Table) Units() int {
	if t.starts == nil {
		return len(t.y)
	}
	return len(t.starts)
}

// Single says that each row is a unit of its own.
func (t *Table) Single() bool { return t.starts == nil }

// Row is one row's features, not to be changed.
func (t *Table) Row(i int) []float32 { return t.x[i*t.width : (i+1)*t.width : (i+1)*t.width] }

// Target is one row's.
func (t *Table) Target(i int) float64 { return float64(t.y[i]) }

// Unit is the range of a unit's rows.
func (t *Table) Unit(u int) (from, to int) {
	if t.starts == nil {
		return u, u + 1
	}
	to = len(t.y)
	if u+1 < len(t.starts) {
		to = int(t.starts[u+1])
	}
	return int(t.starts[u]), to
}

// Wipe overwrites the rows.
func (t *Table) Wipe() {
	clear(t.x)
	clear(t.y)
	clear(t.norm)
	clear(t.starts)
	*t = Table{width: t.width}
}

// Norm is a row's norm.
func (t *Table) Norm(i int) float64 { return float64(t.norm[i]) }
