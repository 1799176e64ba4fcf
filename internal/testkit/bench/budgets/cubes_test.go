package main

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestCubeErrors: the closed form of a cube's errors is what least squares over all levels give. No level of a cube errs more than a statement of its own, all err alike, and their mean is within 2 % of the least that linear measurements allow.
func TestCubeErrors(t *testing.T) {
	e := errorsOfCube()
	cells := 1
	for _, n := range cubeValues {
		cells *= n
	}
	var rows [][]float64 // a group of a level: its cells
	var levels []level
	for _, l := range e.levels {
		groups := map[[3]int][]float64{}
		for c := range cells {
			var key [3]int
			rest := c
			for i, n := range cubeValues {
				if key[i] = -1; l.has(i) {
					key[i] = rest % n
				}
				rest /= n
			}
			if groups[key] == nil {
				groups[key] = make([]float64, cells)
			}
			groups[key][c] = 1
		}
		for _, row := range groups {
			rows, levels = append(rows, row), append(levels, l)
		}
	}
	a := mat.NewDense(len(rows), cells, nil)
	for i, row := range rows {
		a.SetRow(i, row)
	}
	var information, inverse mat.Dense
	information.Mul(a.T(), a)
	if err := inverse.Inverse(&information); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		x := mat.NewVecDense(cells, row)
		want := e.separate * mat.Inner(x, &inverse, x)
		if got := e.cube[levels[i]]; math.Abs(got-want) > 1e-9*want {
			t.Fatalf("level %b: %g by the closed form, %g by least squares", levels[i], got, want)
		}
	}
	for _, l := range e.levels {
		if e.cube[l] > e.separate || math.Abs(e.cube[l]-e.cube[0]) > 1e-9 {
			t.Errorf("level %b: %g, %g by itself, %g at the top", l, e.cube[l], e.separate, e.cube[0])
		}
	}
	if cube, least := e.mean(e.cube), e.mean(e.planner); cube < least || cube > 1.02*least {
		t.Errorf("a mean error of %g, the least is %g", cube, least)
	}
}
