package descent

import (
	"math"
	"os"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// What audits claim.
const (
	auditEpsilon = 2.25
	auditDelta   = 1e-6
)

// auditSize is how many trainings an audit takes: few hide less, so that a claim that is broken by little is seen with many only.
func auditSize(few, many int) int {
	if os.Getenv("DPSQL_LONG") != "" {
		return many
	}
	return few
}

// careless is noise that does something else to the totals.
type careless func(totals []int64) error

func (c careless) Add(totals []int64) error { return c(totals) }

// audited bounds the epsilon of trainings of a plan. Each canary's gradient is of the loss's largest norm as long as parameters are small, which the declared population sees to. bug, if not nil, changes the plan and gives what adds the noise.
func audited(t *testing.T, g audit.Game, p Plan, unitRows, asUnits int, bug func(p *Plan, n *noise.Normal, batch func() int) adder) float64 {
	t.Helper()
	p.Learner, p.Population, p.LearningRate = NewLinear(loss.Hinge(0.5), g.Canaries), 1e6, 1
	if err := p.Calibrate(auditEpsilon, auditDelta); err != nil {
		t.Fatal(err)
	}
	honest := p
	got, err := g.Play(func(in []bool, src *noise.Source) ([]float64, error) {
		p, size := honest, 0
		table, err := audit.Table(in, asUnits, unitRows)
		if err != nil {
			return nil, err
		}
		if bug == nil {
			return p.Train(table, src, func(int) error { return nil })
		}
		n, err := src.Normal(uint64(math.Ceil(p.Noise * Unit)))
		if err != nil {
			return nil, err
		}
		coins, err := src.Coins(p.Rate)
		if err != nil {
			return nil, err
		}
		add := bug(&p, n, func() int { return size })
		theta, err := p.train(table, add, func(batch []int32) ([]int32, error) {
			batch, err := coins.Sample(batch, table.Units())
			size = len(batch)
			return batch, err
		}, func(int) error { return nil })
		if err == nil && g.Canaries == 1 { // alone, a canary that is in has noise beside it
			theta[0] = math.Abs(theta[0])
		}
		return theta, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestAttack33Canaries: what one can learn of canaries from the parameters is under the claim, and at least half of it where all units are in each step; with each planted bug it is above. Noise and canaries follow from seeds, so an outcome is always the same; a bound is wrong with a
// probability of 1% at most over seeds.
func TestAttack33Canaries(t *testing.T) {
	const clip = 0.5
	full, sampled := Plan{Rows: 1, Clip: clip, Rate: 1, Steps: 2}, Plan{Rows: 1, Clip: clip, Rate: 0.15, Steps: 20}
	several, short := Plan{Rows: 4, Clip: clip, Rate: 1, Steps: 2}, Plan{Rows: 1, Clip: clip / 10, Rate: 1, Steps: 2}
	game := func(seed uint64, runs int) audit.Game {
		return audit.Game{Runs: runs, Canaries: 100, Share: 0.01, Delta: auditDelta, P: 0.01, Seed: seed}
	}
	for name, c := range map[string]struct {
		game              audit.Game
		plan              Plan
		unitRows, asUnits int
		bug               func(p *Plan, n *noise.Normal, batch func() int) adder
		least, most       float64
	}{
		"all units":         {game(1, 1000), full, 1, 1, nil, auditEpsilon / 2, auditEpsilon},
		"samples":           {game(2, auditSize(20, 1000)), sampled, 1, 1, nil, 0, auditEpsilon},
		"several rows":      {game(3, auditSize(100, 1000)), several, 4, 4, nil, 0, auditEpsilon},
		"more rows":         {game(4, auditSize(100, 1000)), several, 40, 40, nil, 0, auditEpsilon}, // a unit is clipped as a whole, however many rows it has
		"half of the noise": {game(5, 1000), full, 1, 1, func(p *Plan, n *noise.Normal, _ func() int) adder { return half(n) }, auditEpsilon, 40},
		"rows are clipped":  {game(6, 100), several, 4, 1, nil, auditEpsilon, 40},
		"the average is clipped": {audit.Game{Runs: 10, Canaries: 100, Share: 0.2, Delta: auditDelta, P: 0.01, Seed: 7}, short, 1, 1, func(p *Plan, n *noise.Normal, batch func() int) adder {
			p.Clip = 64 * short.Clip // cuts nothing
			return clippedLate(n, 64, batch)
		}, auditEpsilon, 40},
		"empty batches are skipped": {audit.Game{Runs: 1000, Canaries: 1, Share: 0.5, Delta: auditDelta, P: 0.01, Seed: 8}, full, 1, 1, func(_ *Plan, n *noise.Normal, batch func() int) adder {
			return careless(func(totals []int64) error {
				if batch() == 0 {
					return nil
				}
				return n.Add(totals)
			})
		}, auditEpsilon, 40},
	} {
		t.Run(name, func(t *testing.T) {
			got := audited(t, c.game, c.plan, c.unitRows, c.asUnits, c.bug)
			if got < c.least || got > c.most {
				t.Errorf("epsilon is at least %.3f, want %g to %g", got, c.least, c.most)
			}
			t.Logf("epsilon is at least %.3f, the claim is %g", got, auditEpsilon)
		})
	}
}

// half adds half of the noise: what it draws is rounded twice, which makes no difference of it.
func half(n *noise.Normal) adder {
	return careless(func(totals []int64) error {
		drawn := make([]int64, len(totals))
		err := n.Add(drawn)
		for j, v := range drawn {
			totals[j] += v / 2
		}
		return err
	})
}

// clippedLate clips the mean of a batch's gradients, and adds the noise of a mean of clipped ones. Totals are in steps of a clip that is coarse times the one that is meant.
func clippedLate(n *noise.Normal, coarse int64, batch func() int) adder {
	return careless(func(totals []int64) error {
		mean := make([]float64, len(totals))
		for j, v := range totals {
			mean[j] = float64(v) / float64(max(1, batch()))
		}
		by := 1.0
		if long := floats.Norm(mean, 2) / (float64(Unit) / float64(coarse)); long > 1 {
			by = 1 / long
		}
		drawn := make([]int64, len(totals))
		err := n.Add(drawn)
		for j := range totals {
			totals[j] = int64(float64(totals[j])*by) + drawn[j]/coarse
		}
		return err
	})
}
