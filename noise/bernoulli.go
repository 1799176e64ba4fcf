package noise

import "math/big"

// factorial20 is 20!, the largest factorial below 2^64.
const factorial20 = 2432902008176640000

// falling[n] is 20!/n!.
var falling = func() (f [21]uint64) {
	f[20] = 1
	for n := 20; n > 0; n-- {
		f[n-1] = f[n] * uint64(n)
	}
	return f
}()

// run counts how many of independent events of probability 1/1, 1/2, 1/3 ... happen before the first that does not: at least n
// with probability 1/n!.
//
// Proof: for u uniform below 20! and n <= 20, u < 20!/n! has probability 1/n! exactly. u = 0 means at least 20, and from
// there each further event of probability 1/k is drawn by itself.
func (s *stream) run() uint64 {
	u, n := s.below(factorial20), uint64(1)
	for n < 20 && u < falling[n+1] {
		n++
	}
	if n == 20 {
		for s.err == nil && s.below(n+1) == 0 {
			n++
		}
	}
	return n
}

// expMinusOne is true with probability exp(-1).
func (s *stream) expMinusOne() bool { return s.run()%2 == 0 }

// expMinusWhole is true with probability exp(-n).
func (s *stream) expMinusWhole(n uint64) bool {
	for ; n > 0; n-- {
		if s.err != nil || !s.expMinusOne() {
			return false
		}
	}
	return true
}

// expMinus is true with probability exp(-p/q), 0 <= p <= q, q > 0.
//
// Proof: Canonne, Kamath, Steinke 2020, Algorithm 1: events of probability x/1, x/2, x/3 ... with x = p/q are drawn until
// one fails; the number that happened is even with probability sum of (-x)^k/k! = exp(-x). An event of probability x/k is one
// of 1/k and an independent one of x: run draws the first kind, the loop the second.
func (s *stream) expMinus(p, q uint64) bool {
	n := s.run()
	happened := uint64(0)
	for happened < n && s.err == nil && s.below(q) < p {
		happened++
	}
	return happened%2 == 0
}

// lessThan tells whether a uniform real number, whose first 64 bits are word and whose further bits are not drawn yet, is
// less than the rational f in [0, 1).
//
// Proof: the digits of f to base 2^64 come from exact division; the first digit that differs decides. Equality for ever has
// probability 0.
func (s *stream) lessThan(word uint64, f *big.Rat) bool {
	rest, digit := new(big.Int).Set(f.Num()), new(big.Int)
	for s.err == nil {
		digit.QuoRem(rest.Lsh(rest, 64), f.Denom(), rest)
		if d := digit.Uint64(); word != d {
			return word < d
		}
		word = s.word()
	}
	return false
}
