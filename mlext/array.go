package mlext

import (
	"fmt"
	"strings"
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

// typed gives arrays their type, which literals do not have by themselves.
func (m *Model) typed(args []string) []string {
	out := append([]string(nil), args...)
	for i := range out {
		if f := &m.Features[i]; f.Length > 0 {
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
	fmt.Fprintf(&b, "(CASE WHEN %s = %d THEN 0e0", length, f.Length)
	for i, v := range c {
		if v != 0 {
			fmt.Fprintf(&b, " + %s * least(%s, greatest(%s, "+element+"))", number(v), number(f.Hi), number(f.Lo), i+1)
		}
	}
	return b.String() + " END)"
}
