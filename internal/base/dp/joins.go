package dp

import "fmt"

// SmoothScale is a whole number that one unit moves by at most Steps, released with discrete Laplace noise of Scale and raised by Margin: what is released is at least the number but with a probability of
// at most Delta. The number is the logarithm of a bound on what one unit changes (elastic sensitivity, smoothed), so that noise may follow the released one. It bounds the snapshot that it was measured in and no
// other: a release whose noise follows it is not topped up.
type SmoothScale struct {
	Steps  uint64  `json:"steps"`
	Scale  Scale   `json:"scale"` // in steps
	Margin uint64  `json:"margin"`
	Delta  float64 `json:"delta"`
}

// Name is the event's stable name in the ledger.
func (SmoothScale) Name() string { return "smooth_scale" }

// Validate refuses what no mechanism can have run. That Delta covers what is below the margin is for those to say who can compute it: budget and noise do.
func (e SmoothScale) Validate() error {
	if e.Steps == 0 || e.Steps > MaxSensitivity || e.Margin > MaxScale {
		return fmt.Errorf("dp: a scale that moves by %d steps, raised by %d, is out of range", e.Steps, e.Margin)
	}
	if !(e.Delta > 0 && e.Delta < 1) {
		return fmt.Errorf("dp: a smooth scale with delta %g is out of range", e.Delta)
	}
	return e.Scale.Validate()
}
