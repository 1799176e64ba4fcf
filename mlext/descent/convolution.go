package descent

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/kernel"
	"github.com/dpsql/dpsql/mlext/loss"
)

// Convolution is a network over images: convolutions, each with a maximum over squares of 2 by 2 (at every place) and the hyperbolic tangent of Temper/2 times it, then dense layers with that tangent. A row is 1 for the intercept, which it does not read, and the image's elements: line after line, place after place, channel after channel.
type Convolution struct {
	Height, Width, Channels int
	Gain                    float64 // what elements are multiplied by
	Filters                 []Filters
	Hidden                  []int
	Temper                  float64
	Outputs                 int        // scores
	Loss                    *loss.Loss // nil where nothing is trained
}

// Filters are the filters of one convolution: Count of Size by Size, at every Stride-th place. Padded ones go over the image's edge, where there are zeros, so that there are as many places as an image has, by Stride.
type Filters struct {
	Count  int  `json:"count"`
	Size   int  `json:"size"`
	Stride int  `json:"stride"`
	Padded bool `json:"padded,omitempty"`
}

// Papernot2021 are the filters of the network of Papernot, Thakurta, Song, Chien, Erlingsson 2021 ("Tempered sigmoid activations for deep learning with differential privacy"), which has 26,010 parameters over 28 by 28 elements, with 32 hidden units and 10 classes.
func Papernot2021() []Filters {
	return []Filters{{Count: 16, Size: 8, Stride: 2, Padded: true}, {Count: 32, Size: 4, Stride: 2}}
}

// Conv is where a convolution has its parameters and its numbers.
type Conv struct {
	Filters
	From                  int // of its weights: of each filter those of a patch; its intercepts follow
	Patch                 int // numbers that a filter reads
	Channels              int // of what it reads
	Above, Left           int // lines and places of padding before the image
	InHeight, InWidth     int // of what it reads, with padding
	Line                  int // numbers of a line without padding
	Height, Width         int // of places
	PoolHeight, PoolWidth int
}

// Shape are the convolutions and the dense layers after them, and how many parameters there are. It is false where the image is too small.
func (c *Convolution) Shape() (convs []Conv, dense []Layer, size int, ok bool) {
	h, w, channels := c.Height, c.Width, c.Channels
	for _, f := range c.Filters {
		v := Conv{Filters: f, From: size, Patch: f.Size * f.Size * channels, Channels: channels, Line: w * channels}
		v.Height, v.Above, v.InHeight = f.along(h)
		v.Width, v.Left, v.InWidth = f.along(w)
		v.PoolHeight, v.PoolWidth = v.Height-1, v.Width-1
		if h, w, channels = v.PoolHeight, v.PoolWidth, f.Count; h < 1 || w < 1 {
			return nil, nil, 0, false
		}
		size += f.Count * (v.Patch + 1)
		convs = append(convs, v)
	}
	in := h*w*channels + 1
	for _, out := range append(append([]int(nil), c.Hidden...), c.Outputs) {
		dense = append(dense, Layer{size, in, out})
		size += in * out
		in = out + 1
	}
	return convs, dense, size, true
}

// along is how many places there are along a side, the padding before it, and the side with padding.
func (f Filters) along(side int) (places, before, all int) {
	if !f.Padded {
		if side < f.Size {
			return 0, 0, side
		}
		return (side-f.Size)/f.Stride + 1, 0, side
	}
	places = (side + f.Stride - 1) / f.Stride
	pad := max(0, (places-1)*f.Stride+f.Size-side)
	return places, pad / 2, side + pad
}

// Start has weights as a Network's Start has them.
func (c *Convolution) Start() []float64 {
	convs, dense, size, _ := c.Shape()
	theta := make([]float64, size)
	for _, v := range convs {
		glorot(theta, v.From, v.Count*v.Patch, v.Patch+v.Count*v.Size*v.Size)
	}
	for _, l := range dense[:len(dense)-1] {
		glorot(theta, l.From+l.Out, (l.In-1)*l.Out, l.In-1+l.Out)
	}
	return theta
}

// glorot puts weights that look uniform in the range of Glorot and Bengio 2010: hashes of their places. ends is of how many numbers each weight's layer reads and makes.
func glorot(theta []float64, from, n, ends int) {
	reach := math.Sqrt(6 / float64(ends))
	for j := from; j < from+n; j++ {
		h := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(j))) //nolint:gosec // a place
		theta[j] = reach * (float64(binary.BigEndian.Uint64(h[:])>>11)/(1<<52) - 1)
	}
}

// At returns the gradients at parameters. All that a row needs is allocated here.
func (c *Convolution) At(theta []float64) Gradient { return c.at(theta) }

func (c *Convolution) at(theta []float64) *convolutionGradient {
	convs, dense, _, _ := c.Shape()
	g := &convolutionGradient{network: c, half: float32(c.Temper / 2)}
	for _, v := range convs {
		g.convs = append(g.convs, newConv(v, theta))
	}
	g.explicit = make([]float64, dense[0].From)
	for _, l := range dense {
		g.layers = append(g.layers, layer{from: l.From, theta: theta[l.From : l.From+l.In*l.Out], reads: make([]float64, l.In), residuals: make([]float64, l.Out)})
	}
	return g
}

// convolutionGradient is of all layers, at a row: of convolutions the gradient itself, of dense layers the products.
type convolutionGradient struct {
	network  *Convolution
	half     float32 // of Temper
	convs    []conv
	explicit []float64 // the gradient by the convolutions' parameters
	layers   []layer
}

// conv is one convolution at a row.
type conv struct {
	Conv
	stride   int       // from filter to filter: Patch, and what makes addresses multiples of 16 bytes
	weights  []float32 // a line for each filter
	biases   []float32
	image    []float32 // with padding
	patches  []float32 // a line for each place
	z        []float32 // scores: of each place of each filter; then the derivative of the loss by them
	pooled   []float32 // values
	at       []int32   // the place of each one's score
	back     []float32 // the derivative by image
	patch    []float32 // that by a patch
	gradient []float32 // as weights, without the intercepts'
}

func newConv(v Conv, theta []float64) conv {
	places, pools := v.Height*v.Width, v.PoolHeight*v.PoolWidth*v.Count
	c := conv{Conv: v, stride: (v.Patch + 3) &^ 3, biases: make([]float32, v.Count), image: make([]float32, v.InHeight*v.InWidth*v.Channels), patches: make([]float32, places*v.Patch), z: make([]float32, places*v.Count), pooled: make([]float32, pools), at: make([]int32, pools), patch: make([]float32, v.Patch)}
	lines := make([]float64, v.Count*c.stride)
	for f := range v.Count {
		copy(lines[f*c.stride:], theta[v.From+f*v.Patch:v.From+(f+1)*v.Patch])
		c.biases[f] = float32(theta[v.From+v.Count*v.Patch+f])
	}
	c.weights = kernel.Single(lines) // so that no sum's order depends on an address
	c.gradient = make([]float32, len(c.weights))
	if v.From > 0 {
		c.back = make([]float32, len(c.image))
	}
	return c
}

// read puts an image into its padding.
func (c *conv) read(values []float32, gain float32) {
	for y := c.Above; len(values) > 0; y++ {
		line := c.image[(y*c.InWidth+c.Left)*c.Channels:][:c.Line]
		for i, v := range values[:c.Line] {
			line[i] = gain * v
		}
		values = values[c.Line:]
	}
}

// forwards computes the values: of each filter at each place the score, of each square of places the largest, and its tangent.
func (c *conv) forwards(half float32) {
	run, n := c.Size*c.Channels, c.Count
	for place := range c.Height * c.Width {
		patch := c.patches[place*c.Patch:][:c.Patch]
		from := (place/c.Width*c.Stride*c.InWidth + place%c.Width*c.Stride) * c.Channels
		for y := range c.Size {
			copy(patch[y*run:(y+1)*run], c.image[from+y*c.InWidth*c.Channels:])
		}
		z := c.z[place*n:][:n]
		for f := range z {
			z[f] = c.biases[f] + float32(kernel.DotSingle(patch, c.weights[f*c.stride:][:c.Patch]))
		}
	}
	for y := range c.PoolHeight {
		for x := range c.PoolWidth {
			out, a := (y*c.PoolWidth+x)*n, (y*c.Width+x)*n
			b := a + c.Width*n
			pooled, at := c.pooled[out:out+n], c.at[out:out+n]
			for f := range pooled {
				best := a + f
				for _, i := range [...]int{a + n + f, b + f, b + n + f} {
					if c.z[i] > c.z[best] {
						best = i
					}
				}
				pooled[f], at[f] = kernel.Tanh(half*c.z[best]), int32(best) //nolint:gosec // an image has 2^16 elements
			}
		}
	}
}

// backwards computes the gradient, from the derivative of the loss by scores, which is in z, and puts the intercepts' into biases.
func (c *conv) backwards(biases []float64) {
	clear(c.gradient)
	clear(biases)
	clear(c.back)
	run, n := c.Size*c.Channels, c.Count
	for place := range c.Height * c.Width {
		patch := c.patches[place*c.Patch:][:c.Patch]
		clear(c.patch)
		for f, r := range c.z[place*n:][:n] {
			if r == 0 {
				continue
			}
			biases[f] += float64(r)
			kernel.AxpySingle(r, patch, c.gradient[f*c.stride:][:c.Patch])
			if c.back != nil {
				kernel.AxpySingle(r, c.weights[f*c.stride:][:c.Patch], c.patch)
			}
		}
		if c.back == nil {
			continue
		}
		from := (place/c.Width*c.Stride*c.InWidth + place%c.Width*c.Stride) * c.Channels
		for y := range c.Size {
			into := c.back[from+y*c.InWidth*c.Channels:][:run]
			for i, v := range c.patch[y*run : (y+1)*run] {
				into[i] += v
			}
		}
	}
}

// scores passes elements forwards: the scores are the last layer's residuals.
func (g *convolutionGradient) scores(values []float32) {
	gain := float32(g.network.Gain)
	for i := range g.convs {
		c := &g.convs[i]
		c.read(values, gain)
		c.forwards(g.half)
		values, gain = c.pooled, 1
	}
	for i := range g.layers {
		l := &g.layers[i]
		l.reads[0] = 1
		if i == 0 {
			for c, v := range values {
				l.reads[c+1] = onGrid(float64(v))
			}
		} else {
			for c, z := range g.layers[i-1].residuals {
				l.reads[c+1] = onGrid(float64(kernel.Tanh(g.half * float32(z))))
			}
		}
		kernel.Dense(l.reads, l.theta, l.residuals)
	}
}

// slope is the derivative of the tangent where its value is v.
func (g *convolutionGradient) slope(v float64) float64 { return float64(g.half) * (1 - v*v) }

// Row passes a row forwards and its residuals backwards.
func (g *convolutionGradient) Row(x []float32, _, y float64) float64 {
	g.scores(x[1:])
	last := len(g.layers) - 1
	g.network.Loss.Residuals(g.layers[last].residuals, y)
	square := 0.0
	for i := last; i >= 0; i-- {
		l := &g.layers[i]
		out := len(l.residuals)
		square += kernel.Squares(l.reads) * kernel.Squares(l.residuals)
		if i == 0 {
			break
		}
		below := g.layers[i-1].residuals
		for c := range below {
			below[c] = g.slope(l.reads[c+1]) * kernel.DenseDot(l.theta[(c+1)*out:(c+2)*out], l.residuals)
		}
	}
	top, head := &g.convs[len(g.convs)-1], &g.layers[0]
	out := len(head.residuals)
	clear(top.z)
	for c, at := range top.at {
		top.z[at] += float32(g.slope(head.reads[c+1]) * kernel.DenseDot(head.theta[(c+1)*out:(c+2)*out], head.residuals))
	}
	for i := len(g.convs) - 1; i >= 0; i-- {
		c := &g.convs[i]
		weights := g.explicit[c.From:][:c.Count*(c.Patch+1)]
		c.backwards(weights[c.Count*c.Patch:])
		for f := range c.Count {
			into := weights[f*c.Patch:][:c.Patch]
			for j, v := range c.gradient[f*c.stride:][:c.Patch] {
				into[j] = float64(v)
			}
		}
		if i > 0 {
			below := &g.convs[i-1]
			clear(below.z)
			c.into(below, g.half)
		}
	}
	return math.Sqrt(square + kernel.Squares(g.explicit))
}

// into puts the derivative by an image into the scores of the convolution that made it.
func (c *conv) into(below *conv, half float32) {
	at := 0
	for y := c.Above; at < len(below.pooled); y++ {
		for _, d := range c.back[(y*c.InWidth+c.Left)*c.Channels:][:c.Line] {
			v := below.pooled[at]
			below.z[below.at[at]] += half * (1 - v*v) * d
			at++
		}
	}
}

// Scale scales the residuals of dense layers, and the gradient by the convolutions' parameters, in whole numbers of data.Step: products of dense layers have that step too.
func (g *convolutionGradient) Scale(by float64) {
	for i := range g.layers {
		Whole(g.layers[i].residuals, by)
	}
	Whole(g.explicit, by/data.Step)
	for j := range g.explicit {
		g.explicit[j] *= data.Step // a power of 2: exact
	}
}

// Add adds the gradient by the convolutions' parameters and the dense layers' products.
func (g *convolutionGradient) Add(_ []float32, sum []float64) {
	for j, v := range g.explicit {
		sum[j] += v
	}
	for i := range g.layers {
		l := &g.layers[i]
		kernel.DenseOuter(l.reads, l.residuals, sum[l.from:l.from+len(l.theta)])
	}
}

// Scores returns the scores of images at parameters, for one goroutine. Elements are those of a row, without the intercept's.
func (c *Convolution) Scores(theta []float64) func(elements []float32) []float64 {
	g := c.at(theta)
	return func(elements []float32) []float64 {
		g.scores(elements)
		return g.layers[len(g.layers)-1].residuals
	}
}
