package mlext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext/descent"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// usualHidden are the units of hidden layers without the option, and mostHidden and mostUnits bound it.
var usualHidden = []int{32}

const (
	mostHidden = 3
	mostUnits  = 256
)

// What a network is trained by without options: found on Adult at an epsilon of 1, where twice the steps and half the rate are as exact.
const (
	networkClip  = 4
	networkSteps = 100
)

// networkRate is the learning rate without momentum, by whether the method is dp_adam.
var networkRate = map[bool]float64{true: 0.05, false: 5}

// readHidden takes the units of hidden layers in.
func (s *Spec) readHidden(o pgsyntax.Option) error {
	if len(o.Values) > mostHidden {
		return sqlerr.New(sqlerr.InvalidParam, "hidden has %d layers, the most are %d", len(o.Values), mostHidden).At(int(o.Name.Pos))
	}
	for _, v := range o.Values {
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < 1 || n > mostUnits {
			return sqlerr.New(sqlerr.InvalidParam, "hidden cannot be %s", v.Text).At(int(v.Pos)).WithHint("Name the units of each hidden layer, from 1 to %d: hidden = (64, 32).", mostUnits)
		}
		s.hidden = append(s.hidden, n)
	}
	return nil
}

// network is what a training of a network trains.
func (t *Training) network() *descent.Network {
	a := descent.Tanh
	if word := t.Spec.words["activation"]; word != "" {
		a = descent.Activation(word)
	}
	return &descent.Network{Inputs: t.width, Gain: t.gain(), Hidden: t.Spec.hidden, Activation: a, Loss: t.Loss}
}

func (t *Training) learner() descent.Learner {
	switch {
	case t.family.images:
		return t.images()
	case t.family.network:
		return t.network()
	}
	return descent.NewLinear(t.Loss, t.width)
}

const mostParameters = 1 << 18

// size is the number of parameters.
func (t *Training) size() int {
	switch {
	case t.family.images:
		_, _, size, _ := t.images().Shape()
		return size
	case t.family.network:
		_, size := t.network().Layers()
		return size
	}
	return t.width * t.Loss.Outputs
}

// layers are those after the first, of all parameters.
func (t *Training) layers(theta []float64) (out []Layer) {
	n := t.network()
	list, _ := n.Layers()
	for _, l := range list[1:] {
		layer := Layer{Activation: string(n.Activation), Biases: theta[l.From : l.From+l.Out]}
		for c := range l.Out {
			var of []float64
			for j := 1; j < l.In; j++ {
				of = append(of, theta[l.From+j*l.Out+c])
			}
			layer.Coefficients = append(layer.Coefficients, of)
		}
		out = append(out, layer)
	}
	return out
}

// architecture are the facts of a network.
func (t *Training) architecture() {
	if t.family.images {
		for i, f := range t.images().Filters {
			t.fact(fmt.Sprintf("convolution %d", i+1), "%d filters of %d by %d, stride %d, and the maximum of 2 by 2", f.Count, f.Size, f.Size, f.Stride)
		}
		t.fact(temperature, "%g", t.images().Temper)
	}
	units := make([]string, len(t.Spec.hidden))
	for i, n := range t.Spec.hidden {
		units[i] = strconv.Itoa(n)
	}
	t.fact("hidden layers", "%s", strings.Join(units, ", "))
	if !t.family.images {
		t.fact("activation", "%s", t.network().Activation)
	}
	t.fact("parameters", "%d", t.size())
}

// network puts a network into what is computed of scores, and writes its inputs: each feature that is no array as numbers from 0 to 1.
func (m *Model) network(what *plan.Scores, args []string) (inputs []string) {
	first := plan.ScoreArray{Lo: 0, Hi: 1, Coefficients: make([][]float64, len(m.Scores))}
	for j := range m.Scores {
		what.Biases = append(what.Biases, m.Scores[j].Intercept)
	}
	add := func(input string, coefficient func(s *Score) float64) {
		inputs = append(inputs, input)
		for j := range m.Scores {
			first.Coefficients[j] = append(first.Coefficients[j], coefficient(&m.Scores[j]))
		}
	}
	for i := range m.Features {
		f, x := &m.Features[i], args[i]
		switch {
		case f.Length > 0:
		case f.Levels == nil:
			add(m.unitInterval(f, x), func(s *Score) float64 { return s.Coefficients[i][0] * (f.Hi - f.Lo) })
			for j := range m.Scores {
				what.Biases[j] += m.Scores[j].Coefficients[i][0] * f.Lo
			}
		default:
			for l := range f.Levels {
				add(fmt.Sprintf("CASE WHEN %s = %s THEN %s WHEN %s IS NOT NULL THEN %s END", x, f.level(l), number(1), x, number(0)), func(s *Score) float64 { return s.Coefficients[i][l] })
			}
		}
	}
	if first.Length = len(inputs); first.Length > 0 {
		what.Inputs, what.Arrays = first.Length, append(what.Arrays, first)
	}
	for _, l := range m.Layers {
		lo, hi := descent.Activation(l.Activation).Range()
		what.Layers = append(what.Layers, plan.ScoreLayer{Activation: l.Activation, Lo: lo, Hi: hi, Biases: l.Biases, C: l.Coefficients})
	}
	return inputs
}

// unitInterval writes where in its range a number is, from 0 to 1.
func (m *Model) unitInterval(f *Feature, x string) string {
	missing, value := "", number(0)
	if f.Hi > f.Lo {
		value = fmt.Sprintf("(%s - %s) / %s", f.clamped(x), number(f.Lo), number(f.Hi-f.Lo))
	}
	if m.Fill {
		missing = " ELSE " + number(0)
		if f.Hi > f.Lo {
			missing = " ELSE " + number((f.middle()-f.Lo)/(f.Hi-f.Lo))
		}
	}
	return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN %s%s END", x, value, missing)
}

// Through passes the scores of the first layer through the others. Of a linear model they are the scores.
func (m *Model) Through(z []float64) []float64 {
	for i := range m.Layers {
		l := &m.Layers[i]
		next := slices.Clone(l.Biases)
		for c, of := range l.Coefficients {
			for j, v := range z {
				next[c] += of[j] * descent.Activation(l.Activation).At(v)
			}
		}
		z = next
	}
	return z
}

// clamped writes a number within its range.
func (f *Feature) clamped(x string) string {
	return fmt.Sprintf("greatest(%s, least(%s, CAST(%s AS double precision)))", number(f.Lo), number(f.Hi), f.since(x))
}
