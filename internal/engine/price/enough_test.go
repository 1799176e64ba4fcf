package price

import (
	"testing"

	"pgregory.net/rapid"
)

// What is enough for the ledger to wait for is what the engine takes: a price of it is not topped up, one below it is.
func TestEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ask := Request{Epsilon: rapid.Float64Range(1e-3, 40).Draw(t, "epsilon"), Least: rapid.Float64Range(1e-6, 1).Draw(t, "least")}
		enough := ask.TopUpThreshold()
		if above, below := max(enough, 0)*(1+1e-12)+1e-15, enough*(1-1e-12)-1e-15; ask.IsWorthTopUp(above) && enough > 0 || below > 0 && !ask.IsWorthTopUp(below) {
			t.Fatalf("%+v: %g", ask, enough)
		}
	})
}
