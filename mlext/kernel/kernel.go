// Package kernel has the inner loops of training: products of float32 features with float64 weights. A faster set (SIMD) would stand behind
// the same functions.
package kernel

import "gonum.org/v1/gonum/blas/blas32"

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

// DotSingle is the scalar product in single precision, by gonum's assembly where it has some.
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
