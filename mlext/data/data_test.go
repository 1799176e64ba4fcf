package data

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestRows: whatever comes in, a row's norm is at most 1, its values lie on the grid and are no further from the scaled row than a step, and Norm is not below the row's own.
func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 40).Draw(t, "width")
		row := rapid.SliceOfN(rapid.Float64Range(-3, 3), width, width).Draw(t, "row")
		b, err := NewBuilder(width, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Add(7, row, 1); err != nil {
			t.Fatal(err)
		}
		table := b.Table()
		long := 0.0
		for _, v := range row {
			long += v * v
		}
		scale := 1 / math.Max(1, math.Sqrt(long))
		squares := 0.0
		for j, v := range table.Row(0) {
			steps := float64(v) / Step
			if steps != math.Trunc(steps) || math.Abs(float64(v)-row[j]*scale) > Step*1.001 {
				t.Fatalf("%g is stored as %g", row[j]*scale, v)
			}
			squares += steps * steps
		}
		if norm := math.Sqrt(squares) * Step; norm > 1 || table.Norm(0) < norm || table.Norm(0) > norm+1e-6 {
			t.Fatalf("norm %.17g, told as %.17g", norm, table.Norm(0))
		}
	})
}

// TestUnits: rows of a unit stand together, and no unit has more than it may.
func TestUnits(t *testing.T) {
	b, err := NewBuilder(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []int64{1, 1, 2, 5, 5} {
		if err := b.Add(u, []float64{0.5}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if b.Add(5, []float64{0.5}, 0) == nil {
		t.Error("a third row of unit 5 is taken")
	}
	if b.Add(2, []float64{0.5}, 0) == nil {
		t.Error("a row of unit 2 behind unit 5 is taken")
	}
	table := b.Table()
	if table.Units() != 3 || table.HasUnitPerRow() {
		t.Fatalf("%d units", table.Units())
	}
	for u, want := range [][2]int{{0, 2}, {2, 3}, {3, 5}} {
		if from, to := table.Unit(u); from != want[0] || to != want[1] {
			t.Errorf("unit %d has rows %d to %d", u, from, to)
		}
	}
	table.Wipe()
	if table.Rows() != 0 {
		t.Error("rows are left")
	}
}

func TestBadRows(t *testing.T) {
	b, err := NewBuilder(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]float64{{1}, {1, 2, 3}, {math.NaN(), 0}, {math.Inf(1), 0}} {
		if b.Add(1, row, 0) == nil {
			t.Errorf("%v is taken", row)
		}
	}
	if b.Add(1, []float64{0, 0}, math.NaN()) == nil {
		t.Error("a target that is no number is taken")
	}
	if _, err := NewBuilder(0, 1); err == nil {
		t.Error("a table without columns")
	}
	if _, err := NewBuilder(1, 0); err == nil {
		t.Error("a table of units without rows")
	}
}
