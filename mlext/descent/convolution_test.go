package descent

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/kernel"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// convolutions are small ones: of one and two convolutions, padded or not, of one channel and several, of one score and several.
func convolutions() []*Convolution {
	return []*Convolution{
		{Height: 5, Width: 6, Channels: 1, Gain: 3, Filters: []Filters{{3, 3, 2, true}}, Hidden: []int{3}, Temper: 2, Outputs: 1, Loss: loss.Logistic()},
		{Height: 6, Width: 5, Channels: 2, Gain: 4, Filters: []Filters{{2, 3, 1, true}, {3, 2, 1, false}}, Hidden: []int{4}, Temper: 3, Outputs: 3, Loss: loss.Softmax(3)},
		{Height: 5, Width: 5, Channels: 1, Gain: 2, Filters: []Filters{{2, 2, 1, false}}, Hidden: []int{3, 2}, Temper: 1, Outputs: 1, Loss: loss.Squared(0.5)},
	}
}

func (c *Convolution) width() int { return 1 + c.Height*c.Width*c.Channels }

func (c *Convolution) classes() int { return max(2, c.Loss.Outputs) }

func (c *Convolution) size() int {
	_, _, size, _ := c.Shape()
	return size
}

// lossAt is a row's loss, by plain loops in double precision and without a grid.
func (c *Convolution) lossAt(theta []float64, row []float32, y float64) float64 {
	image, h, w, channels := make([]float64, len(row)-1), c.Height, c.Width, c.Channels
	for i, v := range row[1:] {
		image[i] = c.Gain * float64(v)
	}
	at := 0
	next := func(n int) []float64 { at += n; return theta[at-n : at] }
	for _, f := range c.Filters {
		outH, outW, top, left := (h-f.Size)/f.Stride+1, (w-f.Size)/f.Stride+1, 0, 0
		if f.Padded {
			outH, outW = int(math.Ceil(float64(h)/float64(f.Stride))), int(math.Ceil(float64(w)/float64(f.Stride)))
			top, left = max(0, (outH-1)*f.Stride+f.Size-h)/2, max(0, (outW-1)*f.Stride+f.Size-w)/2
		}
		weights, biases := next(f.Count*f.Size*f.Size*channels), next(f.Count)
		z := func(py, px, k int) float64 {
			sum := biases[k]
			for dy := range f.Size {
				for dx := range f.Size {
					for ch := range channels {
						if iy, ix := py*f.Stride+dy-top, px*f.Stride+dx-left; iy >= 0 && ix >= 0 && iy < h && ix < w {
							sum += image[(iy*w+ix)*channels+ch] * weights[((k*f.Size+dy)*f.Size+dx)*channels+ch]
						}
					}
				}
			}
			return sum
		}
		var pooled []float64
		for py := range outH - 1 {
			for px := range outW - 1 {
				for k := range f.Count {
					pooled = append(pooled, math.Tanh(c.Temper/2*max(z(py, px, k), z(py+1, px, k), z(py, px+1, k), z(py+1, px+1, k))))
				}
			}
		}
		image, h, w, channels = pooled, outH-1, outW-1, f.Count
	}
	layers := append(slices.Clone(c.Hidden), c.Loss.Outputs)
	for i, out := range layers {
		l := next((len(image) + 1) * out)
		z := slices.Clone(l[:out])
		for j, v := range image {
			for k := range z {
				z[k] += v * l[(j+1)*out+k]
			}
		}
		if i == len(layers)-1 {
			return c.Loss.Value(z, y)
		}
		for k := range z {
			z[k] = math.Tanh(c.Temper / 2 * z[k])
		}
		image = z
	}
	panic("a network without layers")
}

func convTheta(rng *rand.Rand, c *Convolution) []float64 {
	theta := c.Start()
	for j := range theta {
		theta[j] += 0.3 * rng.NormFloat64()
	}
	return theta
}

// TestConvolutionSize: the network that cnn trains without options has the parameters of Papernot et al., and images that no square of scores is left of are none.
func TestConvolutionSize(t *testing.T) {
	c := &Convolution{Height: 28, Width: 28, Channels: 1, Filters: Papernot2021(), Hidden: []int{32}, Outputs: 10, Loss: loss.Softmax(10)}
	convs, dense, size, ok := c.Shape()
	if !ok || size != 26010 || convs[0].Height != 14 || convs[1].Height != 5 || dense[0].In != 4*4*32+1 {
		t.Errorf("%v, %v: %d parameters", convs, dense, size)
	}
	for side, fits := range map[int]bool{12: false, 13: true} {
		c.Height, c.Width = side, 28
		if _, _, _, ok := c.Shape(); ok != fits {
			t.Errorf("a side of %d: %v", side, ok)
		}
	}
}

// TestConvolutionGradient: gradients by all parameters are those of finite differences, and their norm is what Row returns.
func TestConvolutionGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for i, c := range convolutions() {
		table := tableOf(t, c.width(), 1, random(rng, 20, 1, c.width(), c.classes()))
		theta, kinks := convTheta(rng, c), 0
		for u := range table.Units() {
			x, y := table.Row(u), table.Target(u)
			g, got := c.At(theta), make([]float64, len(theta))
			norm := g.Row(x, 0, y)
			g.Add(x, got)
			if want := floats.Norm(got, 2); math.Abs(norm-want) > 1e-9*want || want == 0 {
				t.Fatalf("%d: the norm is %g, Row says %g", i, want, norm)
			}
			want := make([]float64, len(theta))
			for j := range theta {
				const by = 1e-5
				ends := slices.Clone(theta)
				ends[j] += by
				up := c.lossAt(ends, x, y)
				ends[j] -= 2 * by
				want[j] = (up - c.lossAt(ends, x, y)) / (2 * by)
			}
			if !floats.EqualApprox(got, want, 2e-3*(1+norm)) {
				kinks++ // two of a square's scores are within by of each other
			}
		}
		if kinks > 1 {
			t.Errorf("%d: the gradients of %d rows of %d are wrong", i, kinks, table.Units())
		}
	}
}

// TestConvolutionSum: without one unit the totals differ by whole steps of norm at most Unit, for one row a unit and several, also at parameters that left all bounds; some change by nearly Unit, and the order of the batch does not matter.
func TestConvolutionSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	const units = 20
	for _, most := range []int{1, 3} {
		for _, c := range convolutions() {
			table := tableOf(t, c.width(), most, random(rng, units, most, c.width(), c.classes()))
			for _, far := range []float64{1, 1e6, 1e30, 1e300, math.Inf(1), math.NaN()} {
				theta := convTheta(rng, c)
				if far != 1 {
					for j := range theta {
						theta[j] *= far
					}
				}
				s := &summer{table: table, learner: c, clip: 0.01}
				whole, err := s.totals(theta, all(units))
				if err != nil {
					t.Fatal(err)
				}
				backwards := all(units)
				slices.Reverse(backwards)
				if again, err := s.totals(theta, backwards); err != nil || !slices.Equal(whole, again) {
					t.Fatalf("another order gives another sum (%v)", err)
				}
				longest := 0.0
				for u := range units {
					less, err := s.totals(theta, append(all(u), all(units)[u+1:]...))
					if err != nil {
						t.Fatal(err)
					}
					d := make([]float64, len(whole))
					for j := range d {
						d[j] = float64(whole[j] - less[j])
					}
					longest = math.Max(longest, floats.Norm(d, 2))
				}
				if longest > Unit || far == 1 && longest < 0.99*Unit {
					t.Errorf("%v, %d rows, parameters times %g: a unit changes the totals by %g of %d steps", c.Filters, most, far, longest, Unit)
				}
			}
		}
	}
}

// TestConvolutionSumIsWhole: each entry of each row's clipped gradient is a whole number of steps, so that no sum is rounded.
func TestConvolutionSumIsWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 56))
	for _, c := range convolutions() {
		table, theta := tableOf(t, c.width(), 1, random(rng, 20, 1, c.width(), c.classes())), convTheta(rng, c)
		s, g := &summer{table: table, learner: c, clip: 0.3}, c.At(theta)
		for u := range table.Units() {
			sum := make([]float64, len(theta))
			s.clipped(g, table.Row(u), u)
			g.Add(table.Row(u), sum)
			for j, v := range sum {
				if v /= data.Step; v != math.Trunc(v) {
					t.Fatalf("entry %d of unit %d is %g steps", j, u, v)
				}
			}
		}
	}
}

// TestConvolutionAddress: a row's gradient depends on the row and the parameters alone, not on rows before it or on where numbers lie.
func TestConvolutionAddress(t *testing.T) {
	rng := rand.New(rand.NewPCG(57, 58))
	for _, c := range convolutions() {
		table, theta := tableOf(t, c.width(), 1, random(rng, 10, 1, c.width(), c.classes())), convTheta(rng, c)
		used := c.At(theta)
		var held [][]float32
		for u := range table.Units() {
			a, b := make([]float64, len(theta)), make([]float64, len(theta))
			held = append(held, make([]float32, 1+u))
			fresh := c.At(theta)
			fresh.Row(table.Row(u), 0, table.Target(u))
			fresh.Add(table.Row(u), a)
			used.Row(table.Row(u), 0, table.Target(u))
			used.Add(table.Row(u), b)
			if !slices.Equal(a, b) {
				t.Fatalf("unit %d has two gradients", u)
			}
		}
		_ = held
	}
}

// TestConvolutionZeroGradient: a person whose gradient is 0 changes no bit of the parameters that the same noise gives, with each of the ways to step. One of whose gradient is not does.
func TestConvolutionZeroGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(59, 60))
	c := convolutions()[2]
	c.Loss = loss.Logistic().Weighted([]float64{1, 1e-300}) // gradients of the second class are less than a step
	rows := random(rng, 12, 1, c.width(), 1)
	more := func(y float64) []rowOf {
		return append(slices.Clone(rows), rowOf{unit: 12, x: random(rng, 1, 1, c.width(), 1)[0].x, y: y})
	}
	for _, adam := range []bool{false, true} {
		run := func(rows []rowOf) []float64 {
			p := &Plan{Learner: c, Rows: 1, Clip: 0.5, Rate: 1, Steps: 3, Noise: 1, Population: 20, LearningRate: 0.3, Average: 0.5, Adam: adam}
			theta, err := p.Train(tableOf(t, c.width(), 1, rows), audit.Source(6), func(int) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			return theta
		}
		same := run(rows)
		if !slices.Equal(same, run(more(1))) {
			t.Error("a person without a gradient changes the parameters")
		}
		if slices.Equal(same, run(more(0))) {
			t.Error("a person with a gradient changes nothing, so this proves nothing")
		}
	}
}

// TestConvolutionTrains: it learns which half of an image is bright.
func TestConvolutionTrains(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	c := &Convolution{Height: 6, Width: 6, Channels: 1, Gain: 6, Filters: []Filters{{4, 3, 1, true}}, Hidden: []int{4}, Temper: 2, Outputs: 1, Loss: loss.Logistic()}
	var rows []rowOf
	for u := range 200 {
		r := rowOf{unit: int64(u), x: make([]float64, c.width()), y: float64(u % 2)}
		for j := range 36 {
			if r.x[1+j] = 0.05 * rng.Float64(); j/18 == u%2 {
				r.x[1+j] += 0.1
			}
		}
		rows = append(rows, r)
	}
	table := tableOf(t, c.width(), 1, rows)
	p := &Plan{Learner: c, Rows: 1, Clip: 1, Rate: 1, Steps: 40, Noise: 0.5, Population: 200, LearningRate: 0.05, Adam: true}
	theta, err := p.Train(table, audit.Source(7), func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	g, right := c.at(theta), 0
	for u := range table.Units() {
		g.scores(table.Row(u)[1:])
		if z := g.layers[len(g.layers)-1].residuals[0]; (z > 0) == (table.Target(u) == 1) {
			right++
		}
	}
	if right < 180 {
		t.Errorf("%d of 200 are right", right)
	}
}

// TestTanh: it is the tangent to 2^-21, within [-1, 1], and of NaN none.
func TestTanh(t *testing.T) {
	for x := -12.0; x < 12; x += 1.0 / 512 {
		if got := float64(kernel.Tanh(float32(x))); math.Abs(got-math.Tanh(x)) > 0x1p-21 || math.Abs(got) > 1 {
			t.Fatalf("of %g: %g, want %g", x, got, math.Tanh(x))
		}
	}
	if got := kernel.Tanh(float32(math.NaN())); got == got { //nolint:gocritic // of a NaN
		t.Errorf("of NaN: %g", got)
	}
	if a, b := kernel.Tanh(float32(math.Inf(1))), kernel.Tanh(float32(math.Inf(-1))); a != -b || a < 1-0x1p-21 {
		t.Errorf("of infinities: %g and %g", a, b)
	}
}

// BenchmarkConvolution is a step of the network of 26,010 parameters over as many pixels as MNIST has, a fifth of them not 0, with clip and noise.
func BenchmarkConvolution(b *testing.B) {
	c := &Convolution{Height: 28, Width: 28, Channels: 1, Gain: 28, Filters: Papernot2021(), Hidden: []int{32}, Temper: 2, Outputs: 10, Loss: loss.Softmax(10)}
	table := filled(b, 2000, 785, 10, 1, 0.2)
	n, err := noise.NewSource().Normal(Unit)
	if err != nil {
		b.Fatal(err)
	}
	s, theta, batch := &summer{table: table, learner: c, clip: 1, noise: n}, c.Start(), all(table.Units())
	used := processor()
	for b.Loop() {
		if _, err := s.step(theta, batch); err != nil {
			b.Fatal(err)
		}
	}
	rows := float64(b.N) * float64(table.Rows()) / 1e3
	b.ReportMetric(rows/b.Elapsed().Seconds(), "krows/s")
	b.ReportMetric(rows/(processor()-used), "krows/s/core")
}
