package budget

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

func newFilter(t interface{ Fatal(...any) }, p Params) *Filter {
	f, err := NewFilter(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	return f
}

func demoFilter(t interface{ Fatal(...any) }) *Filter {
	return newFilter(t, Params{Epsilon: 20, Delta: 1e-6, QueryEpsilon: 0.5, Accountant: AccountantRDP})
}

var one = dp.Sensitivity{PerGroup: 1, Groups: 1}

// The design's example: budget 20, delta 1e-6, statements of 0.5.
func TestDemoFilter(t *testing.T) {
	f := demoFilter(t)
	if f.Order != 3.18 || math.Abs(f.RenyiLimit(0.5)-0.282) > 5e-4 || math.Abs(f.RenyiRoom-14.253) > 5e-4 || f.DeltaRoom != 5e-7 || !f.PrefersRenyi() {
		t.Fatalf("%+v, r(0.5) = %g", f, f.RenyiLimit(0.5))
	}
	sigma, err := f.GaussianScale(one, f.Limit(0.5))
	if err != nil {
		t.Fatal(err)
	}
	loss, err := f.Loss(dp.Gaussian{Sensitivity: one, Scale: sigma})
	if err != nil {
		t.Fatal(err)
	}
	if left := f.StatementsLeft(loss, loss); left != 49 {
		t.Errorf("left: %d more, want 49", left)
	}
}

// The order is the best of all hundredths, by plain arithmetic; where there is none, there is none.
func TestOrder(t *testing.T) {
	for _, p := range []Params{
		{20, 1e-6, 0.5, AccountantRDP}, {10, 1e-6, 0.1, AccountantRDP}, {3, 1e-5, 0.1, AccountantRDP}, {0.5, 1e-6, 0.005, AccountantRDP},
		{60, 1e-9, 2, AccountantRDP}, {0.1, 1e-9, 0.01, AccountantRDP}, {20, 0, 0.5, AccountantRDP}, {20, 1e-6, 0.5, AccountantPure},
	} {
		f := newFilter(t, p)
		best, order := 0.0, 0.0
		for i := 151; i <= 6400 && p.Accountant == AccountantRDP && p.Delta > 0; i++ {
			a := float64(i) / 100
			room := p.Epsilon - math.Log(1-1/a) - (math.Log(2/p.Delta)-math.Log(a))/(a-1)
			e := p.QueryEpsilon
			price := e + math.Log(a/(2*a-1)+(a-1)/(2*a-1)*math.Exp(-(2*a-1)*e))/(a-1)
			if n := room / price; n > best {
				best, order = n, a
			}
		}
		if math.Abs(f.Order-order) > 0.011 || order != 0 && f.RenyiRoom/f.RenyiLimit(p.QueryEpsilon) < best*(1-1e-9) {
			t.Errorf("%+v: order %g, want %g", p, f.Order, order)
		}
		if (order == 0) != (f.RenyiRoom == 0) || (order == 0) != (f.RenyiLimit(0.5) == 0) || order == 0 && f.PrefersRenyi() {
			t.Errorf("%+v: %+v without an order", p, f)
		}
	}
}

func TestParamsRefused(t *testing.T) {
	good := Params{1, 1e-6, 0.1, AccountantRDP}
	for name, spoil := range map[string]func(*Params){
		"zero":             func(p *Params) { *p = Params{} },
		"epsilon 0":        func(p *Params) { p.Epsilon = 0 },
		"epsilon infinite": func(p *Params) { p.Epsilon = math.Inf(1) },
		"epsilon NaN":      func(p *Params) { p.Epsilon = math.NaN() },
		"delta 1":          func(p *Params) { p.Delta = 1 },
		"delta negative":   func(p *Params) { p.Delta = -1e-9 },
		"delta NaN":        func(p *Params) { p.Delta = math.NaN() },
		"price negative":   func(p *Params) { p.QueryEpsilon = -1 },
		"accountant":       func(p *Params) { p.Accountant = "" },
	} {
		p := good
		spoil(&p)
		if f, err := NewFilter(p); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestFilterAsData(t *testing.T) {
	f := demoFilter(t)
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back Filter
	if err := json.Unmarshal(text, &back); err != nil || back != *f || back.Fingerprint() != f.Fingerprint() {
		t.Fatalf("%+v came back as %+v: %v", f, back, err)
	}
	for name, spoil := range map[string]func(*Filter){
		"pure room":     func(f *Filter) { f.PureRoom *= 1.01 },
		"Renyi room":    func(f *Filter) { f.RenyiRoom *= 1.0001 },
		"delta room":    func(f *Filter) { f.DeltaRoom *= 2 },
		"order":         func(f *Filter) { f.Order = 1.2 },
		"another order": func(f *Filter) { f.Order = 2 },
		"no order":      func(f *Filter) { f.Order = 0 },
		"pure":          func(f *Filter) { f.Accountant = AccountantPure },
		"NaN room":      func(f *Filter) { f.RenyiRoom = math.NaN() },
		"infinite room": func(f *Filter) { f.PureRoom = math.Inf(1) },
	} {
		g := *f
		spoil(&g)
		if g.Validate() == nil || g.Fingerprint() == f.Fingerprint() {
			t.Errorf("%s: %+v is valid, or has the same fingerprint", name, g)
		}
	}
}

func TestAdmits(t *testing.T) {
	both, pure := Rooms{Pure: 1, Renyi: 0.5, Delta: 1e-6}, Rooms{Pure: 1, Delta: 1e-6}
	inf := math.Inf(1)
	for _, c := range []struct {
		name          string
		rooms         Rooms
		spent, charge dp.Loss
		want          bool
	}{
		{"fits both", both, dp.Loss{}, dp.Loss{Pure: 1, Renyi: 0.5}, true},
		{"fits the pure side", both, dp.Loss{}, dp.Loss{Pure: 1, Renyi: 0.6}, true},
		{"fits the Renyi side", both, dp.Loss{}, dp.Loss{Pure: inf, Renyi: 0.5}, true},
		{"fits neither", both, dp.Loss{}, dp.Loss{Pure: inf, Renyi: 0.6}, false},
		{"delta", both, dp.Loss{Delta: 6e-7}, dp.Loss{Pure: 0.1, Renyi: 0.1, Delta: 6e-7}, false},
		{"a pure side that is spent", both, dp.Loss{Pure: inf, Renyi: 0.1}, dp.Loss{Pure: 0.1, Renyi: 0.1}, true},
		{"half and half", both, dp.Loss{Pure: 0.6, Renyi: 0.3}, dp.Loss{Pure: 0.6, Renyi: 0.1}, true},
		{"no Renyi side", pure, dp.Loss{}, dp.Loss{Pure: 1}, true},
		{"no Renyi side takes no excess", pure, dp.Loss{Pure: 1}, dp.Loss{Pure: 0.1}, false},
		{"no Renyi side takes no infinity", pure, dp.Loss{}, dp.Loss{Pure: inf}, false},
		{"no room at all", Rooms{}, dp.Loss{}, dp.Loss{Pure: 1e-9, Renyi: 1e-9}, false},
		{"NaN charge", both, dp.Loss{}, dp.Loss{Pure: math.NaN()}, false},
		{"NaN spent", both, dp.Loss{Pure: math.NaN()}, dp.Loss{Pure: 0.1}, false},
		{"negative charge", both, dp.Loss{}, dp.Loss{Pure: -1}, false},
	} {
		if got := c.rooms.CanAdmit(c.spent, c.charge); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if left := c.rooms.StatementsLeft(c.spent, c.charge); (left > 0) != c.want {
			t.Errorf("%s: %d left", c.name, left)
		}
	}
}

// As many statements as are promised to be left are admitted, and no more, but for one at the rounding's edge.
func TestStatementsLeft(t *testing.T) {
	f := demoFilter(t)
	rapid.Check(t, func(t *rapid.T) {
		rooms, err := f.Rooms(rapid.Float64Range(0.01, 1).Draw(t, "share"))
		if err != nil {
			t.Fatal(err)
		}
		charge := dp.Loss{Pure: rapid.Float64Range(0.05, 3).Draw(t, "pure"), Renyi: rapid.Float64Range(0.05, 3).Draw(t, "renyi")}
		if rapid.Bool().Draw(t, "gaussian") {
			charge.Pure = math.Inf(1)
		}
		left, spent, n := rooms.StatementsLeft(dp.Loss{}, charge), dp.Loss{}, int64(0)
		for n <= left+1 && rooms.CanAdmit(spent, charge) {
			spent = spent.Plus(charge)
			n++
		}
		if n < left-1 || n > left+1 {
			t.Fatalf("%d left, %d admitted", left, n)
		}
	})
	for _, share := range []float64{0, -1, 1.1, math.NaN(), math.Inf(1)} {
		if r, err := f.Rooms(share); err == nil {
			t.Errorf("share %g: %+v", share, r)
		}
	}
}

// A budget that is a multiple of a price holds that many statements: rounding up takes none away.
func TestWholePricesFit(t *testing.T) {
	for _, c := range []struct {
		budget, price float64
		n             int
	}{{1, 0.1, 10}, {20, 0.5, 40}, {3, 0.3, 10}, {0.7, 0.07, 10}, {10, 0.001, 10000}, {2, 0.2, 10}, {3, 0.2, 15}, {10, 0.1, 100}, {3, 0.1, 30}, {6, 0.3, 20}} {
		f := newFilter(t, Params{c.budget, 0, c.price, AccountantPure})
		scale, err := f.LaplaceScale(one, f.Limit(c.price))
		if err != nil {
			t.Fatal(err)
		}
		loss, err := f.Loss(dp.Laplace{Sensitivity: one, Scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		spent, n := dp.Loss{}, 0
		for n <= c.n && f.CanAdmit(spent, loss) {
			if left := f.StatementsLeft(spent, f.Usual(c.price)); left != int64(c.n-n) {
				t.Errorf("budget %g after %d statements of %g: %d are left", c.budget, n, c.price, left)
				break
			}
			spent = spent.Plus(loss)
			n++
		}
		if n != c.n {
			t.Errorf("budget %g holds %d statements of %g", c.budget, n, c.price)
		}
	}
}

// The filter's theorem, on the largest number of equal counts that it admits: their exact delta at the budget's epsilon,
// from the binomial distribution of the privacy loss, is within the budget's. One in four more would not be.
func TestAdmittedCompositionIsPrivate(t *testing.T) {
	f := demoFilter(t)
	scale, err := f.LaplaceScale(one, f.Limit(0.5))
	if err != nil {
		t.Fatal(err)
	}
	loss, err := f.Loss(dp.Laplace{Sensitivity: one, Scale: scale})
	if err != nil {
		t.Fatal(err)
	}
	admitted, spent := 0, dp.Loss{}
	for admitted < 100 && f.CanAdmit(spent, loss) {
		spent = spent.Plus(loss)
		admitted++
	}
	if admitted != 50 {
		t.Errorf("%d statements were admitted, want 50", admitted)
	}
	step := float64(scale.Den) / float64(scale.Num) // a count's loss is +-step, + with probability 1/(1+e^-step)
	delta := func(n int) float64 {
		sum := 0.0
		for k := 0; k <= n; k++ {
			all, _ := math.Lgamma(float64(n + 1))
			some, _ := math.Lgamma(float64(k + 1))
			rest, _ := math.Lgamma(float64(n - k + 1))
			logP := all - some - rest - float64(n)*math.Log1p(math.Exp(-step)) - float64(n-k)*step
			sum += math.Exp(logP) * math.Max(0, -math.Expm1(f.Epsilon-float64(2*k-n)*step))
		}
		return sum
	}
	if d := delta(admitted); d > f.Delta/2 {
		t.Errorf("%d statements have delta %g", admitted, d)
	}
	if d := delta(admitted * 5 / 4); d <= f.Delta {
		t.Errorf("the test does not see a room x 1.25: delta %g", d)
	}
}

type unknownEvent struct{}

func (unknownEvent) Name() string    { return "unknown" }
func (unknownEvent) Validate() error { return nil }

func TestLossRefuses(t *testing.T) {
	rdp, pure := demoFilter(t), newFilter(t, Params{1, 1e-6, 0.1, AccountantPure})
	ten := dp.Scale{Num: 10, Den: 1}
	for _, ev := range []dp.Event{
		nil, unknownEvent{}, dp.Laplace{}, dp.Gaussian{}, dp.Selection{}, dp.Laplace{Sensitivity: one}, &dp.Laplace{Sensitivity: one, Scale: ten},
		dp.Selection{Groups: 1, Scale: ten, Threshold: 10, Delta: 1e-6}, // a threshold too low for its delta
	} {
		if loss, err := rdp.Loss(ev); err == nil {
			t.Errorf("%+v costs %+v", ev, loss)
		}
		if loss, err := rdp.Sum([]dp.Event{dp.Laplace{Sensitivity: one, Scale: ten}, ev}); err == nil || loss != (dp.Loss{}) {
			t.Errorf("%+v was summed: %+v", ev, loss)
		}
	}
	for _, sel := range []dp.Selection{{Groups: 4, Scale: ten, Threshold: 150}, {Noise: dp.GaussianNoise, Groups: 4, Scale: ten, Threshold: 60}} {
		least := selectionDelta(sel)
		sel.Delta = least
		if _, err := rdp.Loss(sel); err != nil {
			t.Error(err)
		}
		sel.Delta = math.Nextafter(least, 0) // it may be too small
		if loss, err := rdp.Loss(sel); err == nil {
			t.Errorf("delta %g, which is below %g, costs %+v", sel.Delta, least, loss)
		}
		sel.Delta = least
		if loss, err := pure.Loss(sel); (err == nil) != (sel.Noise == "") {
			t.Errorf("in plain epsilons %+v costs %+v, %v", sel, loss, err)
		}
	}
	if _, err := pure.Loss(dp.Gaussian{Sensitivity: one, Scale: ten}); err == nil {
		t.Error("a Gaussian has a price in plain epsilons")
	}
	if _, err := pure.GaussianScale(one, Limit{Epsilon: 1, Renyi: 1}); err == nil {
		t.Error("a Gaussian has a scale in plain epsilons")
	}
	if loss, err := pure.Loss(dp.Laplace{Sensitivity: one, Scale: ten}); err != nil || loss != (dp.Loss{Pure: 0.1}) {
		t.Errorf("Laplace: %+v %v", loss, err)
	}
}
