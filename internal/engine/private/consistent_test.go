package private

import (
	"testing"

	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/sensitivity"
)

// TestLevels: numbers are made to add up only where all releases are of one state of the data and have noise of their own.
func TestLevels(t *testing.T) {
	an := &sensitivity.Analysis{Measures: []sensitivity.Measure{{Kind: sensitivity.CountRows}}}
	h := &hierarchy{stages: []int{0, 1}, keys: [][]int{{0}, {}}, quantities: [][]int{{0}, {0}}, counts: []int{-1}}
	for name, c := range map[string]struct {
		second release.Release
		adds   bool
	}{
		"one state":                  {release.Release{Data: "1"}, true},
		"two states":                 {release.Release{Data: "2"}, false},
		"a state that is not known":  {release.Release{}, false},
		"computed from another one":  {release.Release{Data: "1", Of: &release.Release{}}, false},
		"sums of groups of that one": {release.Release{Data: "1", Groups: []release.Group{{Cells: 2}}}, false},
	} {
		r := &Run{}
		for _, of := range []*release.Release{{Data: "1"}, &c.second} {
			r.StageRuns = append(r.StageRuns, &StageRun{Stage: &stage.Stage{An: an}, Release: of})
		}
		if levels, _ := r.levels(h); (levels != nil) != c.adds {
			t.Errorf("%s: %d levels", name, len(levels))
		}
	}
	r := &Run{}
	for range 2 {
		r.StageRuns = append(r.StageRuns, &StageRun{Stage: &stage.Stage{An: an}, Release: &release.Release{}})
	}
	if levels, _ := r.levels(h); levels != nil {
		t.Error("of no state that has a name")
	}
}
