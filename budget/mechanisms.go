package budget

import (
	"fmt"
	"math"
	"reflect"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// mechanism is how the accountants read one type of event: its loss in the filter, and its parts for Charges.
type mechanism struct {
	loss func(*Filter, dp.Event) (dp.Loss, error)
	add  func(*parts, dp.Event)
}

// mechanisms has a row for each type of event.
//
// Proof of what is added for Charges: of noise on each entry, at most Groups entries move by at most PerGroup, each independently: Groups pieces of a shift by PerGroup (geometric's and discrete's proofs: it dominates
// smaller ones; and of Laplace noise with Groups 1 every vector of that L1 norm, laplaceRenyi's proof). Discrete Gaussian noise is D^2/(2 sigma^2)-zCDP (Canonne, Kamath, Steinke 2020, Theorem 14), and not GDP of the continuous mu. What has a pure epsilon e is
// e tanh(e/2)-zCDP (account.RhoOfPure), 2 Phi^-1(e^e/(1+e^e))-GDP (account.MuOfPure) and dominated by randomised response; losses in an interval of length L, 1/b or 3/b, are L^2/8-zCDP
// (choiceLoss, thresholdLoss). Noise at a bound that is chosen: clippedLoss's proof, by the pure loss 1/Ratio or by rho = 1/(2 Ratio^2), whatever is chosen.
var mechanisms = map[reflect.Type]mechanism{
	typeOf[dp.Laplace]():        row((*Filter).laplaceLoss, (*parts).addLaplace),
	typeOf[dp.Gaussian]():       row((*Filter).gaussianLoss, (*parts).addGaussian),
	typeOf[dp.Picks]():          row((*Filter).picksLoss, (*parts).addPicks),
	typeOf[dp.Selection]():      row((*Filter).selectionLoss, (*parts).addSelection),
	typeOf[dp.OneOf]():          row((*Filter).oneOfLoss, (*parts).addOneOf),
	typeOf[dp.Choice]():         row((*Filter).boundLoss, (*parts).addChoice),
	typeOf[dp.AboveThreshold](): row((*Filter).aboveThresholdLoss, (*parts).addAboveThreshold),
	typeOf[dp.Clipped]():        row((*Filter).clippedLoss, (*parts).addClipped),
	typeOf[dp.SmoothScale]():    row((*Filter).smoothLoss, (*parts).addSmoothScale),
	typeOf[dp.Training]():       row((*Filter).trainingLoss, (*parts).addTraining),
	typeOf[dp.Composed]():       row((*Filter).composedLoss, (*parts).addComposed),
	typeOf[dp.Watch]():          row((*Filter).watchLoss, (*parts).addWatch),
}

// lawLosses has a row for each kind of noise: the Renyi loss at a bound that is chosen, where the pure loss would be one (clippedLoss); and of a selection how often it keeps a group of one unit, given 1/scale (selectionDelta), and the least scale
// within a limit.
var lawLosses = map[dp.NoiseKind]struct {
	clipped func(order float64, least uint64, groups, one enclosure) enclosure
	kept    func(threshold, t enclosure) enclosure
	scale   func(f *Filter, groups uint64, l Limit) (dp.Scale, error)
}{
	dp.LaplaceNoise:      {clipped: laplaceClipped},
	dp.GaussianNoise:     {clipped: gaussianClipped, kept: gaussianKept, scale: (*Filter).gaussianSelectionScale},
	dp.GaussianNormNoise: {clipped: gaussianClipped},
	dp.PickNoise:         {clipped: picksClipped},
	dp.TruncatedNoise:    {kept: truncatedKept, scale: (*Filter).truncatedSelectionScale},
}

func laplaceClipped(order float64, least uint64, groups, one enclosure) enclosure {
	return groups.times(shiftedLaplace(order, least, one.over(groups.times(exactUint(least)))))
}

func gaussianClipped(order float64, _ uint64, _, one enclosure) enclosure {
	return exactly(order / 2).times(one).times(one)
}

func picksClipped(order float64, _ uint64, groups, one enclosure) enclosure {
	return groups.times(randomizedResponse(order, one.over(groups)))
}

func typeOf[E dp.Event]() reflect.Type { return reflect.TypeFor[E]() }

func row[E dp.Event](loss func(*Filter, E) (dp.Loss, error), add func(*parts, E)) mechanism {
	return mechanism{
		loss: func(f *Filter, ev dp.Event) (dp.Loss, error) { return loss(f, ev.(E)) },
		add:  func(p *parts, ev dp.Event) { add(p, ev.(E)) },
	}
}

func mechanismOf(ev dp.Event) (mechanism, error) {
	m, ok := mechanisms[reflect.TypeOf(ev)]
	if !ok {
		return mechanism{}, fmt.Errorf("budget: the accountants do not know the event %q", ev.Name())
	}
	return m, nil
}

func (f *Filter) laplaceLoss(e dp.Laplace) (dp.Loss, error) {
	return dp.Loss{Pure: overScaleUp(e.Sensitivity.L1(), e.Scale), Renyi: f.laplaceRenyi(e.Sensitivity, e.Scale)}, nil
}

func (f *Filter) gaussianLoss(e dp.Gaussian) (dp.Loss, error) {
	if f.Order == 0 {
		return dp.Loss{}, errGaussian
	}
	return dp.Loss{Pure: math.Inf(1), Renyi: f.gaussianRenyi(e.Sensitivity, e.Scale)}, nil
}

func (f *Filter) picksLoss(e dp.Picks) (dp.Loss, error) {
	return dp.Loss{Pure: overScaleUp(e.Sensitivity.L1(), e.Scale), Renyi: f.picksRenyi(e.Sensitivity, e.Scale)}, nil
}

func (f *Filter) boundLoss(e dp.Choice) (dp.Loss, error) {
	pure, renyi := f.choiceLoss(e.Scale)
	return dp.Loss{Pure: pure, Renyi: renyi}, nil
}

func (f *Filter) aboveThresholdLoss(e dp.AboveThreshold) (dp.Loss, error) {
	pure, renyi := f.thresholdLoss(e.Scale)
	return dp.Loss{Pure: pure, Renyi: renyi}, nil
}

func (f *Filter) watchLoss(e dp.Watch) (dp.Loss, error) {
	pure, renyi := f.watchLosses(e)
	return dp.Loss{Pure: pure, Renyi: renyi}, nil
}

// trainingLoss is at the order no more than that of randomised response of its epsilon, beside its delta (design section 8).
func (f *Filter) trainingLoss(e dp.Training) (dp.Loss, error) {
	return dp.Loss{Pure: e.Epsilon, Renyi: f.responseRenyi(e.Epsilon), Delta: e.Delta}, nil
}

// oneOfLoss is the most of any selection: whichever it is, given the choice that was released before it.
func (f *Filter) oneOfLoss(e dp.OneOf) (dp.Loss, error) {
	var most dp.Loss
	for _, sel := range e.Selections {
		l, err := f.selectionLoss(sel)
		if err != nil {
			return dp.Loss{}, err
		}
		most = dp.Loss{Pure: math.Max(most.Pure, l.Pure), Renyi: math.Max(most.Renyi, l.Renyi), Delta: math.Max(most.Delta, l.Delta)}
	}
	return most, nil
}

// addPure adds n pieces of pure epsilon e.
func (p *parts) addPure(n uint64, e, rho, delta float64) {
	p.pure, p.rho, p.delta = p.pure+float64(n)*e, p.rho+float64(n)*rho, p.delta+delta
	mu := account.MuOfPure(e)
	p.mu += float64(n) * mu * mu
}

// addDiscreteGaussian adds discrete Gaussian noise of a scale on n entries that move by sensitivity.
func (p *parts) addDiscreteGaussian(n, sensitivity uint64, scale dp.Scale) {
	d := perScale(sensitivity, scale)
	p.gaussian(float64(n) * d * d / 2)
	if scale.Float() > finestNoise {
		p.noSteps = fmt.Sprintf("sigma above %d", finestNoise)
	}
	p.run(account.DiscreteGaussian{Sigma: scale.Float(), Sensitivity: int(sensitivity)}, n) //nolint:gosec // at most dp.MaxSensitivity
}

func (p *parts) addLaplace(e dp.Laplace) {
	d := perScale(e.Sensitivity.PerGroup, e.Scale)
	p.addPure(e.Sensitivity.Groups, d, account.RhoOfPure(d), 0)
	p.run(account.DiscreteLaplace{Scale: e.Scale.Float(), Sensitivity: int(e.Sensitivity.PerGroup)}, e.Sensitivity.Groups) //nolint:gosec // at most dp.MaxSensitivity
}

func (p *parts) addGaussian(e dp.Gaussian) {
	p.addDiscreteGaussian(e.Sensitivity.Groups, e.Sensitivity.PerGroup, e.Scale)
}

func (p *parts) addPicks(e dp.Picks) {
	d := perScale(e.Sensitivity.PerGroup, e.Scale)
	p.addPure(e.Sensitivity.Groups, d, account.RhoOfPure(d), 0)
	p.run(account.Approximate{Epsilon: d}, e.Sensitivity.Groups)
}

func (p *parts) addSelection(e dp.Selection) {
	if e.Kind().HasL2Scale() {
		p.delta, p.beside = p.delta+e.Delta, p.beside+e.Delta
		p.addDiscreteGaussian(e.Groups, 1, e.Scale)
		return
	}
	d := perScale(e.Groups, e.Scale)
	p.addPure(1, d, account.RhoOfPure(d), e.Delta)
	p.run(account.Approximate{Epsilon: d, Delta: e.Delta}, 1)
}

// addOneOf adds the largest of each part.
func (p *parts) addOneOf(e dp.OneOf) {
	if e.Selections[0].Kind().HasL2Scale() {
		rho, delta := 0.0, 0.0
		for _, s := range e.Selections {
			d := perScale(1, s.Scale)
			rho, delta = math.Max(rho, float64(s.Groups)*d*d/2), math.Max(delta, s.Delta)
		}
		p.gaussian(rho)
		p.delta, p.noSteps = p.delta+delta, "the noise follows a cap that is chosen"
		return
	}
	var most account.Approximate
	for _, s := range e.Selections {
		most = account.Approximate{Epsilon: math.Max(most.Epsilon, perScale(s.Groups, s.Scale)), Delta: math.Max(most.Delta, s.Delta)}
	}
	p.addPure(1, most.Epsilon, account.RhoOfPure(most.Epsilon), most.Delta)
	p.run(most, 1)
}

func (p *parts) addChoice(e dp.Choice) {
	d := perScale(1, e.Scale)
	p.addPure(1, d, math.Min(d*d/8, account.RhoOfPure(d)), 0)
	p.run(account.Approximate{Epsilon: d}, 1)
}

func (p *parts) addAboveThreshold(e dp.AboveThreshold) {
	d, span := perScale(2, e.Scale), perScale(3, e.Scale)
	p.addPure(1, d, math.Min(span*span/8, account.RhoOfPure(d)), 0)
	p.run(account.Approximate{Epsilon: d}, 1)
}

// addWatch adds a piece for each alert.
func (p *parts) addWatch(e dp.Watch) {
	d := 2 * perScale(e.PerUnit, e.Scale)
	p.addPure(e.Alerts, d, account.RhoOfPure(d), 0)
	p.run(account.Approximate{Epsilon: d}, e.Alerts)
}

// addSmoothScale: the release has no (epsilon, delta)-DP of its own, as a sub-density of all that follows lacks the delta (noise.Smoother.Raise).
func (p *parts) addSmoothScale(e dp.SmoothScale) {
	d := perScale(e.Steps, e.Scale)
	p.addPure(1, d, account.RhoOfPure(d), e.Delta)
	p.beside += e.Delta
	p.run(account.Approximate{Epsilon: d}, 1)
}

func (p *parts) addClipped(e dp.Clipped) {
	d := perScale(1, e.Ratio)
	if e.Noise.HasL2Scale() {
		p.gaussian(d * d / 2)
		p.noSteps = "the noise follows a bound that is chosen"
		return
	}
	p.addPure(1, d, account.RhoOfPure(d), 0)
	p.run(account.Approximate{Epsilon: d}, 1)
}

func (p *parts) addTraining(e dp.Training) {
	p.addPure(1, e.Epsilon, account.RhoOfPure(e.Epsilon), e.Delta)
	p.run(account.Approximate{Epsilon: e.Epsilon, Delta: e.Delta}, 1)
}
