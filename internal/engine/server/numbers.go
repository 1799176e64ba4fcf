package server

import (
	"fmt"
	"math"
	"strconv"
)

// mostPlain is the least number that messages write with an exponent.
const mostPlain = 1e9

// Number is a number of messages: three digits that count, without an exponent up to a thousand million.
func Number(x float64) string {
	if math.IsInf(x, 1) {
		return "unlimited"
	}
	text := fmt.Sprintf("%.3g", x)
	if short, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(short) >= 1000 && math.Abs(short) < mostPlain {
		return strconv.FormatFloat(short, 'f', -1, 64)
	}
	return text
}

// StatementCount is a number of statements in words.
func StatementCount(n int64) string {
	switch n {
	case 1:
		return "1 statement"
	case math.MaxInt64:
		return "any number of statements"
	}
	return fmt.Sprintf("%d statements", n)
}

// Statements is a number of statements, in words where there is no limit.
func Statements(n int64) string {
	if n == math.MaxInt64 {
		return "any number"
	}
	return fmt.Sprint(n)
}

// RoundDown3 is x with three digits, rounded down.
func RoundDown3(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	for _, units := range []float64{math.Floor(x/unit + 1e-9), math.Ceil(x/unit) - 1} { // the second where x is a little less than what has three digits
		if down, err := strconv.ParseFloat(fmt.Sprintf("%.3g", units*unit), 64); err == nil && down <= x {
			return down
		}
	}
	return x
}

// RoundError is a 95% error with three digits, rounded up but for what computing it may have added.
func RoundError(x float64) float64 { return RoundUp3(x * (1 - 1e-12)) }

// RoundUp3 is x with three digits, rounded up.
func RoundUp3(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return x
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	up, err := strconv.ParseFloat(fmt.Sprintf("%.3g", math.Ceil(x/unit-1e-9)*unit), 64)
	if err != nil || up < x {
		return x
	}
	return up
}
