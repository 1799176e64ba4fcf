package measure

import (
	"testing"

	"pgregory.net/rapid"
)

// What is enough for the ledger to wait for is what the engine takes: a price of it is not topped up, one below it is.
func TestEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ask := Ask{Epsilon: rapid.Float64Range(1e-3, 40).Draw(t, "epsilon"), Least: rapid.Float64Range(1e-6, 1).Draw(t, "least")}
		enough := ask.Enough()
		if above, below := max(enough, 0)*(1+1e-12)+1e-15, enough*(1-1e-12)-1e-15; ask.WorthTopUp(above) && enough > 0 || below > 0 && !ask.WorthTopUp(below) {
			t.Fatalf("%+v: %g", ask, enough)
		}
	})
}
