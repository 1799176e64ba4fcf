package private

import (
	"context"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// adjusted are the answer's releases whose numbers are made to add up, by stage (dpsql.consistent).
func (r *Run) adjusted(ctx context.Context) (map[int]*finish.Adjusted, error) {
	if r.consistent != nil {
		return r.consistent, nil
	}
	out, sums := map[int]*finish.Adjusted{}, map[plan.ColID]bool{}
	cube, ofCube, err := r.adjustedByCube(ctx)
	if err != nil {
		return nil, err
	}
	if cube != nil {
		r.consistent, r.sums = cube, ofCube
		return cube, nil
	}
	hierarchies, _ := r.hierarchies()
	for _, h := range hierarchies {
		levels, counts := r.levels(h)
		if levels == nil {
			continue
		}
		list, err := finish.Consistent(ctx, levels, counts, r.Session.Now.Consistent == session.ConsistentNonnegative)
		if err != nil {
			return nil, err
		}
		for i, d := range list {
			out[h.stages[i]] = d
		}
		for i, id := range h.aggregates {
			sums[id] = list != nil && list[0].AddsUp(i)
		}
	}
	r.consistent, r.sums = out, sums
	return out, nil
}

// ConsistentLine says for EXPLAIN which numbers of grouping sets are made to add up, and which are not; "" where there are no grouping sets.
func (r *Run) ConsistentLine(ctx context.Context) (string, error) {
	switch cube, _, err := r.adjustedByCube(ctx); {
	case err != nil:
		return "", err
	case cube != nil:
		return "all numbers are those of the cube, whose levels are adjusted after the noise, so that groups add up to their totals. They are not rounded", nil
	}
	list, left := r.hierarchies()
	var adjusted []string
	for _, h := range list {
		stored, free := 0, 0
		for _, i := range h.stages {
			if a := r.StageRuns[i]; a.Free {
				free++
				if a.Release.Of != nil {
					stored++
				}
			}
		}
		levels, counts := r.levels(h)
		few, err := r.isOfFewGroups(h)
		if err != nil {
			return "", err
		}
		switch {
		case !few:
			left = append(left, "there are too many groups")
			continue
		case stored > 0:
			left = append(left, "a number is computed from a release of another question")
			continue
		case free == len(h.stages) && levels == nil:
			left = append(left, "the bounds that were chosen differ")
			continue
		case free == len(h.stages):
			d, err := finish.Consistent(ctx, levels, counts, false)
			if err != nil {
				return "", err
			}
			if d == nil {
				left = append(left, "the noise is so small that whole numbers which add up would err more, or there are too many groups")
				continue
			}
		}
		adjusted, left = append(adjusted, h.adjusted...), append(left, h.leftOut...)
	}
	words := ""
	if len(adjusted) > 0 {
		words = strings.Join(adjusted, ", ") + " of the grouping sets are adjusted after the noise, so that groups add up to their totals. They are not rounded"
	}
	switch {
	case len(left) > 0 && words == "":
		words = "no: " + strings.Join(left, "; ")
	case len(left) > 0:
		words += ". Not adjusted: " + strings.Join(left, "; ")
	}
	return words, nil
}

// isOfFewGroups: the limits allow to adjust a hierarchy's groups, which are public.
func (r *Run) isOfFewGroups(h *hierarchy) (bool, error) {
	sum := uint64(0)
	for _, i := range h.stages {
		if sum += r.StageRuns[i].An.Groups.Count; sum > finish.MostAdjusted {
			return false, nil
		}
	}
	levels := make([]finish.Level, len(h.stages))
	for l, i := range h.stages {
		a := r.StageRuns[i]
		none, err := release.NewPlaceholder(a.An, a.Plan)
		if err != nil {
			return false, err
		}
		levels[l] = finish.Level{An: a.An, Release: none, Keys: h.keys[l]}
	}
	return finish.CanAdjust(levels), nil
}

// ErrorsOf are those of a release's values as they are shown.
func (r *Run) ErrorsOf(ctx context.Context, a *StageRun) (*finish.Errors, error) {
	adjusted, err := r.adjusted(ctx)
	if err != nil {
		return nil, err
	}
	if d := adjusted[slices.Index(r.StageRuns, a)]; d != nil {
		return d.Errors(), nil
	}
	return finish.Of(ctx, a.An, a.Release)
}

// levels are a hierarchy's releases; nil where they are not adjusted, by what was released: hierarchyOf (4), and (3) of chosen bounds.
func (r *Run) levels(h *hierarchy) (levels []finish.Level, counts []int) {
	levels = make([]finish.Level, len(h.stages))
	for l, i := range h.stages {
		a := r.StageRuns[i]
		levels[l] = finish.Level{An: a.An, Release: a.Release, Keys: h.keys[l]}
		first := levels[0].Release
		if a.Release == nil || a.Release.Of != nil || a.Release.IsOnDisk() || a.Release.MostCells() > 1 || a.Release.Data == "" || a.Release.Data != first.Data { // (4) one state of the data, and noise of their own
			return nil, nil
		}
	}
	kept := make([]int, len(h.counts)) // the quantity's number; -1: it is left out
	for q, count := range h.counts {
		edges := make([]uint64, len(levels))
		for l, v := range levels {
			edges[l] = chosenEdge(v.An, v.Release, h.quantities[l][q])
		}
		if kept[q] = -1; !isSame(edges) || count >= 0 && kept[count] < 0 { // (3) the same edge was chosen for all
			continue
		}
		kept[q] = len(counts)
		if count >= 0 {
			count = kept[count]
		}
		counts = append(counts, count)
		for l := range levels {
			levels[l].Measures = append(levels[l].Measures, h.quantities[l][q])
		}
	}
	if len(counts) == 0 {
		return nil, nil
	}
	return levels, counts
}

// chosenEdge is the edge that was released for a measure's bound; 0: nothing was chosen.
func chosenEdge(a *sensitivity.Analysis, r *release.Release, measure int) uint64 {
	c := a.Measures[measure].Bound
	if c == nil {
		return 0
	}
	return r.Edges(a)[c.Index]
}

func isSame(list []uint64) bool {
	for _, x := range list {
		if x != list[0] {
			return false
		}
	}
	return true
}
