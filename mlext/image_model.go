package mlext

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext/descent"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Convolution is a convolution of a released network over an image: of each filter at each place the score, of each square of 2 by 2 places the largest, whose hyperbolic tangent is what comes next reads.
type Convolution struct {
	descent.Filters
	Weights [][]float64 `json:"weights"` // of each filter: line after line, place after place, channel after channel
	Biases  []float64   `json:"biases"`
}

// image is the shape of an array as an image's; zeros where it is none.
func (f *Feature) image() (height, width, channels int) {
	switch len(f.Shape) {
	case 2:
		return f.Shape[0], f.Shape[1], 1
	case 3:
		return f.Shape[0], f.Shape[1], f.Shape[2]
	}
	return 0, 0, 0
}

// IsOfImages says that the model is a network over an image, which no SQL computes.
func (m *Model) IsOfImages() bool { return len(m.Convolutions) > 0 }

// notInSQL refuses to write a prediction as SQL.
func (m *Model) notInSQL() error {
	return sqlerr.New(sqlerr.Unsupported, "model %s is a cnn, whose predictions are not computed in SQL", m.Name).
		WithHint("EVALUATE DP MODEL %[1]s ON SELECT ... tells how exact it is, EXPORT DP MODEL %[1]s AS onnx is for other programs.", pgsyntax.QuoteIdent(m.Name))
}

// ScoresOfImages returns the scores of images, whose elements are from 0 to 1, for one goroutine. Each call overwrites those of the last.
func (m *Model) ScoresOfImages() func(elements []float32) []float64 {
	c, theta := m.networkOfImages()
	return c.Scores(theta)
}

// networkOfImages is the released network, and its parameters.
func (m *Model) networkOfImages() (*descent.Convolution, []float64) {
	c := &descent.Convolution{Gain: 1, Temper: 2}
	c.Height, c.Width, c.Channels = m.Features[0].image()
	var theta []float64
	for _, v := range m.Convolutions {
		c.Filters = append(c.Filters, v.Filters)
		theta = append(slices.Concat(append([][]float64{theta}, v.Weights...)...), v.Biases...)
	}
	for i, l := range m.Layers {
		if theta = append(theta, l.Biases...); i < len(m.Layers)-1 {
			c.Hidden = append(c.Hidden, len(l.Biases))
		}
		for j := range l.Coefficients[0] {
			for k := range l.Coefficients {
				theta = append(theta, l.Coefficients[k][j])
			}
		}
	}
	c.Outputs = m.outputs()
	return c, theta
}

// wholeImages refuses a stored network over an image that is not whole, and says how many numbers its first layer reads.
func (m *Model) wholeImages() (in int, err error) {
	broken := fmt.Errorf("mlext: a stored network over images is not whole")
	if len(m.Features) != 1 || len(m.Scores) > 0 || len(m.Layers) < 2 {
		return 0, broken
	}
	c := &descent.Convolution{Outputs: m.outputs()}
	c.Height, c.Width, c.Channels = m.Features[0].image()
	if c.Height < 1 || c.Width < 1 || c.Channels < 1 || c.Height*c.Width*c.Channels != m.Features[0].Length {
		return 0, broken
	}
	for _, v := range m.Convolutions {
		if v.Count < 1 || v.Size < 1 || v.Stride < 1 {
			return 0, broken
		}
		c.Filters = append(c.Filters, v.Filters)
	}
	convs, dense, _, ok := c.Shape()
	if !ok {
		return 0, broken
	}
	for i, v := range convs {
		w := &m.Convolutions[i]
		if len(w.Weights) != v.Count || len(w.Biases) != v.Count || slices.ContainsFunc(w.Weights, func(of []float64) bool { return len(of) != v.Patch }) {
			return 0, broken
		}
	}
	return dense[0].In - 1, nil
}
