package finish

import (
	"context"
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// CanAdjust reports levels of so few groups that Consistent adjusts them. Their releases may be placeholders.
func CanAdjust(levels []Level) bool {
	_, ok := hierarchyOf(levels)
	return ok
}

// MostAdjusted is how many groups levels have at most together that are adjusted; CanAdjust says whether they are.
const MostAdjusted = mostAdjusted

// Stored are the adjusted values and their laws, as a cube keeps them (AdjustedOf).
func (d *Adjusted) Stored() *release.Adjusted {
	out, at := &release.Adjusted{}, map[string]int{}
	for i := range d.release.Groups {
		g := &d.release.Groups[i]
		of := make([]int, len(g.Values))
		for m := range of {
			if of[m] = -1; !d.moved[m] {
				continue
			}
			law := d.errors.adjusted[g].values[m].stored()
			key := fmt.Sprintf("%v", law)
			place, ok := at[key]
			if !ok {
				place, at[key], out.Laws = len(out.Laws), len(out.Laws), append(out.Laws, law)
			}
			of[m] = place
		}
		out.Values, out.Of = append(out.Values, g.Values), append(out.Of, of)
	}
	return out
}

func (m mixture) stored() release.Law {
	out := release.Law{Rounding: m.rounding, Variance: m.variance, Away: m.away}
	for _, t := range m.terms {
		out.Events, out.Weights, out.Times = append(out.Events, t.event), append(out.Weights, t.weight), append(out.Times, t.times)
	}
	return out
}

// mixtureOfLaw is what stored was made of.
func mixtureOfLaw(l *release.Law) (m mixture, err error) {
	m = mixture{rounding: l.Rounding, variance: l.Variance, away: l.Away, parts: true, widths: map[float64]float64{}}
	for i, ev := range l.Events {
		t := term{weight: l.Weights[i], times: l.Times[i], event: ev}
		if t.d, err = noise.DistributionOf(ev); err != nil {
			return m, err
		}
		if t.law, err = lawOf(ev); err != nil {
			return m, err
		}
		m.terms = append(m.terms, t)
	}
	return m, nil
}

// AdjustedOf is the release of a cube's level, or of some of its measures and groups, with the values and the errors that Consistent gave it.
//
// Proof: Consistent's, whose values and laws these are (Stored). A group's law is its own, so fewer groups and fewer measures have the same ones.
func AdjustedOf(ctx context.Context, a *sensitivity.Analysis, r *release.Release) (*Adjusted, error) {
	e, err := Of(ctx, a, r)
	if err != nil {
		return nil, err
	}
	laws := make([]mixture, len(r.Adjusted.Laws))
	for i := range laws {
		if laws[i], err = mixtureOfLaw(&r.Adjusted.Laws[i]); err != nil {
			return nil, err
		}
	}
	own, moved := *r, map[int]bool{}
	own.Groups = slices.Clone(r.Groups)
	e.adjusted = map[*release.Group]*Errors{}
	with := func(of []int) *Errors {
		out := e.fresh()
		out.adjusted, out.values = nil, slices.Clone(e.values)
		for m, l := range of {
			if l >= 0 {
				out.values[m] = laws[l]
			}
		}
		return out
	}
	same, widest := map[string]*Errors{}, make([]int, len(a.Measures))
	for m := range widest {
		widest[m] = -1
	}
	for i, of := range r.Adjusted.Of {
		own.Groups[i].Values = r.Adjusted.Values[i]
		key := fmt.Sprint(of)
		if same[key] == nil {
			same[key] = with(of)
		}
		e.adjusted[&own.Groups[i]] = same[key]
		for m, l := range of {
			if l < 0 {
				continue
			}
			if moved[m] = true; widest[m] < 0 || laws[l].variance > laws[widest[m]].variance {
				widest[m] = l
			}
		}
	}
	e.adjusted[nil] = with(widest) // of no group named
	return &Adjusted{&own, e, moved}, nil
}
