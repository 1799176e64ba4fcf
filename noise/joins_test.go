package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/dp"
)

// Checks of this file that can alarm falsely: less than 80, each at a rate of falseAlarm (1e-12).

// TestSmootherFollowsItsLaw: what is released less what went in and the margin is discrete Laplace noise.
func TestSmootherFollowsItsLaw(t *testing.T) {
	src := fixed(t)
	for _, ev := range []dp.SmoothScale{{Steps: 65, Scale: dp.Scale{Num: 5, Den: 2}, Margin: 40, Delta: 1e-6}, {Steps: 1, Scale: dp.Scale{Num: 130, Den: 1}, Margin: 0, Delta: 0.5}} {
		out := make([]int64, 8_000)
		for i := range out {
			r, err := src.Smoother(ev)
			if err != nil {
				t.Fatal(err)
			}
			x := int64(i)*(1<<36) - MaxStep/8
			if out[i], err = r.Raise(x); err != nil {
				t.Fatal(err)
			}
			out[i] -= x + int64(ev.Margin)
			if again, err := r.Raise(x); err == nil || again != 0 || r.Event() != ev {
				t.Fatal("a smooth scale serves twice")
			}
		}
		if err := checkLaw(out, exactLaplace(ev.Scale)); err != nil {
			t.Errorf("%+v: %v", ev, err)
		}
		wrong := ev.Scale
		wrong.Num, wrong.Den = wrong.Num*7, wrong.Den*10
		if checkLaw(out, exactLaplace(wrong)) == nil {
			t.Errorf("%+v: noise x 1.4 is not found", ev)
		}
	}
}

// TestSmootherCoversItsMargin: the least margin of a delta is taken and the one below it is refused, at tails where no rounding decides.
func TestSmootherCoversItsMargin(t *testing.T) {
	for _, s := range []dp.Scale{{Num: 1, Den: 3}, {Num: 5, Den: 2}, {Num: 200, Den: 1}, {Num: 1 << 40, Den: 3}} {
		for _, delta := range []float64{0.3, 1e-3, 1e-9, 1e-30} {
			b := s.Float()
			margin := uint64(math.Max(0, math.Ceil(-b*(math.Log(delta)+math.Log1p(math.Exp(-1/b)))-1)))
			slack := uint64(b * 1e-9)
			ev := dp.SmoothScale{Steps: 3, Scale: s, Margin: margin + slack, Delta: delta}
			if _, err := fixed(t).Smoother(ev); err != nil {
				t.Errorf("%+v: %v", ev, err)
			}
			if margin == 0 {
				continue
			}
			if ev.Margin = margin - 1 - slack; coversMargin(ev) {
				t.Errorf("%+v is taken", ev)
			}
			if _, err := fixed(t).Smoother(ev); err == nil {
				t.Errorf("%+v is taken", ev)
			}
		}
	}
	for name, ev := range map[string]dp.SmoothScale{"zero": {}, "no delta": {Steps: 1, Scale: whole(2), Margin: 90}, "no scale": {Steps: 1, Margin: 9, Delta: 0.1}} {
		if r, err := fixed(t).Smoother(ev); err == nil || r != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	var none *Source
	if _, err := none.Smoother(dp.SmoothScale{Steps: 1, Scale: whole(2), Margin: 9, Delta: 0.1}); err == nil {
		t.Error("noise from no source")
	}
	if _, err := newSource(&failsLater{}).Smoother(dp.SmoothScale{Steps: 1, Scale: whole(2), Margin: 9, Delta: 0.1}); err == nil {
		t.Error("noise from a source that fails")
	}
	r, err := fixed(t).Smoother(dp.SmoothScale{Steps: 1, Scale: whole(2), Margin: 9, Delta: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := r.Raise(MaxStep + 1); err == nil || x != 0 {
		t.Errorf("a step out of range gives %d", x)
	}
	var zero Smoother
	if _, err := zero.Raise(1); err == nil {
		t.Error("a smoother of nobody releases")
	}
}

// sparse is the sparse vector on paper, the product's or a broken one.
type sparse struct {
	threshold, query float64
	at               int64
	// Planted bugs.
	still  bool // the threshold has no noise
	again  bool // fresh noise of the threshold for each score
	one    bool // one noise for all scores
	strict bool // below, not at
}

func lapPMF(b float64, x int64) float64 {
	return math.Exp(-math.Abs(float64(x))/b) * math.Tanh(0.5/b)
}

func lapCDF(b float64, x int64) float64 {
	q := math.Exp(-1 / b)
	if x < 0 {
		return math.Exp(float64(x)/b) / (1 + q)
	}
	return 1 - math.Exp(-float64(x+1)/b)/(1+q)
}

// law is the probability of stopping at each score, and at last of stopping at none.
func (p sparse) law(scores []int64) []float64 {
	out := make([]float64, len(scores)+1)
	stops := func(score, z int64) float64 { // P(score + noise <= z)
		if p.strict {
			z--
		}
		return lapCDF(p.query, z-score)
	}
	reach := int64(40*p.threshold + 30*p.query)
	if p.one { // the first score that is at most z - n
		for n := -reach; n <= reach; n++ {
			left := lapPMF(p.query, n)
			lowest := int64(math.MaxInt64)
			passed := 0.0
			for i, s := range scores {
				if s < lowest {
					lowest = s
					stop := 1 - lapCDF(p.threshold, s+n-p.at-1) // P(z >= s + n)
					out[i] += left * (stop - passed)
					passed = stop
				}
			}
			out[len(scores)] += left * (1 - passed)
		}
		return out
	}
	walk := func(z int64, weight float64) {
		left := weight
		for i, s := range scores {
			stop := stops(s, z)
			out[i] += left * stop
			left *= 1 - stop
		}
		out[len(scores)] += left
	}
	switch {
	case p.still:
		walk(p.at, 1)
	case p.again:
		left := 1.0
		for i, s := range scores {
			stop := 0.0
			for n := -reach; n <= reach; n++ {
				stop += lapPMF(p.threshold, n) * stops(s, p.at+n)
			}
			out[i] = left * stop
			left -= out[i]
		}
		out[len(scores)] = left
	default:
		for n := -reach; n <= reach; n++ {
			walk(p.at+n, lapPMF(p.threshold, n))
		}
	}
	return out
}

func paperSparse(ev dp.Sparse, at int64) sparse {
	return sparse{threshold: ev.Threshold.Float(), query: ev.Query.Float(), at: at}
}

var sparseCases = []struct {
	ev     dp.Sparse
	at     int64
	scores []int64
}{
	{dp.Sparse{Scores: 1, Up: 1, Down: 1, Threshold: whole(2), Query: whole(3)}, 0, []int64{1}},
	{dp.Sparse{Scores: 4, Up: 2, Down: 1, Threshold: whole(3), Query: whole(4)}, -2, []int64{9, 4, 1, -5}},
	{dp.Sparse{Scores: 3, Up: 2, Down: 1, Threshold: dp.Scale{Num: 1, Den: 2}, Query: dp.Scale{Num: 3, Den: 2}}, 5, []int64{6, 5, 7}},
	{dp.Sparse{Scores: 6, Up: 20, Down: 10, Threshold: whole(40), Query: whole(46)}, 0, []int64{200, 100, 50, 20, 3, 0}},
}

// checkStopper tells how outcomes differ from the law on paper, or nil.
func checkStopper(src *Source, ev dp.Sparse, at int64, scores []int64, want sparse) error {
	const n = 5_000
	seen := make([]int, len(scores)+1)
	for range n {
		p, err := src.Stopper(ev, at)
		if err != nil {
			return err
		}
		stopped := len(scores)
		for i, s := range scores {
			stop, err := p.Below(s)
			if err != nil {
				return err
			}
			if stop {
				stopped = i
				break
			}
		}
		seen[stopped]++
		if stop, err := p.Below(scores[0]); err == nil || stop || p.Event() != ev {
			return fmt.Errorf("more is said after the end")
		}
	}
	for i, p := range want.law(scores) {
		if err := binomial(fmt.Sprintf("stops at %d", i), seen[i], n, math.Min(1, math.Max(0, p))); err != nil {
			return err
		}
	}
	return nil
}

// TestStopperFollowsItsLaw: it stops at each score as often as the law on paper says; each broken law is another one.
func TestStopperFollowsItsLaw(t *testing.T) {
	found := map[string]bool{}
	for _, c := range sparseCases {
		right := paperSparse(c.ev, c.at)
		if err := checkStopper(fixed(t), c.ev, c.at, c.scores, right); err != nil {
			t.Errorf("%+v: %v", c.ev, err)
		}
		for name, plant := range sparseBugs {
			bad := right
			plant(&bad)
			found[name] = checkStopper(fixed(t), c.ev, c.at, c.scores, bad) != nil || found[name]
		}
	}
	for name := range sparseBugs {
		if !found[name] {
			t.Errorf("%s: not found", name)
		}
	}
}

var sparseBugs = map[string]func(*sparse){
	"a threshold without noise":       func(p *sparse) { p.still = true },
	"a threshold anew for each score": func(p *sparse) { p.again = true },
	"one noise for all scores":        func(p *sparse) { p.one = true },
	"below, not at":                   func(p *sparse) { p.strict = true },
	"query's scale x 0.7":             func(p *sparse) { p.query *= 0.7 },
	"threshold's scale x 0.4":         func(p *sparse) { p.threshold *= 0.4 },
	"the scales exchanged":            func(p *sparse) { p.threshold, p.query = p.query, p.threshold },
}

// worst is the largest |log ratio| over neighbours: n scores alike and a last one, each of both groups moved to one of its ends.
func (p sparse) worst(n int, up, down int64) float64 {
	worst := 0.0
	law := func(first, last int64) []float64 {
		scores := make([]int64, n+1)
		for i := range scores {
			scores[i] = first
		}
		scores[n] = last
		return p.law(scores)
	}
	for _, first := range []int64{0, 6 * up} {
		for _, last := range []int64{-40 * up, -3 * up, first, first + 30*up} {
			a := law(first, last)
			for _, d := range [][2]int64{{-down, -down}, {-down, up}, {up, -down}, {up, up}} {
				for k, b := range law(first+d[0], last+d[1]) {
					if a[k] > 1e-250 && b > 1e-250 {
						worst = math.Max(worst, math.Abs(math.Log(a[k]/b)))
					} else if a[k] > 1e-200 || b > 1e-200 {
						worst = math.Inf(1)
					}
				}
			}
		}
	}
	return worst
}

// TestSparseIsPrivateOnNeighbours: for neighbouring scores the probability of each outcome differs by no more than claimed, and by most of it somewhere.
func TestSparseIsPrivateOnNeighbours(t *testing.T) {
	for _, c := range []struct {
		ev    dp.Sparse
		least float64 // of the claim that is used
	}{
		{dp.Sparse{Scores: 61, Up: 2, Down: 1, Threshold: whole(4), Query: whole(5)}, 0.9},
		{dp.Sparse{Scores: 61, Up: 1, Down: 2, Threshold: whole(4), Query: whole(5)}, 0.9},
		{dp.Sparse{Scores: 61, Up: 2, Down: 2, Threshold: whole(5), Query: whole(3)}, 0.9},
		{dp.Sparse{Scores: 61, Up: 3, Down: 0, Threshold: whole(6), Query: whole(6)}, 0.9},
		{dp.Sparse{Scores: 61, Up: 2, Down: 1, Threshold: whole(2), Query: whole(9)}, 0.9},
	} {
		p := paperSparse(c.ev, 0)
		claim := float64(max(c.ev.Up, c.ev.Down))/p.threshold + float64(c.ev.Up+c.ev.Down)/p.query
		got := p.worst(60, int64(c.ev.Up), int64(c.ev.Down))
		if got > claim+1e-6 || got < c.least*claim {
			t.Errorf("%+v: %.6f, claimed %.6f", c.ev, got, claim)
		}
	}
}

// A test of the test: each broken sparse vector is above the claim.
func TestSparseNeighboursFindPlantedBugs(t *testing.T) {
	ev := dp.Sparse{Scores: 61, Up: 2, Down: 1, Threshold: whole(4), Query: whole(5)}
	claim := 2.0/4 + 3.0/5
	for name, worst := range map[string]float64{
		"sensitivity 1 for 2":             paperSparse(ev, 0).worst(60, 4, 2),
		"rises alone":                     paperSparse(ev, 0).worst(60, 2, 3),
		"a threshold anew for each score": sparse{threshold: 4, query: 5, again: true}.worst(60, 2, 1),
		"a threshold without noise":       sparse{threshold: 4, query: 5, still: true}.worst(60, 2, 1),
		"one noise for all scores":        sparse{threshold: 4, query: 5, one: true}.worst(60, 2, 1),
		"scales x 0.9":                    sparse{threshold: 3.6, query: 4.5}.worst(60, 2, 1),
	} {
		if worst <= claim+1e-6 {
			t.Errorf("%s: %.6f, claimed %.6f", name, worst, claim)
		}
	}
}

func TestStopperRefuses(t *testing.T) {
	ok := sparseCases[1].ev
	for name, change := range map[string]func(*dp.Sparse){
		"zero": func(e *dp.Sparse) { *e = dp.Sparse{} }, "no scores": func(e *dp.Sparse) { e.Scores = 0 }, "too many": func(e *dp.Sparse) { e.Scores = dp.MaxEdges + 1 },
		"no moves": func(e *dp.Sparse) { e.Up, e.Down = 0, 0 }, "no threshold": func(e *dp.Sparse) { e.Threshold = dp.Scale{} }, "no noise": func(e *dp.Sparse) { e.Query = dp.Scale{} },
		"moves out of range": func(e *dp.Sparse) { e.Up = math.MaxUint64 },
	} {
		ev := ok
		change(&ev)
		if p, err := fixed(t).Stopper(ev, 0); err == nil || p != nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p, err := fixed(t).Stopper(ok, MaxStep+1); err == nil || p != nil {
		t.Error("a threshold out of range")
	}
	p, err := fixed(t).Stopper(ok, 0)
	if err != nil {
		t.Fatal(err)
	}
	if stop, err := p.Below(math.MaxInt64); err == nil || stop {
		t.Error("a score out of range")
	}
	if stop, err := p.Below(0); err == nil || stop {
		t.Error("a score after one out of range")
	}
	var zero Stopper
	if stop, err := zero.Below(0); err == nil || stop {
		t.Error("a sparse vector of nobody")
	}
	for reads := range 3 {
		wide := ok
		wide.Scores = dp.MaxEdges
		if p, err := newSource(&failsLater{left: reads, next: fixed(t).reader}).Stopper(wide, 0); err == nil || p != nil {
			t.Errorf("noise after %d reads", reads)
		}
	}
}
