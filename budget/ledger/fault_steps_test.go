//go:build !race

package ledger

import (
	"os"
	"testing"
)

// At every step of an opening, reserve, commit, fail, freeze and closing the disk fails once, is full from then on, or the power goes; what was not synced is
// then lost, kept, or torn by sectors. What was shown is in the ledger that is found, the chain holds, and the mark is not ahead.
func TestEveryStepMayFail(t *testing.T) {
	t.Parallel()
	stride := 5
	if os.Getenv("DPSQL_LONG") != "" {
		stride = 1
	}
	dir := t.TempDir()
	for fault := range faults {
		trials := 0
		for _, kept := range []float64{0, 0.5, 1} {
			for at := 1 + int(kept*4)%stride; ; at += stride {
				lost, ended := trial(t, dir, fault, at, "", kept)
				if lost != "" {
					t.Errorf("%s at step %d, %g of what is not synced kept: lost %s", fault, at, kept, lost)
				}
				trials++
				if ended || fault == "none" && trials > 5 {
					break
				}
			}
		}
		t.Logf("%s: %d trials", fault, trials)
	}
}
