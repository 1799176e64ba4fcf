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

// Table is a matrix of features, a target beside each row, and which rows are of one unit. Each row's norm is at most 1. Rows stand in chunks of 1<<shift, each of which is made once and never moves:
// a table takes what its rows take, and leaves no copies behind as it grows. Features of chunks beyond a limit are on disk (Spill).
type Table struct {
	width  int
	shift  uint
	rows   int
	units  int
	single bool        // each row is a unit of its own
	x      [][]float32 // a chunk's rows one after the other; nil: on disk
	y      [][]float32
	norm   [][]float32 // of each row, rounded up
	starts [][]uint32  // of each unit's rows, which stand together
	disk   *disk
}

// chunkBytes is about what a chunk's features take, and chunkUnits how many units' starts stand in one.
const (
	chunkBytes = 1 << 20
	chunkShift = 16
	chunkUnits = 1 << chunkShift
)

// Builder takes rows in.
type Builder struct {
	t      *Table
	most   int     // rows of one unit
	sum    float64 // of a row's absolute features, at most; 0: no bound
	last   int64
	first  int // row of the last unit
	limits Limits
}

// NewBuilder makes a table of a width in which no unit has more than most rows; with 1 each row is a unit.
func NewBuilder(width, most int) (*Builder, error) {
	if width < 1 || most < 1 {
		return nil, fmt.Errorf("data: a table of width %d with %d rows of a unit", width, most)
	}
	t := &Table{width: width, single: most == 1}
	for t.shift < chunkShift && 4*width<<t.shift < chunkBytes {
		t.shift++
	}
	return &Builder{t: t, most: most}, nil
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
	t := b.t
	if len(features) != t.width {
		return errWidth
	}
	if t.rows >= math.MaxInt32 {
		return errMany
	}
	if b.limits.Rows > 0 && t.rows >= b.limits.Rows {
		return ErrLarge
	}
	norm2, absolute := 0.0, 0.0
	for _, v := range features {
		norm2 += v * v
		absolute += math.Abs(v)
	}
	if math.IsNaN(norm2) || math.IsInf(norm2, 0) || math.IsNaN(target) || math.IsInf(target, 0) {
		return errValue
	}
	if !t.single {
		switch {
		case t.units == 0 || unit > b.last:
			b.begin()
		case unit < b.last || t.rows-b.first >= b.most:
			return errRows
		}
		b.last = unit
	}
	at := t.rows & (1<<t.shift - 1)
	if at == 0 {
		if err := b.grow(); err != nil {
			return err
		}
	}
	chunk := len(t.x) - 1
	x := t.x[chunk][at*t.width : (at+1)*t.width]
	scale := 1.0 / Step
	if norm2 > 1-0x1p-40 {
		scale *= (1 - 0x1p-40) / math.Sqrt(norm2)
	}
	if least := (1 - 0x1p-30) / absolute * b.sum / Step; b.sum > 0 && least < scale { // sums of 2^20 numbers are exact to 2^-32
		scale = least
	}
	squares := 0.0 // of whole numbers of at most 2^14: exact
	for j, v := range features {
		v = math.Trunc(v * scale)
		squares += v * v
		x[j] = float32(v * Step)
	}
	t.norm[chunk][at] = math.Nextafter32(float32(math.Sqrt(squares)*Step), 2)
	t.y[chunk][at] = float32(target)
	t.rows++
	return nil
}

// begin notes that the next row is a new unit's first.
func (b *Builder) begin() {
	t := b.t
	if t.units%chunkUnits == 0 {
		t.starts = append(t.starts, make([]uint32, chunkUnits))
	}
	t.starts[t.units>>chunkShift][t.units%chunkUnits] = uint32(t.rows) //nolint:gosec // below 2^31
	t.units, b.first = t.units+1, t.rows
}

// grow makes room for another chunk. One beyond the limit has the memory of the last, which has gone to disk.
func (b *Builder) grow() error {
	t, n := b.t, 1<<b.t.shift
	var x []float32
	if len(t.x) > 0 && b.limits.Memory > 0 && b.Bytes()+4*n*t.width > b.limits.Memory {
		var err error
		if x, err = b.spill(); err != nil {
			return err
		}
	} else {
		x = make([]float32, n*t.width)
	}
	t.x, t.y, t.norm = append(t.x, x), append(t.y, make([]float32, n)), append(t.norm, make([]float32, n))
	return nil
}

// Bytes is about what the rows take in memory.
func (b *Builder) Bytes() int { return b.t.Bytes() }

// Bytes is about what they take in memory.
func (t *Table) Bytes() int {
	held := 0
	for _, x := range t.x {
		held += 4 * len(x)
	}
	return held + 8*t.rows + 4*len(t.starts)*chunkUnits
}

// Table ends the taking in.
func (b *Builder) Table() *Table {
	t := b.t
	b.t = &Table{width: t.width, shift: t.shift, single: t.single}
	return t
}

// Width is the number of features.
func (t *Table) Width() int { return t.width }

// Rows is how many rows there are: a secret.
func (t *Table) Rows() int { return t.rows }

// Units is how many units there are: a secret.
func (t *Table) Units() int {
	if t.single {
		return t.rows
	}
	return t.units
}

// HasUnitPerRow says that each row is a unit of its own.
func (t *Table) HasUnitPerRow() bool { return t.single }

// Row is one row's features, not to be changed. Of rows on disk it is a copy: who reads many has a Cursor.
func (t *Table) Row(i int) []float32 {
	if x := t.x[i>>t.shift]; x != nil {
		at := (i & (1<<t.shift - 1)) * t.width
		return x[at : at+t.width : at+t.width]
	}
	return t.copied(i)
}

// Target is one row's.
func (t *Table) Target(i int) float64 { return float64(t.y[i>>t.shift][i&(1<<t.shift-1)]) }

// Norm is a row's norm.
func (t *Table) Norm(i int) float64 { return float64(t.norm[i>>t.shift][i&(1<<t.shift-1)]) }

// Unit is the range of a unit's rows.
func (t *Table) Unit(u int) (from, to int) {
	if t.single {
		return u, u + 1
	}
	to = t.rows
	if u+1 < t.units {
		to = t.start(u + 1)
	}
	return t.start(u), to
}

func (t *Table) start(u int) int { return int(t.starts[u>>chunkShift][u%chunkUnits]) }

// Wipe overwrites the rows, and gives the file free.
func (t *Table) Wipe() {
	for _, list := range [][][]float32{t.x, t.y, t.norm} {
		for _, chunk := range list {
			clear(chunk)
		}
	}
	for _, chunk := range t.starts {
		clear(chunk)
	}
	t.disk.close()
	*t = Table{width: t.width, shift: t.shift, single: t.single}
}
