package account

import (
	"math"
	"testing"
)

type table struct {
	Columns []string
	Rows    [][]number
}

// near is equality to six digits, or of numbers that are both nothing.
func near(got float64, want number) bool {
	return math.Abs(got-float64(want)) <= 1e-6*math.Abs(float64(want))+1e-300
}

func TestGaussians(t *testing.T) {
	var ref struct {
		Sigmas   table `json:"sigma_for_eps_delta"`
		Epsilons table `json:"eps_for_sigma_delta"`
		Deltas   table `json:"delta_for_sigma_eps_mpmath"`
	}
	reference(t, "analytic_gaussian", &ref)
	if len(ref.Sigmas.Rows)*len(ref.Epsilons.Rows)*len(ref.Deltas.Rows) == 0 {
		t.Fatal("the reference is empty")
	}
	for _, r := range ref.Sigmas.Rows {
		if got := GaussianSigma(float64(r[0]), float64(r[1])); !near(got, r[2]) {
			t.Errorf("sigma at %v: %.12g", r, got)
		}
	}
	for _, r := range ref.Epsilons.Rows {
		if got := GaussianEpsilon(1/float64(r[0]), float64(r[1])); !near(got, r[2]) {
			t.Errorf("epsilon at %v: %.12g", r, got)
		}
	}
	for _, r := range ref.Deltas.Rows {
		if got := GaussianDelta(1/float64(r[0]), float64(r[1])); !near(got, r[2]) {
			t.Errorf("delta at %v: %.12g", r, got)
		}
	}
	var gdp struct {
		Epsilons table `json:"eps_for_mu_delta"`
		Deltas   table `json:"delta_for_mu_eps"`
	}
	reference(t, "gdp", &gdp)
	for _, r := range gdp.Epsilons.Rows {
		if got := GaussianEpsilon(float64(r[0]), float64(r[1])); !near(got, r[2]) {
			t.Errorf("epsilon of mu at %v: %.12g", r, got)
		}
	}
	for _, r := range gdp.Deltas.Rows {
		if got := GaussianDelta(float64(r[0]), float64(r[1])); !near(got, r[2]) {
			t.Errorf("delta of mu at %v: %.12g", r, got)
		}
	}
	if got := ComposeGDP(3, 4); got != 5 {
		t.Errorf("mu of 3 and 4: %g", got)
	}
}

func TestCurves(t *testing.T) {
	var ref struct {
		Orders []float64
		Rows   []struct {
			Mechanism struct {
				Type     string
				Eps0     float64
				Sigma, Q float64
			}
			RDP []number
		}
	}
	reference(t, "rdp_curves", &ref)
	if len(ref.Rows) == 0 {
		t.Fatal("the reference is empty")
	}
	for _, r := range ref.Rows {
		var c Curve
		switch m := r.Mechanism; m.Type {
		case "laplace":
			c = LaplaceCurve(1 / m.Eps0)
		case "gaussian":
			c = GaussianCurve(m.Sigma)
		case "poisson_gaussian":
			c = SampledGaussianCurve(m.Q, m.Sigma)
		case "pure_eps_worst_case":
			c = PureCurve(m.Eps0)
		default:
			t.Fatalf("the reference has a mechanism %q", m.Type)
		}
		for i, a := range ref.Orders {
			if got := c(a); !near(got, r.RDP[i]) {
				t.Errorf("%+v at %g: %.12g, want %.12g", r.Mechanism, a, got, r.RDP[i])
			}
		}
	}
}

func TestRenyiCompositions(t *testing.T) {
	var ref struct {
		Rows []struct {
			Mechanisms []named
			Delta      float64
			Eps        number
		}
	}
	reference(t, "rdp_compositions", &ref)
	for _, r := range ref.Rows {
		sum, delta := Curve(func(float64) float64 { return 0 }), r.Delta
		for _, m := range r.Mechanisms {
			var c Curve
			switch m.Type {
			case "laplace":
				c = LaplaceCurve(m.Scale)
			case "gaussian", "discrete_gaussian":
				c = GaussianCurve(m.Sigma)
			case "poisson_gaussian":
				c = SampledGaussianCurve(m.Q, m.Sigma)
			case "pure":
				c = PureCurve(m.Eps)
			case "approx":
				c = PureCurve(m.Eps)
				delta -= float64(m.Count) * m.Delta
			default:
				t.Fatalf("the reference has a mechanism %q", m.Type)
			}
			sum = sum.Plus(c.Times(float64(m.Count)))
		}
		got := math.Inf(1)
		if delta > 0 {
			got, _ = sum.Epsilon(delta)
		}
		if got > float64(r.Eps)*1.0005 || got < float64(r.Eps)*0.95 && !math.IsInf(float64(r.Eps), 1) {
			t.Errorf("%+v at %g: epsilon %.10g, want %.10g", r.Mechanisms, r.Delta, got, r.Eps)
		}
	}
}

// rhoOfLaplace is the zCDP parameter of Laplace noise with an epsilon, its mean loss (Harrison, Manurangsi, FORC 2026).
func rhoOfLaplace(epsilon float64) float64 { return epsilon + math.Expm1(-epsilon) }

// rhoFor is the largest rho whose conversion is (epsilon, delta)-DP.
func rhoFor(epsilon, delta float64) float64 {
	return 1 / leastUp(func(x float64) bool { e, _ := ZCDP(1 / x).Epsilon(delta); return e <= epsilon })
}

func TestZCDP(t *testing.T) {
	var ref struct {
		Epsilons table `json:"eps_for_rho_delta"`
		Rhos     table `json:"rho_for_eps_delta"`
	}
	reference(t, "zcdp", &ref)
	for _, r := range ref.Epsilons.Rows {
		got, order := ZCDP(float64(r[0])).Epsilon(float64(r[1]))
		if !near(got, r[3]) {
			t.Errorf("%v: epsilon %.12g at order %g", r, got, order)
		}
		if exact := GaussianEpsilon(math.Sqrt(2*float64(r[0])), float64(r[1])); !near(exact, r[5]) {
			t.Errorf("%v: the Gaussian's epsilon %.12g", r, exact)
		}
	}
	for _, r := range ref.Rhos.Rows {
		if got := rhoFor(float64(r[0]), float64(r[1])); math.Abs(got-float64(r[3])) > 1e-5*float64(r[3]) {
			t.Errorf("%v: rho %.12g", r, got)
		}
	}
	var pure table
	reference(t, "zcdp_of_pure_mechanisms", &pure)
	for _, r := range pure.Rows {
		e := float64(r[0])
		if !near(RhoOfPure(e), r[3]) || !near(rhoOfLaplace(e), r[5]) {
			t.Errorf("%v: rho %.12g of pure, %.12g of Laplace", r, RhoOfPure(e), rhoOfLaplace(e))
		}
		for a := 1.01; a < 300; a *= 1.1 { // as zCDP they bound the whole curve
			if PureCurve(e)(a) > a*RhoOfPure(e)*(1+1e-9) || LaplaceCurve(1/e)(a) > a*rhoOfLaplace(e)*(1+1e-9) {
				t.Errorf("epsilon %g at order %g: the curve is above its rho", e, a)
			}
		}
	}
}

// TestSampled: the exact loss of a sampled randomised response, whose amplification is tight for one step when units are removed (Balle, Barthe, Gaboardi 2018, Theorem 8).
func TestSampled(t *testing.T) {
	for _, rate := range []float64{0.01, 0.3, 1} {
		c, err := Compose(Step{Approximate{1, 0}, rate, 1})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := c.Epsilon(1e-9), math.Log1p(rate*math.Expm1(1)); math.Abs(got-want) > 1e-3*want {
			t.Errorf("rate %g: epsilon %g, the theorem says %g", rate, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, s := range map[string]Step{
		"no times": {Laplace{1}, 1, 0}, "no rate": {Laplace{1}, 0, 1}, "a rate above 1": {Laplace{1}, 1.1, 1}, "NaN": {Laplace{math.NaN()}, 1, 1},
		"no scale": {Laplace{}, 1, 1}, "an infinite sigma": {Gaussian{math.Inf(1)}, 1, 1}, "a negative epsilon": {Approximate{-1, 0}, 1, 1},
		"delta 1": {Approximate{1, 1}, 1, 1},
	} {
		if c, err := Compose(s); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if _, err := Compose(); err == nil {
		t.Error("nothing is composed")
	}
}

// TestAtoms: the largest loss of a count is a lattice point of the grid, wherever rounding puts it: one count of any scale has a finite epsilon, 1/scale at most, and two have twice that.
func TestAtoms(t *testing.T) {
	for i := range 60 {
		b := 0.25 + float64(i)/8
		if i > 50 { // next to nothing
			b = math.Pow(10, float64(i-48))
		}
		for _, m := range []Mechanism{Laplace{b}, DiscreteLaplace{b, 1}, Approximate{1 / b, 0}} {
			for n := 1; n <= 2; n++ {
				c, err := Compose(Step{m, 1, n})
				if err != nil {
					t.Fatal(err)
				}
				if e, most := c.Epsilon(1e-10), float64(n)/b; e > most*(1+1e-9) || e < most*(1-1e-3) && b < 1e3 || b < 1e8 && !(e > 0) {
					t.Fatalf("%d times %+v: epsilon %g, not %g", n, m, e, most)
				}
			}
		}
	}
}

// TestCalibrate: the least scale gives the target and one a little smaller does not: of one count 1/epsilon, of many what the exact composition says, of a group's and a sampled one's too; a
// target that no scale gives is refused.
func TestCalibrate(t *testing.T) {
	scale, err := Calibrate(0.5, 1e-9, func(b float64) []Step { return []Step{{Laplace{b}, 1, 1}} })
	if err != nil || math.Abs(scale-2) > 1e-3 {
		t.Errorf("one count: %g, %v", scale, err)
	}
	for name, steps := range map[string]func(float64) []Step{
		"100 counts":          func(b float64) []Step { return []Step{{Laplace{b}, 1, 100}} },
		"counts and Gaussian": func(b float64) []Step { return []Step{{DiscreteLaplace{b, 3}, 1, 20}, {Gaussian{b}, 1, 20}} },
		"sampled":             func(b float64) []Step { return []Step{{Gaussian{b}, 0.05, 400}} },
	} {
		scale, err := Calibrate(1, 1e-6, steps)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at := func(b float64) float64 {
			c, err := Compose(steps(b)...)
			if err != nil {
				t.Fatal(err)
			}
			return c.Delta(1)
		}
		if at(scale) > 1e-6 || at(scale*0.999) <= 1e-6 {
			t.Errorf("%s: %g has delta %g, and a scale 0.1%% less %g", name, scale, at(scale), at(scale*0.999))
		}
	}
	if scale, err := Calibrate(1, 1e-6, func(float64) []Step { return []Step{{Approximate{2, 0}, 1, 1}} }); err == nil {
		t.Errorf("nothing changes with the scale, which is %g", scale)
	}
	if scale, err := Calibrate(1, 0, func(b float64) []Step { return []Step{{Laplace{b}, 1, 1}} }); err == nil {
		t.Errorf("delta 0: %g", scale)
	}
}
