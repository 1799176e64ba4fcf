package noise

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// Watch runs the looks of a watch by the sparse vector technique. It is for one goroutine.
type Watch struct {
	source *Source
	event  dp.Watch
	state  WatchState
	ahead  []int64 // what the next look's count is raised by, and the threshold after an alert; nil: not drawn
}

// WatchState is what a watch goes on from. It is secret: who knows Raised learns more of a look than whether it was an alert.
type WatchState struct {
	Raised int64  `json:"raised"` // what the threshold is raised by, until the next alert
	Alerts uint64 `json:"alerts"` // that there were
}

var errWatch = errors.New("noise: the watch cannot look")

// Watch begins a watch.
func (s *Source) Watch(ev dp.Watch) (*Watch, error) {
	w, err := s.ResumeWatch(ev, WatchState{})
	if err != nil {
		return nil, err
	}
	var first [1]int64
	if err := s.fill(geometricLaw{newLaplace(ev.Scale)}, first[:]); err != nil {
		return nil, err
	}
	w.state.Raised = first[0]
	return w, nil
}

// ResumeWatch goes on with a watch from its state.
func (s *Source) ResumeWatch(ev dp.Watch, state WatchState) (*Watch, error) {
	if err := ev.Validate(); err != nil {
		return nil, err
	}
	if state.Raised < 0 {
		return nil, errWatch
	}
	return &Watch{source: s, event: ev, state: state}, nil
}

// Ahead draws the noise of the next look: before the count is read, so that the time of a look does not follow its noise.
func (w *Watch) Ahead() error {
	w.ahead = make([]int64, 2)
	err := w.source.fill(geometricLaw{newLaplace(w.event.Scale)}, w.ahead)
	if err != nil {
		w.ahead = nil
	}
	return err
}

// Look says whether the noisy count is at or above the noisy threshold. It needs an Ahead of its own.
//
// Proof: claim: from one alert to the next the outcomes are 2m/b-DP, m = PerUnit and b = Scale, so a watch of c alerts is 2cm/b-DP, whoever chooses when it looks and whatever else is asked meanwhile.
// Assumptions: (1) one unit more raises the count of each look by 0 to m and lowers none; (2) the event is public, and fixed at the start. Facts kept here: (3) the g_k of the looks and g of the threshold are
// independent, each x >= 0 with probability (1-q) q^x, q = exp(-1/b), and drawn before the count is known; (4) each look has its own g_k; (5) g is drawn anew after each alert, and at no other time;
// (6) the outcome is whether N_k + g_k >= T + g, and nothing else leaves; (7) after c alerts there is no look.
// Let t(x) = P(g_k >= x) = q^max(x, 0): it does not rise, and t(x) <= e^(m/b) t(x+m). Given g = r, P(i), that the first alert is at look i, is the product of 1 - t(T + r - N_j) over j < i and of t(T + r - N_i); that
// there is none yet lacks the last factor. Let N' be the counts with one unit more: N_j <= N'_j <= N_j + m by (1). Upwards, at the same r: 1 - t(T + r - N'_j) <= 1 - t(T + r - N_j) and t(T + r - N'_i) <= e^(m/b) t(T + r - N_i):
// P'(i) <= e^(m/b) P(i). Downwards: 1 - t(T + r - N_j) <= 1 - t(T + (r+m) - N'_j), t(T + r - N_i) <= t(T + r - N'_i) <= e^(m/b) t(T + (r+m) - N'_i), and P(g = r) = e^(m/b) P(g = r+m). The sum over r >= 0 is at most e^(2m/b) times that
// over r+m, so P(i) <= e^(2m/b) P'(i). The counts may depend on earlier outcomes, which are the same on both sides: so this holds of each part between alerts given what was before it, by (4) and (5) with fresh noise, and c parts add up.
// Source: Dwork, Naor, Reingold, Rothblum, Vadhan 2009 (sparse vector); Lyu, Su, Li, "Understanding the sparse vector technique for differential privacy", PVLDB 2017: Algorithm 2 redraws the threshold's noise, and by Theorem 4, for
// monotone counts, the noise of a look needs no factor 2. Noise of one sign is all that these steps ask for. What others are asked between the looks is budget's watchLoss.
func (w *Watch) Look(count int64) (alert bool, err error) {
	ahead := w.ahead
	w.ahead = nil // (4) no other look has it
	switch {
	case len(ahead) != 2, w.IsEnded(): // (7)
		return false, errWatch
	case count < 0 || count >= dp.MaxChoiceUnits:
		return false, errors.New("noise: a count is out of range")
	}
	alert = count-int64(w.event.Threshold) >= w.state.Raised-ahead[0] // (6) without an overflow: noise is not negative
	if alert {
		w.state = WatchState{Raised: ahead[1], Alerts: w.state.Alerts + 1} // (5)
	}
	return alert, nil
}

// IsEnded says whether the watch had all of its alerts.
func (w *Watch) IsEnded() bool { return w.state.Alerts >= w.event.Alerts }

// State is what the watch goes on from.
func (w *Watch) State() WatchState { return w.state }

// Event is what is run, for the ledger.
func (w *Watch) Event() dp.Watch { return w.event }

// WatchWithin is the least distance from the threshold at which one look is right with probability 0.95 or more: an alert at a count that is as much above it, none at one that is as much below.
//
// Proof: g - g_k is a difference of two geometric numbers of one ratio q, which is discrete Laplace noise of the same scale. At a count of T + d there is no alert with P(g - g_k > d) = q^(d+1)/(1+q), at T - d there is one with
// P(g - g_k <= -d) = q^d/(1+q), the larger of the two. It is at most 1/20 from d = b ln(20/(1+q)) on. It is shown, and decides nothing: float64 serves.
func WatchWithin(ev dp.Watch) float64 {
	b := ev.Scale.Float()
	return math.Max(0, math.Ceil(b*math.Log(20/(1+math.Exp(-1/b)))))
}
