package dp

import (
	"fmt"
	"math"
	"math/big"
)

// Unit names a privacy unit: the column whose value stands for one person, e.g. "patients.patient_id".
type Unit string

// Units is a set of units: a row may belong to several. The order is the policy's.
type Units []Unit

// Sensitivity bounds what all the rows of one unit change in a vector of integers with one entry a group: at most Groups
// entries change, each by at most PerGroup grid steps. For Gaussian noise its L2 norm is all that counts: any vector of that norm may be
// what one unit changes. So it is for Laplace noise and the L1 norm where Groups is 1 (package budget's laplaceRenyi).
type Sensitivity struct {
	PerGroup uint64 `json:"per_group"`
	Groups   uint64 `json:"groups"`
}

// MaxSensitivity limits each factor so that the norms below stay exact.
const MaxSensitivity = 1 << 53

// Validate refuses zero and oversized values.
func (s Sensitivity) Validate() error {
	if s.PerGroup == 0 || s.Groups == 0 || s.PerGroup > MaxSensitivity || s.Groups > MaxSensitivity {
		return fmt.Errorf("dp: sensitivity %d in each of %d groups is out of range", s.PerGroup, s.Groups)
	}
	return nil
}

// L1 is the exact L1 norm bound: Groups * PerGroup.
func (s Sensitivity) L1() *big.Int {
	return new(big.Int).Mul(new(big.Int).SetUint64(s.PerGroup), new(big.Int).SetUint64(s.Groups))
}

// L2Squared is the exact square of the L2 norm bound: Groups * PerGroup^2.
func (s Sensitivity) L2Squared() *big.Int {
	return new(big.Int).Mul(s.L1(), new(big.Int).SetUint64(s.PerGroup))
}

// Scale is a positive rational noise scale in grid steps: the b of a Laplace, the sigma of a Gaussian.
type Scale struct {
	Num uint64 `json:"num"`
	Den uint64 `json:"den"`
}

// MaxScale and MaxScaleDen limit scales so that a sample fits an int64 but for an event of probability below e^-8000.
const (
	MaxScale    = 1 << 50
	MaxScaleDen = 1 << 20
)

// Validate refuses zero and oversized scales.
func (s Scale) Validate() error {
	if s.Num == 0 || s.Den == 0 || s.Den > MaxScaleDen || s.Num/s.Den >= MaxScale {
		return fmt.Errorf("dp: noise scale %d/%d is out of range", s.Num, s.Den)
	}
	return nil
}

// Float is the scale as a float64, rounded to nearest: for reports, never for a claim.
func (s Scale) Float() float64 { return float64(s.Num) / float64(s.Den) }

// Rat is the exact scale.
func (s Scale) Rat() *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(s.Num), new(big.Int).SetUint64(s.Den))
}

// Event is plain data that says what was run on private data. Accountants (package budget) read events and refuse those
// that they do not know. The set is closed here so that a ledger can always be read back.
type Event interface {
	Name() string
	Validate() error
}

// Laplace is discrete Laplace noise, pmf proportional to exp(-|x|/b), added to each entry of a vector.
type Laplace struct {
	Sensitivity Sensitivity `json:"sensitivity"`
	Scale       Scale       `json:"scale"`
}

// Gaussian is discrete Gaussian noise, pmf proportional to exp(-x^2/(2 sigma^2)), added to each entry of a vector.
type Gaussian struct {
	Sensitivity Sensitivity `json:"sensitivity"`
	Scale       Scale       `json:"scale"`
}

// Selection is a choice of groups by their noisy numbers of units: of the groups that somebody is in one is kept, and its noisy number of units may be shown, where
// number + noise > Threshold. One unit changes at most Groups groups, each by 1. The noise is discrete Laplace, pmf proportional to exp(-|x|/b), truncated to [-Threshold,
// Threshold], where Noise is empty, or discrete Gaussian. Delta bounds Groups times the probability that a group of one unit is kept.
type Selection struct {
	Noise     NoiseKind `json:"noise,omitempty"` // empty, or GaussianNoise
	Groups    uint64    `json:"groups"`
	Scale     Scale     `json:"scale"`
	Threshold uint64    `json:"threshold"`
	Delta     float64   `json:"delta"`
}

// Name is the event's stable name in the ledger.
func (Laplace) Name() string { return "discrete_laplace" }

// Name is the event's stable name in the ledger.
func (Gaussian) Name() string { return "discrete_gaussian" }

// Name is the event's stable name in the ledger.
func (e Selection) Name() string { return selections[e.Noise] }

// selections has the name of a selection with each kind of noise that it may have.
var selections = map[NoiseKind]string{"": "truncated_geometric_selection", GaussianNoise: "gaussian_selection"}

// Kind is the law of a selection's noise.
func (e Selection) Kind() NoiseKind {
	if e.Noise == "" {
		return TruncatedNoise
	}
	return e.Noise
}

// Validate refuses what no mechanism can have run.
func (e Laplace) Validate() error { return firstError(e.Sensitivity.Validate(), e.Scale.Validate()) }

// Validate refuses what no mechanism can have run.
func (e Gaussian) Validate() error { return firstError(e.Sensitivity.Validate(), e.Scale.Validate()) }

// Validate refuses what no mechanism can have run.
func (e Selection) Validate() error {
	if selections[e.Noise] == "" {
		return fmt.Errorf("dp: selection with %q noise", e.Noise)
	}
	if e.Groups == 0 || e.Groups > MaxSensitivity || e.Threshold == 0 || e.Threshold > MaxScale {
		return fmt.Errorf("dp: selection over %d groups with threshold %d is out of range", e.Groups, e.Threshold)
	}
	if !(e.Delta > 0 && e.Delta < 1) {
		return fmt.Errorf("dp: selection with delta %g is out of range", e.Delta)
	}
	return e.Scale.Validate()
}

// Loss is what an event or a statement costs: Pure epsilon (+Inf if it has none), Renyi loss at the budget's order (0 where
// the budget has no order) and approximate Delta. All are rounded up.
type Loss struct {
	Pure  float64 `json:"pure"`
	Renyi float64 `json:"renyi"`
	Delta float64 `json:"delta"`
}

// Validate refuses NaN, negative and (but for Pure) infinite parts.
func (l Loss) Validate() error {
	if !(l.Pure >= 0) || !(l.Renyi >= 0) || math.IsInf(l.Renyi, 1) || !(l.Delta >= 0 && l.Delta < 1) {
		return fmt.Errorf("dp: loss %+v is not valid", l)
	}
	return nil
}

// Plus is the sum under sequential composition, rounded up.
//
// Proof: within one statement, whose events are fixed before the data is read but for bounds that earlier events of it release, each charged at the worst of
// its bounds, pure epsilons, Renyi losses at one order and
// deltas each add up, also where a later event acts on the groups that an earlier one chose (Dwork, Roth 2014, Theorem B.1;
// Mironov 2017, Proposition 1). Across statements that are chosen adaptively, losses included, no theorem for fixed losses serves:
// there the sums are a filter's (Rogers, Roth, Ullman, Vadhan 2016), and budget.NewFilter has that proof. Each float64 addition is
// rounded up, so the stored sum is never below the real one.
func (l Loss) Plus(m Loss) Loss {
	return Loss{Pure: addUp(l.Pure, m.Pure), Renyi: addUp(l.Renyi, m.Renyi), Delta: addUp(l.Delta, m.Delta)}
}

// addUp is a + b rounded up: stepped up only where the rounded sum fell short (Knuth's TwoSum gives the exact error).
func addUp(a, b float64) float64 {
	s := a + b
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return s
	}
	bb := s - a
	if (a-(s-bb))+(b-bb) > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
