package release

import (
	"context"
	"errors"
	"math/big"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// With is the release with one measuring more, whose numbers are not there yet: the groups are what they were. nil: no value would become more exact.
func (r *Release) With(a *sensitivity.Analysis, p *price.Quote) (*Release, error) {
	top, gain := Top{Plan: p}, false
	for i := range p.Measures {
		before, err := r.variance(a, i)
		if err != nil {
			return nil, err
		}
		fresh, err := p.Run().VarianceInSteps(i, a.Measures[i].Subdivision)
		if err != nil {
			return nil, err
		}
		was, now, err := price.MeanWeights(before, fresh)
		if err != nil {
			return nil, err
		}
		top.Weights = append(top.Weights, [2]int64{was, now})
		gain = gain || now > 0
	}
	if !gain {
		return nil, nil
	}
	out := *r
	out.Tops = append(r.Tops[:len(r.Tops):len(r.Tops)], top)
	return &out, nil
}

// NewTopUp makes the mechanisms of a plan that tops up a release, which stays as it is. All their noise is drawn now, as far as it is
// held ahead: the groups are known. nil: no value would become more exact.
func NewTopUp(a *sensitivity.Analysis, p *price.Quote, old *Release, src *noise.Source) (*Releaser, error) {
	r, err := old.With(a, p)
	if r == nil {
		return nil, err
	}
	r.Groups = nil
	m := &Releaser{a: a, r: r, old: old, src: src, end: context.Background().Err, apart: make([]*noise.Mechanism, len(p.Measures)), picks: make([]*noise.PermuteAndFlip, len(p.Measures))}
	for i, ev := range p.Measures {
		mech, err := src.Mechanism(ev)
		if err != nil {
			return nil, err
		}
		if err := mech.Ahead(min(len(old.Groups), maxAhead)); err != nil {
			return nil, err
		}
		if a.Measures[i].NeedsOwnScan() {
			m.apart[i], mech = mech, nil
		}
		m.mechs = append(m.mechs, mech)
	}
	return m, nil
}

// variance is that of measure i's value, in squared steps.
func (r *Release) variance(a *sensitivity.Analysis, i int) (float64, error) {
	fine := a.Measures[i].Subdivision
	v, err := r.Run.VarianceInSteps(i, fine)
	if err != nil {
		return 0, err
	}
	for _, t := range r.Tops {
		fresh, err := t.Plan.Run().VarianceInSteps(i, fine)
		if err != nil {
			return 0, err
		}
		was, now, round := t.Share(i)
		v = was*was*v + now*now*fresh + 2*round*price.MeanRounding
	}
	return v, nil
}

// Noise is of how many noisy numbers measure i's value is the mean, and the event of the first of them: a top-up may leave a value as it was, or take its
// place.
func (r *Release) Noise(i int) (first dp.Event, of int, err error) {
	if first, err = r.Run.Event(i); err != nil {
		return nil, 0, err
	}
	of = 1
	for _, t := range r.Tops {
		switch was, now, _ := t.Share(i); {
		case was == 0:
			first, of = t.Plan.Measures[i], 1
		case now > 0:
			of++
		}
	}
	return first, of, nil
}

// Share gives the parts of measure i's value that are what it was, and the fresh one; and the most that rounding their mean moves it: nothing where it is
// one of them.
func (t Top) Share(i int) (was, now, round float64) {
	w := t.Weights[i]
	now = float64(w[1]) / (float64(w[0]) + float64(w[1]))
	if w[0] > 0 && w[1] > 0 {
		round = 0.5
	}
	return float64(w[0]) / (float64(w[0]) + float64(w[1])), now, round
}

// topUp measures the old release's groups again at its bounds.
//
// Proof: claim: the outcome of exactly the plan's events, for the old release's groups. (1) Which groups are measured, and at which bounds, is
// released already; a group without rows now counts as 0 and gets its noise like the others, rows of other groups are dropped.
// (2) The totals have the sensitivity of the old events, whose bounds these are (Read, choose). (3) The mean is of released values, with weights from scales:
// post-processing.
func (m *Releaser) topUp(cols []sqlgen.Column, rows secret.Rows) (*Release, error) {
	each := m.plain(cols, rows)
	if m.a.Pairs != nil {
		f, err := m.readFlows(cols, rows)
		if err != nil {
			return nil, err
		}
		each = f.each(m.old, m.end)
	} else if len(m.a.Choices) > 0 && m.a.Limit.Norm == 0 {
		h, err := readHistogram(m.a, cols, rows)
		if err != nil {
			return nil, err
		}
		each = h.each(m.old)
	}
	groups := make([][]sqltype.Value, len(m.old.Groups))
	for i, g := range m.old.Groups {
		groups[i] = g.Keys
	}
	totals, err := totalsOf(groups, len(m.mechs), each)
	if err != nil {
		return nil, err
	}
	weights := m.r.Tops[len(m.r.Tops)-1].Weights
	for i, g := range m.old.Groups {
		fresh, err := addNoise(m.mechs, totals[i])
		if err != nil {
			return nil, err
		}
		fresh = inSteps(m.a, fresh)
		if len(g.Values) != len(fresh) {
			return nil, errors.New("release: a group has not the plan's measures")
		}
		for k := range fresh {
			if m.mechs[k] == nil { // it is read apart
				fresh[k] = g.Values[k]
				continue
			}
			fresh[k] = mean(g.Values[k], fresh[k], weights[k])
		}
		m.r.Groups = append(m.r.Groups, Group{Keys: g.Keys, Values: fresh})
	}
	return m.r, nil
}

// mean is the weighted mean, rounded.
func mean(was, now *big.Int, w [2]int64) *big.Int {
	sum := new(big.Int).Mul(was, big.NewInt(w[0]))
	sum.Add(sum, new(big.Int).Mul(now, big.NewInt(w[1])))
	return nearest(sum, big.NewInt(w[0]+w[1]))
}
