package budget

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// moment is the Renyi divergence of order a between the mixture (1-q) N(0, 1) + q N(1/z, 1) and N(0, 1), by the trapezoid rule: exact to the last digits for such smooth functions.
func moment(a, q, z float64) float64 {
	sum := 0.0
	const h = 1.0 / 64
	for x := -40.0; x < 40+2*a/z; x += h {
		ratio := math.Log1p(q * math.Expm1(x/z-1/(2*z*z)))
		sum += h * math.Exp(a*ratio-x*x/2) / math.Sqrt(2*math.Pi)
	}
	return math.Log(sum) / (a - 1)
}

// TestComposedLoss: the Renyi loss of a training is the sum of its parts', each by an integral of the test's own, and not below; at half the noise it is far above; without an order it has none.
func TestComposedLoss(t *testing.T) {
	for _, order := range []float64{1.6, 2, 5.37, 31.5} {
		f := &Filter{Order: order}
		for _, e := range []dp.Composed{
			{Method: "dp_gd", Multiplier: 30, Rate: 1, Steps: 400}, {Method: "dp_sgd", Multiplier: 3, Rate: 0.1, Steps: 200}, {Method: "dp_sgd", Multiplier: 11.85, Rate: 0.1427, Steps: 280},
			{Method: "dp_sgd", Multiplier: 1.5, Rate: 0.01, Steps: 10000}, {Method: "objective_perturbation", Multiplier: 900, Rate: 1, Steps: 1, Shift: 0.15, Determinants: 0.03},
		} {
			loss, err := f.Loss(e)
			if err != nil {
				t.Fatal(err)
			}
			want := float64(e.Steps) * moment(order, e.Rate, e.Multiplier)
			if e.Shift > 0 { // E e^((a-1)(c + s|Z| + s^2/2))
				sum, k := 0.0, order-1
				const h = 1.0 / 4096
				for x := h / 2; x < 60; x += h {
					sum += 2 * h * math.Exp(k*(e.Determinants+e.Shift*x+e.Shift*e.Shift/2)-x*x/2) / math.Sqrt(2*math.Pi)
				}
				want += math.Log(sum) / k
			}
			if loss.Renyi < want*(1-1e-7) || loss.Renyi > want*(1+1e-4)+float64(e.Steps)*1e-9 || !math.IsInf(loss.Pure, 1) || loss.Delta != 0 {
				t.Errorf("order %g: %+v loses %+v, want Renyi %.12g", order, e, loss, want)
			}
			less := e
			less.Multiplier, less.Shift = e.Multiplier/2, e.Shift*2
			if more, err := f.Loss(less); err != nil || more.Renyi < 1.5*loss.Renyi && e.Shift == 0 || more.Renyi < 1.2*loss.Renyi {
				t.Errorf("order %g: at half the noise %+v loses %+v, %v", order, e, more, err)
			}
		}
	}
	if a, b := coarseUp(0.7000000000000001), coarseUp(0.7); a != b || a < 0.7000000000000001 || a > 0.7*(1+1e-7) || coarseUp(0) != 0 || coarseUp(0.5) != 0.5 {
		t.Errorf("rounded to %g and %g", a, b)
	}
	if _, err := new(Filter).Loss(dp.Composed{Method: "dp_gd", Multiplier: 30, Rate: 1, Steps: 400}); err == nil {
		t.Error("a budget of plain epsilons prices Gaussian noise")
	}
}

// TestComposedCharges: each accountant says of a training by its parts what it says of those parts.
func TestComposedCharges(t *testing.T) {
	const delta = 1e-6
	get := func(e dp.Event) map[string]Charge {
		list, err := Charges([]dp.Event{e}, delta)
		if err != nil || len(list) != 5 {
			t.Fatalf("%v, %v", list, err)
		}
		out := map[string]Charge{}
		for _, c := range list {
			out[c.Accountant] = c
		}
		return out
	}
	got := get(dp.Composed{Method: "dp_gd", Multiplier: 40, Rate: 1, Steps: 400})
	exact := account.GaussianEpsilon(0.5, delta)
	zcdp, _ := account.ZCDP(0.125).Epsilon(delta)
	for name, want := range map[string]float64{"basic": math.Inf(1), "zCDP": zcdp, "GDP": exact} {
		if e := got[name].Epsilon; e != want && math.Abs(e/want-1) > 1e-6 {
			t.Errorf("%s: %g, want %g", name, e, want)
		}
	}
	if e := got["PLD"].Epsilon; e < exact*(1-1e-6) || e > exact*1.005 {
		t.Errorf("PLD: %g, want %g", e, exact)
	}
	sampled := get(dp.Composed{Method: "dp_sgd", Multiplier: 40, Rate: 0.1, Steps: 400})
	if sampled["PLD"].Epsilon > 0.2*exact || sampled["Renyi"].Epsilon > 0.3*exact || sampled["GDP"].Epsilon != got["GDP"].Epsilon {
		t.Errorf("a sampled training: %v", sampled)
	}
	objective := get(dp.Composed{Method: "objective_perturbation", Multiplier: 900, Rate: 1, Steps: 1, Shift: 0.15, Determinants: 0.03})
	if !math.IsInf(objective["GDP"].Epsilon, 1) || !math.IsInf(objective["PLD"].Epsilon, 1) || objective["zCDP"].Epsilon < objective["Renyi"].Epsilon || objective["Renyi"].Epsilon > 2 {
		t.Errorf("an objective: %v", objective)
	}
}
