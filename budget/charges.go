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
// Proof: each piece is a bound of its own (mechanisms), deltas add up beside them (Dwork, Roth 2014, Theorem 3.16), and the pieces compose by the theorems that package account cites
// at each of its functions; the best Renyi order may be picked, as the events are fixed in advance and every order's bound holds.
func Charges(events []dp.Event, delta float64) ([]Charge, error) {
	p, err := partsOf(events)
	if err != nil {
		return nil, err
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

// partsOf reads events.
func partsOf(events []dp.Event) (p parts, err error) {
	for _, ev := range events {
		if ev == nil {
			return p, fmt.Errorf("budget: no event")
		}
		if err := ev.Validate(); err != nil {
			return p, err
		}
		m, err := mechanismOf(ev)
		if err != nil {
			return p, err
		}
		m.add(&p, ev)
	}
	return p, nil
}

// GroupCharge is what a fixed list of events loses about several people together: it is (Epsilon, Delta)-DP for databases that differ in all of them. Delta from 1 on says nothing.
type GroupCharge struct {
	People         int
	Epsilon, Delta float64
}

// Group bounds what events lose about so many people together, for each of some sizes: the least epsilon at delta, or the one at which the delta for a single person grows least.
//
// Proof: two databases that differ in k people are joined by a chain of k that differ in one each. (1) Pure epsilons add up along it (Dwork, Roth 2014, Theorem 2.2). (2) rho-zCDP is k^2 rho-zCDP for k people (Bun, Steinke 2016, Proposition 1.9). (3) mu-GDP is k mu-GDP (Dong, Roth, Su 2022, Theorem 2.14). (2) and (3) take none of the deltas
// beside them. (4) (epsilon, delta) is (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1)): delta grows by e^epsilon along each step of the chain (Vadhan 2017, Lemma 2.2, with the sum of the geometric series). The least of the bounds is one.
func Group(events []dp.Event, delta float64, sizes ...int) ([]GroupCharge, error) {
	p, err := partsOf(events)
	if err != nil {
		return nil, err
	}
	var out []GroupCharge
	one := math.Inf(1) // the least epsilon of one person, once it is needed
	for _, people := range sizes {
		k, least := float64(people), math.Inf(1)
		if p.delta == 0 {
			least = p.pure * k // (1)
			rho, _ := account.ZCDP(p.rho * k * k).Epsilon(delta)
			if least = math.Min(least, rho); p.noMu == "" { // (2), (3)
				least = math.Min(least, account.GaussianEpsilon(math.Sqrt(p.mu)*k, delta))
			}
		}
		if !math.IsInf(least, 1) && !math.IsNaN(least) {
			out = append(out, GroupCharge{people, least, delta})
			continue
		}
		if math.IsInf(one, 1) {
			charges, err := Charges(events, delta)
			if err != nil {
				return nil, err
			}
			for _, c := range charges {
				one = math.Min(one, c.Epsilon)
			}
		}
		out = append(out, GroupCharge{people, k * one, delta * math.Expm1(k*one) / math.Expm1(one)}) // (4)
	}
	return out, nil
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
