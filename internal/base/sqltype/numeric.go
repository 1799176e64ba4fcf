package sqltype

import (
	"encoding/binary"
	"math/big"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// PostgreSQL's limits of numeric without a modifier (its manual, table 8.2).
const (
	maxNumericWhole = 131072
	maxNumericScale = 16383
)

// The binary form's sign words.
const (
	numericPos = 0x0000
	numericNeg = 0x4000
)

func numericOverflow() error {
	return sqlerr.New(sqlerr.NumericRange, "value overflows numeric format")
}

func noSpecialNumeric() error {
	return sqlerr.New(sqlerr.Unsupported, "NaN and infinity of type numeric are not supported").
		WithHint("Use double precision, such as 'NaN'::float8, or leave the value out.")
}

func parseNumeric(s string, t Type) (Value, error) {
	if coef, scale, ok := shortNumeric(s); ok {
		return limitNumeric(decimal.New(coef, -scale), t)
	}
	w := strings.Trim(s, space)
	switch strings.ToLower(strings.TrimLeft(w, "+-")) {
	case "nan", "inf", "infinity":
		return nil, noSpecialNumeric()
	}
	mantissa, exponent := w, ""
	if i := strings.IndexAny(w, "eE"); i >= 0 {
		mantissa, exponent = w[:i], w[i+1:]
		if !isInteger(exponent) {
			return nil, badText(s, t)
		}
	}
	neg := strings.HasPrefix(mantissa, "-")
	if neg || strings.HasPrefix(mantissa, "+") {
		mantissa = mantissa[1:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if whole+frac == "" || strings.Trim(whole+frac, "0123456789") != "" {
		return nil, badText(s, t)
	}
	exp := 0
	if exponent != "" {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil || exp > 1<<30 || exp < -1<<30 {
			return nil, numericOverflow()
		}
	}
	digits := strings.TrimLeft(whole+frac, "0")
	scale := len(frac) - exp // the value is digits * 10^-scale
	if digits == "" {
		scale = max(scale, 0)
	}
	if scale > maxNumericScale || len(digits) > 0 && len(digits)-scale > maxNumericWhole {
		return nil, numericOverflow()
	}
	if scale < 0 {
		digits, scale = digits+strings.Repeat("0", -scale), 0
	}
	coef := new(big.Int)
	if digits != "" {
		coef.SetString(digits, 10)
	}
	if neg {
		coef.Neg(coef)
	}
	return limitNumeric(decimal.NewFromBigInt(coef, int32(-scale)), t)
}

// shortNumeric reads digits with at most one point among them as coef * 10^-scale: nearly all numerics there are, for a
// quarter of the time.
func shortNumeric(s string) (coef int64, scale int32, ok bool) {
	if len(s) > 18 {
		return 0, 0, false
	}
	point := -1
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			coef = 10*coef + int64(c-'0')
		case c == '.' && point < 0:
			point = i
		default:
			return 0, 0, false
		}
	}
	if point < 0 {
		return coef, 0, s != ""
	}
	return coef, int32(len(s) - point - 1), len(s) > 1
}

// limitNumeric rounds half away from zero to the type's scale and checks its precision.
func limitNumeric(d decimal.Decimal, t Type) (Value, error) {
	precision, scale, ok := t.NumericMod()
	if !ok {
		return d, nil
	}
	d = d.Round(int32(scale))
	d, _ = decimal.RescalePair(d, decimal.New(0, int32(-max(scale, 0))))
	if d.Abs().Cmp(decimal.New(1, int32(precision-scale))) >= 0 {
		power := "10^" + strconv.Itoa(precision-scale)
		if precision == scale {
			power = "1"
		}
		return nil, sqlerr.New(sqlerr.NumericRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d must round to an absolute value less than %s.", precision, scale, power)
	}
	return d, nil
}

// appendNumericBinary writes ndigits, weight, sign, dscale and the digits to base 10000.
func appendNumericBinary(dst []byte, d decimal.Decimal) ([]byte, error) {
	scale := max(0, int(-d.Exponent()))
	digits := d.Coefficient().String()
	sign := uint16(numericPos)
	if digits[0] == '-' {
		digits, sign = digits[1:], numericNeg
	}
	if exp := int(d.Exponent()); exp > 0 {
		if len(digits)+exp > maxNumericWhole {
			return dst, numericOverflow()
		}
		digits += strings.Repeat("0", exp)
	}
	if scale > maxNumericScale || len(digits)-scale > maxNumericWhole {
		return dst, numericOverflow()
	}
	// The point must fall between groups of four.
	if whole := len(digits) - scale; whole <= 0 {
		digits = strings.Repeat("0", 4-whole) + digits
	}
	whole := len(digits) - scale
	digits = strings.Repeat("0", (4-whole%4)%4) + digits + strings.Repeat("0", (4-scale%4)%4)
	groups := make([]uint16, 0, len(digits)/4)
	for i := 0; i < len(digits); i += 4 {
		g, err := strconv.ParseUint(digits[i:i+4], 10, 16)
		if err != nil {
			return dst, err
		}
		groups = append(groups, uint16(g))
	}
	weight := (whole+3)/4 - 1
	for len(groups) > 0 && groups[0] == 0 {
		groups, weight = groups[1:], weight-1
	}
	for len(groups) > 0 && groups[len(groups)-1] == 0 {
		groups = groups[:len(groups)-1]
	}
	if len(groups) == 0 {
		weight, sign = 0, numericPos
	}
	be := binary.BigEndian
	dst = be.AppendUint16(dst, uint16(len(groups)))
	dst = be.AppendUint16(dst, uint16(int16(weight)))
	dst = be.AppendUint16(dst, sign)
	dst = be.AppendUint16(dst, uint16(scale))
	for _, g := range groups {
		dst = be.AppendUint16(dst, g)
	}
	return dst, nil
}

func decodeNumericBinary(src []byte, t Type) (Value, error) {
	be := binary.BigEndian
	if len(src) < 8 {
		return nil, badLength(len(src), 8, t)
	}
	if want := 8 + 2*int(be.Uint16(src)); len(src) != want {
		return nil, badLength(len(src), want, t)
	}
	weight, sign, scale := int(int16(be.Uint16(src[2:]))), be.Uint16(src[4:]), int(be.Uint16(src[6:]))
	switch sign {
	case numericPos, numericNeg:
	case 0xc000, 0xd000, 0xf000:
		return nil, noSpecialNumeric()
	default:
		return nil, sqlerr.New(sqlerr.InvalidBinary, "invalid sign in external \"numeric\" value")
	}
	if scale > maxNumericScale {
		return nil, sqlerr.New(sqlerr.InvalidBinary, "invalid scale in external \"numeric\" value")
	}
	var digits strings.Builder
	for g := src[8:]; len(g) > 0; g = g[2:] {
		x := be.Uint16(g)
		if x > 9999 {
			return nil, sqlerr.New(sqlerr.InvalidBinary, "invalid digit in external \"numeric\" value")
		}
		digits.WriteString(strconv.Itoa(10000 + int(x))[1:])
	}
	// The value is digits * 10^shift; digits beyond dscale are cut off, as PostgreSQL does.
	all := digits.String()
	shift := 4 * (weight + 1 - len(src[8:])/2)
	if cut := -shift - scale; cut > 0 {
		all, shift = all[:max(0, len(all)-cut)], -scale
	}
	coef := new(big.Int)
	if all != "" {
		coef.SetString(all, 10)
	}
	if coef.Sign() == 0 {
		shift = -scale
	}
	if grow := shift + scale; grow > 0 {
		coef.Mul(coef, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(grow)), nil))
	}
	if sign == numericNeg {
		coef.Neg(coef)
	}
	return limitNumeric(decimal.NewFromBigInt(coef, int32(-scale)), t)
}
