package release

import (
	"errors"
	"math/big"
	"slices"
	"sort"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/groups"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// Computation is how a release is computed from another one: Made, and what its expressions give for a group's keys.
type Computation struct {
	*reuse.Made
	Keep func(keys []sqltype.Value) (bool, error)
	Key  func(i int, keys []sqltype.Value) (sqltype.Value, error)
}

// errNotComputed: the other release does not say it.
var errNotComputed = errors.New("release: it cannot be computed")

// Computed computes an analysis' release from another one; nil where that does not say it.
//
// Proof: claim: each value is the sum of released ones whose totals add up to the group's own. It is post-processing of released numbers, with weights from the plan alone, so nothing is lost by it. (1) A row belongs to the
// group here that the keys of its group there give (Made.Keys, functions of those), if they fulfil Made.Conds; so the group's rows are those of its cells, if no row is in no cell there: all values that its keys may have there are
// in released groups (complete). (2) Clamped parts: a unit's rows here are all in one cell, where its part was clamped as it is here; for of the keys that tell the cells of one group apart each has one value a unit (OfUnit), or a unit has
// one row (Single), or there is one cell. (3) Without a cell a group has no rows: 0. (4) Numbers of distinct values do not add up, nor do flows of two units' rows: one cell each. (5) Groups that were chosen stay those that they were: one for one (Made.Whole).
func (old *Release) Computed(a *sensitivity.Analysis, c *Computation) (*Release, error) {
	out := old.part(a, c.Made)
	out.Data, out.Cube = old.Data, old.Cube
	if !a.Groups.Public {
		for _, g := range old.Groups {
			n := Group{Values: c.values(&g), Cells: 1}
			for i := range a.Keys {
				v, err := c.Key(i, g.Keys)
				if err != nil {
					return nil, err
				}
				n.Keys = append(n.Keys, v)
			}
			out.Groups = append(out.Groups, n)
		}
		sort.Slice(out.Groups, func(i, j int) bool { return lessKeys(out.Groups[i].Keys, out.Groups[j].Keys) })
		return out, nil
	}
	tuples := domain(a)
	at := make(map[string]int, len(tuples))
	for i, t := range tuples {
		at[keyText(t)] = i
	}
	cells := make([][]int, len(tuples))
	for i, g := range old.Groups {
		keep, err := c.Keep(g.Keys)
		if err != nil {
			return nil, err
		}
		if !keep {
			continue
		}
		key := make([]sqltype.Value, len(a.Keys))
		for k := range key {
			v, err := c.Key(k, g.Keys)
			if err != nil {
				return nil, err
			}
			key[k] = groups.Literal(v, a.Keys[k].Type)
		}
		if to, ok := at[keyText(key)]; ok {
			cells[to] = append(cells[to], i)
		}
	}
	if !old.isComplete(tuples, c.Made) {
		return nil, errNotComputed
	}
	var single []int // of each group its only cell; nil: some has none or several
	for i, t := range tuples {
		if len(cells[i]) == 1 && len(single) == i {
			single = append(single, cells[i][0])
		}
		if !old.hasOneCellPerUnit(cells[i]) || len(cells[i]) != 1 && a.IsNonAdditive() { // (2) a unit's rows are in one cell; (4) distinct values do not add up
			return nil, errNotComputed
		}
		n := Group{Keys: t, Values: make([]*big.Int, len(a.Measures)), Cells: max(1, len(cells[i]))}
		for m := range n.Values {
			n.Values[m] = new(big.Int)
		}
		for _, of := range cells[i] {
			for m, v := range c.values(&old.Groups[of]) {
				n.Values[m].Add(n.Values[m], v)
			}
		}
		out.Groups = append(out.Groups, n)
	}
	if len(single) == len(tuples) {
		out.Adjusted = old.Adjusted.part(c.Made, single)
	}
	return out, nil
}

// Variance is that of measure i's values, in squared steps; of sums of several groups that of the largest number of them.
func (r *Release) Variance(a *sensitivity.Analysis, i int) (float64, error) {
	v, err := r.variance(a, i)
	return v * float64(max(1, r.MostCells())), err
}

// part is the release's noise, for some of its measures.
func (old *Release) part(a *sensitivity.Analysis, m *reuse.Made) *Release {
	was := old.LastQuote()
	out := &Release{Plan: &price.Quote{Price: was.Price, Mechanism: was.Mechanism, Loss: was.Loss, UnitsFromSelection: -1}, Run: &price.Run{Mechanism: old.Run.Mechanism}, Of: old}
	for _, i := range m.Measures {
		out.Run.Measures = append(out.Run.Measures, old.Run.Measures[i])
		if len(old.Lost) > 0 {
			out.Lost, out.Run.Lost = append(out.Lost, old.Lost[i]), append(out.Run.Lost, old.Run.Lost[i])
		}
	}
	out.Plan.Measures = out.Run.Measures
	for _, i := range m.Choices {
		out.Plan.Choices, out.Chosen = append(out.Plan.Choices, old.Plan.Choices[i]), append(out.Chosen, old.Chosen[i])
	}
	for _, t := range old.Tops {
		p := *t.Plan
		p.Measures = nil
		top := Top{Plan: &p}
		for _, i := range m.Measures {
			p.Measures, top.Weights = append(p.Measures, t.Plan.Measures[i]), append(top.Weights, t.Weights[i])
		}
		out.Tops = append(out.Tops, top)
	}
	return out
}

func (c *Computation) values(g *Group) []*big.Int {
	out := make([]*big.Int, len(c.Measures))
	for i, m := range c.Measures {
		out[i] = g.Values[m]
	}
	return out
}

// isComplete: all groups that rows here may be in there were released (1). Source by source: values that are known here, as keys or from conditions, are among them; of keys of which none is known every row has one of them, by the keys' form, their type or the database's keys.
func (old *Release) isComplete(tuples [][]sqltype.Value, m *reuse.Made) bool {
	for _, s := range old.Shape.Sources {
		var known []int
		for _, k := range s.Keys {
			if m.Same[k] >= 0 || m.Listed[k] != nil {
				known = append(known, k)
			}
		}
		if len(known) < len(s.Keys) && !s.Complete || !old.hasValues(tuples, m, known) {
			return false
		}
	}
	return true
}

// hasValues: the released groups have all values of some keys that rows here may have.
func (old *Release) hasValues(tuples [][]sqltype.Value, m *reuse.Made, keys []int) bool {
	if len(keys) == 0 {
		return true
	}
	known := map[string]bool{}
	values := make([]sqltype.Value, len(keys))
	for _, g := range old.Groups {
		for i, k := range keys {
			values[i] = g.Keys[k]
		}
		known[keyText(values)] = true
	}
	var all func(t []sqltype.Value, i int) bool
	all = func(t []sqltype.Value, i int) bool {
		if i == len(keys) {
			return known[keyText(values)]
		}
		k := keys[i]
		if at := m.Same[k]; at >= 0 {
			values[i] = t[at]
			return all(t, i+1)
		}
		return !slices.ContainsFunc(m.Listed[k], func(c *plan.Const) bool {
			values[i] = groups.Literal(c.Value, old.Shape.Keys[k].Type)
			return !all(t, i+1)
		})
	}
	return !slices.ContainsFunc(tuples, func(t []sqltype.Value) bool { return !all(t, 0) })
}

// hasOneCellPerUnit: no unit has rows in two of these groups.
func (old *Release) hasOneCellPerUnit(cells []int) bool {
	for i := 1; i < len(cells) && !old.Shape.Single; i++ {
		for k, key := range old.Shape.Keys {
			was, is := old.Groups[cells[0]].Keys[k], old.Groups[cells[i]].Keys[k]
			if !key.OfUnit && keyText([]sqltype.Value{was}) != keyText([]sqltype.Value{is}) {
				return false
			}
		}
	}
	return true
}
