package mlext

import (
	"math"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext/convex"
)

// Trainings with a delta of 0, whose noise is Laplace noise.

// canBePure refuses a delta of 0 where a method has no proof for it.
func (s *Spec) canBePure(m *method) error {
	if m == nil || m.pure != nil {
		return nil
	}
	e := sqlerr.New(sqlerr.InvalidParam, "method %s has no training with a delta of 0: its noise is Gaussian", m.name)
	if at, ok := s.at["delta"]; ok {
		return e.At(int(at)).WithHint("Leave delta out, or train by METHOD objective_perturbation.")
	}
	return e.WithHint("The data set's budget has no delta. Train by METHOD objective_perturbation, or ask the owner for budget.delta.")
}

// NoDelta makes it a training with a delta of 0, because the data set's budget has none.
func (s *Spec) NoDelta() error {
	s.Pure = true
	return s.canBePure(methodOf(s.Method))
}

// rowSum bounds the sum of an encoded row's absolute entries: 1 for the intercept and each feature, times scale, and never more than the root of the number of those that are not 0, times the norm, 1. Rows are held to it as they are taken in (data.Builder.Within).
func (t *Training) rowSum() float64 {
	entries := 1
	for i := range t.Features {
		if f := &t.Features[i]; f.Levels != nil {
			entries++
		} else {
			entries += f.width() + len(t.parts[i])
		}
	}
	return math.Min(t.scale*float64(entries), math.Sqrt(float64(entries)))
}

func planPureObjective(t *Training) (run, error) {
	p, err := convex.NewPureObjective(t.Loss, t.width, t.Rows, t.rowSum(), t.Epsilon, t.Spec.number("lambda", 0))
	if t.most = t.mostRows(); p != nil {
		err = p.ForRows(t.most)
	}
	if err != nil {
		return nil, t.inexact(err)
	}
	t.fact("lambda", "%.6g", p.Lambda)
	t.fact("scale", "%.6g", p.Scale)
	t.fact("output scale", "%.3g", p.OutScale)
	t.fact("accountant", "%s with Laplace noise in each coordinate, and more of it for how exactly the minimum is found", t.extended("Chaudhuri, Monteleoni, Sarwate 2011"))
	return solved(p.Train), nil
}

func planPureOutput(t *Training) (run, error) {
	p, err := convex.NewPureOutput(t.Loss, t.width, t.Rows, t.Epsilon, t.Spec.number("lambda", 0))
	if t.most = t.mostRows(); p != nil {
		err = p.ForRows(t.most)
	}
	if err != nil {
		return nil, t.inexact(err)
	}
	t.fact("lambda", "%.6g", p.Lambda)
	t.fact("output scale", "%.6g", p.OutScale)
	t.fact("accountant", "Laplace mechanism")
	return solved(p.Train), nil
}

func planPureMoments(t *Training) (run, error) {
	if err := t.fewMoments(); err != nil {
		return nil, err
	}
	m, err := convex.NewPureMoments(t.width, t.Rows, t.rowSum(), 1, t.Epsilon)
	if err != nil {
		return nil, t.inexact(err)
	}
	t.fact("deviation of the noise", "%.6g", m.Sigma)
	t.fact("accountant", "Laplace mechanism")
	return t.regression(m), nil
}
