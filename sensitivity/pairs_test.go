package sensitivity

import (
	"slices"
	"testing"
)

// TestCapLadder: caps ascend by at most a quarter beyond 4, each one's double is a cap too, and the ends are kept.
func TestCapLadder(t *testing.T) {
	if got := CandidateCaps(1, 40); !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40}) {
		t.Errorf("%v", got)
	}
	all := CandidateCaps(1<<10, MostSteps)
	if len(all) != 4*36+1 || all[0] != 1<<10 || all[len(all)-1] != MostSteps {
		t.Errorf("%d caps from %d to %d", len(all), all[0], all[len(all)-1])
	}
	for i, c := range all {
		if i > 0 && (c <= all[i-1] || 4*c > 5*all[i-1]) || 2*c <= MostSteps && !slices.Contains(all, 2*c) {
			t.Errorf("%d after %d, or its double is no cap", c, all[i-1])
		}
	}
	if got := CandidateCaps(9, 9); len(got) != 0 {
		t.Errorf("%v from 9 to 9", got)
	}
}
