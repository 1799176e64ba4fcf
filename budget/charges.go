package budget

import (
	"fmt"
	"math"
	"strings"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// Charge is what a fixed list of events loses together, as one accountant counts it. Epsilon is at the delta that was asked; +Inf where this accountant
// bounds nothing, and Why says so.
type Charge struct {
	Accountant string  // "basic", "zCDP", "Renyi", "GDP", "PLD"
	Epsilon    float64 // all of it is (Epsilon, delta)-DP
	Parameter  string  // "rho", "order", "mu", or ""
	Value      float64 // of the parameter
	Why        string
}

// finestNoise is the largest standard deviation of discrete Gaussian noise that is tabulated for a privacy loss distribution.
const finestNoise = 5000

// parts is what accountants read of events, each piece bounding what its event loses given those before.
type parts struct {
	pure, rho, mu, delta float64
	beside               float64 // deltas that are not in steps
	steps                []account.Step
	noMu, noSteps        string // why not
}

// Charges compares accountants on events that are fixed together, at a delta. It admits nothing: the filter does.
//
// Proof: each piece is a bound of its own (parts.add), deltas add up beside them (Dwork, Roth 2014, Theorem 3.16), and the pieces compose by the theorems that package account cites
// at each of its functions; the best Renyi order may be picked, as the events are fixed in advance and every order's bound holds.
func Charges(events []dp.Event, delta float64) ([]Charge, error) {
	var p parts
	for _, ev := range events {
		if ev == nil {
			return nil, fmt.Errorf("budget: no event")
		}
		if err := ev.Validate(); err != nil {
			return nil, err
		}
		if err := p.add(ev); err != nil {
			return nil, err
		}
	}
	basic := Charge{Accountant: "basic", Epsilon: p.pure}
	if math.IsInf(p.pure, 1) {
		basic.Why = "Gaussian noise has no pure epsilon"
	}
	out := []Charge{basic}
	left := delta - p.delta
	if !(left > 0) {
		return out, nil
	}
	rho, _ := account.ZCDP(p.rho).Epsilon(left)
	out = append(out, Charge{Accountant: "zCDP", Epsilon: rho, Parameter: "rho", Value: p.rho})
	curve, different := curveOf(events)
	few := ""
	if different > mostDifferent {
		few = fmt.Sprintf("more than %d different measurements", mostDifferent)
		p.noSteps = few
	}
	renyi := Charge{Accountant: "Renyi", Epsilon: math.Inf(1), Why: few}
	if few == "" {
		renyi.Parameter = "order"
		renyi.Epsilon, renyi.Value = curve.Epsilon(left)
	}
	out = append(out, renyi)
	gdp := Charge{Accountant: "GDP", Epsilon: math.Inf(1), Why: p.noMu}
	if p.noMu == "" {
		gdp.Parameter, gdp.Value = "mu", math.Sqrt(p.mu)
		gdp.Epsilon = account.GaussianEpsilon(gdp.Value, left)
	}
	pld := Charge{Accountant: "PLD", Epsilon: math.Inf(1), Why: p.noSteps}
	if p.noSteps == "" {
		c, err := account.Compose(p.steps...)
		if err != nil {
			return nil, err
		}
		pld.Epsilon = c.Epsilon(delta - p.beside) // other deltas are in the steps
	}
	return append(out, gdp, pld), nil
}

// mostDifferent measurements are compared by accountants whose work grows with them: EXPLAIN is free, so it must be cheap.
const mostDifferent = 48

// curveOf is the events' Renyi loss by order, and how many different ones there are.
func curveOf(events []dp.Event) (account.Curve, int) {
	times := map[string]float64{}
	var different []dp.Event
	var keys []string
	for _, ev := range events {
		key := fmt.Sprintf("%T %+v", ev, ev)
		if times[key] == 0 {
			different, keys = append(different, ev), append(keys, key)
		}
		times[key]++
	}
	return func(a float64) float64 {
		at, sum := Filter{Order: a}, 0.0
		for i, ev := range different {
			loss, err := at.Loss(ev)
			if err != nil {
				return math.Inf(1)
			}
			sum += times[keys[i]] * loss.Renyi
		}
		return sum
	}, len(different)
}

// add reads one event.
//
// Proof: of noise on each entry, at most Groups entries move by at most PerGroup, each independently: Groups pieces of a shift by PerGroup (geometric's and discrete's proofs: it dominates
// smaller ones; and of Laplace noise with Groups 1 every vector of that L1 norm, laplaceRenyi's proof). Discrete Gaussian noise is D^2/(2 sigma^2)-zCDP (Canonne, Kamath, Steinke 2020, Theorem 14), and not GDP of the continuous mu. What has a pure epsilon e is
// e tanh(e/2)-zCDP (account.RhoOfPure), 2 Phi^-1(e^e/(1+e^e))-GDP (account.MuOfPure) and dominated by randomised response; losses in an interval of length L, 1/b or 3/b, are L^2/8-zCDP
// (choiceLoss, thresholdLoss). Noise at a bound that is chosen: clippedLoss's proof, by the pure loss 1/Ratio or by rho = 1/(2 Ratio^2), whatever is chosen.
func (p *parts) add(ev dp.Event) error {
	pure := func(n uint64, e, rho, delta float64) {
		p.pure, p.rho, p.delta = p.pure+float64(n)*e, p.rho+float64(n)*rho, p.delta+delta
		mu := account.MuOfPure(e)
		p.mu += float64(n) * mu * mu
	}
	switch e := ev.(type) {
	case dp.Laplace:
		d := perScale(e.Sensitivity.PerGroup, e.Scale)
		pure(e.Sensitivity.Groups, d, account.RhoOfPure(d), 0)
		p.run(account.DiscreteLaplace{Scale: e.Scale.Float(), Sensitivity: int(e.Sensitivity.PerGroup)}, e.Sensitivity.Groups)
	case dp.Picks:
		d := perScale(e.Sensitivity.PerGroup, e.Scale)
		pure(e.Sensitivity.Groups, d, account.RhoOfPure(d), 0)
		p.run(account.Approximate{Epsilon: d}, e.Sensitivity.Groups)
	case dp.Gaussian:
		d := perScale(e.Sensitivity.PerGroup, e.Scale)
		p.gaussian(float64(e.Sensitivity.Groups) * d * d / 2)
		if e.Scale.Float() > finestNoise {
			p.noSteps = fmt.Sprintf("sigma above %d", finestNoise)
		}
		p.run(account.DiscreteGaussian{Sigma: e.Scale.Float(), Sensitivity: int(e.Sensitivity.PerGroup)}, e.Sensitivity.Groups)
	case dp.Selection:
		if e.Noise == dp.GaussianNoise {
			d := perScale(1, e.Scale)
			p.gaussian(float64(e.Groups) * d * d / 2)
			p.delta, p.beside = p.delta+e.Delta, p.beside+e.Delta
			if e.Scale.Float() > finestNoise {
				p.noSteps = fmt.Sprintf("sigma above %d", finestNoise)
			}
			p.run(account.DiscreteGaussian{Sigma: e.Scale.Float(), Sensitivity: 1}, e.Groups)
			return nil
		}
		d := perScale(e.Groups, e.Scale)
		pure(1, d, account.RhoOfPure(d), e.Delta)
		p.run(account.Approximate{Epsilon: d, Delta: e.Delta}, 1)
	case dp.OneOf: // the largest of each part
		if e.Selections[0].Noise == dp.GaussianNoise {
			rho, delta := 0.0, 0.0
			for _, s := range e.Selections {
				d := perScale(1, s.Scale)
				rho, delta = math.Max(rho, float64(s.Groups)*d*d/2), math.Max(delta, s.Delta)
			}
			p.gaussian(rho)
			p.delta, p.noSteps = p.delta+delta, "the noise follows a cap that is chosen"
			return nil
		}
		var most account.Approximate
		for _, s := range e.Selections {
			most = account.Approximate{Epsilon: math.Max(most.Epsilon, perScale(s.Groups, s.Scale)), Delta: math.Max(most.Delta, s.Delta)}
		}
		pure(1, most.Epsilon, account.RhoOfPure(most.Epsilon), most.Delta)
		p.run(most, 1)
	case dp.Choice:
		d := perScale(1, e.Scale)
		pure(1, d, math.Min(d*d/8, account.RhoOfPure(d)), 0)
		p.run(account.Approximate{Epsilon: d}, 1)
	case dp.AboveThreshold:
		d, span := perScale(2, e.Scale), perScale(3, e.Scale)
		pure(1, d, math.Min(span*span/8, account.RhoOfPure(d)), 0)
		p.run(account.Approximate{Epsilon: d}, 1)
	case dp.SmoothScale: // no (epsilon, delta)-DP of its own: a sub-density of all that follows lacks the delta (noise.Smoother.Raise)
		d := perScale(e.Steps, e.Scale)
		pure(1, d, account.RhoOfPure(d), e.Delta)
		p.beside += e.Delta
		p.run(account.Approximate{Epsilon: d}, 1)
	case dp.Clipped:
		d := perScale(1, e.Ratio)
		if gaussian(e.Noise) {
			p.gaussian(d * d / 2)
			p.noSteps = "the noise follows a bound that is chosen"
			return nil
		}
		pure(1, d, account.RhoOfPure(d), 0)
		p.run(account.Approximate{Epsilon: d}, 1)
	case dp.Training:
		pure(1, e.Epsilon, account.RhoOfPure(e.Epsilon), e.Delta)
		p.run(account.Approximate{Epsilon: e.Epsilon, Delta: e.Delta}, 1)
	case dp.Composed:
		p.addComposed(e)
	default:
		return fmt.Errorf("budget: the accountants do not know the event %q", ev.Name())
	}
	return nil
}

func (p *parts) gaussian(rho float64) {
	p.pure, p.rho = math.Inf(1), p.rho+rho
	p.noMu = "the discrete Gaussian is not GDP"
}

func (p *parts) run(m account.Mechanism, n uint64) {
	if n > 1<<24 {
		p.noSteps = "too many entries"
	}
	if p.noSteps == "" {
		p.steps = append(p.steps, account.Step{Mechanism: m, Rate: 1, Count: int(n)})
	}
}

// perScale is n/scale, rounded up.
func perScale(n uint64, s dp.Scale) float64 {
	return exactUint(n).times(inverse(s)).hi
}

// String is a charge in words: "zCDP epsilon 2.46 (rho 0.122)".
func (c Charge) String() string {
	var b strings.Builder
	b.WriteString(c.Accountant)
	if c.Why != "" {
		return c.Accountant + " none (" + c.Why + ")"
	}
	fmt.Fprintf(&b, " epsilon %.3g", c.Epsilon)
	if c.Parameter != "" {
		fmt.Fprintf(&b, " (%s %.3g)", c.Parameter, c.Value)
	}
	return b.String()
}
