package funcs

import (
	"strconv"
	"strings"
)

// The total forms' building blocks. A form must not mention an argument several times if that argument may be long: nested
// calls would multiply. Where PostgreSQL needs a test of its operands before it computes, guard names them in a subselect.

// inlineLimit is how many bytes of arguments a guard may repeat.
const inlineLimit = 64

// guard prints a PostgreSQL expression in which each of the operands (places) may be mentioned freely, as {x} and so on.
func guard(expr string, args []string) string {
	names := places[:len(args)]
	size := 0
	for _, a := range args {
		size += len(a)
	}
	var pairs []string
	if size <= inlineLimit {
		for i, n := range names {
			pairs = append(pairs, "{"+n+"}", args[i])
		}
		return "(" + strings.NewReplacer(pairs...).Replace(expr) + ")"
	}
	var list []string
	for i, n := range names {
		if !strings.Contains(expr, "{"+n+"}") {
			continue
		}
		list = append(list, args[i]+" AS "+n)
		pairs = append(pairs, "{"+n+"}", "v."+n)
	}
	// OFFSET 0 keeps PostgreSQL from writing the operands into the expression again.
	return "(SELECT " + strings.NewReplacer(pairs...).Replace(expr) + " FROM (SELECT " + strings.Join(list, ", ") + " OFFSET 0) AS v)"
}

// within is PostgreSQL's x where it lies strictly between lo and hi, else NULL, as a value of a type; x is mentioned once.
// family names the functions that compare (int8, numeric, float8); they are strict, as least and greatest are not.
func within(x, family, lo, hi, typ string) string {
	lo, hi = family+" '"+lo+"'", family+" '"+hi+"'"
	return "CAST(nullif(nullif(" + pgFamily[family][0] + "(" + pgFamily[family][1] + "(" + x + ", " + lo + "), " + hi + "), " + lo + "), " + hi + ") AS " + typ + ")"
}

// pgFamily has a type's strict lesser and greater.
var pgFamily = map[string][2]string{
	"int8": {"int8smaller", "int8larger"}, "numeric": {"numeric_smaller", "numeric_larger"}, "float8": {"float8smaller", "float8larger"},
}

// power is 2^n as a PostgreSQL float8, exactly.
func power(n int) string {
	return "float8 '" + strconv.FormatFloat(pow2(n), 'g', 17, 64) + "'"
}

func pow2(n int) float64 {
	x := 1.0
	for ; n > 0; n-- {
		x *= 2
	}
	for ; n < 0; n++ {
		x /= 2
	}
	return x
}

// places are the arguments' names in templates.
var places = []string{"x", "y", "z", "w", "p", "q", "r"}
