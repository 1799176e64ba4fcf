package noise

import (
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Checks of this file that can alarm falsely: less than 100, each at a rate of falseAlarm (1e-12): 1e-10 in all.

// watched is a watch on paper, the product's or a broken one.
type watched struct {
	threshold int64
	alerts    int
	scale     float64
	// Planted bugs.
	fresh  bool // each look is compared with a threshold of its own noise
	reused bool // all looks between two alerts have one noise
	still  bool // the threshold is not raised
	bare   bool // the counts are not raised
}

func watchOnPaper(ev dp.Watch) watched {
	return watched{threshold: int64(ev.Threshold), alerts: int(ev.Alerts), scale: ev.Scale.Float()} //nolint:gosec // small
}

// part is the probability of the outcomes of looks that share a noisy threshold.
func (v watched) part(counts []int64, outcomes []bool) (sum float64) {
	e := 1 / v.scale
	last := int64(math.Ceil(45 * v.scale))
	for _, n := range counts {
		last = max(last, n-v.threshold+int64(math.Ceil(45*v.scale)))
	}
	if v.still {
		last = 0
	}
	for r := int64(0); r <= last; r++ {
		p := -math.Expm1(-e) * math.Exp(-e*float64(r))
		if v.still {
			p = 1
		}
		if v.reused { // one noise: alerts where it is at least most, none where it is below least
			low, high := int64(0), int64(math.MaxInt64)
			for i, n := range counts {
				if over := v.threshold + r - n; outcomes[i] {
					low = max(low, over)
				} else {
					high = min(high, over)
				}
			}
			if low < high {
				p *= math.Exp(-e*float64(low)) - math.Exp(-e*math.Min(float64(high), 1e9))
			} else {
				p = 0
			}
			sum += p
			continue
		}
		for i, n := range counts {
			over := float64(max(0, v.threshold+r-n))
			switch {
			case v.bare && outcomes[i] != (over == 0):
				p = 0
			case v.bare:
			case outcomes[i]:
				p *= math.Exp(-e * over)
			default:
				p *= -math.Expm1(-e * over)
			}
		}
		sum += p
	}
	return sum
}

// law gives the probability of each sequence of outcomes, by what it looks like.
func (v watched) law(counts []int64) map[string]float64 {
	out := map[string]float64{}
	for bits := range 1 << len(counts) {
		var text []byte
		var outcomes []bool
		alerts := 0
		for i := range counts {
			if alerts == v.alerts {
				break
			}
			is := bits>>i&1 == 1
			outcomes, text = append(outcomes, is), append(text, map[bool]byte{true: '!', false: '.'}[is])
			if is {
				alerts++
			}
		}
		if _, had := out[string(text)]; had {
			continue
		}
		p := 1.0
		from := 0
		for i := range outcomes {
			if v.fresh || i == len(outcomes)-1 || outcomes[i] {
				p *= v.part(counts[from:i+1], outcomes[from:i+1])
				from = i + 1
			}
		}
		out[string(text)] = p
	}
	return out
}

type watchCase struct {
	ev     dp.Watch
	counts []int64
}

var watchCases = []watchCase{
	{dp.Watch{PerUnit: 1, Threshold: 10, Alerts: 1, Scale: whole(2)}, []int64{8, 10, 12}},
	{dp.Watch{PerUnit: 1, Threshold: 0, Alerts: 2, Scale: whole(1)}, []int64{0, 1, 0}},
	{dp.Watch{PerUnit: 3, Threshold: 50, Alerts: 2, Scale: whole(12)}, []int64{45, 60, 50, 55}},
	{dp.Watch{PerUnit: 2, Threshold: 7, Alerts: 3, Scale: dp.Scale{Num: 22, Den: 7}}, []int64{6, 7, 8, 7}},
	{dp.Watch{PerUnit: 1, Threshold: 5, Alerts: 1, Scale: dp.Scale{Num: 3, Den: 10}}, []int64{5, 5, 5}},
}

// watchRun is one run of a watch; each is called beside its looks, to plant bugs.
func watchRun(src *Source, c watchCase, each func(w *Watch, looks int, alert bool)) (string, error) {
	w, err := src.Watch(c.ev)
	if err != nil {
		return "", err
	}
	var text []byte
	for i, n := range c.counts {
		if w.IsEnded() {
			break
		}
		if w, err = src.ResumeWatch(c.ev, w.State()); err != nil { // as after a restart
			return "", err
		}
		if err := w.Ahead(); err != nil {
			return "", err
		}
		each(w, i, false)
		alert, err := w.Look(n)
		if err != nil {
			return "", err
		}
		if alert {
			each(w, i, true)
		}
		text = append(text, map[bool]byte{true: '!', false: '.'}[alert])
	}
	return string(text), nil
}

// checkWatch tells how outcomes differ from the law on paper, or nil.
func checkWatch(src *Source, c watchCase, each func() func(*Watch, int, bool)) error {
	const n = 40_000
	seen := map[string]int{}
	for range n {
		got, err := watchRun(src, c, each())
		if err != nil {
			return err
		}
		seen[got]++
	}
	for text, p := range watchOnPaper(c.ev).law(c.counts) {
		if err := binomial("looks "+text, seen[text], n, math.Min(1, p)); err != nil {
			return err
		}
	}
	return nil
}

// TestWatchFollowsItsLaw: each sequence of outcomes comes as often as the law on paper says, by exact binomial tails, with a restart before each look.
func TestWatchFollowsItsLaw(t *testing.T) {
	for _, c := range watchCases {
		t.Run(fmt.Sprint(c.ev.Threshold, c.counts), func(t *testing.T) {
			if err := checkWatch(fixed(t), c, func() func(*Watch, int, bool) { return func(*Watch, int, bool) {} }); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWatchChecksFindPlantedBugs: each broken watch is found in one of the cases.
func TestWatchChecksFindPlantedBugs(t *testing.T) {
	src := fixed(t)
	draw := func(scale dp.Scale) int64 {
		var x [1]int64
		if err := src.fill(geometricLaw{newLaplace(scale)}, x[:]); err != nil {
			t.Fatal(err)
		}
		return x[0]
	}
	always := func(f func(w *Watch, looks int, alert bool)) func() func(*Watch, int, bool) {
		return func() func(*Watch, int, bool) { return f }
	}
	for name, plant := range map[string]func() func(*Watch, int, bool){
		"a fresh threshold for each look": always(func(w *Watch, _ int, alert bool) {
			if !alert {
				w.state.Raised = draw(w.event.Scale)
			}
		}),
		"noise of one look reused": func() func(*Watch, int, bool) {
			var first int64
			return func(w *Watch, looks int, alert bool) {
				switch {
				case alert:
				case looks == 0:
					first = w.ahead[0]
				default:
					w.ahead[0] = first
				}
			}
		},
		"a second alert without a redraw": func() func(*Watch, int, bool) {
			var raised int64
			return func(w *Watch, _ int, alert bool) {
				if alert {
					w.state.Raised = raised
				}
				raised = w.state.Raised
			}
		},
		"the redraw is the look's noise": func() func(*Watch, int, bool) {
			var own int64
			return func(w *Watch, _ int, alert bool) {
				if alert {
					w.state.Raised = own
				} else {
					own = w.ahead[0]
				}
			}
		},
		"the threshold is not raised": always(func(w *Watch, _ int, _ bool) { w.state.Raised = 0 }),
		"the counts are not raised": always(func(w *Watch, _ int, alert bool) {
			if !alert {
				w.ahead[0] = 0
			}
		}),
		"scale x 0.9": always(func(w *Watch, _ int, alert bool) {
			if !alert {
				w.ahead[0] = draw(dp.Scale{Num: w.event.Scale.Num * 9, Den: w.event.Scale.Den * 10})
			}
		}),
		"threshold plus 1": always(func(w *Watch, _ int, alert bool) {
			if !alert {
				w.event.Threshold++
			}
		}),
	} {
		found := false
		for _, c := range watchCases {
			found = found || checkWatch(src, c, plant) != nil
		}
		if !found {
			t.Errorf("%s: not found", name)
		}
	}
}

// logRatios is the range of the log ratios of outcomes, of more rows over fewer.
func (v watched) logRatios(counts, more []int64) (w ratios) {
	p := v.law(counts)
	for text, q := range v.law(more) {
		if p[text] == 0 && q == 0 {
			continue
		}
		r := math.Log(q / p[text])
		w.low, w.high = math.Min(w.low, r), math.Max(w.high, r)
	}
	return w
}

// worst is that over counts near the threshold, each raised by up to most.
func (v watched) worst(looks int, most int64) (w ratios) {
	counts, more := make([]int64, looks), make([]int64, looks)
	var at func(i int)
	at = func(i int) {
		if i == looks {
			r := v.logRatios(counts, more)
			w.low, w.high = math.Min(w.low, r.low), math.Max(w.high, r.high)
			return
		}
		for n := max(0, v.threshold-2*most); n <= v.threshold+most; n++ {
			for _, add := range []int64{0, most} {
				counts[i], more[i] = n, n+add
				at(i + 1)
			}
		}
	}
	at(0)
	return w
}

// TestWatchIsPrivateOnNeighbours: for every pair of neighbouring counts the log ratio of each sequence of outcomes is in [-2cm/b, cm/b] for c alerts. The lower end is reached, so no less can be claimed.
func TestWatchIsPrivateOnNeighbours(t *testing.T) {
	for _, c := range []struct {
		v     watched
		looks int
		most  int64
	}{{watched{threshold: 3, alerts: 1, scale: 2}, 3, 1}, {watched{threshold: 6, alerts: 1, scale: 4}, 2, 3}, {watched{threshold: 2, alerts: 2, scale: 1}, 4, 1}, {watched{threshold: 4, alerts: 2, scale: 3}, 2, 2}} {
		w, claim := c.v.worst(c.looks, c.most), float64(c.v.alerts)*float64(c.most)/c.v.scale
		if w.low < -2*claim-1e-9 || w.high > claim+1e-9 {
			t.Errorf("%+v: %+v, claimed [%.9f, %.9f]", c, w, -2*claim, claim)
		}
		if need := float64(min(c.v.alerts, c.looks/2)); w.low > -2*claim*need/float64(c.v.alerts)+0.2*claim {
			t.Errorf("%+v: no pair uses more than %+v of %.9f, so the test proves little", c, w, -2*claim)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := watched{threshold: rapid.Int64Range(0, 40).Draw(t, "threshold"), alerts: rapid.IntRange(1, 3).Draw(t, "alerts"), scale: rapid.Float64Range(0.4, 9).Draw(t, "scale")}
		most := rapid.Int64Range(1, 5).Draw(t, "most")
		counts := rapid.SliceOfN(rapid.Int64Range(max(0, v.threshold-9), v.threshold+9), 1, 6).Draw(t, "counts")
		more := make([]int64, len(counts))
		for i, n := range counts {
			more[i] = n + rapid.Int64Range(0, most).Draw(t, "more")
		}
		w, claim := v.logRatios(counts, more), float64(v.alerts)*float64(most)/v.scale
		if w.low < -2*claim-1e-6 || w.high > claim+1e-6 {
			t.Fatalf("%+v: claimed [%g, %g]", w, -2*claim, claim)
		}
	})
}

// TestWatchNeighboursFindPlantedBugs: the same computation finds the broken watches that are less private.
func TestWatchNeighboursFindPlantedBugs(t *testing.T) {
	good := watched{threshold: 3, alerts: 1, scale: 2}
	for name, plant := range map[string]func(*watched) (most int64){
		"rows beyond the bound":           func(*watched) int64 { return 2 },
		"a fresh threshold for each look": func(v *watched) int64 { v.fresh = true; v.threshold += 3; return 1 },
		"noise of one look reused":        func(v *watched) int64 { v.reused = true; return 1 },
		"the threshold is not raised":     func(v *watched) int64 { v.still = true; return 1 },
		"the counts are not raised":       func(v *watched) int64 { v.bare = true; return 1 },
		"one alert more than was paid":    func(v *watched) int64 { v.alerts = 2; return 1 },
	} {
		bad, claim := good, 1/good.scale
		most := plant(&bad)
		if w := bad.worst(3, most); w.low >= -2*claim-1e-9 && w.high <= claim+1e-9 {
			t.Errorf("%s: %+v, claimed [%.6f, %.6f]", name, w, -2*claim, claim)
		}
	}
}

// TestWatchWithin: at the distance that EXPLAIN tells a look is right with 95%, on either side, and one nearer it is not; by the law.
func TestWatchWithin(t *testing.T) {
	for _, b := range []dp.Scale{whole(1), whole(7), {Num: 41, Den: 8}, whole(60)} {
		ev := dp.Watch{PerUnit: 1, Threshold: 5000, Alerts: 1, Scale: b}
		d := int64(WatchWithin(ev))
		alert := func(n int64) float64 { return watchOnPaper(ev).law([]int64{n})["!"] }
		if above, below := alert(5000+d), alert(5000-d); above < 0.95 || below > 0.05 {
			t.Errorf("scale %v, distance %d: right in %g above and %g below", b, d, above, 1-below)
		}
		if below := alert(5000 - d + 1); below <= 0.05 {
			t.Errorf("scale %v: one nearer than %d it is right in %g below", b, d, 1-below)
		}
	}
}

// TestWatchBeatsRepeatedLaplace: at an equal charge, false alarms of 30 looks at a count below the threshold and missed alarms of the next one above it, against counting with Laplace noise at each look. By simulation with
// the samplers, which has to agree with the laws on paper. The figures are docs/watches.md's.
func TestWatchBeatsRepeatedLaplace(t *testing.T) {
	const looks, runs, epsilon, threshold = 30, 20_000, 0.5, 1000
	src := fixed(t)
	watchScale, laplaceScale := dp.Scale{Num: 2, Den: 1}, dp.Scale{Num: looks, Den: 1} // 2cm/b and looks/b, over epsilon
	watchScale.Num, laplaceScale.Num = watchScale.Num*2, laplaceScale.Num*2
	ev := dp.Watch{PerUnit: 1, Threshold: threshold, Alerts: 1, Scale: watchScale}
	laplace, err := src.Mechanism(dp.Laplace{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: laplaceScale})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []int64{10, 20, 40, 100} {
		counts := make([]int64, looks+1)
		for i := range counts {
			counts[i] = threshold - d
		}
		counts[looks] = threshold + d
		var falseWatch, missedWatch, quietWatch, falseLaplace, missedLaplace int
		for range runs {
			got, err := watchRun(src, watchCase{ev, counts}, func(*Watch, int, bool) {})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case len(got) <= looks:
				falseWatch++
			default:
				quietWatch++
				if got[looks] == '.' {
					missedWatch++
				}
			}
			var noise [looks + 1]int64
			if err := src.fill(laplace.law, noise[:]); err != nil {
				t.Fatal(err)
			}
			for _, x := range noise[:looks] {
				if x >= d {
					falseLaplace++
					break
				}
			}
			if noise[looks] < -d {
				missedLaplace++
			}
		}
		// On paper: one noisy threshold for all looks, and looks that are independent.
		paper, q := 0.0, math.Exp(-1/watchScale.Float())
		for r := range 4000 {
			paper += (1 - q) * math.Pow(q, float64(r)) * (1 - math.Pow(1-math.Pow(q, float64(int64(r)+d)), looks))
		}
		tail := math.Exp(-float64(d)/laplaceScale.Float()) / (1 + math.Exp(-1/laplaceScale.Float()))
		repeated := 1 - math.Pow(1-tail, looks)
		for _, c := range []struct {
			what  string
			count int
			p     float64
		}{{"watch", falseWatch, paper}, {"repeated Laplace", falseLaplace, repeated}} {
			if err := binomial(fmt.Sprintf("false alarms of %s at %d", c.what, d), c.count, runs, c.p); err != nil {
				t.Error(err)
			}
		}
		t.Logf("distance %3d: watch %.2f %% false alarms in %d looks, %.2f %% missed; repeated Laplace %.2f %% and %.2f %%", d,
			100*float64(falseWatch)/runs, looks, 100*float64(missedWatch)/float64(max(1, quietWatch)), 100*float64(falseLaplace)/runs, 100*float64(missedLaplace)/runs)
		if paper >= repeated {
			t.Errorf("at %d a watch alarms falsely in %g of the runs, repeated Laplace in %g", d, paper, repeated)
		}
	}
}

// TestWatchLooksOnce: noise serves one look, and no look comes after the last alert, or without noise.
func TestWatchLooksOnce(t *testing.T) {
	ev := dp.Watch{PerUnit: 1, Threshold: 100, Alerts: 2, Scale: whole(1)}
	w, err := fixed(t).Watch(ev)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Look(1); err == nil {
		t.Error("a look without noise")
	}
	for i, n := range []int64{0, 100_000, 0, 100_000} {
		if err := w.Ahead(); err != nil {
			t.Fatal(err)
		}
		if alert, err := w.Look(n); err != nil || alert != (n > 0) {
			t.Errorf("look %d: %t, %v", i, alert, err)
		}
		if _, err := w.Look(n); err == nil {
			t.Errorf("look %d twice", i)
		}
	}
	if !w.IsEnded() || w.State().Alerts != 2 {
		t.Errorf("after its alerts: %+v", w.State())
	}
	if err := w.Ahead(); err != nil {
		t.Fatal(err)
	}
	if alert, err := w.Look(100_000); err == nil || alert {
		t.Error("a look after the last alert")
	}
	for _, n := range []int64{-1, dp.MaxChoiceUnits, math.MinInt64, math.MaxInt64} {
		w, err := fixed(t).Watch(ev)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Ahead(); err != nil {
			t.Fatal(err)
		}
		if alert, err := w.Look(n); err == nil || alert {
			t.Errorf("a count of %d is taken", n)
		}
	}
	for name, bad := range map[string]dp.Watch{"zero": {}, "no alerts": {PerUnit: 1, Scale: whole(1)}, "many alerts": {PerUnit: 1, Alerts: dp.MaxAlerts + 1, Scale: whole(1)}, "no rows": {Alerts: 1, Scale: whole(1)}, "no scale": {PerUnit: 1, Alerts: 1},
		"large threshold": {PerUnit: 1, Alerts: 1, Scale: whole(1), Threshold: dp.MaxChoiceUnits}, "large scale": {PerUnit: 1, Alerts: 1, Scale: whole(dp.MaxChoiceScale)}} {
		if w, err := fixed(t).Watch(bad); err == nil || w != nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := fixed(t).ResumeWatch(ev, WatchState{Raised: -1}); err == nil {
		t.Error("a threshold that was lowered is taken")
	}
	var none *Source
	if _, err := none.Watch(ev); err == nil {
		t.Error("noise from no source")
	}
	for reads := range 2 {
		src := newSource(&failsLater{left: reads, next: fixed(t).reader})
		if w, err := src.Watch(dp.Watch{PerUnit: 1, Alerts: 1, Scale: whole(1 << 30)}); err == nil {
			for range 4000 {
				if err = w.Ahead(); err != nil {
					break
				}
			}
			if !errors.Is(err, errBroken) && !errors.Is(err, io.ErrUnexpectedEOF) || w.ahead != nil {
				t.Errorf("after %d reads: %v", reads, err)
			}
		}
	}
}
