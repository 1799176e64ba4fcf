package descent

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/noise"
)

// Plan is a training by noisy gradients, from public numbers alone.
type Plan struct {
	Learner                       Learner
	Rows                          int     // of one unit
	Clip                          float64 // of a unit's summed gradient
	Rate                          float64 // at which units are sampled
	Steps                         int
	Noise                         float64 // multiplier: the deviation in clips
	Population                    float64 // declared: sums are divided by Rate Population, never by a number of rows
	LearningRate, Momentum, Decay float64
	Adam                          bool // steps by running moments of the noisy gradients, which are post-processing
	Clipping                      Clipping
	Quantile, ClipRate            float64 // that an adaptive clip follows, and how fast
	Schedule                      Schedule
	Until                         func() error // asked between trials while the noise is looked for; its error ends that; nil: nothing does
	Average                       float64      // the part of the last steps whose parameters are averaged; 0: the last ones
}

// Calibrate sets the least noise at which the steps together are (epsilon, delta)-DP.
//
// Proof: each step is a Gaussian mechanism of multiplier Noise on a Poisson sample at Rate, chosen adaptively by the earlier ones' outputs (summer.step); account.Compose bounds what a fixed number of them loses together, which holds for adaptive choice of what is asked at fixed noise, by privacy
// loss distributions. At rate 1 the composition is a Gaussian mechanism of multiplier Noise/sqrt(Steps) (Dong, Roth, Su 2022, Corollary 3.3). Everything else of the training is a function of what the steps gave.
func (p *Plan) Calibrate(epsilon, delta float64) error {
	if p.Rate == 1 {
		p.Noise = account.GaussianSigma(epsilon, delta) * math.Sqrt(float64(p.Steps)) * (1 + 1e-9)
		return nil
	}
	var err error
	until := p.Until
	if until == nil {
		until = func() error { return nil }
	}
	p.Noise, err = account.SampledGaussianSigma(p.Rate, p.Steps, epsilon, delta, until)
	return err
}

// Epsilon is what the steps together spend at the noise that is set. Its proof is Calibrate's.
func (p *Plan) Epsilon(delta float64) (float64, error) {
	if p.Rate == 1 {
		return account.GaussianEpsilon(math.Sqrt(float64(p.Steps))/p.Noise, delta) * (1 + 1e-9), nil
	}
	c, err := account.Compose(account.Step{Mechanism: account.Gaussian{Sigma: p.Noise}, Rate: p.Rate, Count: p.Steps})
	if err != nil {
		return 0, err
	}
	if p.Until == nil {
		return c.Epsilon(delta), nil
	}
	c.Until(p.Until)
	epsilon := c.Epsilon(delta)
	return epsilon, p.Until()
}

// Composed is what Train runs, by its Renyi loss: its steps, each at the noise and the rate that are set. Its proof is Calibrate's.
func (p *Plan) Composed() dp.Composed {
	return dp.Composed{Multiplier: p.Noise, Rate: p.Rate, Steps: uint64(max(0, p.Steps))}
}

// mostParameter ends a training whose parameters grow beyond it, as soon as they do: a function of what was released, like they are. Scores of larger ones could leave float64, and then be a number or none as private rows have it.
const mostParameter = 1e12

// ErrDiverged ends such a training.
var ErrDiverged = errors.New("descent: the training diverged")

// LeastClip and MostClip bound the clip. A step divides by it, and an adaptive one may go 2^20 times as far either way: squares of gradients of that size, and what they are multiplied by, are within float64 by hundreds of orders of magnitude.
const (
	LeastClip = 1e-6
	MostClip  = 1e9
)

var errPlan = errors.New("descent: a training needs a clip within its bounds, a rate in (0, 1], steps, a population, a learning rate, and noise of a deviation that there is")

// Check refuses a plan that Train would refuse.
func (p *Plan) Check() error {
	if !(p.Clip >= LeastClip && p.Clip <= MostClip) || !(p.Rate > 0 && p.Rate <= 1) || p.Steps < 1 || !(p.Noise > 0) || !(p.Population >= 1) || !(p.LearningRate > 0) || !p.known() || !(p.deviation() < noise.MaxNormalSigma) {
		return errPlan
	}
	return nil
}

// Train takes the steps and releases the parameters.
func (p *Plan) Train(t *data.Table, src *noise.Source, each func(step int) error) ([]float64, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	sigma := p.deviation()
	n, err := src.Normal(uint64(sigma))
	if err != nil {
		return nil, err
	}
	coins, err := src.Coins(p.Rate)
	if err != nil {
		return nil, err
	}
	return p.train(t, n, func(batch []int32) ([]int32, error) { return coins.Sample(batch, t.Units()) }, each)
}

func (p *Plan) train(t *data.Table, n adder, sample func([]int32) ([]int32, error), each func(step int) error) ([]float64, error) {
	theta := p.Learner.Start()
	size := len(theta)
	s := &summer{table: t, learner: p.Learner, clip: p.Clip, noise: n, automatic: p.Clipping == Automatic, count: p.countSteps()}
	velocity, mean := make([]float64, size), make([]float64, size)
	from := p.Steps - max(1, int(p.Average*float64(p.Steps)))
	var batch []int32
	adam := &moments{make([]float64, size), make([]float64, size)}
	for step := range p.Steps {
		if err := each(step); err != nil {
			return nil, err
		}
		s.continueCheck = data.Ask(func() error { return each(step) })
		var err error
		if batch, err = sample(batch[:0]); err != nil {
			return nil, err
		}
		g, err := s.step(theta, batch)
		if err != nil {
			return nil, err
		}
		if p.Clipping == Adaptive {
			s.clip = p.follow(s.clip, s.within)
		}
		rate := p.rate(step)
		for j := range theta {
			if p.Adam {
				theta[j] -= adam.step(rate, j, step, g[j]/(p.Rate*p.Population))
				if step >= from {
					mean[j] += theta[j] / float64(p.Steps-from)
				}
				continue
			}
			velocity[j] = p.Momentum*velocity[j] + g[j]/(p.Rate*p.Population) + p.Decay*theta[j]
			theta[j] -= rate * velocity[j]
			if step >= from {
				mean[j] += theta[j] / float64(p.Steps-from)
			}
		}
		if !(floats.Norm(theta, math.Inf(1)) <= mostParameter) {
			return nil, ErrDiverged
		}
	}
	return mean, nil
}

// moments are Adam's running means of gradients and their squares (Kingma, Ba 2015).
type moments struct{ first, second []float64 }

func (m *moments) step(rate float64, j, step int, g float64) float64 {
	const one, two = 0.9, 0.999
	m.first[j] = one*m.first[j] + (1-one)*g
	m.second[j] = two*m.second[j] + (1-two)*g*g
	n := float64(step + 1)
	return rate * m.first[j] / (1 - math.Pow(one, n)) / (math.Sqrt(m.second[j]/(1-math.Pow(two, n))) + 1e-8)
}
