package reuse

import (
	"maps"
	"slices"

	"github.com/dpsql/dpsql/sensitivity"
)

// measuresFrom finds the measures and the choices of their bounds: each measure's own, or of a sum the pair that says it.
func (k *Candidate) measuresFrom(s *Shape, out *Made) bool {
	pairs := false
	for i := range k.a.Measures {
		at, ok := k.said(s, &k.a.Measures[i])
		if !ok {
			return false
		}
		pairs = pairs || len(at) > 1
		out.Measures = append(out.Measures, at[0])
	}
	if pairs {
		return k.fromPairs(s, out)
	}
	out.Analysis, out.Choices = k.a, make([]int, len(k.a.Choices))
	for i := range out.Choices {
		out.Choices[i] = -1
	}
	choose := func(here *sensitivity.Choice, there int) bool {
		if here == nil {
			return there < 0
		}
		if was := out.Choices[here.Index]; was >= 0 && was != there {
			return false
		}
		out.Choices[here.Index] = there
		return there >= 0
	}
	for i, m := range k.a.Measures {
		if !choose(m.Bound, s.Measures[out.Measures[i]].Choice) {
			return false
		}
	}
	return choose(k.a.Limit.Cap, s.Cap) && !slices.Contains(out.Choices, -1)
}

// said is where a release has a measure, or the count and the centred sum of its pair, which have one bound unless the sum has a choice of its own.
func (k *Candidate) said(s *Shape, m *sensitivity.Measure) ([]int, bool) {
	at := func(m *sensitivity.Measure) int {
		text := short(k.n.measure(m))
		return slices.IndexFunc(s.Measures, func(o ShapeMeasure) bool { return o.Text == text })
	}
	if i := at(m); i >= 0 {
		return []int{i}, true
	}
	if m.Pair == nil {
		return nil, false
	}
	count, sum := at(&m.Pair.Count), at(&m.Pair.Sum)
	return []int{count, sum}, count >= 0 && sum >= 0 && (m.Pair.Sum.HasOwnChoice || s.Measures[count].Choice == s.Measures[sum].Choice)
}

// fromPairs is the analysis with the measures of the release, in their order there: those that share a release here still share it.
//
// Proof: claim: it is the analysis of the same aggregates with each sum that is replaced computed as Analyze has it beside an average of the same values (IsSumFromPair). The pair is the one that pair gives for the sum's own
// values and rows, and the release has measures of its texts, as for any measure (From). Nothing is measured by it: what it is finished from is released, with the noise and the bounds that were run.
func (k *Candidate) fromPairs(s *Shape, out *Made) bool {
	a := *k.a
	out.Analysis, a.Measures, a.Choices, a.Formulas = &a, nil, nil, slices.Clone(a.Formulas)
	is := map[int]*sensitivity.Measure{} // of the release
	for i := range k.a.Measures {
		m := &k.a.Measures[i]
		at, _ := k.said(s, m)
		if is[at[0]] = m; len(at) > 1 {
			is[at[0]], is[at[1]] = &m.Pair.Count, &m.Pair.Sum
		}
	}
	out.Measures = slices.Sorted(maps.Keys(is))
	choices := map[int]*sensitivity.Choice{} // of the release
	for i, of := range out.Measures {
		m, there := *is[of], s.Measures[of].Choice
		if (m.Bound != nil) != (there >= 0) {
			return false
		}
		if m.Bound != nil {
			c := choices[there]
			if c == nil {
				c = &sensitivity.Choice{Index: len(a.Choices), Measure: -1, Edges: m.Bound.Edges}
				choices[there], a.Choices, out.Choices = c, append(a.Choices, c), append(out.Choices, there)
			}
			if m.HasOwnBound() {
				c.Measure = i
			}
			m.Bound = c
		}
		m.Pair = nil
		a.Measures = append(a.Measures, m)
	}
	for _, c := range a.Choices {
		if c.IsCap() { // it would be told of what is not here
			return false
		}
	}
	if limit := k.a.Limit.Cap; (limit != nil) != (s.Cap >= 0) {
		return false
	} else if limit != nil {
		own := *limit
		own.Index, a.Limit.Cap = len(a.Choices), &own
		a.Choices, out.Choices = append(a.Choices, &own), append(out.Choices, s.Cap)
	}
	return k.formulas(s, out)
}

// formulas brings an analysis' formulas to the measures of a release.
func (k *Candidate) formulas(s *Shape, out *Made) bool {
	a := out.Analysis
	to := func(i int) (at []int) {
		of, _ := k.said(s, &k.a.Measures[i])
		for _, j := range of {
			at = append(at, slices.Index(out.Measures, j))
		}
		return at
	}
	for i := range a.Formulas {
		f := &a.Formulas[i]
		if f.Moments != nil {
			own := *f.Moments
			f.Moments = &own
		}
		if f.Kind == sensitivity.IsSum {
			if at := to(f.Sum); len(at) > 1 {
				f.Kind, f.Count, f.Sum = sensitivity.IsSumFromPair, at[0], at[1]
				continue
			}
		}
		for _, used := range f.MeasureIndexes() {
			if *used < 0 {
				continue
			}
			at := to(*used)
			if len(at) > 1 {
				return false
			}
			*used = at[0]
		}
	}
	if a.People >= 0 {
		a.People = to(a.People)[0]
	}
	return true
}
