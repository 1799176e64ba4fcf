package budget

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// TestChargesCountAll: all entries of an event and all of its delta are in each accountant's number, which is computed here from the theorems' own parameters: nine tenths of the delta that is asked for are the event's.
func TestChargesCountAll(t *testing.T) {
	const delta, own = 1e-6, 9e-7
	ten, three := dp.Scale{Num: 10, Den: 1}, dp.Sensitivity{PerGroup: 1, Groups: 3}
	sel := dp.Selection{Groups: 3, Scale: ten, Threshold: 132, Delta: own}
	if least := selectionDelta(sel); least > own {
		t.Fatalf("the selection states less than its delta of %g", least)
	}
	laplace := account.Step{Mechanism: account.DiscreteLaplace{Scale: 10, Sensitivity: 1}, Rate: 1, Count: 3}
	response := func(epsilon, delta float64) account.Step {
		return account.Step{Mechanism: account.Approximate{Epsilon: epsilon, Delta: delta}, Rate: 1, Count: 1}
	}
	smooth := dp.SmoothScale{Steps: 3, Scale: ten, Margin: 132, Delta: own}
	for name, c := range map[string]struct {
		event            dp.Event
		pure, rho, muTwo float64 // muTwo: mu squared
		delta            float64
		steps            []account.Step
	}{
		"smooth":    {smooth, 0.3, account.RhoOfPure(0.3), sq(account.MuOfPure(0.3)), own, []account.Step{response(0.3, 0)}},
		"laplace":   {dp.Laplace{Sensitivity: three, Scale: ten}, 0.3, 3 * account.RhoOfPure(0.1), 3 * sq(account.MuOfPure(0.1)), 0, []account.Step{laplace}},
		"picks":     {dp.Picks{Sensitivity: three, Scale: ten}, 0.3, 3 * account.RhoOfPure(0.1), 3 * sq(account.MuOfPure(0.1)), 0, []account.Step{response(0.1, 0), response(0.1, 0), response(0.1, 0)}},
		"selection": {sel, 0.3, account.RhoOfPure(0.3), sq(account.MuOfPure(0.3)), own, []account.Step{response(0.3, own)}},
		"one of":    {dp.OneOf{Selections: []dp.Selection{{Groups: 1, Scale: ten, Threshold: 300, Delta: 1e-8}, sel}}, 0.3, account.RhoOfPure(0.3), sq(account.MuOfPure(0.3)), own, []account.Step{response(0.3, own)}},
		"training":  {dp.Training{Method: "m", Epsilon: 0.3, Delta: own}, 0.3, account.RhoOfPure(0.3), sq(account.MuOfPure(0.3)), own, []account.Step{response(0.3, own)}},
		"choice":    {dp.Choice{Edges: 5, Slope: ten, Scale: ten}, 0.1, 0.01 / 8, sq(account.MuOfPure(0.1)), 0, []account.Step{response(0.1, 0)}},
		"watch":     {dp.Watch{PerUnit: 1, Threshold: 3, Alerts: 3, Scale: dp.Scale{Num: 20, Den: 1}}, 0.3, 3 * account.RhoOfPure(0.1), 3 * sq(account.MuOfPure(0.1)), 0, []account.Step{response(0.1, 0), response(0.1, 0), response(0.1, 0)}},
		"threshold": {dp.AboveThreshold{Edges: 5, Threshold: 3, Scale: ten}, 0.2, 0.09 / 8, sq(account.MuOfPure(0.2)), 0, []account.Step{response(0.2, 0)}},
	} {
		list, err := Charges([]dp.Event{c.event}, delta)
		if err != nil || len(list) != 5 {
			t.Fatalf("%s: %v, %v", name, list, err)
		}
		got := map[string]float64{}
		for _, x := range list {
			got[x.Accountant] = x.Epsilon
		}
		zcdp, _ := account.ZCDP(c.rho).Epsilon(delta - c.delta)
		pld, err := account.Compose(c.steps...)
		if err != nil {
			t.Fatal(err)
		}
		besides := delta
		if name == "smooth" { // its delta is beside the steps
			besides -= own
		}
		for accountant, want := range map[string]float64{"basic": c.pure, "zCDP": zcdp, "GDP": account.GaussianEpsilon(math.Sqrt(c.muTwo), delta-c.delta), "PLD": pld.Epsilon(besides)} {
			if math.Abs(got[accountant]/want-1) > 1e-6 {
				t.Errorf("%s by %s: epsilon %.9g, want %.9g", name, accountant, got[accountant], want)
			}
		}
		if renyi, _ := account.Curve(func(a float64) float64 { return randomizedResponse(a, exactly(0.3)).hi }).Epsilon(delta - c.delta); c.delta > 0 && name != "smooth" && math.Abs(got["Renyi"]/renyi-1) > 1e-6 {
			t.Errorf("%s by Renyi: epsilon %.9g, want %.9g", name, got["Renyi"], renyi)
		}
		f := Filter{Order: 5}
		loss, err := f.Loss(c.event)
		if err != nil || math.Abs(loss.Pure/c.pure-1) > 1e-9 || loss.Delta != c.delta || !(loss.Renyi > 0) {
			t.Errorf("%s: the filter's loss is %+v, %v", name, loss, err)
		}
	}
}

func sq(x float64) float64 { return x * x }

// TestChargesOfGaussianSelection: a selection with Gaussian noise is charged as that noise in each of its groups, beside its delta.
func TestChargesOfGaussianSelection(t *testing.T) {
	const delta, own = 1e-6, 1e-9
	scale := dp.Scale{Num: 10, Den: 1}
	of := func(ev dp.Event, delta float64) map[string]float64 {
		list, err := Charges([]dp.Event{ev}, delta)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, x := range list {
			got[x.Accountant] = x.Epsilon
		}
		return got
	}
	got := of(dp.Selection{Noise: dp.GaussianNoise, Groups: 3, Scale: scale, Threshold: 90, Delta: own}, delta)
	want := of(dp.Gaussian{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 3}, Scale: scale}, delta-own)
	for _, accountant := range []string{"zCDP", "Renyi", "PLD"} {
		if !(math.Abs(got[accountant]/want[accountant]-1) < 1e-6) {
			t.Errorf("%s: epsilon %.9g, want %.9g", accountant, got[accountant], want[accountant])
		}
	}
}
