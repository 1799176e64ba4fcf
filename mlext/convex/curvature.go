package convex

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/kernel"
)

// The search's steps are by an approximate inverse of the Hessian, which changes how soon a minimum is found and not which: what is found is judged by its gradient alone.

// productRows are multiplied in one go.
const productRows = 256

// refresh is after how many steps the Hessian is looked at anew, of one score.
const refresh = 6

// mostProducts bounds what a look at the Hessian may take: of more rows, every so manieth is taken.
const mostProducts = 1 << 30

// inverse gives the map by the inverse of about the Hessian at theta: of one score X'WX + lambda I, of several Smooth X'X + lambda I, the same for each score; or, for wide tables, of its diagonal.
func (p *problem) inverse(theta []float64) func(v []float64) {
	d, k := p.table.Width(), p.loss.Outputs
	if d > 1000 {
		diagonal, cursor := make([]float64, d), p.table.Cursor()
		defer cursor.Close()
		between := data.Between(2 * d)
		for i := range p.table.Rows() {
			if i%between == 0 && !p.continueCheck.CanContinue() {
				break
			}
			for j, x := range cursor.Row(i) {
				diagonal[j] += float64(x) * float64(x)
			}
		}
		return func(v []float64) {
			for j := range v {
				v[j] /= p.loss.Smooth*diagonal[j/k] + p.lambda
			}
		}
	}
	every := 1 + d*d*p.table.Rows()/mostProducts
	weight := func(int, []float32) float64 { return p.loss.Smooth }
	if k == 1 {
		weight = func(i int, x []float32) float64 { // the residual's slope
			const h = 1e-3
			z, y := kernel.Dot(x, theta), p.table.Target(i)
			return math.Max(0, p.loss.Residual(z+h, y)-p.loss.Residual(z-h, y)) / (2 * h)
		}
	}
	h := p.products(every, weight)
	h.ScaleSym(float64(every), h)
	for j := range d {
		h.SetSym(j, j, h.At(j, j)+p.lambda)
	}
	var c mat.Cholesky
	if !c.Factorize(h) {
		return func(v []float64) { floats.Scale(1/(p.lambda+p.loss.Smooth*float64(p.table.Rows())), v) }
	}
	return func(v []float64) {
		m := mat.NewDense(d, k, v)
		if c.SolveTo(m, m) != nil { // a bad condition number: any direction will do
			return
		}
	}
}

// products is X'WX of every so manieth row.
func (p *problem) products(every int, weight func(i int, x []float32) float64) *mat.SymDense {
	sums := p.parted(every, weight)
	for _, s := range sums[1:] {
		sums[0].AddSym(sums[0], s)
	}
	return sums[0]
}

// parted is products, of each part of the rows.
func (p *problem) parted(every int, weight func(i int, x []float32) float64) []*mat.SymDense {
	d, rows := p.table.Width(), (p.table.Rows()+every-1)/every
	sums := make([]*mat.SymDense, parts)
	data.Parts(parts, func(part int) {
		s := mat.NewSymDense(d, nil)
		block, cursor := mat.NewDense(productRows, d, nil), p.table.Cursor()
		defer cursor.Close()
		for at := part * rows / parts; at < (part+1)*rows/parts && p.continueCheck.CanContinue(); at += productRows {
			n := min(productRows, (part+1)*rows/parts-at)
			b := block.Slice(0, n, 0, d).(*mat.Dense)
			for i := range n {
				row, x := b.RawRowView(i), cursor.Row((at+i)*every)
				w := math.Sqrt(weight((at+i)*every, x))
				for j, v := range x {
					row[j] = w * float64(v)
				}
			}
			s.SymRankK(s, 1, b.T())
		}
		sums[part] = s
	})
	return sums
}
