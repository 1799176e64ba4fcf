// Package kernel has the inner loops of training: products of float32 features with float64 weights. A faster set (SIMD) would stand behind
// the same functions.
package kernel

import (
	"unsafe"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
)

// Dot is the scalar product.
func Dot(x []float32, w []float64) float64 {
	var a, b, c, d float64
	n := len(x) &^ 3
	w = w[:len(x)]
	for i := 0; i < n; i += 4 {
		u, v := x[i:i+4:i+4], w[i:i+4:i+4]
		a += float64(u[0]) * v[0]
		b += float64(u[1]) * v[1]
		c += float64(u[2]) * v[2]
		d += float64(u[3]) * v[3]
	}
	for i := n; i < len(x); i++ {
		a += float64(x[i]) * w[i]
	}
	return (a + b) + (c + d)
}

// Single returns weights in single precision, at an address that is a multiple of 16 bytes.
func Single(weights []float64) []float32 {
	const bytes, each = 16, 4
	w := make([]float32, len(weights)+bytes/each-1)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(w)))%bytes) / each //nolint:gosec // an address as a number, which nothing is read by
	w = w[off : off+len(weights)]
	for j, v := range weights {
		w[j] = float32(v)
	}
	return w
}

// DotSingle is the scalar product in single precision, by gonum's assembly where it has some. The order of its sum depends on the address of w: with weights that Single returned, the same numbers have the same product.
func DotSingle(x, w []float32) float64 {
	return float64(blas32.Implementation().Sdot(len(x), x, 1, w, 1))
}

// Axpy adds r x to g.
func Axpy(r float64, x []float32, g []float64) {
	n := len(x) &^ 3
	g = g[:len(x)]
	for i := 0; i < n; i += 4 {
		u, v := x[i:i+4:i+4], g[i:i+4:i+4]
		v[0] += r * float64(u[0])
		v[1] += r * float64(u[1])
		v[2] += r * float64(u[2])
		v[3] += r * float64(u[3])
	}
	for i := n; i < len(x); i++ {
		g[i] += r * float64(x[i])
	}
}

// Rows is how many rows AxpyRows takes.
const Rows = 4

// AxpyRows adds r[i] x[i] of all rows to g, which is read and written once for all of them.
func AxpyRows(r *[Rows]float64, x *[Rows][]float32, g []float64) {
	a, b, c, d := x[0], x[1][:len(x[0])], x[2][:len(x[0])], x[3][:len(x[0])]
	e, f, h, i := r[0], r[1], r[2], r[3]
	g = g[:len(a)]
	for j, v := range a {
		g[j] += (e*float64(v) + f*float64(b[j])) + (h*float64(c[j]) + i*float64(d[j]))
	}
}

// Scores are the scalar products with the columns of a matrix of len(z) columns, feature after feature.
func Scores(x []float32, w, z []float64) {
	clear(z)
	k := len(z)
	for j, v := range x {
		if v == 0 {
			continue
		}
		f := float64(v)
		for c, u := range w[j*k : j*k+k : j*k+k] {
			z[c] += f * u
		}
	}
}

// Outer adds the product of x and r to a matrix of len(r) columns.
func Outer(x []float32, r, g []float64) {
	k := len(r)
	for j, v := range x {
		if v == 0 {
			continue
		}
		f := float64(v)
		row := g[j*k : j*k+k : j*k+k]
		for c, u := range r {
			row[c] += f * u
		}
	}
}

// The functions of layers below take each element apart, or add in a fixed order, so that what they compute does not depend on addresses.

// Dense puts the scalar products of values with the columns of a matrix into z, as Scores does, for many columns.
func Dense[T float32 | float64](x []T, w, z []float64) {
	clear(z)
	k := len(z)
	for j, v := range x {
		if v != 0 {
			axpy(float64(v), w[j*k:j*k+k], z)
		}
	}
}

// DenseOuter adds the product of values and r to a matrix, as Outer does, for many columns.
func DenseOuter[T float32 | float64](x []T, r, g []float64) {
	k := len(r)
	for j, v := range x {
		if v != 0 {
			axpy(float64(v), r, g[j*k:j*k+k])
		}
	}
}

func axpy(a float64, x, y []float64) { blas64.Implementation().Daxpy(len(x), a, x, 1, y, 1) }

// DenseDot is the scalar product of values in double precision.
func DenseDot(x, y []float64) float64 {
	var a, b, c, d float64
	n := len(x) &^ 3
	y = y[:len(x)]
	for i := 0; i < n; i += 4 {
		u, v := x[i:i+4:i+4], y[i:i+4:i+4]
		a += u[0] * v[0]
		b += u[1] * v[1]
		c += u[2] * v[2]
		d += u[3] * v[3]
	}
	for i := n; i < len(x); i++ {
		a += x[i] * y[i]
	}
	return (a + b) + (c + d)
}

// Squares is the sum of squares, to a relative 2^-43 of up to 2^18 numbers: blocks are added up apart.
func Squares(list []float64) (sum float64) {
	const block = 512
	for len(list) > 0 {
		part := list[:min(block, len(list))]
		sum += DenseDot(part, part)
		list = list[len(part):]
	}
	return sum
}

// AxpySingle adds r x to g, in single precision.
func AxpySingle(r float32, x, g []float32) {
	blas32.Implementation().Saxpy(len(x), r, x, 1, g, 1)
}

// Tanh is the hyperbolic tangent in single precision, to 2^-21, by a quotient of polynomials; of NaN it is NaN.
func Tanh(x float32) float32 {
	const end = 7.90531110763549805
	x = max(-end, min(end, x))
	y := x * x
	p := x * ((((((-2.76076847742355e-16*y+2.00018790482477e-13)*y-8.60467152213735e-11)*y+5.12229709037114e-08)*y+1.48572235717979e-05)*y+6.37261928875436e-04)*y + 4.89352455891786e-03)
	q := ((1.19825839466702e-06*y+1.18534705686654e-04)*y+2.26843463243900e-03)*y + 4.89352518554385e-03
	return max(-1, min(1, p/q))
}
