package relation

import (
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// ReadsForm reports an expression that may tell values of a type apart that are equal: 1.0 and 1.00, 0 and -0, one month and 30 days, 'M' and 'M ' of type char(2). What is computed of a value stands for all that equal it only where this is false.
//
// Proof: (1) of types without form equal values are one. (2) Equal numerics differ in scale alone, and equal floats in the sign of 0. Comparisons and functions that give numbers read neither, but scale, atan2 and what chooses the digits of its numeric result by those of its operands.
// (3) Of the other types with form only comparisons read none.
func ReadsForm(of sqltype.Type, x plan.Scalar) bool { return hasForm(of) && readsForm(x) }

func readsForm(x plan.Scalar) bool {
	if n, ok := x.(*plan.Call); ok && !slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, n.Fn.Name) {
		for _, a := range n.Args {
			t := a.Type()
			isNumber := t.IsNumber() && (n.T.IsNumber() || n.T.OID == sqltype.OIDBool) && n.Fn.Name != "scale" && !strings.HasPrefix(n.Fn.Name, "atan2") &&
				!(t.OID == sqltype.OIDNumeric && slices.Contains(digitsByOperands, n.Fn.Name)) // (2)
			if hasForm(t) && !isNumber { // (3)
				return true
			}
		}
	}
	return slices.ContainsFunc(plan.Children(x), readsForm)
}

// digitsByOperands are functions of numerics whose results have digits by the scales of their operands.
var digitsByOperands = []string{"/", "sqrt", "ln", "log", "log10", "exp", "power", "pow", "^"}

// hasForm: equal values of a type may differ. (1)
func hasForm(t sqltype.Type) bool {
	return t.IsArray() || slices.Contains([]sqltype.OID{sqltype.OIDNumeric, sqltype.OIDFloat4, sqltype.OIDFloat8, sqltype.OIDInterval, sqltype.OIDBPChar, sqltype.OIDJSON, sqltype.OIDJSONB, sqltype.OIDTimetz}, t.OID)
}
