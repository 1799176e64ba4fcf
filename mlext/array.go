package mlext

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/sqlerr"
)

// arrays says that a feature is one.
func (m *Model) arrays() bool {
	for i := range m.Features {
		if m.Features[i].Length > 0 {
			return true
		}
	}
	return false
}

// mostProducts is how many products of elements and coefficients a prediction may have: each is written out, and planning and computing them takes seconds beyond.
const mostProducts = 32

// fewElements refuses predictions of large arrays.
func (m *Model) fewElements() error {
	n := 0
	for i := range m.Features {
		n += m.Features[i].Length * len(m.Scores)
	}
	if n > mostProducts {
		return sqlerr.New(sqlerr.Unsupported, "predictions of %d elements of arrays are not supported", n).WithHint("Elements times scores may be %d. EXPORT DP MODEL %s AS json has the coefficients of larger arrays.", mostProducts, m.Name)
	}
	return nil
}

// typed gives arrays their type that are written as strings, which have none by themselves. Others keep their own: a cast would be computed for every element.
func (m *Model) typed(args []string) []string {
	out := append([]string(nil), args...)
	for i := range out {
		if f := &m.Features[i]; f.Length > 0 && strings.HasPrefix(strings.TrimLeft(out[i], "("), "'") && !strings.Contains(out[i], "::") {
			out[i] = "CAST(" + out[i] + " AS " + f.Type + ")"
		}
	}
	return out
}

// elements writes the sum of an array's elements, each within its range, times their coefficients: NULL where the array is, or has another length. Elements without a coefficient need not be read.
func (f *Feature) elements(c []float64, x string) string {
	var b strings.Builder
	length, element := "cardinality("+x+")", x+"[%d]"
	if f.Type == "bytea" {
		length, element = "octet_length("+x+")", "get_byte("+x+", %d - 1)"
	}
	lo, hi := number(f.Lo), number(f.Hi)
	if f.Lo == math.Trunc(f.Lo) && f.Hi == math.Trunc(f.Hi) && math.Abs(f.Lo) < 1<<31 && math.Abs(f.Hi) < 1<<31 { // fewer words: a prediction of a large array is near the limit of tokens
		lo, hi = strconv.Itoa(int(f.Lo)), strconv.Itoa(int(f.Hi))
	}
	fmt.Fprintf(&b, "(CASE WHEN %s = %d THEN 0e0", length, f.Length)
	for i, v := range c {
		if v != 0 {
			fmt.Fprintf(&b, " + '%s'::float8 * least(%s, greatest(%s, "+element+"))", strconv.FormatFloat(v, 'g', -1, 64), hi, lo, i+1)
		}
	}
	return b.String() + " END)"
}
