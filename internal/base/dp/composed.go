package dp

import (
	"fmt"
	"math"
)

// Composed is a whole training by what it runs, priced by its Renyi loss alone: Steps Gaussian mechanisms of noise multiplier Multiplier on Poisson samples of the units at Rate; and, where Shift is not 0, before them an objective that was perturbed by normal noise of a
// deviation of 1/Shift in units of one unit's gradient, whose determinants add Determinants to the loss (account.ObjectiveCurve). Unlike a Training it states no epsilon.
type Composed struct {
	Method       string  `json:"method"`
	Multiplier   float64 `json:"multiplier"`
	Rate         float64 `json:"rate"`
	Steps        uint64  `json:"steps"`
	Shift        float64 `json:"shift,omitempty"`
	Determinants float64 `json:"determinants,omitempty"`
}

// Name is the event's stable name in the ledger.
func (Composed) Name() string { return "composed_training" }

// Validate refuses what no training can have.
func (e Composed) Validate() error {
	finite := func(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
	if e.Method == "" || !(e.Multiplier > 0 && finite(e.Multiplier)) || !(e.Rate > 0 && e.Rate <= 1) || e.Steps == 0 || e.Steps > 1<<24 || !finite(e.Shift) || !finite(e.Determinants) || e.Shift == 0 && e.Determinants != 0 {
		return fmt.Errorf("dp: a training by %q of %d steps at rate %g with noise %g, shift %g, determinants %g is out of range", e.Method, e.Steps, e.Rate, e.Multiplier, e.Shift, e.Determinants)
	}
	return nil
}
