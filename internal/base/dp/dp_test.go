package dp

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestPlusNeverBelow: the stored sum is at least the exact one, and the least float that is.
func TestPlusNeverBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(0, 1e6).Draw(t, "a")
		b := rapid.OneOf(rapid.Float64Range(0, 1e6), rapid.Float64Range(0, 1e-12)).Draw(t, "b")
		got := Loss{Pure: a}.Plus(Loss{Pure: b}).Pure
		exact := new(big.Float).SetPrec(2200).Add(big.NewFloat(a), big.NewFloat(b))
		if big.NewFloat(got).Cmp(exact) < 0 {
			t.Fatalf("%g + %g = %g is below the sum", a, b, got)
		}
		if below := math.Nextafter(got, math.Inf(-1)); got > 0 && big.NewFloat(below).Cmp(exact) >= 0 {
			t.Fatalf("%g + %g = %g is more than it needs", a, b, got)
		}
	})
	if p := (Loss{Pure: 0.25}).Plus(Loss{Pure: 0.25}).Pure; p != 0.5 {
		t.Errorf("an exact sum is stepped up: %g", p)
	}
	if p := (Loss{Pure: math.Inf(1)}).Plus(Loss{Pure: 1}).Pure; !math.IsInf(p, 1) {
		t.Errorf("infinite plus one is %g", p)
	}
}

func TestLossJSON(t *testing.T) {
	for _, l := range []Loss{{}, {Pure: 0.1, Renyi: 0.3, Delta: 1e-9}, {Pure: math.Inf(1), Renyi: 0.28}} {
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back Loss
		if err := json.Unmarshal(text, &back); err != nil || back != l {
			t.Errorf("%s: %+v, %v", text, back, err)
		}
	}
}

// TestZeroValuesAreInvalid: nothing that was forgotten passes as a claim.
func TestZeroValuesAreInvalid(t *testing.T) {
	for _, e := range []Event{Laplace{}, Gaussian{}, Selection{},
		Laplace{Sensitivity: Sensitivity{PerGroup: 1, Groups: 1}}, Gaussian{Scale: Scale{1, 1}},
		Selection{Groups: 1, Scale: Scale{1, 1}, Threshold: 3}, Selection{Groups: 1, Scale: Scale{1, 1}, Threshold: 3, Delta: math.NaN()},
		Laplace{Sensitivity: Sensitivity{PerGroup: MaxSensitivity + 1, Groups: 1}, Scale: Scale{1, 1}},
	} {
		if e.Validate() == nil {
			t.Errorf("%s %+v is taken", e.Name(), e)
		}
	}
	for _, l := range []Loss{{Pure: math.NaN()}, {Pure: -1}, {Renyi: math.Inf(1)}, {Delta: 1}, {Delta: math.NaN()}} {
		if l.Validate() == nil {
			t.Errorf("loss %+v is taken", l)
		}
	}
	ok := Laplace{Sensitivity: Sensitivity{PerGroup: 10, Groups: 3}, Scale: Scale{120, 1}}
	if err := ok.Validate(); err != nil {
		t.Error(err)
	}
	if ok.Sensitivity.L1().Int64() != 30 || ok.Sensitivity.L2Squared().Int64() != 300 {
		t.Error("norms of 10 in each of 3 groups")
	}
}

func TestScaleLimits(t *testing.T) {
	for _, c := range []struct {
		s  Scale
		ok bool
	}{
		{Scale{1, 1}, true}, {Scale{MaxScale - 1, 1}, true}, {Scale{MaxScale + 1, 1}, false}, {Scale{1, MaxScaleDen}, true},
		{Scale{1, MaxScaleDen + 1}, false}, {Scale{1, 0}, false}, {Scale{0, 1}, false}, {Scale{math.MaxUint64, MaxScaleDen}, true},
	} {
		if err := c.s.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
}
