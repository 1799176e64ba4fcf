package private

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// hierarchy is an aggregate over grouping sets, whose numbers are made to add up after the noise.
type hierarchy struct {
	stages     []int
	keys       [][]int // a stage: of each of its keys which one of the aggregate it is
	quantities [][]int // a stage: of each quantity which of its measures it is
	counts     []int   // of each quantity which earlier one counts the rows of a centred sum; -1: none
	adjusted   []string
	aggregates []plan.ColID // all of them
	leftOut    []string     // aggregates that stay as they are, and why
}

// hierarchyOf says which numbers of a leaf's grouping sets can be made to add up; nil: none, for the reason that is given, or since no set is a part of another.
//
// Proof: of finish.Consistent (2): the true values of a group are the sums of those of its parts, and what is measured is unbiased for them, or biased alike. (1) Each row of a group of the coarser set is in exactly one group of the finer one: a key that the coarser set has not has a public value in every row, by the database's own rules or the form of the key, not by the policy's word alone (isPartition). A group that has no parts, or no whole, is none of the domain, and then nothing is adjusted (finish.hierarchyOf).
// (2) A measure adds up: it is a sum over rows, or over units of which each is in one group (isAdditive). (3) What a unit counts for in a group is bounded by keys or by the policy, not by a choice, a clip, a cap or a norm (isWhole). What a declared bound cuts is no interval's in any level. Or each unit is in one group of each set, and the same edge was chosen for all (Run.levels): then a unit's clipped part is the same number in each.
// (4) Releases are of one state of the data, and their noise is their own, not that of another's groups (Run.levels). (5) Nobody else reads them: intervals of sums over rows count on noise that is independent from row to row, unless the aggregate has grouping sets (plan.term.once).
func (r *Run) hierarchyOf(leaf divide.Leaf) (h *hierarchy, why string) {
	n, ok := leaf.At.(*plan.Aggregate)
	if !ok || len(n.Sets) < 2 {
		return nil, ""
	}
	h = &hierarchy{}
	for _, part := range leaf.Parts {
		if slices.Contains(h.stages, part.Stage) || r.Stages[part.Stage].As != part.Stage {
			return nil, "a grouping set is there twice"
		}
		if r.readers(part.Stage) > 1 { // (5) nobody else reads them
			return nil, "another part of the statement has one of the numbers"
		}
		keys := make([]int, len(r.StageRuns[part.Stage].An.Keys))
		for k, v := range part.Values[:len(n.Keys)] {
			if v.From >= 0 && v.From < len(keys) {
				keys[v.From] = k
			}
		}
		h.stages, h.keys = append(h.stages, part.Stage), append(h.keys, keys)
	}
	if !h.isNested() {
		return nil, ""
	}
	for i, st := range h.stages {
		a := r.StageRuns[st].An
		switch {
		case !a.Groups.Public:
			return nil, "noise chooses which groups are shown"
		case a.People >= 0:
			return nil, "the policy hides groups of few people"
		case a.Joined != nil, a.Pairs != nil:
			return nil, "a row belongs to several people"
		}
		for up := range h.stages {
			if !finish.IsCoarser(h.keys[up], h.keys[i]) {
				continue
			}
			if why := isPartition(a, h.keys[i], h.keys[up]); why != "" { // (1) each row is in one group of the finer set
				return nil, why
			}
		}
	}
	h.measures(n, func(stage int) *sensitivity.Analysis { return r.StageRuns[stage].An })
	if len(h.adjusted) == 0 {
		return nil, strings.Join(h.leftOut, "; ")
	}
	return h, ""
}

// readers is how many leaves of the program read a stage.
func (r *Run) readers(stage int) (n int) {
	count := func(c divide.Computed) {
		for _, l := range c.Leaves {
			if slices.ContainsFunc(l.Parts, func(part divide.Part) bool { return r.Stages[part.Stage].As == stage }) {
				n++
			}
		}
	}
	count(r.Program.Answer)
	for _, st := range r.Stages {
		for _, in := range st.Inputs {
			count(in.Computed)
		}
	}
	return n
}

func (h *hierarchy) isNested() bool {
	return slices.ContainsFunc(h.keys, func(a []int) bool {
		return slices.ContainsFunc(h.keys, func(b []int) bool { return finish.IsCoarser(a, b) })
	})
}

// isPartition tells of a key that the coarser set has not, and of which rows may have other values than the groups; "": there is none.
func isPartition(a *sensitivity.Analysis, keys, coarser []int) string {
	for _, s := range a.Groups.Sources {
		isComplete := s.Fixed || s.Complete && !s.Unlisted
		for _, k := range s.Keys {
			if !isComplete && !slices.Contains(coarser, keys[k]) {
				switch name := a.VisibleName(a.Keys[k].Col); {
				case name == "", name == plan.Anonymous:
					return "rows may have a value of a grouping expression that is in no group"
				case s.Unlisted:
					return fmt.Sprintf("rows may have a value of %s that is in no group. A condition that keeps the listed values, as %[1]s IN (...), leaves them out", name)
				default:
					return fmt.Sprintf("rows may have a value of %s that is in no group", name)
				}
			}
		}
	}
	return ""
}

// measures finds the quantities, aggregate by aggregate, and why an aggregate has none.
func (h *hierarchy) measures(n *plan.Aggregate, analysis func(stage int) *sensitivity.Analysis) {
	h.quantities = make([][]int, len(h.stages))
	for i, g := range n.Aggs {
		name := stage.AggregateNames(analysis(h.stages[0]), []int{i})[0]
		h.aggregates = append(h.aggregates, g.ID)
		why, slots := "", [][]int(nil)
		for _, st := range h.stages {
			a := analysis(st)
			f := a.Formulas[i]
			if f.IsOrderStatistic() || f.IsPick() || f.Kind == sensitivity.IsSome || f.Kind == sensitivity.IsNone {
				why = "its parts do not add up"
				break
			}
			slots = append(slots, f.Uses())
			for _, at := range f.Uses() {
				if at < 0 {
					continue
				}
				m := &a.Measures[at]
				switch {
				case !isAdditive(a, m): // (2) it adds up
					why = "its parts do not add up"
				case !isWhole(a, m): // (3) nothing is clipped, or all alike
					why = "its bound is chosen for each grouping set by itself"
				}
			}
		}
		first := analysis(h.stages[0])
		for q := 0; why == "" && q < len(slots[0]); q++ {
			if slots[0][q] < 0 {
				continue
			}
			for l, at := range slots {
				if q >= len(at) || at[q] < 0 || !isSameQuantity(&first.Measures[slots[0][q]], &analysis(h.stages[l]).Measures[at[q]]) {
					why = "it is measured in other ways in other grouping sets"
					break
				}
			}
		}
		if why != "" {
			h.leftOut = append(h.leftOut, name+": "+why)
			continue
		}
		h.adjusted = append(h.adjusted, name)
		for q, at := range slots[0] {
			if at < 0 || slices.Contains(h.quantities[0], at) {
				continue
			}
			for l := range slots {
				h.quantities[l] = append(h.quantities[l], slots[l][q])
			}
			h.counts = append(h.counts, -1)
		}
		if f := first.Formulas[i]; f.Kind == sensitivity.IsSumFromPair {
			if count, sum := slices.Index(h.quantities[0], f.Count), slices.Index(h.quantities[0], f.Sum); count < sum {
				h.counts[sum] = count
			}
		}
	}
	for _, list := range h.quantities { // a measure that is two quantities elsewhere
		if sorted := slices.Sorted(slices.Values(list)); len(slices.Compact(sorted)) < len(list) {
			h.leftOut, h.adjusted = []string{"aggregates share their parts in one grouping set, but not in another"}, nil
		}
	}
}

// isAdditive: the measure of a group is the sum of those of its parts.
func isAdditive(a *sensitivity.Analysis, m *sensitivity.Measure) bool {
	switch m.Kind {
	case sensitivity.CountRows, sensitivity.CountValues, sensitivity.SumValues, sensitivity.CentredSum:
		return !m.NeedsOwnScan() && !m.Joined && !m.Distinct
	case sensitivity.Units, sensitivity.SomeUnits:
		return a.Limit.PerUnit == 1 && !a.Limit.Capped
	}
	return false
}

// isWhole: what one unit counts for in a group is not cut by what differs between grouping sets.
func isWhole(a *sensitivity.Analysis, m *sensitivity.Measure) bool {
	if a.Limit.Capped || a.Limit.Cap != nil || a.Limit.Norm != sensitivity.NoNorm || a.Clipped {
		return false
	}
	return m.Bound == nil || a.Limit.PerUnit == 1
}

// isSameQuantity: totals of the two count the same, in the same steps.
func isSameQuantity(a, b *sensitivity.Measure) bool {
	if a.Kind != b.Kind || !a.Grid.Equal(b.Grid) || a.RowLo != b.RowLo || a.RowHi != b.RowHi || a.DoubledCentre() != b.DoubledCentre() || a.Factor != b.Factor || a.Rows != b.Rows || (a.Bound == nil) != (b.Bound == nil) || (a.Product == nil) != (b.Product == nil) {
		return false
	}
	p, r := a.Product, b.Product
	return p == nil || p.CutX == r.CutX && p.CutY == r.CutY && p.Cut == r.Cut && p.Offset == r.Offset
}

// hierarchies are the aggregates of the answer whose grouping sets are made to add up, under dpsql.consistent, with the reasons why others are not.
func (r *Run) hierarchies() (list []*hierarchy, reasons []string) {
	if r.Session.Now.Consistent == session.ConsistentOff {
		return nil, nil
	}
	for _, l := range r.Program.Answer.Leaves {
		h, why := r.hierarchyOf(l)
		if h != nil {
			list = append(list, h)
		} else if why != "" && !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	return list, reasons
}
