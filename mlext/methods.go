package mlext

import (
	"math"
	"slices"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext/convex"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/descent"
	"github.com/dpsql/dpsql/noise"
)

// method is a way of training: one line here and one package.
type method struct {
	name    string
	models  []string // that its proof covers; nil: all
	why     string   // it does not cover others
	network bool     // it trains networks
	options []string
	plan    func(t *Training) (run, error)
	pure    func(t *Training) (run, error) // for a delta of 0; nil: it has none
}

var methods []method

var oneScore = []string{"logistic_regression", "svm", "linear_regression", "poisson_regression"}

func init() { // the methods' functions read the registry
	methods = []method{
		{name: "objective_perturbation", options: []string{"lambda", "noise_multiplier"}, plan: planObjective(convex.Redberg), pure: planPureObjective},
		{name: "kifer_2012", models: oneScore, why: "its theorem is of one score", options: []string{"lambda", "noise_multiplier"}, plan: planObjective(convex.Kifer)},
		{name: "amp", models: oneScore, why: "its theorem is of one score", options: []string{"lambda", "noise_multiplier"}, plan: planObjective(convex.Iyengar)},
		{name: "output_perturbation", options: []string{"lambda", "noise_multiplier"}, plan: planOutput, pure: planPureOutput},
		{name: "sufficient_statistics", models: []string{"linear_regression", "logistic_regression"}, why: "its minimum is not a function of second moments", options: []string{"lambda", "noise_multiplier"}, plan: planMoments, pure: planPureMoments},
		{name: "posterior_sample", models: []string{"linear_regression"}, why: "its posterior has no closed form", options: []string{"lambda"}, plan: planPosterior},
		{name: "dp_gd", network: true, options: []string{"steps", "clip", "learning_rate", "momentum", "average", "decay", "population", "noise_multiplier", "schedule", "clipping", "clip_quantile", "clip_rate"}, plan: planDescent},
		{name: "dp_adam", network: true, options: []string{"steps", "clip", "learning_rate", "average", "population", "sampling_rate", "noise_multiplier", "schedule", "clipping", "clip_quantile", "clip_rate"}, plan: planDescent},
		{name: "dp_sgd", network: true, options: []string{"steps", "clip", "learning_rate", "momentum", "average", "decay", "population", "sampling_rate", "noise_multiplier", "schedule", "clipping", "clip_quantile", "clip_rate"}, plan: planDescent},
	}
}

// Methods are the names of all methods.
func Methods() (out []string) {
	for _, m := range methods {
		out = append(out, m.name)
	}
	return out
}

func methodOf(name string) *method {
	for i := range methods {
		if methods[i].name == name {
			return &methods[i]
		}
	}
	return nil
}

func (m *method) refuses(f *family) string {
	switch {
	case f.network && !m.network:
		return "it has no proof for networks, whose loss is not convex"
	case f.network || m.models == nil || slices.Contains(m.models, f.name):
		return ""
	}
	return m.why
}

func planObjective(by convex.Theorem) func(*Training) (run, error) {
	return func(t *Training) (run, error) {
		if by != convex.Redberg && t.Rows > 1 {
			return nil, sqlerr.New(sqlerr.InvalidParam, "method %s has no proof for several rows of a person, of whom at most %d count here", t.Method, t.Rows).WithHint("WITH (max_rows_per_unit = 1), or METHOD objective_perturbation.")
		}
		t.most = t.mostRows()
		plan := func(epsilon float64) (*convex.Objective, error) {
			o, err := convex.NewObjective(by, t.Loss, t.width, t.Rows, epsilon, t.Delta, t.Spec.number("lambda", 0))
			if o != nil {
				err = o.ForRows(t.most)
			}
			return o, err
		}
		if err := t.fromNoise(func(epsilon float64) float64 {
			if o, err := plan(epsilon); err == nil {
				return o.Sigma / (t.Loss.Lipschitz * float64(t.Rows))
			}
			return math.Inf(1)
		}); err != nil {
			return nil, err
		}
		o, err := plan(t.Epsilon)
		if err != nil {
			return nil, t.inexact(err)
		}
		if c, ok := o.Composed(); ok {
			t.composed(c)
		}
		t.fact("lambda", "%.6g", o.Lambda)
		t.fact("sigma", "%.6g", o.Sigma)
		t.fact("output sigma", "%.3g", o.OutSigma)
		t.fact("accountant", "%s, and Gaussian noise for how exactly the minimum is found", t.extended(string(by)))
		return solved(o.Train), nil
	}
}

// inexact refuses what cannot be calibrated.
func (t *Training) inexact(err error) error {
	e := sqlerr.New(sqlerr.InvalidParam, "%s cannot be calibrated to epsilon %g", t.Method, t.Epsilon).WithCause(err)
	if t.Method == "sufficient_statistics" {
		return e.WithHint("Take a larger epsilon, fewer features or METHOD objective_perturbation.")
	}
	if at, ok := t.Spec.at["lambda"]; ok {
		return e.At(int(at)).WithHint("Leave lambda out, which follows from epsilon, or take a larger one.")
	}
	if t.Spec.Pure {
		return e.WithHint("Take a larger epsilon, fewer features or a delta.")
	}
	return e.WithHint("Take a larger epsilon, fewer features or METHOD dp_gd.")
}

// mostRows is how many rows a training takes whose minimum must be found exactly, from public numbers: four times those of the declared people, and a million at least; where nobody declared them a number that is far from most tables, for a little more noise.
func (t *Training) mostRows() int {
	if t.Population == 0 {
		return convex.UsualRows
	}
	return int(math.Min(math.MaxInt32, math.Max(1<<20, 4*t.Population*float64(t.Rows))))
}

// extended says of a published theorem, which is of one row a person and one score, that the bound for more is this project's own (package account).
func (t *Training) extended(theorem string) string {
	if t.Rows > 1 || t.Loss.Outputs > 1 {
		return theorem + " as dpsql extends it"
	}
	return theorem
}

// composed says what is run, by its Renyi loss: the noise that Train draws is of at least that multiplier in each of its steps.
func (t *Training) composed(c dp.Composed) {
	c.Method = t.Method
	t.Composed = &c
}

// solved is a training that ends when a minimum is found.
func solved(train func(*data.Table, *noise.Source, func() error) (*convex.Model, error)) run {
	return func(rows *data.Table, src *noise.Source, each func(int, int) error) ([]float64, float64, error) {
		m, err := train(rows, src, func() error { return each(0, 0) })
		if err != nil {
			return nil, 0, err
		}
		return m.Theta, m.Step, nil
	}
}

// gaussian is the epsilon of one Gaussian mechanism, where its noise multiplier was asked for.
func (t *Training) gaussian() error {
	return t.fromNoise(func(epsilon float64) float64 { return convex.Multiplier(epsilon, t.Delta) })
}

func planOutput(t *Training) (run, error) {
	if err := t.gaussian(); err != nil {
		return nil, err
	}
	o, err := convex.NewOutput(t.Loss, t.width, t.Rows, t.Epsilon, t.Delta, t.Spec.number("lambda", 0))
	if t.most = t.mostRows(); o != nil {
		err = o.ForRows(t.most)
	}
	if err != nil {
		return nil, t.inexact(err)
	}
	t.composed(o.Composed())
	t.fact("lambda", "%.6g", o.Lambda)
	t.fact("output sigma", "%.6g", o.Sigma)
	t.fact("accountant", "Gaussian mechanism, exact")
	return solved(o.Train), nil
}

// fewMoments refuses more products of features than can be held and solved for.
func (t *Training) fewMoments() error {
	if t.width > convex.MostMoments {
		return sqlerr.New(sqlerr.TooComplex, "method sufficient_statistics multiplies all features with each other: they are %d numbers, the limit is %d", t.width, convex.MostMoments).WithHint("Leave METHOD out for the usual one, or use fewer features.")
	}
	return nil
}

func planMoments(t *Training) (run, error) {
	if err := t.fewMoments(); err != nil {
		return nil, err
	}
	if err := t.gaussian(); err != nil {
		return nil, err
	}
	m, err := convex.NewMoments(t.width, t.Rows, 1, t.Epsilon, t.Delta)
	if err != nil {
		return nil, t.inexact(err)
	}
	t.composed(m.Composed())
	t.fact("sigma", "%.6g", m.Sigma)
	t.fact("accountant", "Gaussian mechanism, exact")
	return t.regression(m), nil
}

// regression trains by moments.
func (t *Training) regression(m *convex.Moments) run {
	t.most = convex.MostMomentRows
	m.Lambda = t.Spec.number("lambda", 0)
	centre, times := func(y float64) float64 { return y }, 1.0
	if t.classes() { // least squares of -1 and 1; the odds of a score z near 0 are about e^2z
		centre, times = func(y float64) float64 { return 2*y - 1 }, 2
	}
	return func(rows *data.Table, src *noise.Source, each func(int, int) error) ([]float64, float64, error) {
		out, err := m.Train(rows, src, centre, func() error { return each(0, 0) })
		if err != nil {
			return nil, 0, err
		}
		for j := range out.Theta {
			out.Theta[j] *= times
		}
		return out.Theta, 0, nil
	}
}

// clipping reads how gradients are clipped and how the learning rate falls.
func (t *Training) clipping(p *descent.Plan) {
	s := t.Spec
	p.Quantile, p.ClipRate = s.number("clip_quantile", 0.5), s.number("clip_rate", 0.2)
	p.Clipping = map[string]descent.Clipping{"adaptive": descent.Adaptive, "automatic": descent.Automatic}[s.words["clipping"]]
	p.Schedule = map[string]descent.Schedule{"linear": descent.Linear, "cosine": descent.Cosine}[s.words["schedule"]]
}

// usualSteps are those of noisy gradients without the option.
const usualSteps = 400

// mostSampled is how many steps may be of samples: the time to find their noise, in a free EXPLAIN too, grows with them.
const mostSampled = 100_000

// mostDrift is how long noise may be, in clips, in the mean of all steps' gradients, before a smaller clip serves better. On Adult, Bank,
// diabetes130 and MNIST's 3 and 8 half of the clip predicted better above 0.004, and all of it below 0.0025.
const mostDrift = 0.003

// usualClip is the clip without the option. For linear models it is what a row's gradient may be long, the Lipschitz constant: a smaller
// clip shortens mostly the gradients of the rarer class, and predicts too little of it. It is half of that where noise would outweigh
// this: with many parameters, few people and a small epsilon. The gradients of a network have no bound.
func (t *Training) usualClip(p *descent.Plan) float64 {
	if t.family.images {
		return imageClip
	}
	if t.family.network {
		return networkClip
	}
	clip := t.Loss.Lipschitz
	if drift := p.Noise * math.Sqrt(float64(t.size())/float64(p.Steps)) / (p.Rate * p.Population); drift > mostDrift {
		clip /= 2
	}
	return math.Max(descent.LeastClip, math.Min(descent.MostClip, clip))
}

func planDescent(t *Training) (run, error) {
	s := t.Spec
	n := s.number("population", t.Population)
	if n == 0 {
		return nil, sqlerr.New(sqlerr.InvalidParam, "method %s divides by the number of people, which is private: the policy must declare its population", t.Method).
			WithHint("Say about how many people there are: WITH (population = 10000). It is a guess of yours, not read from the data.")
	}
	p := &descent.Plan{Until: s.Until, Learner: t.learner(), Rows: t.Rows, Rate: 1, Population: n,
		Momentum: s.number("momentum", 0), Average: s.number("average", 0.3), Decay: s.number("decay", 0)}
	p.LearningRate = s.number("learning_rate", t.learningRate()*(1-p.Momentum))
	switch t.Method {
	case "dp_sgd":
		p.Rate = s.number("sampling_rate", 0.15)
	case "dp_adam":
		p.Rate, p.Adam = s.number("sampling_rate", 1), true
		p.LearningRate = s.number("learning_rate", 0.3)
	}
	if t.family.network {
		t.architecture()
		p.LearningRate = s.number("learning_rate", networkRate[p.Adam]*(1-p.Momentum))
	}
	if t.family.images {
		p.LearningRate = s.number("learning_rate", imageRate[p.Adam]*(1-p.Momentum))
		if t.Method != "dp_gd" {
			p.Rate = s.number("sampling_rate", imageSampling)
		}
	}
	t.clipping(p)
	steps := float64(usualSteps)
	switch {
	case t.family.images:
		steps = imageSteps
	case t.family.network:
		steps = networkSteps
	case s.Noise() == 0 && t.Epsilon < 0.3:
		steps = 100
	}
	p.Steps = int(s.number("steps", steps))
	if p.Rate < 1 && p.Steps > mostSampled {
		return nil, sqlerr.New(sqlerr.InvalidParam, "%d steps at a sampling rate of %g are too many to find their noise", p.Steps, p.Rate).At(int(s.at["steps"])).WithHint("Take %d at most, or WITH (sampling_rate = 1).", mostSampled)
	}
	if p.Noise = s.Noise(); p.Noise > 0 {
		var err error
		if t.Epsilon, err = p.Epsilon(t.Delta); err != nil {
			return nil, err
		}
		if err := t.withinNoise(); err != nil {
			return nil, err
		}
	} else if err := p.Calibrate(t.Epsilon, t.Delta); err != nil {
		return nil, sqlerr.New(sqlerr.InvalidParam, "%d steps at a sampling rate of %g cannot be calibrated to epsilon %g", p.Steps, p.Rate, t.Epsilon).WithHint("Take fewer steps, or a larger epsilon.").WithCause(err)
	}
	p.Clip = s.number("clip", t.usualClip(p))
	if err := p.Check(); err != nil {
		return nil, sqlerr.New(sqlerr.InvalidParam, "these options make no training: the noise of %d steps at epsilon %g and a population of %g is beyond what is computed", p.Steps, t.Epsilon, n).WithHint("Take fewer steps, a larger epsilon or the number of people that there are.").WithCause(err)
	}
	t.composed(p.Composed())
	t.fact("steps", "%d", p.Steps)
	t.fact("sampling rate", "%g", p.Rate)
	t.fact("expected batch", "%.0f", math.Round(p.Rate*n))
	t.fact("clip", "%g", p.Clip)
	t.fact("noise multiplier", "%.6g", p.Noise)
	t.fact("learning rate", "%g", p.LearningRate)
	t.fact("momentum", "%g", p.Momentum)
	t.fact("decay", "%g", p.Decay)
	t.fact("averaged", "the last %d steps", max(1, int(p.Average*float64(p.Steps))))
	if s.words["clipping"] != "" {
		t.fact("clipping", "%s", s.words["clipping"])
	}
	if s.words["schedule"] != "" {
		t.fact("schedule", "%s", s.words["schedule"])
	}
	t.fact("accountant", "%s", map[bool]string{true: "exact composition of Gaussian mechanisms", false: "privacy loss distribution"}[p.Rate == 1])
	return func(rows *data.Table, src *noise.Source, each func(int, int) error) ([]float64, float64, error) {
		theta, err := p.Train(rows, src, func(step int) error { return each(step, p.Steps) })
		if err != nil {
			return nil, 0, err
		}
		return theta, 0, nil
	}, nil
}
