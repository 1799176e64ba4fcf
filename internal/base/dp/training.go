package dp

import "fmt"

// Training is a whole training, priced by its own accountant in advance: everything that it releases is (Epsilon, Delta)-DP.
type Training struct {
	Method  string  `json:"method"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Name is the event's stable name in the ledger.
func (Training) Name() string { return "training" }

// Validate refuses what no training can have.
func (e Training) Validate() error {
	if e.Method == "" || !(e.Epsilon > 0 && e.Epsilon <= 1e6) || !(e.Delta >= 0 && e.Delta < 1) {
		return fmt.Errorf("dp: a training by %q at (%g, %g) is out of range", e.Method, e.Epsilon, e.Delta)
	}
	return nil
}
