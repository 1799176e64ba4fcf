package finish

import (
	"math"
	"math/big"

	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// lostMass is how much bounds may have taken from a measure in all groups together, in its steps.
type lostMass struct {
	above, below float64 // 0: nothing is lost on that side
	base, least  float64 // the sum of the groups' values, and what a group counts for at least when it is spread among them
	groups       float64
}

// The constants of lostReach: found on the made-up data of docs/accuracy.md, and held by bench-honesty on others.
const (
	lostQuantile = 1.6 // of the noise of the two segments
	lostPrior    = 0.8 // what is beyond a segment, as a part of it, where nothing tells
	lostLeast    = 0.3 // the least such part
	lostDoubt    = 0.2 // by how much more it may be
	lostMost     = 0.7 // the largest
	lostUnseen   = 0.3 // of the noise's deviation: what the far segment may hold unseen
	lostTail     = 0.9 // of the geometric series
	lostSpread   = 1.2 // a group's part may be larger than its part of the values, and the tail heavier
)

// lostReach is how much may be lost in all: what the two released segments hold, with their noise, and beyond them a geometric tail of the ratio that they have, drawn to lostPrior where their noise (of deviations n and f) hides it.
//
// The tail is an assumption: no interval covers a few people of unbounded values.
func lostReach(near, far, n, f, quantile float64) float64 {
	q, l0, l1 := (n+f)/2, math.Max(0, near), math.Max(0, far)
	if q == 0 && l0 == 0 && l1 == 0 {
		return 0
	}
	ratio := lostPrior
	if l0+2*q > 0 {
		ratio = (l1 + lostPrior*2*q) / (l0 + 2*q)
	}
	ratio = math.Min(math.Max(ratio, lostLeast)+lostDoubt, lostMost)
	beyond := math.Max(l1, math.Max(lostPrior*l0, lostUnseen*q)) * ratio / (1 - ratio) * lostTail
	return (l0 + l1 + quantile*math.Hypot(n, f) + beyond) * lostSpread
}

// lostMasses are those of all measures, of intervals that may miss so often; lost is what was released of them, nil before.
func lostMasses(a *sensitivity.Analysis, run *measure.Run, lost []*release.Lost, miss float64) ([]lostMass, error) {
	out := make([]lostMass, len(a.Measures))
	for i := range out {
		if i >= len(run.Lost) || run.Lost[i] == nil {
			continue
		}
		near, err := noise.DistributionOf(run.Lost[i].Near)
		if err != nil {
			return nil, err
		}
		far, err := noise.DistributionOf(run.Lost[i].Far)
		if err != nil {
			return nil, err
		}
		variance, err := run.Variance(i)
		if err != nil {
			return nil, err
		}
		law, err := lawOf(run.Lost[i].Near)
		if err != nil {
			return nil, err
		}
		fine, quantile := float64(a.Measures[i].Fine), lostQuantile*stretch(miss, law.laplace)
		side := func(s [2]*big.Int) float64 {
			x, _ := new(big.Float).SetInt(s[0]).Float64()
			y, _ := new(big.Float).SetInt(s[1]).Float64()
			return lostReach(x, y, math.Sqrt(near.Variance()), math.Sqrt(far.Variance()), quantile) / fine
		}
		sides := make([]float64, 2)
		m := lostMass{least: math.Sqrt(variance) / fine / 2, groups: float64(max(1, a.Groups.Count))}
		for k := range a.Measures[i].LostSides() {
			s := [2]*big.Int{new(big.Int), new(big.Int)} // none is expected
			if i < len(lost) && lost[i] != nil && k < len(lost[i].Sides) {
				s = lost[i].Sides[k]
				m.base, _ = new(big.Float).SetInt(lost[i].Base).Float64()
				m.groups = float64(max(1, lost[i].Count))
			}
			sides[k] = side(s)
		}
		m.above, m.below = sides[0], sides[1]
		out[i] = m
	}
	return out, nil
}

// in is what may be lost above and below in a group of this value, made of so many cells.
func (l lostMass) in(value float64, cells int) (above, below float64) {
	if l.above == 0 && l.below == 0 {
		return 0, 0
	}
	part := math.Min(1, (l.of(value)+float64(cells)*l.least)/math.Max(l.base+l.groups*l.least, 1e-300))
	return l.above * part, l.below * part
}

// of is what a value counts for: of measures of one sign what noise puts below 0 counts for nothing.
func (l lostMass) of(value float64) float64 {
	if l.below > 0 {
		return math.Abs(value)
	}
	return math.Max(0, value)
}
