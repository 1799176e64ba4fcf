package budget

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// move is a question that an adversary may ask: its loss on the accountant's books, and the exact law of its privacy loss under P. What has lost is lost: with
// probability loss's Delta the answer tells everything.
type move struct {
	loss dp.Loss
	up   int // of a randomised response, whose loss is up or -up cells, up with probability 1/(1 + e^-up)
	law  *law
}

// law is the privacy loss of discrete Gaussian noise on a number that one unit changes by 1, by its cumulative probabilities.
type law struct{ below, loss []float64 }

func gaussianLaw(sigma float64) *law {
	reach := int(12 * sigma)
	var out law
	sum := 0.0
	for x := reach; x >= -reach; x-- { // losses rising
		sum += math.Exp(-float64(x*x) / (2 * sigma * sigma))
		out.below, out.loss = append(out.below, sum), append(out.loss, (1-2*float64(x))/(2*sigma*sigma))
	}
	for i := range out.below {
		out.below[i] /= sum
	}
	return &out
}

func (l *law) draw(r *rand.Rand) float64 {
	return l.loss[min(len(l.loss)-1, sort.SearchFloat64s(l.below, r.Float64()))]
}

// books decide what is asked; a careless one is a mistake that somebody might make.
type books struct {
	name   string
	admits func(r Rooms, spent, charge dp.Loss) bool
	rooms  func(Rooms) Rooms
}

var careful = books{"as it is", Rooms.CanAdmit, func(r Rooms) Rooms { return r }}

var careless = []books{
	{"more Renyi room", Rooms.CanAdmit, func(r Rooms) Rooms { r.Renyi *= 1.5; return r }},
	{"more room of deltas", Rooms.CanAdmit, func(r Rooms) Rooms { r.Delta *= 4; return r }},
	{"what the pure side paid does not count on the other", func(r Rooms, spent, charge dp.Loss) bool {
		after := spent.Plus(charge)
		return after.Delta <= r.Delta && (after.Pure <= r.Pure || after.Renyi <= r.Renyi+randomizedResponse(3, exactly(r.Pure)).hi)
	}, func(r Rooms) Rooms { return r }},
}

// game is the adversary's: they choose each question knowing all answers, and stop when they like. What they win is the delta of the whole at the budget's epsilon: the
// expectation under P of 1 - e^(epsilon - loss), where that is positive.
type game struct {
	odometer bool // they win once their loss is above what Odometer says
	filter   *Filter
	rooms    Rooms
	books    books
	cell     float64
	slack    float64
	moves    []move
	known    map[[6]int]float64
}

func (g *game) won(loss float64) float64 { return math.Max(0, -math.Expm1(g.filter.Epsilon-loss)) }

// best is the most that any adversary wins from a state on: how often each move was made, and the loss in cells. No strategy wins more: it is the maximum over all of them, by
// dynamic programming, not an estimate.
func (g *game) best(counts [5]int, spent dp.Loss, at int) float64 {
	key := [6]int{counts[0], counts[1], counts[2], counts[3], counts[4], at}
	if v, ok := g.known[key]; ok {
		return v
	}
	most := g.won(float64(at) * g.cell)
	if g.odometer {
		epsilon, _ := g.filter.Odometer(spent)
		if most = 0; float64(at)*g.cell > g.slack+epsilon {
			most = 1
		}
	}
	for i, m := range g.moves {
		if !g.books.admits(g.rooms, spent, m.loss) {
			continue
		}
		next := counts
		next[i]++
		p := 1 / (1 + math.Exp(-float64(m.up)*g.cell))
		after := spent.Plus(m.loss)
		v := m.loss.Delta + (1-m.loss.Delta)*(p*g.best(next, after, at+m.up)+(1-p)*g.best(next, after, at-m.up))
		most = math.Max(most, v)
	}
	g.known[key] = most
	return most
}

// TestAdversaryExactly: the best of all adversaries who choose among counts of three sizes and selections with a delta, and stop when they are lucky, does not beat the budget's delta, whatever
// the budget; under careless books they do.
func TestAdversaryExactly(t *testing.T) {
	beaten := map[string]bool{}
	for _, c := range []struct {
		epsilon, delta float64
		ups            []int
		selections     float64 // deltas that the room of deltas holds
	}{{2, 1e-2, []int{2, 3, 12}, 2}, {3, 1e-1, []int{3, 8}, 1}, {1, 1e-1, []int{2, 6}, 3}, {4, 1e-3, []int{4, 9, 32}, 2}} {
		f := newFilter(t, Params{c.epsilon, c.delta, 0.5, AccountantRDP})
		if f.Order == 0 {
			t.Fatalf("%+v has no order", c)
		}
		const cell = 0.125
		var moves []move
		for _, up := range c.ups {
			l, err := f.Loss(dp.Laplace{Sensitivity: one, Scale: dp.Scale{Num: 8, Den: uint64(up)}})
			if err != nil || math.Abs(l.Pure-float64(up)*cell) > 1e-12 {
				t.Fatal(l, err)
			}
			moves = append(moves, move{loss: l, up: up})
		}
		moves = append(moves, move{loss: dp.Loss{Pure: cell, Renyi: randomizedResponse(f.Order, exactly(cell)).hi, Delta: f.DeltaRoom / c.selections}, up: 1})
		for _, b := range append([]books{careful}, careless...) {
			g := &game{filter: f, rooms: b.rooms(f.whole()), books: b, cell: cell, moves: moves, known: map[[6]int]float64{}}
			won := g.best([5]int{}, dp.Loss{}, 0)
			switch {
			case b.name == careful.name && (won > c.delta || won < c.delta/4):
				t.Errorf("epsilon %g, delta %g: the best adversary wins %g in %d states", c.epsilon, c.delta, won, len(g.known))
			case b.name != careful.name && won > c.delta:
				beaten[b.name] = true
			}
		}
	}
	for _, b := range careless {
		if !beaten[b.name] {
			t.Errorf("no adversary beats %q, so the test proves nothing", b.name)
		}
	}
}

// TestOdometer: at each level of delta, the best of all adversaries who stay within it does not bring their loss above the odometer at any time with more than that probability, selections that may
// lose everything among their moves; they do above one that leaves out the price of looking at all times, or what selections may lose. Nothing is spent at the start.
func TestOdometer(t *testing.T) {
	f := newFilter(t, Params{3, 1e-1, 0.5, AccountantRDP})
	const cell, selections = 0.25, 2
	var moves []move
	for _, up := range []int{1, 3} {
		l, err := f.Loss(dp.Laplace{Sensitivity: one, Scale: dp.Scale{Num: 4, Den: uint64(up)}})
		if err != nil {
			t.Fatal(err)
		}
		moves = append(moves, move{loss: l, up: up})
	}
	lost := f.DeltaRoom / selections
	moves = append(moves, move{loss: dp.Loss{Pure: cell, Renyi: randomizedResponse(f.Order, exactly(cell)).hi, Delta: lost}, up: 1})
	play := func(slack float64, selected int) float64 {
		rooms := f.whole()
		rooms.Delta = lost * float64(selected)
		return (&game{odometer: true, filter: f, rooms: rooms, books: careful, cell: cell, slack: slack, moves: moves, known: map[[6]int]float64{}}).best([5]int{}, dp.Loss{}, 0)
	}
	d := f.Delta / 2
	for selected := range selections + 1 {
		if won, level := play(0, selected), d+lost*float64(selected); won > level || won == 0 {
			t.Errorf("the best adversary passes it with probability %g of %g", won, level)
		}
	}
	if won := play(-math.Log(1/d)/(f.Order-1), 0); won <= d {
		t.Errorf("without the term of Ville's inequality it is passed with probability %g, so the test proves nothing", won)
	}
	if won := play(0, selections); won <= d {
		t.Errorf("where deltas do not count it is passed with probability %g, so the test proves nothing", won)
	}
	if e, delta := f.Odometer(dp.Loss{}); e != 0 || math.Abs(delta-d) > 1e-15 {
		t.Errorf("at the start: %g, %g", e, delta)
	}
	e, after := f.Odometer(dp.Loss{Pure: math.Inf(1), Renyi: 0.5, Delta: 0.01})
	if want := 0.5 + math.Log(2/f.Delta)/(f.Order-1); e < want || e > want+1e-9 || after < 0.06 || after > 0.06+1e-12 {
		t.Errorf("after Gaussian noise: %g, %g", e, after)
	}
	if e, d := newFilter(t, Params{3, 0, 0.5, AccountantPure}).Odometer(dp.Loss{Pure: 1.5}); e != 1.5 || d != 0 {
		t.Errorf("of plain epsilons: %g, %g", e, d)
	}
}

// TestAdversarySimulated: adversaries who also ask for Gaussian noise, some of which spend the pure side first, stake more when they are behind, or all that is left at once, and stop as soon as
// their loss is above the budget's epsilon. The mean of what they win over 50,000 runs, each in [0, 1], is compared with the budget's delta by Chernoff's bound: where the filter holds, one of
// the 4 comparisons fails with a probability below 1e-9. The seeds are fixed.
func TestAdversarySimulated(t *testing.T) {
	const runs, falseAlarm = 50_000, 1e-10
	f := newFilter(t, Params{2, 2e-2, 0.5, AccountantRDP})
	var moves []move
	for _, sigma := range []dp.Scale{{Num: 8, Den: 1}, {Num: 4, Den: 1}, {Num: 2, Den: 1}, {Num: 5, Den: 4}} {
		l, err := f.Loss(dp.Gaussian{Sensitivity: one, Scale: sigma})
		if err != nil {
			t.Fatal(err)
		}
		moves = append(moves, move{loss: l, law: gaussianLaw(sigma.Float())})
	}
	l, err := f.Loss(dp.Laplace{Sensitivity: one, Scale: dp.Scale{Num: 2, Den: 1}})
	if err != nil {
		t.Fatal(err)
	}
	count := move{loss: l, up: 1}
	play := func(r *rand.Rand, rooms Rooms, choose func(left Rooms, spent dp.Loss, lost float64) []move) float64 {
		spent, lost := dp.Loss{}, 0.0
		for lost <= f.Epsilon {
			asked := false
			for _, m := range choose(rooms.Left(spent), spent, lost) {
				if !rooms.CanAdmit(spent, m.loss) {
					continue
				}
				spent, asked = spent.Plus(m.loss), true
				switch {
				case m.law != nil:
					lost += m.law.draw(r)
				case r.Float64() < 1/(1+math.Exp(-0.5)):
					lost += 0.5
				default:
					lost -= 0.5
				}
				break
			}
			if !asked {
				break
			}
		}
		return math.Max(0, -math.Expm1(f.Epsilon-lost))
	}
	largestFirst := []move{moves[3], moves[2], moves[1], moves[0], count}
	strategies := map[string]func(left Rooms, spent dp.Loss, lost float64) []move{
		"small ones alone": func(Rooms, dp.Loss, float64) []move { return moves[:1] },
		"all at once":      func(Rooms, dp.Loss, float64) []move { return largestFirst },
		"the pure side first": func(left Rooms, _ dp.Loss, _ float64) []move {
			if left.Pure >= count.loss.Pure {
				return []move{count}
			}
			return largestFirst
		},
		"more when behind": func(_ Rooms, _ dp.Loss, lost float64) []move {
			if lost < 0 {
				return largestFirst
			}
			return []move{moves[1], moves[0]}
		},
	}
	// surely is whether a mean this large has a probability below falseAlarm where the expectation is delta: KL(mean, delta) runs > ln 1/falseAlarm.
	surely := func(mean, delta float64) bool {
		return mean > delta && mean*math.Log(mean/delta)+(1-mean)*math.Log((1-mean)/(1-delta)) > math.Log(1/falseAlarm)/runs
	}
	wide := f.whole()
	wide.Renyi *= 2
	mean := func(name string, rooms Rooms) float64 {
		r, sum := rand.New(rand.NewPCG(7, uint64(len(name)))), 0.0
		for range runs {
			sum += play(r, rooms, strategies[name])
		}
		return sum / runs
	}
	for name := range strategies {
		if won := mean(name, f.whole()); surely(won, f.Delta) {
			t.Errorf("%s: the adversary wins %g of %g", name, won, f.Delta)
		}
	}
	if won := mean("the pure side first", wide); !surely(won, f.Delta) {
		t.Errorf("with twice the room the adversary wins %g of %g, so the test proves nothing", won, f.Delta)
	}
}
