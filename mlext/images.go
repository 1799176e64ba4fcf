package mlext

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext/descent"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// What a network over images is trained by without options.
const (
	imageClip     = 1
	imageSteps    = 400
	imageSampling = 0.15
)

// imageRate is the learning rate without momentum, by whether the method is dp_adam.
var imageRate = map[bool]float64{true: 0.005, false: 1}

// usualFilters are the numbers of filters of the network of Papernot et al. 2021, mostFilters bounds others.
var usualFilters = []int{16, 32}

const mostFilters = 64

// readFilters takes the numbers of filters in.
func (s *Spec) readFilters(o pgsyntax.Option) error {
	hint := fmt.Sprintf("Name the filters of both convolutions, from 1 to %d: filters = (16, 32).", mostFilters)
	if len(o.Values) != len(usualFilters) {
		return sqlerr.New(sqlerr.InvalidParam, "filters has %d numbers, not %d", len(o.Values), len(usualFilters)).At(int(o.Name.Pos)).WithHint("%s", hint)
	}
	for _, v := range o.Values {
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < 1 || n > mostFilters {
			return sqlerr.New(sqlerr.InvalidParam, "filters cannot be %s", v.Text).At(int(v.Pos)).WithHint("%s", hint)
		}
		s.filters = append(s.filters, n)
	}
	return nil
}

// images is what a training of a cnn trains: elements are from 0 to 1 there.
func (t *Training) images() *descent.Convolution {
	c := &descent.Convolution{Gain: 1 / (2 * t.scale), Hidden: t.Spec.hidden, Temper: t.Spec.number(temperature, 2), Outputs: t.Loss.Outputs, Loss: t.Loss}
	c.Height, c.Width, c.Channels = t.Features[0].image()
	c.Filters = descent.Papernot2021()
	for i, n := range t.Spec.filters {
		c.Filters[i].Count = n
	}
	return c
}

// oneImage refuses what a network over images does not train on.
func (t *Training) oneImage() error {
	if !t.family.images {
		return nil
	}
	if len(t.Features) != 1 || t.Features[0].Length == 0 {
		return sqlerr.New(sqlerr.InvalidParam, "a cnn has one feature, an array with a shape; here there are %d features", len(t.Features)).WithHint("SELECT the array and the target alone, or train other features too: USING mlp.")
	}
	f := &t.Features[0]
	height, width, _ := f.image()
	if height == 0 {
		return sqlerr.New(sqlerr.InvalidParam, "feature %s has %d dimensions, an image has two or three: height, width and channels", f.Name, len(f.Shape)).WithHint("USING mlp trains on arrays of any shape.")
	}
	if _, _, _, ok := t.images().Shape(); !ok {
		return sqlerr.New(sqlerr.InvalidParam, "the images of %s are %d by %d, too small for two convolutions: the least are %d by %[4]d", f.Name, height, width, leastImage).WithHint("USING mlp trains on arrays of any shape.")
	}
	return nil
}

// leastImage is the least side of an image that the filters fit.
const leastImage = 13

// fewerUnits is how a network over images has fewer parameters.
func (t *Training) fewerUnits() string {
	for n := t.Spec.hidden[0] / 2; n > 0; n /= 2 {
		less, s := *t, *t.Spec
		s.hidden = []int{n}
		if less.Spec = &s; less.size() <= mostParameters {
			return fmt.Sprintf("Use fewer units: hidden = (%d).", n)
		}
	}
	return "Use smaller images, or fewer filters: filters = (4, 8)."
}

// imageModel turns parameters into a model whose tangents have no temperature: their scores have it.
func (t *Training) imageModel(theta []float64) *Model {
	m := &Model{Name: t.Spec.Name, Kind: t.Spec.Model, Method: t.Method, Target: t.Of, Features: slices.Clone(t.Features), Form: form}
	c := t.images()
	convs, dense, _, _ := c.Shape()
	times := func(list []float64, by float64) []float64 {
		out := make([]float64, len(list))
		for i, v := range list {
			out[i] = v * by
		}
		return out
	}
	half := c.Temper / 2
	for _, v := range convs {
		out := Convolution{Filters: v.Filters, Biases: times(theta[v.From+v.Count*v.Patch:v.From+v.Count*(v.Patch+1)], half)}
		for f := range v.Count {
			out.Weights = append(out.Weights, times(theta[v.From+f*v.Patch:v.From+(f+1)*v.Patch], half))
		}
		m.Convolutions = append(m.Convolutions, out)
	}
	for i, l := range dense {
		by := half
		if i == len(dense)-1 {
			by = 1
		}
		layer := Layer{Activation: string(descent.Tanh), Biases: times(theta[l.From:l.From+l.Out], by)}
		for k := range l.Out {
			of := make([]float64, l.In-1)
			for j := range of {
				of[j] = by * theta[l.From+(j+1)*l.Out+k]
			}
			layer.Coefficients = append(layer.Coefficients, of)
		}
		m.Layers = append(m.Layers, layer)
	}
	m.Card = append(m.Card, t.Facts...)
	return m
}
