package dp

import (
	"fmt"
	"math/big"
)

// Choice is a bound chosen on private data by the exponential mechanism: edges t in a fixed order, for each the number N of units beyond it,
// which one unit raises by 0 or 1. One edge is released, t with a probability proportional to exp(-(N + Slope ln t)/Scale): a bound that is e times as
// large must leave Slope units fewer beyond it to be as probable.
type Choice struct {
	Edges uint64 `json:"edges"`
	Slope Scale  `json:"slope"` // units, for each e-fold of the bound
	Scale Scale  `json:"scale"` // in units
}

// AboveThreshold is a bound chosen on private data by the sparse vector technique, upwards: edges in a fixed order, for each the number N of units
// beyond it, which one unit raises by 0 or 1. The first number that noise puts at or below a noisy Threshold ends it: that of the units beyond 0, less Margin, says that there
// are too few to choose by, any other names its edge. The last edge is taken without a look. Threshold and numbers are each lowered by a geometric number of this Scale.
type AboveThreshold struct {
	Edges     uint64 `json:"edges"`
	Threshold uint64 `json:"threshold"`        // units
	Margin    uint64 `json:"margin,omitempty"` // units
	Scale     Scale  `json:"scale"`            // in units
}

// Name is the event's stable name in the ledger.
func (AboveThreshold) Name() string { return "above_threshold" }

// Validate refuses what no mechanism can have run.
func (e AboveThreshold) Validate() error {
	if e.Edges == 0 || e.Edges > MaxEdges {
		return fmt.Errorf("dp: choice among %d edges is out of range", e.Edges)
	}
	if err := e.Scale.Validate(); err != nil {
		return err
	}
	if e.Threshold >= MaxChoiceUnits || e.Margin >= MaxChoiceUnits || e.Scale.Num/e.Scale.Den >= MaxChoiceScale {
		return fmt.Errorf("dp: choice of threshold %d and scale %g is out of range", e.Threshold, e.Scale.Float())
	}
	return nil
}

// MaxChoiceUnits is more units than a choice takes.
const MaxChoiceUnits = 1 << 53

// MaxChoiceScale limits the Slope and Scale of a choice, so that scores in fractions of a unit stay whole numbers of 64 bits.
const MaxChoiceScale = 1 << 36

// MaxEdges limits the edges of one choice.
const MaxEdges = 1 << 12

// NoiseKind names a law of noise.
type NoiseKind string

// The laws of noise. A Clipped event has any but TruncatedNoise.
const (
	LaplaceNoise  NoiseKind = "laplace"
	GaussianNoise NoiseKind = "gaussian"
	// GaussianNormNoise is Gaussian noise on a vector that one unit changes by a vector of L2 norm at most t, in whichever entries: Groups is {1}.
	GaussianNormNoise NoiseKind = "gaussian_norm"
	// TruncatedNoise is a Selection's Laplace noise, which ends at the threshold.
	TruncatedNoise NoiseKind = "truncated_laplace"
)

// Mechanisms are the laws of noise that a policy or SET may name, in the order in which EXPLAIN compares them. A plan has the first where nothing speaks for another.
var Mechanisms = []NoiseKind{LaplaceNoise, GaussianNoise}

// kinds has a row for each law of noise: whether it is added to numbers, whether its scale goes by the L2 norm, whether a Clipped event has it and for one vector alone, and the event that is run.
var kinds = map[NoiseKind]struct {
	added, l2, clips, vector bool
	event                    func(Sensitivity, Scale) Event
}{
	LaplaceNoise:      {added: true, clips: true, event: func(s Sensitivity, b Scale) Event { return Laplace{s, b} }},
	GaussianNoise:     {added: true, l2: true, clips: true, event: func(s Sensitivity, sigma Scale) Event { return Gaussian{s, sigma} }},
	GaussianNormNoise: {added: true, l2: true, clips: true, vector: true, event: func(s Sensitivity, sigma Scale) Event { return Gaussian{s, sigma} }},
	PickNoise:         {clips: true, event: func(s Sensitivity, b Scale) Event { return Picks{s, b} }},
	TruncatedNoise:    {added: true},
}

// HasL2Scale reports that the noise's scale goes by the L2 norm. Such noise has no pure epsilon.
func (k NoiseKind) HasL2Scale() bool { return kinds[k].l2 }

// IsAdded reports that the noise is added to numbers.
func (k NoiseKind) IsAdded() bool { return kinds[k].added }

// Clipped is noise on each entry of a vector whose bounds a Choice of the same statement releases first: one unit then changes at most
// g entries, g one of Groups, each by at most t, whichever t >= Least, and the noise's scale is at least Ratio times the norm that
// the law asks for: g t for Laplace and for picks, sqrt(g) t for Gaussian noise. With Laplace noise and g = 1 it may be any vector of L1 norm at most t. What it costs does not depend on what was chosen.
type Clipped struct {
	Noise  NoiseKind `json:"noise"`
	Least  uint64    `json:"least"`
	Groups []uint64  `json:"groups"`
	Ratio  Scale     `json:"ratio"`
}

// OneOf is one selection of several, which one a Choice of the same statement releases first.
type OneOf struct {
	Selections []Selection `json:"selections"`
}

// Name is the event's stable name in the ledger.
func (OneOf) Name() string { return "one_of_selections" }

// Validate refuses what no mechanism can have run.
func (e OneOf) Validate() error {
	if len(e.Selections) == 0 || len(e.Selections) > MaxEdges {
		return fmt.Errorf("dp: one of %d selections is out of range", len(e.Selections))
	}
	for _, s := range e.Selections {
		if err := s.Validate(); err != nil {
			return err
		}
		if s.Noise != e.Selections[0].Noise {
			return fmt.Errorf("dp: one of selections with different noise")
		}
	}
	return nil
}

// Name is the event's stable name in the ledger.
func (Choice) Name() string { return "exponential_choice" }

// Name is the event's stable name in the ledger.
func (Clipped) Name() string { return "clipped_noise" }

// Validate refuses what no mechanism can have run.
func (e Choice) Validate() error {
	if e.Edges == 0 || e.Edges > MaxEdges {
		return fmt.Errorf("dp: choice among %d edges is out of range", e.Edges)
	}
	if err := firstError(e.Slope.Validate(), e.Scale.Validate()); err != nil {
		return err
	}
	if e.Slope.Num/e.Slope.Den >= MaxChoiceScale || e.Scale.Num/e.Scale.Den >= MaxChoiceScale {
		return fmt.Errorf("dp: choice of slope %g and scale %g is out of range", e.Slope.Float(), e.Scale.Float())
	}
	return nil
}

// Validate refuses what no mechanism can have run.
func (e Clipped) Validate() error {
	if k := kinds[e.Noise]; !k.clips || k.vector && !(len(e.Groups) == 1 && e.Groups[0] == 1) {
		return fmt.Errorf("dp: no noise is called %q", e.Noise)
	}
	if e.Least == 0 || e.Least > MaxSensitivity || len(e.Groups) == 0 || len(e.Groups) > MaxEdges {
		return fmt.Errorf("dp: clips from %d on in %d numbers of groups are out of range", e.Least, len(e.Groups))
	}
	for _, g := range e.Groups {
		if g == 0 || g > MaxSensitivity {
			return fmt.Errorf("dp: %d groups are out of range", g)
		}
	}
	return e.Ratio.Validate()
}

// At is the event that is run once clip and number of groups were released. Only what the Clipped event allows is given.
//
// Proof: the scale is at least Ratio times the norm: the square root is replaced by a rational above it, and a numerator that is too long
// loses its last bits upward.
func (e Clipped) At(clip, groups uint64) (Event, error) {
	allowed := false
	for _, g := range e.Groups {
		allowed = allowed || g == groups
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if !allowed || clip < e.Least {
		return nil, fmt.Errorf("dp: clip %d in %d groups is not among those that were priced", clip, groups)
	}
	s := Sensitivity{PerGroup: clip, Groups: groups}
	norm := new(big.Rat).SetInt(s.L1())
	if e.Noise.HasL2Scale() {
		norm = sqrtUp(s.L2Squared())
	}
	scale, err := scaleUp(norm.Mul(norm, e.Ratio.Rat()))
	if err != nil {
		return nil, err
	}
	ev := kinds[e.Noise].event(s, scale)
	return ev, ev.Validate()
}

// sqrtUp is a rational that is at least the root of n, and less than 2^-20 above it.
func sqrtUp(n *big.Int) *big.Rat {
	const bits = 20
	square := new(big.Int).Lsh(n, 2*bits)
	root := new(big.Int).Sqrt(square)
	if new(big.Int).Mul(root, root).Cmp(square) < 0 {
		root.Add(root, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(root, new(big.Int).Lsh(big.NewInt(1), bits))
}

// scaleUp is the least scale that is at least x, of those with a power of two below MaxScaleDen under a numerator that fits.
func scaleUp(x *big.Rat) (Scale, error) {
	for den := uint64(MaxScaleDen); den > 0; den /= 2 {
		n := new(big.Int).Mul(x.Num(), new(big.Int).SetUint64(den))
		n, rest := n.QuoRem(n, x.Denom(), new(big.Int))
		if rest.Sign() > 0 {
			n.Add(n, big.NewInt(1))
		}
		if n.BitLen() > 53 && den > 1 {
			continue
		}
		if !n.IsUint64() {
			break
		}
		num := n.Uint64()
		for num%2 == 0 && den > 1 {
			num, den = num/2, den/2
		}
		s := Scale{Num: num, Den: den}
		return s, s.Validate()
	}
	return Scale{}, fmt.Errorf("dp: a scale of %s is out of range", x.FloatString(0))
}
