package budget

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// TestCharges: five accountants of the same events. Of a single count of noise 1/epsilon the loss is a randomised response's, whose delta at any smaller epsilon is known; of many the
// tighter accountants are below the basic sum, in the order in which their theorems follow from one another.
func TestCharges(t *testing.T) {
	f := demoFilter(t)
	ten := dp.Scale{Num: 10, Den: 1}
	by := func(delta float64, events ...dp.Event) map[string]float64 {
		t.Helper()
		list, err := Charges(events, delta)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, c := range list {
			if out[c.Accountant] = c.Epsilon; (c.Why == "") == math.IsInf(c.Epsilon, 1) || c.Parameter != "" && !(c.Value > 0) {
				t.Errorf("%+v", c)
			}
		}
		return out
	}
	count := dp.Laplace{Sensitivity: one, Scale: ten}
	alone := by(1e-6, count)
	exact := 0.1 + math.Log1p(-1e-6*(1+math.Exp(-0.1)))
	if alone["basic"] < 0.1 || alone["basic"] > 0.1+1e-12 || alone["PLD"] < exact || alone["PLD"] > 0.1+1e-9 || alone["Renyi"] < exact {
		t.Errorf("one count: %v, exactly %g", alone, exact)
	}
	var many []dp.Event
	for range 200 {
		many = append(many, count)
	}
	all := by(1e-6, many...)
	if !(all["PLD"] < all["Renyi"] && all["Renyi"] <= all["zCDP"] && all["PLD"] < all["GDP"] && all["zCDP"] < all["basic"]) || len(all) != 5 {
		t.Errorf("200 counts: %v", all)
	}
	noisy := by(1e-6, dp.Gaussian{Sensitivity: one, Scale: ten})
	if !math.IsInf(noisy["basic"], 1) || !math.IsInf(noisy["GDP"], 1) || !(noisy["PLD"] < noisy["Renyi"] && noisy["Renyi"] <= noisy["zCDP"]*(1+1e-12)) {
		t.Errorf("Gaussian noise: %v", noisy)
	}
	sel, err := f.Selection("", 4, f.Limit(0.5), 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	chosen := by(1e-6, sel, dp.Choice{Edges: 9, Slope: ten, Scale: ten}, dp.AboveThreshold{Edges: 9, Threshold: 5, Scale: ten}, dp.Picks{Sensitivity: one, Scale: ten},
		dp.Clipped{Noise: dp.LaplaceNoise, Least: 1, Groups: []uint64{1}, Ratio: ten}, dp.OneOf{Selections: []dp.Selection{sel}})
	if want := 2*4/sel.Scale.Float() + 0.5; math.Abs(chosen["basic"]-want) > 1e-9 || !(chosen["PLD"] <= want+1e-3) {
		t.Errorf("selections, choices and picks: %v, want %g", chosen, want)
	}
	many = nil
	for i := range mostDifferent + 1 {
		many = append(many, dp.Laplace{Sensitivity: one, Scale: dp.Scale{Num: uint64(10 + i), Den: 1}})
	}
	if list, err := Charges(many, 1e-6); err != nil || !math.IsInf(list[2].Epsilon, 1) || list[2].Why == "" || list[4].Why == "" || list[1].Why != "" {
		t.Errorf("too many different ones: %+v, %v", list, err)
	}
	if left := by(0, count); len(left) != 1 { // nothing but the pure sum holds at delta 0
		t.Errorf("without a delta: %v", left)
	}
	if list, err := Charges([]dp.Event{unknownEvent{}}, 1e-6); err == nil {
		t.Errorf("an unknown event: %v", list)
	}
}

// TestGroup: what events lose about several people is that of a mechanism whose noise is as many times smaller, where one is known exactly, and at least what one person loses.
func TestGroup(t *testing.T) {
	f := demoFilter(t)
	ten := dp.Scale{Num: 10, Den: 1}
	of := func(people int, events ...dp.Event) GroupCharge {
		t.Helper()
		c, err := Group(events, 1e-6, people)
		if err != nil {
			t.Fatal(err)
		}
		return c[0]
	}
	laplace, gaussian := dp.Laplace{Sensitivity: one, Scale: ten}, dp.Gaussian{Sensitivity: one, Scale: ten}
	for _, k := range []int{1, 2, 5, 30} {
		times := dp.Sensitivity{PerGroup: one.PerGroup * uint64(k), Groups: 1}
		if c := of(k, laplace); math.Abs(c.Epsilon-0.1*float64(k)) > 1e-9 || c.Delta != 1e-6 {
			t.Errorf("%d people, a count: %+v", k, c)
		}
		exact, err := Charges([]dp.Event{dp.Gaussian{Sensitivity: times, Scale: ten}}, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		least := math.Inf(1)
		for _, c := range exact {
			least = math.Min(least, c.Epsilon)
		}
		if c := of(k, gaussian); c.Epsilon < least || c.Epsilon > 1.3*least || c.Delta != 1e-6 {
			t.Errorf("%d people, Gaussian noise: %+v, of noise that is as many times smaller %g", k, c, least)
		}
		if k > 1 && !(of(k, laplace, gaussian).Epsilon > of(k-1, laplace, gaussian).Epsilon) {
			t.Errorf("%d people lose less than %d", k, k-1)
		}
	}
	sel, err := f.Selection("", 4, f.Limit(0.5), 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	alone, two := of(1, sel), of(2, sel)
	if want := alone.Delta * (1 + math.Exp(alone.Epsilon)); math.Abs(two.Epsilon-2*alone.Epsilon) > 1e-9 || math.Abs(two.Delta-want) > 1e-9*want || alone.Delta != 1e-6 {
		t.Errorf("a selection: %+v, of two %+v, its delta should be %g", alone, two, want)
	}
}
