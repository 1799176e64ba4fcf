package noise

import (
	"errors"

	"github.com/dpsql/dpsql/internal/dp"
)

// Stopper runs one sparse vector: it says of scores, one after the other, whether one is the first at or below a noisy threshold. All its noise is drawn when it is made. It serves once, and one goroutine.
type Stopper struct {
	event     dp.Sparse
	threshold int64   // with its noise
	noise     []int64 // of the scores to come
}

// Stopper makes the mechanism of a sparse vector, with a public threshold.
func (s *Source) Stopper(ev dp.Sparse, threshold int64) (*Stopper, error) {
	if err := ev.Validate(); err != nil {
		return nil, err
	}
	if threshold < -MaxStep || threshold > MaxStep {
		return nil, errors.New("noise: a threshold is out of range")
	}
	own, noise := make([]int64, 1), make([]int64, ev.Scores)
	if err := s.fill(newLaplace(ev.Threshold), own); err != nil {
		return nil, err
	}
	if err := s.fill(newLaplace(ev.Query), noise); err != nil {
		return nil, err
	}
	for _, x := range append([]int64{own[0]}, noise...) {
		if x > MaxRaise || x < -MaxRaise {
			return nil, errRange // of probability below e^-2000 each
		}
	}
	return &Stopper{event: ev, threshold: threshold + own[0], noise: noise}, nil
}

// Below takes the next score and says whether to stop at it. Once it says so, or Scores of them were taken, the mechanism is spent: what is released is the index of the score that it stopped at, or that it stopped at none.
// The cap of a flow is not chosen so, but by Chooser.ChooseSteps: a sparse vector runs past good caps too often (docs/accuracy.md).
//
// Proof: claim: the index is e-DP with e = max(Up, Down)/bT + (Up + Down)/bQ, bT and bQ the scales. Assumption: of neighbours D and D' = D with one unit more, each score q of D and q' of D' have -Down <= q' - q <= Up, whatever the other scores. Sparse vector with one stop
// (Dwork, Roth 2014, Algorithm 1; Lyu, Su, Li 2017, Algorithm 7 with c = 1), for the first below in place of the first above, with discrete noise and with what is known of the direction. Let z be the noisy threshold, p its pmf, n_j the noise of score j. Stopping at i:
// P(i | D) = sum over z of p(z) prod_{j<i} P(q_j + n_j > z) P(q_i + n_i <= z). (1) D against D': q_j <= q'_j + Down, so P(q_j + n > z) <= P(q'_j + n > z - Down); and q'_i <= q_i + Up, so P(q_i + n <= z) <= P(q'_i + n <= z + Up), which is at most
// exp((Up + Down)/bQ) P(q'_i + n <= z - Down), as the law of n shifted by d whole steps has ratios within exp(d/bQ). p(z) <= exp(Down/bT) p(z - Down). The sum over all z of the products on the right, at z - Down, is P(i | D'). (2) D' against D: the same with Up and Down changed about.
// Stopping at none has no last factor. So the ratio is at most exp(max(Up, Down)/bT + (Up + Down)/bQ). General scores that move by at most d either way, without a direction, have Up = Down = d: d/bT + 2d/bQ, as those papers say; monotone ones Up/bT + Up/bQ.
// Facts kept here: the threshold's noise is drawn once and serves all scores, each score has noise of its own, all exact but for an error of probability below e^-2000 (MaxRaise); the comparison does not wrap; after a stop nothing more is compared.
func (p *Stopper) Below(score int64) (stop bool, err error) {
	if len(p.noise) == 0 {
		return false, errors.New("noise: a sparse vector is spent")
	}
	if score < -MaxStep || score > MaxStep {
		p.noise = nil
		return false, errors.New("noise: a score is out of range")
	}
	noisy := score + p.noise[0]
	if p.noise = p.noise[1:]; noisy > p.threshold {
		return false, nil
	}
	p.noise = nil
	return true, nil
}

// Event is what is run, for the ledger.
func (p *Stopper) Event() dp.Sparse { return p.event }
