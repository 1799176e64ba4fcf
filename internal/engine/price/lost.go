package price

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/sensitivity"
)

// Lost is the event that tells how much bounds take from a measure: how many units lose how much, in the classes of sensitivity.LostSteps, as one vector of bounded L1 norm. What
// goes beyond is estimated from it (finish.lostOn). Beyond is about how many units a choice may have left beyond the bound, 0 where it does not say.
type Lost struct {
	Event  dp.Event
	Unit   uint64 // sensitivity.LostUnit, of what is run
	Beyond float64
}

// lostShare is the part of its price that a measure gives to tell its lost mass. It is spread over the groups, so the more there are the less it matters beside their own noise.
func lostShare(a *sensitivity.Analysis) float64 {
	const one, halved, least = 0.55, 21, 0.08
	return math.Max(least, one/(1+groups(a)/halved))
}

// lost calibrates the event of measure i.
func lost(f *budget.Filter, a *sensitivity.Analysis, i int, l budget.Limit, mech Mechanism) (*Lost, error) {
	m := &a.Measures[i]
	ev, err := f.Clipped(mechanisms[mech].noise, leastLostBound(a, m, mech), []uint64{a.LostMoves(m)}, l)
	if err != nil {
		return nil, err
	}
	return &Lost{Event: ev}, nil
}

// lostBound is what a unit adds for one sign in all classes together. It does not rise with the unit everywhere (sensitivity.LostCoarse).
func lostBound(unit uint64) uint64 { return unit * sensitivity.LostParts(unit) }

// leastLostBound is the least that it is at any candidate.
func leastLostBound(a *sensitivity.Analysis, m *sensitivity.Measure, mech Mechanism) uint64 {
	clips := []uint64{m.PerGroup}
	if m.Bound != nil {
		clips = nil
		for _, edge := range m.Bound.Edges {
			clips = append(clips, m.Clip(edge))
		}
	}
	least := uint64(math.MaxUint64)
	for _, clip := range clips {
		for _, groups := range caps(a) {
			least = min(least, lostBound(a.LostUnit(clip, groups, mech.HasL2Scale())))
		}
	}
	return least
}

// mostLostBound is the most that it is of any unit up to this one.
func mostLostBound(unit uint64) uint64 {
	return max(lostBound(unit), lostBound(min(unit, sensitivity.LostCoarse-1)))
}

// LostOf is the event of measure i; nil: it loses nothing, or nothing is told of it.
func (p *Quote) LostOf(i int) *Lost {
	if i >= len(p.Lost) {
		return nil
	}
	return p.Lost[i]
}

// LostUnits are sensitivity.LostUnit at released bounds, one a measure; 0: it loses nothing.
func (p *Quote) LostUnits(a *sensitivity.Analysis, chosen Chosen) []uint64 {
	out := make([]uint64, len(a.Measures))
	for i := range out {
		if p.LostOf(i) == nil {
			continue
		}
		m := &a.Measures[i]
		clip, groups := m.PerGroup, caps(a)[0]
		if m.Bound != nil {
			_, edge := p.Edge(m.Bound, chosen)
			clip = m.Clip(edge)
		}
		if c := a.Limit.Cap; c != nil {
			_, groups = p.Edge(c, chosen)
		}
		out[i] = a.LostUnit(clip, groups, p.Mechanism.HasL2Scale())
	}
	return out
}

// canDrawLost: the noise of what a measure loses can be drawn at a bound, and at all lower ones.
func (p *Quote) canDrawLost(a *sensitivity.Analysis, i int, clip, groups uint64) bool {
	if p.LostOf(i) == nil {
		return true
	}
	ev, ok := p.Lost[i].Event.(dp.Clipped)
	if !ok {
		return false
	}
	_, err := ev.At(mostLostBound(a.LostUnit(clip, groups/a.Measures[i].Vectors(), p.Mechanism.HasL2Scale())), ev.Groups[0])
	return err == nil
}

// lostAt are the events that are run at released bounds.
func (p *Quote) lostAt(a *sensitivity.Analysis, chosen Chosen) ([]*Lost, error) {
	out := make([]*Lost, len(a.Measures))
	for i, unit := range p.LostUnits(a, chosen) {
		if unit == 0 {
			continue
		}
		out[i] = &Lost{Unit: unit, Beyond: p.Beyond(a, i, chosen)}
		ev, ok := p.Lost[i].Event.(dp.Clipped)
		if !ok {
			return nil, errors.New("price: lost mass has not the bound that was chosen")
		}
		var err error
		if out[i].Event, err = ev.At(lostBound(unit), ev.Groups[0]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Beyond is about how many units bounds may have left beyond measure i's: the thresholds of its choices, of which none ended at its last candidate.
func (p *Quote) Beyond(a *sensitivity.Analysis, i int, chosen Chosen) float64 {
	if a.Limit.Cap == nil && a.Limit.Capped || a.Clipped {
		return 0 // what a declared cap or a clip cuts
	}
	n := 0.0
	for _, c := range []*sensitivity.Choice{a.Measures[i].Bound, a.Limit.Cap} {
		if c == nil {
			continue
		}
		ev, ok := p.event(c.Index).(dp.AboveThreshold)
		if !ok || p.IsAtLastEdge(c, chosen) {
			return 0
		}
		n += float64(ev.Threshold)
	}
	return n
}

// IsAtLastEdge reports that a choice by threshold ended at the last of its candidates, so that nothing limits how many units are beyond it. It follows from what was released.
func (p *Quote) IsAtLastEdge(c *sensitivity.Choice, chosen Chosen) bool {
	if p == nil || c == nil || len(chosen) == 0 {
		return false
	}
	ev, ok := p.event(c.Index).(dp.AboveThreshold)
	return ok && ev.Edges > 1 && chosen[c.Index] == int(ev.Edges)-1 //nolint:gosec // at most dp.MaxEdges
}

// HoldsAll reports that a choice ended at the bound that holds all that declarations let one unit have.
func (p *Quote) HoldsAll(c *sensitivity.Choice, chosen Chosen) bool {
	_, edge := p.Edge(c, chosen)
	return c.Most > 0 && edge == c.Most
}
