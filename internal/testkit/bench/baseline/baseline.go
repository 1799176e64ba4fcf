// Package baseline computes what others would answer, from exact per-person partials that are read outside of the proxy: the best
// fixed bound, chosen knowing the data, and Race-to-the-Top. It is a part of the accuracy bench and no product file may import
// it: its noise is made of floats and its bounds of private values.
package baseline

import (
	"math"
	"slices"
)

// Partials are what each person adds to each group: for an aggregate without groups, to the one group "".
type Partials struct {
	Groups map[string]float64 // exact totals
	Units  map[string]map[string]float64
}

// NewPartials has nobody yet.
func NewPartials() *Partials {
	return &Partials{Groups: map[string]float64{}, Units: map[string]map[string]float64{}}
}

// Add notes what one person adds to one group.
func (p *Partials) Add(unit, group string, value float64) {
	p.Groups[group] += value
	of := p.Units[unit]
	if of == nil {
		of = map[string]float64{}
		p.Units[unit] = of
	}
	of[group] += value
}

// Total is the exact answer over all groups.
func (p *Partials) Total() float64 {
	sum := 0.0
	for _, v := range p.Groups {
		sum += v
	}
	return sum
}

// Values are the partials of the one group, ascending.
func (p *Partials) Values() []float64 {
	out := make([]float64, 0, len(p.Units))
	for _, of := range p.Units {
		for _, v := range of {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// Clipped is the sum with each value's magnitude cut at t.
func Clipped(values []float64, t float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Copysign(math.Min(math.Abs(v), t), v)
	}
	return sum
}

// Quantile is the q-quantile of a list by nearest rank; the list is sorted in place.
func Quantile(list []float64, q float64) float64 {
	slices.Sort(list)
	i := int(math.Ceil(q*float64(len(list)))) - 1
	return list[min(max(i, 0), len(list)-1)]
}
