package synth

import "math"

// Model is a distribution of rows that is near the measured marginals: of all that are, about the one of the largest entropy.
type Model struct {
	sizes []int
	Total float64
	nodes []node
	cells [][]float64 // of each node: shares, of sum 1
}

// term is a measured marginal in a clique.
type term struct {
	node   int
	to     []int32 // cells of the clique to cells of the marginal
	want   []float64
	weight float64
}

// rounds is how many steps the fit takes at most.
const rounds = 600

// Fit fits the model by mirror descent on the squared differences from the marginals, each divided by its variance (McKenna, Sheldon, Miklau, "Graphical-model based estimation and inference for differential privacy", ICML 2019). each is told of progress, and ends it by an error.
func (m *Measured) Fit(each func(done, of int) error) (*Model, error) {
	var edges []Pair
	for _, c := range m.chosen {
		edges = append(edges, Pair{c.columns[0], c.columns[1]})
	}
	out := &Model{sizes: m.sizes, Total: m.Total, nodes: junction(m.sizes, edges)}
	var terms []term
	for _, list := range [][]marginal{m.ones, m.chosen} {
		for _, x := range list {
			for i, n := range out.nodes {
				if contains(n.columns, x.columns) {
					terms = append(terms, term{i, project(m.sizes, n.columns, x.columns), x.counts, 1 / (x.sigma * x.sigma)})
					break
				}
			}
		}
	}
	f := newFitter(out, terms)
	step := 1.0 / (m.Total * m.Total * f.steepest())
	f.infer()
	loss := f.loss()
	for r := range rounds {
		if err := each(r, rounds); err != nil {
			return nil, err
		}
		f.keep()
		tries := 0
		for ; tries < 25; tries++ {
			f.move(step * m.Total)
			f.infer()
			if now := f.loss(); now < loss {
				if loss-now < 1e-5*loss {
					tries = 25
				}
				loss = now
				break
			}
			f.restore()
			step /= 2
		}
		if tries >= 25 {
			break
		}
		if tries == 0 {
			step *= 1.3
		}
	}
	f.infer()
	out.cells = f.shares
	return out, nil
}

type fitter struct {
	model  *Model
	terms  []term
	theta  [][]float64 // of each node: logarithms
	old    [][]float64
	shares [][]float64
	into   [][]float64 // messages to the parent
	back   [][]float64
	belief [][]float64
	diff   [][]float64 // of each term
	grad   [][]float64 // of each term, where theta was kept
}

func newFitter(m *Model, terms []term) *fitter {
	f := &fitter{model: m, terms: terms}
	tables := func() (out [][]float64) {
		for _, n := range m.nodes {
			out = append(out, make([]float64, cellsOf(m.sizes, n.columns)))
		}
		return out
	}
	f.theta, f.old, f.shares, f.belief = tables(), tables(), tables(), tables()
	for _, n := range m.nodes {
		cells := cellsOf(m.sizes, n.shared)
		f.into, f.back = append(f.into, make([]float64, cells)), append(f.back, make([]float64, cells))
	}
	for _, t := range terms {
		f.diff, f.grad = append(f.diff, make([]float64, len(t.want))), append(f.grad, make([]float64, len(t.want)))
	}
	return f
}

// steepest is about the largest weight that meets in one cell.
func (f *fitter) steepest() float64 {
	sums := make([]float64, len(f.model.nodes))
	most := 0.0
	for _, t := range f.terms {
		sums[t.node] += t.weight
		most = math.Max(most, sums[t.node])
	}
	return most
}

// infer computes the shares of all cliques from theta, by messages along the tree to its root and back.
func (f *fitter) infer() {
	nodes := f.model.nodes
	for i := range nodes {
		copy(f.belief[i], f.theta[i])
	}
	for i := len(nodes) - 1; i > 0; i-- {
		n := &nodes[i]
		if n.parent < 0 {
			continue
		}
		sumExp(f.belief[i], n.up, f.into[i])
		b := f.belief[n.parent]
		for c, s := range n.down {
			b[c] += f.into[i][s]
		}
	}
	for i := range nodes {
		n := &nodes[i]
		if n.parent >= 0 {
			sumExp(f.belief[n.parent], n.down, f.back[i])
			for c, s := range n.up {
				if x := f.back[i][s] - f.into[i][s]; !math.IsNaN(x) {
					f.belief[i][c] += x
				}
			}
		}
		normal(f.belief[i], f.shares[i])
	}
}

// sumExp adds up exponentials by cell, and gives their logarithms.
func sumExp(logs []float64, to []int32, out []float64) {
	most := math.Inf(-1)
	for _, v := range logs {
		most = math.Max(most, v)
	}
	clear(out)
	for c, v := range logs {
		out[to[c]] += math.Exp(v - most)
	}
	for i, v := range out {
		out[i] = most + math.Log(math.Max(v, 1e-300))
	}
}

func normal(logs, shares []float64) {
	most, sum := math.Inf(-1), 0.0
	for _, v := range logs {
		most = math.Max(most, v)
	}
	for i, v := range logs {
		shares[i] = math.Exp(v - most)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
}

// loss is half the weighted sum of squared differences.
func (f *fitter) loss() (sum float64) {
	for k, t := range f.terms {
		d := f.diff[k]
		for i, w := range t.want {
			d[i] = -w
		}
		for c, v := range f.shares[t.node] {
			d[t.to[c]] += v * f.model.Total
		}
		for _, x := range d {
			sum += t.weight * x * x / 2
		}
	}
	return sum
}

func (f *fitter) keep() {
	for i := range f.theta {
		copy(f.old[i], f.theta[i])
	}
	for k := range f.diff {
		copy(f.grad[k], f.diff[k])
	}
}

func (f *fitter) restore() {
	for i := range f.theta {
		copy(f.theta[i], f.old[i])
	}
}

func (f *fitter) move(step float64) {
	for k, t := range f.terms {
		theta := f.theta[t.node]
		for c, s := range t.to {
			theta[c] -= step * t.weight * f.grad[k][s]
		}
	}
}
