//go:build !race

package ledger

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// gambit is a question that adversaries ask in one of their names: its charge, and the law of its privacy loss; with probability Delta it tells all.
type gambit struct {
	Reservation
	below, loss []float64
}

func (g *gambit) draw(r *rand.Rand) float64 {
	if r.Float64() < g.Loss.Delta {
		return math.Inf(1)
	}
	return g.loss[min(len(g.loss)-1, sort.SearchFloat64s(g.below, r.Float64()))]
}

// of is a gambit of Laplace or Gaussian noise on a number that one unit changes by 1.
func of(r Reservation) *gambit {
	out := &gambit{Reservation: r}
	if l, ok := r.Events[0].(dp.Laplace); ok {
		e := 1 / l.Scale.Float()
		out.below, out.loss = []float64{1 / (1 + math.Exp(e)), 1}, []float64{-e, e}
		return out
	}
	sigma, sum := r.Events[0].(dp.Gaussian).Scale.Float(), 0.0
	for x := int(12 * sigma); x >= -int(12*sigma); x-- {
		sum += math.Exp(-float64(x*x) / (2 * sigma * sigma))
		out.below, out.loss = append(out.below, sum), append(out.loss, (1-2*float64(x))/(2*sigma*sigma))
	}
	for i := range out.below {
		out.below[i] /= sum
	}
	return out
}

// TestAdversaryOfTheLedger: adversaries who hold several analysts' names and a role, choose each question after all answers, wait for the next window when they like, and stop when they are lucky, win at most what the lifetime
// promises: its windows' epsilons and deltas added up, also where each window has another order. Admission is the ledger's own. Under a ledger that forgets the lifetime, or looks at quotas alone, they win more, so the game could be lost. What they
// win is compared by Chernoff's bound: where the ledger holds, one of the comparisons fails with a probability below 1e-9. The seeds are fixed.
func TestAdversaryOfTheLedger(t *testing.T) {
	const names, epsilon, delta, windows, falseAlarm = 8, 2, 2e-2, 2, 1e-10
	for name, c := range map[string]struct {
		filter   budget.Params
		lifetime *Lifetime
		careless string // the scope whose word is not heard
		runs     int
		days     int
		then     float64 // query.price on each second day; 0: as ever
	}{
		"two orders":   {budget.Params{Epsilon: epsilon, Delta: delta, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP}, &Lifetime{windows * epsilon}, "", 250, 10, 0.01},
		"as it is":     {budget.Params{Epsilon: epsilon, Delta: delta, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP}, &Lifetime{windows * epsilon}, "", 500, 10, 0},
		"pure":         {budget.Params{Epsilon: epsilon, QueryEpsilon: 0.5, Accountant: budget.AccountantPure}, &Lifetime{windows * epsilon}, "", 50, 10, 0},
		"no lifetime":  {budget.Params{Epsilon: epsilon, Delta: delta, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP}, nil, "", 250, 16, 0},
		"quotas alone": {budget.Params{Epsilon: epsilon, Delta: delta, QueryEpsilon: 0.5, Accountant: budget.AccountantRDP}, &Lifetime{windows * epsilon}, ScopeDataset, 250, 10, 0},
	} {
		f := must(budget.NewFilter(c.filter))(t)
		head := Head{Dataset: "demo", People: "demo", Filter: f, Epoch: "1", Window: WindowDay, Lifetime: c.lifetime}
		var moves [2][names][]*gambit // small to large, of each order
		filters := [2]*budget.Filter{f, f}
		if c.then > 0 {
			other := c.filter
			other.QueryEpsilon = c.then
			if filters[1] = must(budget.NewFilter(other))(t); filters[1].Order == f.Order {
				t.Fatalf("both orders are %g", f.Order)
			}
		}
		for i := range 2 * names {
			n, f := i/2, filters[i%2]
			who := Payer{Analyst: fmt.Sprint("ann ", n), Quota: 0.8 * epsilon}
			if n%2 == 0 {
				who.Roles = []Role{{"even", 0.9 * epsilon}}
			}
			add := func(r Reservation) {
				r.Payer = who
				moves[i%2][n] = append(moves[i%2][n], of(r))
			}
			add(count(t, f, who.Analyst, 1, 0.25))
			if f.Order > 0 {
				leak := count(t, f, who.Analyst, 1, 0.1)
				leak.Loss.Delta = f.DeltaRoom / 2
				add(leak)
				add(gaussian(t, f, who.Analyst, 1, 0.3))
				add(gaussian(t, f, who.Analyst, 1, 1))
			} else {
				add(count(t, f, who.Analyst, 1, 1))
			}
		}
		largestFirst := func(m []*gambit) (out []*gambit) {
			for i := range m {
				out = append(out, m[len(m)-1-i])
			}
			return out
		}
		type strategy = func(m []*gambit, lost float64) []*gambit
		strategies := map[string]strategy{
			"all at once": func(m []*gambit, _ float64) []*gambit { return largestFirst(m) },
			"counts first": func(m []*gambit, _ float64) []*gambit {
				return append([]*gambit{m[0]}, largestFirst(m)...)
			},
			"more when behind": func(m []*gambit, lost float64) []*gambit {
				if lost < 1 {
					return largestFirst(m)
				}
				return m
			},
		}
		play := func(r *rand.Rand, choose strategy) (lost float64) {
			at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			l := must(newBook(Options{}))(t)
			l.state.add(&Record{Version: version, Head: &head}, Hash{})
			l.state.add(&Record{Version: version, Opening: &Opening{Dataset: "demo", Epoch: "1"}}, Hash{})
			d := l.state.find("demo")
			denies := map[*gambit]bool{} // in this window, and what was once denied stays so in it
			for day := 0; day < c.days; {
				asked := false
				if fit := (&Record{Version: version, Seq: l.state.seq + 1, Time: at, Fit: &Fit{"demo", filters[day%2]}}); l.state.checkFit(fit) == nil { // the window begins
					l.state.add(fit, Hash{})
				}
				for n := 0; n < names && !asked; n++ {
					for _, m := range choose(moves[day%2][n], lost) {
						if denies[m] {
							continue
						}
						denied := must(l.state.admit(d, []Reservation{m.Reservation}, at))(t)
						switch {
						case denied != nil && denied.Scope == ScopeLifetime:
							return lost
						case denied != nil && (c.careless == "" || denied.Scope != c.careless):
							denies[m] = true
							continue
						}
						l.state.add(&Record{Version: version, Seq: l.state.seq + 1, Time: at, Reserve: &Charge{Reservation: m.Reservation, Order: filters[day%2].Order, Dataset: "demo", Epoch: "1"}}, Hash{})
						if lost, asked = lost+m.draw(r), true; lost > windows*epsilon {
							return lost
						}
						break
					}
				}
				if !asked {
					day, at, denies = day+1, at.Add(24*time.Hour), map[*gambit]bool{}
				}
			}
			return lost
		}
		beaten := false
		for way, choose := range strategies {
			if (c.lifetime == nil || c.careless != "") && way != "all at once" {
				continue // one that beats them is enough
			}
			r, sum, most := rand.New(rand.NewPCG(11, uint64(len(way)))), 0.0, 0.0
			for range c.runs {
				lost := play(r, choose)
				sum += math.Max(0, -math.Expm1(windows*epsilon-lost))
				most = math.Max(most, lost)
			}
			promise, mean := float64(windows*delta), sum/float64(c.runs)
			surely := mean > promise && mean*math.Log(mean/promise)+(1-mean)*math.Log((1-mean)/(1-promise)) > math.Log(1/falseAlarm)/float64(c.runs)
			beaten = beaten || surely
			t.Logf("%s, %s: the adversary wins %.4f of %.4f, loses %.2f at most", name, way, mean, promise, most)
			if name == "pure" && most > windows*epsilon {
				t.Errorf("pure: a loss of %g of %d", most, windows*epsilon)
			}
		}
		if careless := c.lifetime == nil || c.careless != ""; beaten != careless {
			t.Errorf("%s: beaten: %v", name, beaten)
		}
	}
}
