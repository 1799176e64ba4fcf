package budget

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// TestAttack15Gaussian: sigma by the textbook's formula, sqrt(2 ln(1.25/delta))/epsilon, which holds below epsilon 1 only, or by the continuous
// analytic formula on a grid: the attacker is the exact sum over the integers, which finds more delta than was promised. dpsql promises
// a Renyi loss, by the exact sum too, and the (epsilon, delta) that follows from it.
func TestAttack15Gaussian(t *testing.T) {
	const delta = 1e-5
	// broken compares neighbours under discrete Gaussian noise with a promise.
	broken := func(sigma, epsilon, delta float64) string {
		reach := int(40*sigma) + 40
		log := logPMF(reach, func(x float64) float64 { return -x * x / (2 * sigma * sigma) })
		p := make([]float64, len(log))
		for i, l := range log {
			p[i] = math.Exp(l)
		}
		if d := hockeyStick(epsilon, p[1:], p[:len(p)-1]); d > delta*(1+1e-9) {
			return fmt.Sprintf("sigma %.3f at epsilon %g has delta %g, not %g", sigma, epsilon, d, delta)
		}
		return ""
	}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	analytic := func(epsilon, delta float64) float64 { // Balle, Wang 2018, by bisection
		low, high := 1e-3, 1e3
		for range 200 {
			s := (low + high) / 2
			if phi(1/(2*s)-epsilon*s)-math.Exp(epsilon)*phi(-1/(2*s)-epsilon*s) > delta {
				low = s
			} else {
				high = s
			}
		}
		return high
	}
	learned := ""
	for _, epsilon := range []float64{6, 8, 10, 14} {
		learned += broken(math.Sqrt(2*math.Log(1.25/delta))/epsilon, epsilon, delta)
	}
	if learned == "" {
		t.Error("the attack learns nothing from the classic formula, so it proves nothing")
	}
	learned = ""
	for _, epsilon := range []float64{1, 2, 4, 6, 8} {
		learned += broken(analytic(epsilon, delta), epsilon, delta)
	}
	if learned == "" {
		t.Error("the attack learns nothing from the continuous formula, so it proves nothing")
	}
	s := dp.Sensitivity{PerGroup: 1, Groups: 1}
	for _, epsilon := range []float64{0.5, 1, 4, 8, 20} {
		f := newFilter(t, Params{Epsilon: 20, Delta: 2 * delta, QueryEpsilon: 0.5, Accountant: AccountantRDP}) // half for the Renyi side
		sigma, err := f.GaussianScale(s, f.Limit(epsilon))
		if err != nil {
			t.Fatal(err)
		}
		loss, err := f.Loss(dp.Gaussian{Sensitivity: s, Scale: sigma})
		if err != nil {
			t.Fatal(err)
		}
		bell := func(x float64) float64 { return -x * x / (2 * sigma.Float() * sigma.Float()) }
		if !lossHolds(s, f.Order, bell, loss.Renyi) {
			t.Errorf("price %g: the Renyi loss is above %g", epsilon, loss.Renyi)
		}
		// The theorem of Filter's proof, at this loss alone.
		a := f.Order
		promised := loss.Renyi + math.Log1p(-1/a) + (math.Log(1/delta)-math.Log(a))/(a-1)
		if learned := broken(sigma.Float(), promised, delta); learned != "" {
			t.Errorf("price %g: %s", epsilon, learned)
		}
	}
}
