package mlext

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext/convex"
)

func planPosterior(t *Training) (run, error) {
	if t.Rows > 1 {
		return nil, sqlerr.New(sqlerr.InvalidParam, "method %s has no proof for several rows of a person, of whom at most %d count here", t.Method, t.Rows).WithHint("WITH (max_rows_per_unit = 1), or METHOD objective_perturbation.")
	}
	if at, ok := t.Spec.at["residual_clip"]; ok {
		return nil, sqlerr.New(sqlerr.InvalidParam, "method %s draws from the posterior of least squares, which has no residual_clip", t.Method).At(int(at)).WithHint("Leave residual_clip out.")
	}
	p, err := convex.NewPosterior(t.width, t.Epsilon, t.Delta, t.Spec.number("lambda", 0))
	if err != nil {
		return nil, t.inexact(err)
	}
	if p.Lambda > 0 {
		t.fact("lambda", "%.6g", p.Lambda)
	} else {
		t.fact("lambda", "from a noisy number of rows")
	}
	t.fact("accountant", "Renyi loss of two normals, Laplace noise on the number of rows, and Gaussian noise for how exactly the draw is computed")
	return solved(p.Train), nil
}
