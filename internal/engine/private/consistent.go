package private

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/sensitivity"
)

// adjusted are the answer's releases whose numbers are made to add up, by stage (dpsql.consistent).
func (r *Run) adjusted(ctx context.Context) (map[int]*finish.Adjusted, error) {
	if r.consistent != nil {
		return r.consistent, nil
	}
	out := map[int]*finish.Adjusted{}
	for _, h := range r.Hierarchies(func(i int) *sensitivity.Analysis { return r.StageRuns[i].An }) {
		levels := r.levels(h)
		if levels == nil {
			continue
		}
		list, err := finish.Consistent(ctx, levels, r.Session.Now.Consistent == session.ConsistentNonnegative)
		if err != nil {
			return nil, err
		}
		for i, d := range list {
			out[h.Stages[i]] = d
		}
	}
	r.consistent = out
	return out, nil
}

// errorsOf are those of a release's values as they are shown.
func (r *Run) errorsOf(ctx context.Context, a *StageRun) (*finish.Errors, error) {
	adjusted, err := r.adjusted(ctx)
	if err != nil {
		return nil, err
	}
	if d := adjusted[slices.Index(r.StageRuns, a)]; d != nil {
		return d.Errors(), nil
	}
	return finish.Of(ctx, a.An, a.Release)
}

// levels are a hierarchy's releases; nil where they are not adjusted, by what was released: stage.hierarchyOf (4), and (3) of chosen bounds.
func (r *Run) levels(h *stage.Hierarchy) []finish.Level {
	levels := make([]finish.Level, len(h.Stages))
	for l, i := range h.Stages {
		a := r.StageRuns[i]
		levels[l] = finish.Level{An: a.An, Release: a.Release, Keys: h.Keys[l]}
		first := levels[0].Release
		if a.Release == nil || a.Release.Of != nil || a.Release.IsOnDisk() || a.Release.MostCells() > 1 || a.Release.Data == "" || a.Release.Data != first.Data { // (4) one state of the data, and noise of their own
			return nil
		}
	}
	for q := range h.Measures[0] {
		edges := make([]uint64, len(levels))
		for l, v := range levels {
			edges[l] = chosenEdge(v.An, v.Release, h.Measures[l][q])
		}
		if !isSame(edges) { // (3) the same edge was chosen for all
			continue
		}
		for l := range levels {
			levels[l].Measures = append(levels[l].Measures, h.Measures[l][q])
		}
	}
	if len(levels[0].Measures) == 0 {
		return nil
	}
	return levels
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
