package mlext

import (
	"math"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext/loss"
)

const (
	classWeights  = "class_weights"
	hiddenLayers  = "hidden"
	filtersOption = "filters"
	temperature   = "temperature"

	logisticRegression = "logistic_regression"
)

// family is a kind of model: what follows from a kind is in its line, or in a switch over its target that has no default.
type family struct {
	name    string
	aliases []string
	target  outcome // "": of what the target is
	network bool    // hidden layers, which no method trains but noisy gradients
	images  bool    // a network over one image
	shares  bool    // its scores are those of a probability
	options []string
	loss    func(s *Spec, t *Feature) (*loss.Loss, error)
}

var families = []family{
	{name: logisticRegression, aliases: []string{"logistic", "logistic_reg"}, target: oneOfTwo, shares: true, options: []string{binsOption, classWeights}, loss: func(*Spec, *Feature) (*loss.Loss, error) { return loss.Logistic(), nil }},
	{name: "svm", aliases: []string{"linear_svm"}, target: oneOfTwo, options: []string{binsOption, "width", classWeights}, loss: func(s *Spec, _ *Feature) (*loss.Loss, error) { return loss.Hinge(s.number("width", 0.5)), nil }},
	{name: "softmax_regression", aliases: []string{"softmax", "multinomial_regression"}, target: oneOfSeveral, shares: true, options: []string{binsOption, classWeights}, loss: func(_ *Spec, t *Feature) (*loss.Loss, error) { return loss.Softmax(len(t.Levels)), nil }},
	{name: "linear_regression", aliases: []string{"linear", "linear_reg", "ridge_regression", "ridge"}, target: aNumber, options: []string{binsOption, "residual_clip"}, loss: func(s *Spec, _ *Feature) (*loss.Loss, error) {
		return loss.Squared(s.number("residual_clip", 1)), nil
	}},
	{name: "poisson_regression", aliases: []string{"poisson"}, target: aCount, options: []string{binsOption, "residual_clip"}, loss: func(s *Spec, t *Feature) (*loss.Loss, error) {
		return loss.Poisson(t.Hi, s.number("residual_clip", math.Max(1, t.Hi/4)))
	}},
	{name: "mlp", aliases: []string{"neural_network", "dnn"}, network: true, options: []string{hiddenLayers, "activation", "residual_clip", classWeights}, loss: networkLoss},
	{name: "cnn", aliases: []string{"convolutional_network"}, network: true, images: true, options: []string{filtersOption, hiddenLayers, temperature, "residual_clip", classWeights}, loss: networkLoss},
}

// networkLoss is the loss of a network, by what its target is.
func networkLoss(s *Spec, t *Feature) (*loss.Loss, error) {
	switch naturalOutcome(t) {
	case oneOfTwo:
		return loss.Logistic(), nil
	case oneOfSeveral:
		return loss.Softmax(len(t.Levels)), nil
	}
	return loss.Squared(s.number("residual_clip", 1)), nil
}

// naturalOutcome is what a target is without a word about it.
func naturalOutcome(t *Feature) outcome {
	switch {
	case t.suits(oneOfTwo) == nil:
		return oneOfTwo
	case t.Levels != nil:
		return oneOfSeveral
	}
	return aNumber
}

// of is the kind for a target: what a kind that takes several targets predicts follows from it.
func (f *family) of(t *Feature) *family {
	if f.target != "" {
		return f
	}
	out := *f
	out.target = naturalOutcome(t)
	out.shares = out.target.classes()
	return &out
}

func familyOf(name string) *family {
	for i, f := range families {
		if f.name == name || slices.Contains(f.aliases, name) {
			return &families[i]
		}
	}
	return nil
}

// unread is of a kind that what is computed has no case for.
func (f *family) unread() error {
	return sqlerr.New(sqlerr.Internal, "nothing is known of a %s", f.name)
}

func (f *family) noProbability() error {
	if f.target.classes() {
		return sqlerr.New(sqlerr.Unsupported, "a support vector machine has no probabilities").WithHint("Train a logistic_regression, or use dp_predict.")
	}
	return sqlerr.New(sqlerr.Unsupported, "a %s predicts a number, which has no probability", f.name).WithHint("Use dp_predict.")
}
