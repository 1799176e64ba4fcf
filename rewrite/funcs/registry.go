package funcs

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/rewrite/dialect"
)

// All lists every row of the registry, in a stable order.
var All = sync.OnceValue(func() []*Func {
	return slices.Concat(arithmetic(), comparisons(), casts(), mathFunctions(), integerFunctions(), floatFunctions(), numericFunctions(), buckets(), textFunctions(), textParts(), fields(), truncations(), zoneRows(), clockCasts(), calendar(), matching(), fromText(), formatting(), timeRows(), moreText(), binaryFunctions(), documents(), arrays(), enums())
})

// CheckDialect refuses a dialect for which a row of the registry has neither a form nor a refusal. A row that is made for constants (With) is one of those that have none before.
func CheckDialect(d dialect.Dialect) error {
	var lacking []string
	for _, f := range slices.Concat(All(), []*Func{PersonUnit, ColumnUnit, RowUnit, UnitText, InSplit, OutsideSplit, UnitEquality}) {
		if f.TotalForm != nil && f.TotalForm[d] == nil && f.Refused[d] == "" {
			lacking = append(lacking, f.Name)
		}
	}
	if lacking == nil {
		return nil
	}
	return fmt.Errorf("%d functions, operators and casts have neither a form nor a refusal for the dialect %s: %s", len(lacking), d, strings.Join(lacking[:min(len(lacking), 10)], ", "))
}
