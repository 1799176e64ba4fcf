package sqltype

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// appendFloat writes the shortest form that reads back (extra_float_digits from 1 on), or so many digits: exponents from 15
// (real: 6), or the number of digits, up and below -4 are written with e, of two digits at least.
func (s *Settings) appendFloat(dst []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case math.IsInf(x, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(x, -1):
		return append(dst, "-Infinity"...)
	}
	limit := 15
	if bits == 32 {
		limit = 6
	}
	var sci []byte
	if s.RoundFloats {
		limit = max(limit+s.ExtraDigits, 1)
		sci = trimMantissa(strconv.AppendFloat(nil, x, 'e', limit-1, 64))
	} else {
		sci = shortest(x, bits)
	}
	e := bytes.IndexByte(sci, 'e')
	exp, err := strconv.Atoi(string(sci[e+1:]))
	if err != nil || exp < -4 || exp >= limit {
		return append(dst, sci...)
	}
	digits := sci[:e]
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	if len(digits) > 1 { // d.ddd
		digits = append(digits[:1:1], digits[2:]...)
	}
	switch point := exp + 1; {
	case point <= 0:
		dst = append(dst, "0."...)
		dst = append(dst, bytes.Repeat([]byte("0"), -point)...)
		return append(dst, digits...)
	case point >= len(digits):
		dst = append(dst, digits...)
		return append(dst, bytes.Repeat([]byte("0"), point-len(digits))...)
	default:
		dst = append(append(dst, digits[:point]...), '.')
		return append(dst, digits[point:]...)
	}
}

// trimMantissa drops trailing zeros of d.ddde±dd.
func trimMantissa(sci []byte) []byte {
	e := bytes.IndexByte(sci, 'e')
	m := sci[:e:e]
	if bytes.IndexByte(m, '.') >= 0 {
		m = bytes.TrimRight(bytes.TrimRight(m, "0"), ".")
	}
	return append(m[:len(m):len(m)], sci[e:]...)
}

// shortest gives d.ddde±dd with the fewest digits that read back as x, strictly between the neighbours' midpoints: PostgreSQL
// leaves the midpoints out, Go does not.
func shortest(x float64, bits int) []byte {
	s := strconv.AppendFloat(nil, x, 'e', -1, bits)
	if x == 0 || !onMidpoint(s, x, bits) {
		return s
	}
	for prec := max(bytes.IndexByte(s, 'e')-3, 0); prec < 17; prec++ {
		s = strconv.AppendFloat(s[:0], x, 'e', prec, bits)
		if y, err := strconv.ParseFloat(string(s), bits); err == nil && y == x && !onMidpoint(s, x, bits) {
			return s
		}
	}
	return s
}

// onMidpoint reports whether the decimal s is exactly half way between x and a neighbour. A midpoint is an odd M of 54 or 55
// (real: 25 or 26) bits times 2^e. Its decimal has 17 (9) digits at most only if e is hardly below 0, or 5^j divides M and
// j <= 23 (11): all others are seen without arithmetic.
func onMidpoint(s []byte, x float64, bits int) bool {
	low, high := 0x1p50, 1e42
	if bits == 32 {
		low, high = 0x1p20, 1e21
	}
	if a := math.Abs(x); a < low || a > high {
		return false
	}
	exact, ok := new(big.Float).SetPrec(2000).SetString(string(s))
	if !ok {
		return false
	}
	for _, to := range []float64{math.Inf(1), math.Inf(-1)} {
		var y float64
		if bits == 32 {
			y = float64(math.Nextafter32(float32(x), float32(to)))
		} else {
			y = math.Nextafter(x, to)
		}
		if math.IsInf(y, 0) {
			continue
		}
		mid := new(big.Float).SetPrec(2000).Add(big.NewFloat(x), big.NewFloat(y))
		if mid.Quo(mid, big.NewFloat(2)).Cmp(exact) == 0 {
			return true
		}
	}
	return false
}

func parseFloat(s string, t Type, bits int) (Value, error) {
	w := strings.Trim(s, space)
	switch strings.ToLower(w) {
	case "nan", "+nan", "-nan":
		return math.NaN(), nil
	case "inf", "+inf", "infinity", "+infinity":
		return math.Inf(1), nil
	case "-inf", "-infinity":
		return math.Inf(-1), nil
	}
	if w == "" || strings.Trim(w, "0123456789+-.eE") != "" {
		return nil, badText(s, t)
	}
	x, err := strconv.ParseFloat(w, bits)
	mantissa, _, _ := strings.Cut(strings.ToLower(w), "e")
	switch {
	case err != nil && math.IsInf(x, 0), err == nil && x == 0 && strings.ContainsAny(mantissa, "123456789"):
		return nil, sqlerr.New(sqlerr.NumericRange, "\"%s\" is out of range for type %s", w, t)
	case err != nil:
		return nil, badText(s, t)
	}
	return x, nil
}
