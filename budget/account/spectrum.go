package account

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// spectrum is a product of the transforms of several laws, at the frequencies where it is not yet nothing: few are left soon, where many laws are multiplied, and then each law's transform
// is evaluated there alone. Its errors of rounding, and what it takes for nothing, are in the slack of Compose (its Proof).
type spectrum struct {
	n       int
	fft     *fourier.FFT
	product []complex128
	size    []float64    // ln |product|, at alive
	alive   []int        // frequencies, rising
	at      []complex128 // e^(-2 pi i k/n), at alive
	ring    []float64
	whole   []complex128
	steps   float64 // rounding errors of one evaluation, in units
}

// dead is how small a product is nothing: -ln of it.
const dead = 60

func newSpectrum(n int, product []complex128) *spectrum {
	w := &spectrum{n: n, fft: fourier.NewFFT(n), product: product, ring: make([]float64, n), whole: make([]complex128, n/2+1)}
	for k := range product {
		product[k] = 1
		w.alive = append(w.alive, k)
	}
	w.size = make([]float64, len(product))
	return w
}

// times multiplies by the count-th power of the transform of masses, which add up to 1 at most, so that no factor is above 1.
//
// Rounding: Horner's rule on the unit circle errs by two units for each of its steps, and by as many times the error of the point.
func (w *spectrum) times(masses []float64, count int) {
	if len(w.alive) == 0 {
		return
	}
	if len(masses)*len(w.alive) > 4*w.n {
		clear(w.ring)
		for j, m := range masses {
			w.ring[j&(w.n-1)] += m
		}
		w.fft.Coefficients(w.whole, w.ring)
		for _, k := range w.alive {
			w.multiply(k, w.whole[k], count)
		}
	} else {
		if w.at == nil {
			for _, k := range w.alive {
				sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(w.n))
				w.at = append(w.at, complex(cos, sin))
			}
		}
		w.steps = math.Max(w.steps, 4*float64(len(masses)))
		i := 0
		for ; i+4 <= len(w.alive); i += 4 { // four at once: each step waits for the one before
			for j, v := range four(masses, w.at[i:i+4]) {
				w.multiply(w.alive[i+j], v, count)
			}
		}
		for ; i < len(w.alive); i++ {
			z := w.at[i]
			w.multiply(w.alive[i], four(masses, []complex128{z, z, z, z})[0], count)
		}
	}
	w.bury()
}

// four evaluates a polynomial at four points.
func four(masses []float64, at []complex128) [4]complex128 {
	c0, s0, c1, s1 := real(at[0]), imag(at[0]), real(at[1]), imag(at[1])
	c2, s2, c3, s3 := real(at[2]), imag(at[2]), real(at[3]), imag(at[3])
	var x0, y0, x1, y1, x2, y2, x3, y3 float64
	for j := len(masses) - 1; j >= 0; j-- {
		m := masses[j]
		x0, y0 = x0*c0-y0*s0+m, x0*s0+y0*c0
		x1, y1 = x1*c1-y1*s1+m, x1*s1+y1*c1
		x2, y2 = x2*c2-y2*s2+m, x2*s2+y2*c2
		x3, y3 = x3*c3-y3*s3+m, x3*s3+y3*c3
	}
	return [4]complex128{complex(x0, y0), complex(x1, y1), complex(x2, y2), complex(x3, y3)}
}

func (w *spectrum) multiply(k int, c complex128, count int) {
	size := math.Log(real(c)*real(c)+imag(c)*imag(c)) / 2 * float64(count)
	w.size[k] += size
	switch {
	case w.size[k] < -dead:
		w.product[k] = 0
	case count == 1:
		w.product[k] *= c
	default:
		w.product[k] *= cmplx.Rect(math.Exp(size), float64(count)*cmplx.Phase(c))
	}
}

// bury leaves the frequencies out at which the product is nothing.
func (w *spectrum) bury() {
	kept := 0
	for i, k := range w.alive {
		if w.product[k] == 0 {
			continue
		}
		w.alive[kept] = k
		if w.at != nil {
			w.at[kept] = w.at[i]
		}
		kept++
	}
	w.alive = w.alive[:kept]
	if w.at != nil {
		w.at = w.at[:kept]
	}
}
