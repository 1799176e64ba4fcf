package noise

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// script is a stream that gives the listed words, then fails.
func script(words ...uint64) *stream {
	s := &stream{reader: failing{}, next: streamBytes - 8*len(words)}
	for i, w := range words {
		binary.LittleEndian.PutUint64(s.buf[s.next+8*i:], w)
	}
	return s
}

func TestBelowIsUniform(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 10, 1 << 40, math.MaxUint64} {
		again := -n % n
		for _, c := range []struct{ word, want uint64 }{{math.MaxUint64, n - 1}, {again/n + 1, 0}} {
			if got := script(c.word).below(n); got != c.want {
				t.Errorf("below(%d) of %#x is %d, not %d", n, c.word, got, c.want)
			}
		}
	}
	if got := script(0, math.MaxUint64).below(3); got != 2 { // 2^64 mod 3 = 1: word 0 is drawn again
		t.Errorf("word 0 was not drawn again: %d", got)
	}
	if got := script(1).below(3); got != 0 {
		t.Errorf("word 1 gives %d", got)
	}
}

// The number of events of probability 1, 1/2, 1/3 ... is read off one uniform number: its limits are 20!/n! exactly.
func TestRunLimits(t *testing.T) {
	wordFor := func(u uint64) uint64 { // the last word for which below(20!) is u
		w := new(big.Int).Lsh(new(big.Int).SetUint64(u+1), 64)
		w.Sub(w, big.NewInt(1))
		return w.Div(w, big.NewInt(factorial20)).Uint64()
	}
	fact := uint64(1)
	for n := uint64(1); n < 20; n++ {
		fact *= n
		if falling[n] != factorial20/fact {
			t.Fatalf("20!/%d! is %d", n, falling[n])
		}
		if got := script(wordFor(falling[n] - 1)).run(); got != n {
			t.Errorf("u just below 20!/%d! gives %d", n, got)
		}
		if n > 1 {
			if got := script(wordFor(falling[n])).run(); got != n-1 {
				t.Errorf("u = 20!/%d! gives %d", n, got)
			}
		}
	}
	// u = 0: 20 happened; the 21st (word 1 is below 2^64/21) does, the 22nd does not.
	if got := script(wordFor(0), 1<<20, math.MaxUint64).run(); got != 21 {
		t.Errorf("u = 0 gives %d", got)
	}
}

func TestLessThanDigits(t *testing.T) {
	third := big.NewRat(1, 3) // every digit to base 2^64 is 0x5555...
	const digit = 0x5555555555555555
	for _, c := range []struct {
		first uint64
		more  []uint64
		want  bool
	}{
		{digit - 1, nil, true}, {digit + 1, nil, false}, {digit, []uint64{digit - 1}, true}, {digit, []uint64{digit + 1}, false},
		{digit, []uint64{digit, digit, 0}, true}, {digit, []uint64{digit, math.MaxUint64}, false},
	} {
		if got := script(c.more...).lessThan(c.first, third); got != c.want {
			t.Errorf("%#x %#x: %v", c.first, c.more, got)
		}
	}
}

func drawScale(t *rapid.T) dp.Scale {
	den := uint64(1) << rapid.IntRange(0, 20).Draw(t, "log den")
	den -= rapid.Uint64Range(0, den/2).Draw(t, "less")
	bits := rapid.IntRange(1, 63).Draw(t, "bits of num")
	s := dp.Scale{Num: rapid.Uint64Range(1, 1<<bits).Draw(t, "num"), Den: den}
	if s.Validate() != nil {
		s.Num = s.Num>>20 + 1
	}
	return s
}

// The float64 bracket of the Gaussian's exponent holds the exact one, and does decide nearly always.
func TestBracketHoldsTheExactExponent(t *testing.T) {
	decided, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScale(t)
		l := newGaussian(s)
		t0 := float64(l.proposal.num)
		y := uint64(t0 * rapid.Float64Range(0, 60).Draw(t, "y/t"))
		whole, lo, hi, ok := l.bracket(y)
		exactWhole, f := l.exponent(y)
		all++
		if !ok {
			if whole > exactWhole || lo != 0 || hi != math.MaxUint64 {
				t.Fatalf("bracket claims %d of %d", whole, exactWhole)
			}
			return
		}
		decided++
		scaled := new(big.Rat).Mul(f, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 64)))
		top := new(big.Rat).SetInt(new(big.Int).Add(new(big.Int).SetUint64(hi), big.NewInt(1)))
		if whole != exactWhole || scaled.Cmp(new(big.Rat).SetInt(new(big.Int).SetUint64(lo))) < 0 || scaled.Cmp(top) >= 0 {
			t.Fatalf("scale %v, y %d: whole %d of %d, fraction %s outside [%d, %d]", s, y, whole, exactWhole, f.FloatString(20), lo, hi)
		}
		if hi-lo > 1<<40 && s.Float() > 1 {
			t.Fatalf("scale %v, y %d: bracket of width %d", s, y, hi-lo)
		}
	})
	if decided*2 < all {
		t.Fatalf("only %d of %d brackets decide", decided, all)
	}
}
