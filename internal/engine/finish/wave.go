package finish

import "math"

// lnWave is the logarithm of a law's characteristic function E cos(at N), which is above 0: of Laplace noise 1/(1 + (sin(at/2)/sinh(1/2s))^2); of Gaussian noise a theta function, by
// Poisson's formula where it is wide, and number by number where it is narrow. Both fall as at rises from 0 to pi.
func (l *law) lnWave(at float64) float64 {
	at = math.Abs(math.Remainder(at, 2*math.Pi))
	s := l.scale
	if l.laplace {
		x := math.Sin(at/2) / math.Sinh(0.5/s)
		return -math.Log1p(x * x)
	}
	if s < 1 {
		all, wave := 1.0, 1.0
		for k := 1.0; k < 10; k++ { // e^-50 lies beyond
			p := 2 * math.Exp(-k*k/(2*s*s))
			all += p
			wave += p * math.Cos(k*at)
		}
		return math.Log(wave / all)
	}
	more, of := 0.0, 0.0
	for _, m := range []float64{-2, -1, 1, 2} {
		more += math.Exp(-2 * math.Pi * m * (math.Pi*m - at) * s * s)
		of += math.Exp(-2 * math.Pi * math.Pi * m * m * s * s)
	}
	return -s*s*at*at/2 + math.Log1p(more) - math.Log1p(of)
}

// variance is that of the law, or more.
func (l *law) variance() float64 {
	s := l.scale
	if l.laplace {
		x := math.Sinh(0.5 / s)
		return 0.5 / (x * x)
	}
	if s >= 1 {
		return s * s
	}
	all, v := 1.0, 0.0
	for k := 1.0; k < 10; k++ {
		p := 2 * math.Exp(-k*k/(2*s*s))
		all += p
		v += p * k * k
	}
	return v / all
}

// reach is a k such that the sum of all terms, without roundings, is above k with probability at most exp(-ln).
//
// Proof: Chernoff: P(Z >= k) <= exp(-tk) E exp(tZ) for every t > 0, and E exp(tZ) is the product of the terms'; at k = (ln E exp(tZ) + ln)/t this is exp(-ln). ln E exp(t w N) is at most t^2 w^2 s^2 / 2 for
// a discrete Gaussian (Canonne, Kamath, Steinke 2020, Corollary 17: it is s^2-subgaussian), and ln (cosh a - 1) - ln (cosh a - cosh b), a = 1/s, b = t w < a, for a discrete Laplace. Each t gives a bound, so the best of many tried is one.
func reach(all []addend, ln float64) float64 {
	least, variance := math.Inf(1), 0.0
	for _, a := range all {
		for _, t := range a.terms {
			w := a.weight * t.weight
			variance += a.of() * t.of() * w * w * t.law.variance()
			if t.law.laplace {
				least = math.Min(least, 1/(w*t.law.scale))
			}
		}
	}
	if variance == 0 { // of noise that is 0 but with a probability below 1e-300
		return 0
	}
	best := math.Sqrt(variance) * math.Exp(min(ln/2, 300)) // Chebyshev's
	start := math.Sqrt(2 * ln / variance)
	for i := -80; i <= 80; i++ {
		t := start * math.Pow(1.05, float64(i))
		if t >= least {
			t = least * (1 - math.Pow(1.05, -float64(i+81))) // close to the pole
		}
		sum := ln
		for _, a := range all {
			for _, m := range a.terms {
				b, s := t*a.weight*m.weight, m.law.scale
				if m.law.laplace {
					sum += a.of() * m.of() * (2*lnSinh(0.5/s) - lnSinh((1/s+b)/2) - lnSinh((1/s-b)/2))
				} else {
					sum += a.of() * m.of() * b * b * s * s / 2
				}
			}
		}
		if k := sum / t; k < best {
			best = k
		}
	}
	return best * (1 + 1e-9)
}

// lnSinh is ln (2 sinh x).
func lnSinh(x float64) float64 { return x + math.Log1p(-math.Exp(-2*x)) }
