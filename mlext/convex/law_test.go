package convex

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/mlext/loss"
)

// TestNoiseLaw: noise is what the proofs say, by their formulas from the statement's numbers: it grows with a unit's rows, and hides how exactly the minimum is found and the lattice too.
func TestNoiseLaw(t *testing.T) {
	const width, epsilon, delta, lambda, row = 5, 0.7, 1e-6, 500.0, 1.3
	same := func(what string, got, want float64) {
		t.Helper()
		if !(got >= want*(1-1e-12) && got <= want*(1+1e-7)) {
			t.Errorf("%s: %.12g, not %.12g", what, got, want)
		}
	}
	for _, l := range []*loss.Loss{loss.Logistic(), loss.Softmax(4), loss.Squared(0.5)} {
		for _, rows := range []int{1, 3, 40} {
			for _, most := range []int{1 << 10, math.MaxInt32} {
				what, n := fmt.Sprintf("%s, %d rows of a unit, %d", l.Name, rows, most), math.Sqrt(float64(width*l.Outputs))
				minimum := func(tolerance float64) float64 { // by how much what is found moves
					return (float64(rows)*l.Lipschitz + 2*tolerance) / lambda
				}
				o, err := NewOutput(l, width, rows, epsilon, delta, lambda)
				if err == nil {
					err = o.ForRows(most)
				}
				if err != nil {
					t.Fatal(err)
				}
				same("output perturbation of "+what, o.Sigma, account.GaussianSigma(epsilon, delta)*(minimum(o.tolerance)+n*o.step))
				p, err := NewPureOutput(l, width, rows, epsilon, lambda)
				if err == nil {
					err = p.ForRows(most)
				}
				if err != nil {
					t.Fatal(err)
				}
				same("pure output perturbation of "+what, p.OutScale, (n*minimum(p.tolerance)+n*n*p.outStep)/epsilon)
				if !(o.tolerance > 0 && p.tolerance > 0 && o.step > 0 && p.outStep > 0) {
					t.Errorf("%s: tolerances %g and %g, steps %g and %g", what, o.tolerance, p.tolerance, o.step, p.outStep)
				}
				q, err := NewPureObjective(l, width, rows, row, epsilon, lambda)
				if err == nil {
					err = q.ForRows(most)
				}
				if err != nil {
					t.Fatal(err)
				}
				determinants := account.Objective{Lipschitz: l.Lipschitz, Smooth: l.Smooth, Lambda: lambda, Rows: rows, Outputs: l.Outputs}.Determinants()
				same("pure objective perturbation of "+what, q.Scale, float64(rows)*row*l.Absolute/(epsilon-epsilon/300-determinants))
				same("how exactly it is found: "+what, q.OutScale, (2*(q.tolerance+n*q.step)/lambda*n+n*n*q.outStep)/(epsilon/300))
			}
		}
	}
}
