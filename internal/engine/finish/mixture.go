package finish

import (
	"context"
	"math"
	"slices"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/noise"
)

// mixture is the noise of a measure's value: of one event, or of a weighted mean of several, rounded after each.
type mixture struct {
	terms    []term
	rounding float64 // the most that all roundings together move it
	variance float64
	parts    bool  // the total itself is no whole number of steps
	sums     int   // so many of it, independent of one another, are added up; 0: one
	cell     *cell // one value's law, roundings and all; nil of parts

	away   float64             // of a value that was adjusted to a whole one: how far it is from its mean, a part of rounding
	widths map[float64]float64 // and the half widths of that mean, by how often they may miss; nil of others
}

// times is the noise of a sum of n values.
func (m mixture) times(n int) mixture {
	m.sums, m.variance = n, m.variance*float64(n)
	return m
}

// term is weight times independent noise.
type term struct {
	weight float64
	law    *law
	d      noise.Distribution
	event  dp.Event // that it is of
	times  int      // so many of it, independent of one another, are added up; 0: one
}

// of is how many noises are added up.
func (t term) of() float64 { return float64(max(1, t.times)) }

// mixtureOf: fine is how many parts of a step the events are in.
func mixtureOf(run *price.Run, tops []release.Top, i int, fine uint64) (m mixture, err error) {
	part, round := 1.0, 0.0
	if fine > 1 {
		part, round = 1/float64(fine), 0.5
	}
	m = mixture{rounding: round, parts: fine > 1}
	if !m.parts {
		m.cell = &cell{}
	}
	add := func(run *price.Run, weight float64) (variance float64, err error) {
		ev, err := run.Event(i)
		if err != nil {
			return 0, err
		}
		t := term{weight: weight * part, event: ev}
		if t.d, err = noise.DistributionOf(ev); err != nil {
			return 0, err
		}
		if t.law, err = lawOf(ev); err != nil {
			return 0, err
		}
		if weight > 0 {
			m.terms = append(m.terms, t)
		}
		return run.VarianceInSteps(i, fine)
	}
	if m.variance, err = add(run, 1); err != nil {
		return m, err
	}
	if m.cell != nil {
		m.cell.stages = append(m.cell.stages, stage{now: 1, law: m.terms[0].law})
	}
	for _, t := range tops {
		was, now, rounded := t.Share(i)
		for k := range m.terms {
			m.terms[k].weight *= was
		}
		m.terms = slices.DeleteFunc(m.terms, func(t term) bool { return t.weight == 0 })
		v, err := add(t.Plan.Run(), now)
		if err != nil {
			return m, err
		}
		if m.cell != nil && now > 0 {
			m.cell.stages = append(m.cell.stages, stage{t.Weights[i][0], t.Weights[i][1], m.terms[len(m.terms)-1].law})
		}
		m.rounding = m.rounding*was + round*now + rounded
		m.variance = was*was*m.variance + now*now*v + 2*rounded*price.MeanRounding
	}
	return m, nil
}

// laplace reports noise with heavier tails than a Gaussian's.
func (m mixture) laplace() bool {
	return slices.ContainsFunc(m.terms, func(t term) bool { return t.law.laplace })
}

// usualMiss is how often a 95% interval may miss.
const usualMiss = 0.05

// quantile is a k such that the value is further than k from the total with probability at most miss; the least one for a single event at usualMiss.
func (m mixture) quantile(ctx context.Context, miss float64) float64 {
	if len(m.terms) == 0 {
		return math.NaN()
	}
	if m.widths != nil {
		k, ok := m.widths[miss]
		if !ok {
			mean := m
			mean.rounding, mean.away, mean.widths = m.rounding-m.away, 0, nil
			if k = mean.quantile(ctx, miss); !math.IsNaN(k) {
				m.widths[miss] = k
			}
		}
		return math.Floor(k + m.away) // both what is shown and what it stands for are whole
	}
	if m.sums <= 1 && len(m.terms) == 1 && miss >= leastMiss {
		t := m.terms[0]
		k := float64(t.d.Quantile975())
		if miss != usualMiss {
			k = t.law.quantile(miss)
		}
		return k*t.weight + m.rounding
	}
	return width(ctx, []addend{{1, m}}, miss)
}

// linear is the like of c times one value and another one.
func linear(ctx context.Context, c float64, x, y mixture, miss float64) float64 {
	if miss >= leastMiss && len(x.terms) == 1 && len(y.terms) == 1 && x.rounding+y.rounding == 0 && max(x.sums, y.sums) <= 1 {
		return combined(c, x.terms[0].law, y.terms[0].law, miss)
	}
	return width(ctx, []addend{{c, x}, {1, y}}, miss)
}
