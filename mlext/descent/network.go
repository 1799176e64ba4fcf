package descent

import (
	"math"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/kernel"
	"github.com/dpsql/dpsql/mlext/loss"
)

// Network is what a row passes: its features times Gain, hidden layers, and the scores that the loss takes.
type Network struct {
	Inputs     int     // features, of which the first is the intercept's
	Gain       float64 // a power of two
	Hidden     []int
	Activation Activation
	Loss       *loss.Loss
}

// Activation is what a hidden unit makes of its score.
type Activation string

// The activations. Relu and elu end at Most.
const (
	Tanh Activation = "tanh"
	Relu Activation = "relu"
	Elu  Activation = "elu"
)

// Most is the largest value of a hidden unit.
const Most = 64

// Range is between which numbers the values of a hidden unit are.
func (a Activation) Range() (lo, hi float64) {
	switch a {
	case Relu:
		return 0, Most
	case Elu:
		return -1, Most
	}
	return -1, 1
}

// At returns the value of a score.
func (a Activation) At(z float64) float64 {
	switch {
	case a == Relu:
		z = math.Max(0, z)
	case a == Elu && z < 0:
		z = math.Expm1(z)
	case a == Elu:
	default:
		return math.Tanh(z)
	}
	return math.Min(Most, z)
}

// slope returns the derivative where the value is v.
func (a Activation) slope(v float64) float64 {
	switch {
	case a == Tanh:
		return 1 - v*v
	case v >= Most:
		return 0
	case v > 0:
		return 1
	case a == Elu:
		return 1 + v
	}
	return 0
}

// Layer is a matrix within the parameters: a row of Out numbers for each of In values that it reads, the first of which is the intercept's.
type Layer struct{ From, In, Out int }

// Layers are the places of the parameters, layer after layer, and how many parameters there are.
func (n *Network) Layers() (list []Layer, size int) {
	in := n.Inputs
	for _, out := range append(append([]int(nil), n.Hidden...), n.Loss.Outputs) {
		list = append(list, Layer{size, in, out})
		size += in * out
		in = out + 1
	}
	return list, size
}

// Start has weights of hidden layers that look uniform in the range of Glorot and Bengio 2010, and are the same for each training: hashes of their places. Intercepts and the weights of scores are 0.
func (n *Network) Start() []float64 {
	list, size := n.Layers()
	theta := make([]float64, size)
	for _, l := range list[:len(list)-1] {
		glorot(theta, l.From+l.Out, (l.In-1)*l.Out, l.In-1+l.Out)
	}
	return theta
}

// At returns the gradients at parameters.
func (n *Network) At(theta []float64) Gradient {
	list, _ := n.Layers()
	g := &networkGradient{network: n, layers: make([]layer, len(list))}
	for i, l := range list {
		g.layers[i] = layer{from: l.From, theta: theta[l.From : l.From+l.In*l.Out], residuals: make([]float64, l.Out)}
		if i > 0 {
			g.layers[i].reads = make([]float64, l.In)
		}
	}
	return g
}

// networkGradient is of all layers, at a row.
type networkGradient struct {
	network *Network
	layers  []layer
}

// layer is one layer at a row.
type layer struct {
	from      int
	theta     []float64
	reads     []float64 // what it reads, on the grid of data.Step; nil: the row
	residuals []float64 // its scores first, then the derivative of the loss by them
}

// Row passes a row forwards and its residuals backwards.
func (g *networkGradient) Row(x []float32, norm, y float64) float64 {
	n := g.network
	for i := range g.layers {
		l := &g.layers[i]
		if i == 0 {
			kernel.Dense(x, l.theta, l.residuals)
			for c := range l.residuals {
				l.residuals[c] *= n.Gain
			}
			continue
		}
		l.reads[0] = 1
		for c, z := range g.layers[i-1].residuals {
			l.reads[c+1] = onGrid(n.Activation.At(z))
		}
		kernel.Dense(l.reads, l.theta, l.residuals)
	}
	last := len(g.layers) - 1
	n.Loss.Residuals(g.layers[last].residuals, y)
	square := 0.0
	for i := last; i > 0; i-- {
		l, below := &g.layers[i], g.layers[i-1].residuals
		out := len(l.residuals)
		for c := range below {
			v := l.reads[c+1]
			below[c] = n.Activation.slope(v) * kernel.DenseDot(l.theta[(c+1)*out:(c+2)*out], l.residuals)
		}
		square += kernel.Squares(l.reads) * kernel.Squares(l.residuals)
	}
	first := g.layers[0].residuals
	for c := range first {
		first[c] *= n.Gain
	}
	return math.Sqrt(square + norm*norm*kernel.Squares(first))
}

// Scale scales the residuals of all layers.
func (g *networkGradient) Scale(by float64) {
	for i := range g.layers {
		Whole(g.layers[i].residuals, by)
	}
}

// Add adds the layers' products.
func (g *networkGradient) Add(x []float32, sum []float64) {
	for i := range g.layers {
		l := &g.layers[i]
		into := sum[l.from : l.from+len(l.theta)]
		if i == 0 {
			kernel.DenseOuter(x, l.residuals, into)
		} else {
			kernel.DenseOuter(l.reads, l.residuals, into)
		}
	}
}

// onGrid cuts a value towards zero to the grid of data.Step; one that is no number becomes 0.
func onGrid(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return math.Trunc(v/data.Step) * data.Step
}
