package mlext

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestLabels: of every model and range of its target, each target as it is stored is one that the loss's bounds are of: residuals are no longer than Lipschitz, and nowhere steeper than Smooth; and it is the value that it stands for.
func TestLabels(t *testing.T) {
	numbers := []Feature{
		{Lo: 0, Hi: 1, From: 0, To: 1}, {Lo: 0, Hi: 0.0001, From: 0, To: 1}, {Lo: 0, Hi: 1e4, From: 0, To: 1}, {Lo: 0, Hi: 0.3, From: 0, To: 3}, {Lo: 0, Hi: 16777217, From: 0, To: 16777217},
		{Lo: 2, Hi: 7, From: 20, To: 70}, {Lo: -3, Hi: 0.1, From: -30, To: 1}, {Lo: 0.7, Hi: 0.8, From: 7, To: 8},
	}
	for _, f := range families {
		list := append([]Feature{{Levels: []string{"false", "true"}, Boolean: true}, {Levels: []string{"a", "b", "c"}, To: 2}, {Levels: []string{"a", "b"}, To: 1}}, numbers...)
		tried := 0
		for _, target := range list {
			target.Name = "y"
			f := f.of(&target)
			if target.suits(f.target) != nil {
				continue
			}
			for _, clip := range []float64{0, 1e-4, 0.2, 40} {
				with := "epsilon = 1, delta = 1e-6"
				if f.target == "number" || f.target == "count" {
					if clip > 0 {
						with += fmt.Sprintf(", residual_clip = %g", clip)
					}
				} else if clip > 0 {
					continue
				}
				labelled(t, f.name, with, target)
				tried++
			}
		}
		if tried < 2 {
			t.Errorf("%s: %d targets", f.name, tried)
		}
	}
}

func labelled(t *testing.T, model, with string, target Feature) {
	t.Helper()
	sts, err := pgsyntax.Parse(fmt.Sprintf("TRAIN DP MODEL m USING %s METHOD dp_gd TARGET y WITH (%s) AS SELECT 1", model, with))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Read(sts[0].Node.(*pgsyntax.Train))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Plan(spec, []Feature{{Name: "x", Hi: 1, To: 1, Length: 169, Shape: []int{13, 13}}}, target, 1, 1000)
	if err != nil {
		t.Fatalf("%s of %+v: %v", model, target, err)
	}
	top := max(target.To, int64(len(target.Levels)-1))
	for _, n := range []int64{target.From, (target.From + top) / 2, top, top + 1} { // the last is out of range: the nearest
		b, err := data.NewBuilder(p.width, 1)
		if err != nil {
			t.Fatal(err)
		}
		x, y := p.encode(append(make([]int64, 169), n), nil)
		if err := b.Add(1, x, y); err != nil {
			t.Fatal(err)
		}
		stored := b.Table().Target(0)
		want := float64(min(n, top))
		if !p.classes() {
			want = target.Lo + (want-float64(target.From))/float64(target.To-target.From)*(target.Hi-target.Lo)
			if p.family.target == "number" {
				want = target.centred(want)
			}
		}
		if !(math.Abs(stored-want) <= 1e-6*math.Max(1e-3, math.Abs(want))) {
			t.Errorf("%s of %+v: step %d is stored as %g, is %g", model, target, n, stored, want)
		}
		l := p.Loss
		way := 1 / math.Sqrt(float64(l.Outputs))
		for z := -12.0; z < 20; z += 1.0 / 16 { // all scores together, and each against the others
			for one := -1; one < l.Outputs; one++ {
				at := func(z float64) []float64 {
					out := make([]float64, l.Outputs)
					for k := range out {
						if k == one {
							out[k] = z
						} else if one < 0 {
							out[k] = z * way
						}
					}
					l.Residuals(out, stored)
					return out
				}
				const h = 1e-4
				lo, hi := at(z), at(z+h)
				norm, moved := 0.0, 0.0
				for k := range lo {
					norm, moved = norm+lo[k]*lo[k], moved+(hi[k]-lo[k])*(hi[k]-lo[k])
				}
				if math.Sqrt(norm) > l.Lipschitz*(1+1e-12) || math.Sqrt(moved) > l.Smooth*h*(1+1e-9)+1e-14*(1+stored) {
					t.Errorf("%s with %s of %+v, target %g at %g: residual %g of at most %g, slope %g of at most %g", model, with, target, stored, z, math.Sqrt(norm), l.Lipschitz, math.Sqrt(moved)/h, l.Smooth)
					return
				}
			}
		}
	}
}

// TestTwoNumbers: a class of a target that is a number is told as 0 or 1, so those alone are one of two: of 0 and 0.1 neither a prediction nor an evaluation would be. The hint's comparison tells both apart.
func TestTwoNumbers(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		hint   string
	}{{0, 1, ""}, {0, 0.1, "y > 0 AS y"}, {0, 0.01, "y > 0 AS y"}, {1, 2, "y > 1 AS y"}, {-0.1, 0, "y > -0.05 AS y"}, {0.25, 3, "y > 1 AS y"}} {
		f := Feature{Name: "y", Lo: c.lo, Hi: c.hi, To: 1}
		switch err := f.suits(oneOfTwo); {
		case c.hint == "" && err != nil:
			t.Errorf("%g and %g: %v", c.lo, c.hi, err)
		case c.hint != "" && (err == nil || !strings.Contains(err.Hint, c.hint)):
			t.Errorf("%g and %g: %v", c.lo, c.hi, err)
		}
	}
}
