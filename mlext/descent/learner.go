package descent

import (
	"math"

	"github.com/dpsql/dpsql/mlext/kernel"
	"github.com/dpsql/dpsql/mlext/loss"
)

// Learner is what is trained: a number of parameters, and the gradient of a row's loss by them.
type Learner interface {
	// Start returns the parameters that training begins with. They follow from public numbers alone.
	Start() []float64
	// At returns the gradients at parameters, for one goroutine.
	At(theta []float64) Gradient
}

// Gradient is the gradient of one row after the other. It is a sum of outer products, one a layer: of what the layer reads and the derivative
// of the loss by the layer's scores, which is called its residual.
//
// What a layer reads lies on the grid of data.Step, and is a number whatever the row and the parameters are.
type Gradient interface {
	// Row computes the products of a row of the given norm, and returns the norm of its gradient: a number that is not NaN only where that is the norm.
	Row(x []float32, norm, y float64) float64
	// Scale multiplies the residuals and cuts them to whole numbers; what is not finite becomes 0.
	Scale(by float64)
	// Add adds the gradient of the row, as it is scaled, to a sum.
	Add(x []float32, sum []float64)
}

// NewLinear is a linear learner of so many features.
func NewLinear(l *loss.Loss, width int) Learner { return linear{l, width} }

type linear struct {
	loss  *loss.Loss
	width int
}

func (l linear) Start() []float64 { return make([]float64, l.width*l.loss.Outputs) }

func (l linear) At(theta []float64) Gradient {
	g := &linearGradient{loss: l.loss, theta: theta, residuals: make([]float64, l.loss.Outputs)}
	if len(g.residuals) == 1 {
		g.single = kernel.Single(theta)
	}
	return g
}

// linearGradient is the product of a row and its residuals.
type linearGradient struct {
	loss      *loss.Loss
	theta     []float64
	single    []float32 // theta, where there is one score
	residuals []float64
}

func (g *linearGradient) Row(x []float32, norm, y float64) float64 {
	if g.single != nil {
		g.residuals[0] = g.loss.Residual(kernel.DotSingle(x, g.single), y)
		return math.Abs(g.residuals[0]) * norm
	}
	kernel.Scores(x, g.theta, g.residuals)
	g.loss.Residuals(g.residuals, y)
	return math.Sqrt(kernel.Squares(g.residuals)) * norm
}

func (g *linearGradient) Scale(by float64) { Whole(g.residuals, by) }

func (g *linearGradient) Add(x []float32, sum []float64) {
	if g.single != nil {
		kernel.Axpy(g.residuals[0], x, sum)
	} else {
		kernel.Outer(x, g.residuals, sum)
	}
}

// Whole multiplies numbers and cuts them towards zero to whole ones. One that is not finite becomes 0, which is within any bound: as it is it would end the training, for the sake of its row.
func Whole(list []float64, by float64) {
	for j, v := range list {
		if v *= by; !(math.Abs(v) <= math.MaxFloat64) {
			v = 0
		}
		list[j] = math.Trunc(v)
	}
}
