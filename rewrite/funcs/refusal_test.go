package funcs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// refusedConstants are constants that no row is made for, by name; a zone where that is refused.
var refusedConstants = map[string][]sample{
	"to_char":          constants("IYY", "IYYY IYY", "HH24:MI tz", "DDth", "J", "A.M.", `"x\y"`, "9EEEE", "FM9G999", "Mon"),
	"to_date":          constants("DD Mon YYYY", "YYYY", "YYYY-MM-DD DD", "FMDD/MM/YYYY", "YYYY-MM-DD\\", "IYYY-IW", `YYYY"x"MMDD`),
	"extract":          constants("fortnight", "timezone", "epoch", "julian"),
	"date_part":        constants("fortnight", "hour"),
	"date_trunc":       constants("fortnight", "dow", "julian"),
	"cast":             {{zone: "Europe/Berlin"}, {zone: "EST5EDT"}},
	"timezone":         append(constants("EST5EDT", "nowhere"), constants(sqltype.Interval{Months: 1})...),
	"encode":           constants("escape", "hexa"),
	"decode":           constants("escape"),
	"~":                constants("(", "a{2000}", `\1`),
	"make_timestamptz": {{zone: "EST5EDT"}},
}

// TestRefusedConstants holds what is said of each, once for all rows of a name that say the same.
func TestRefusedConstants(t *testing.T) {
	datadriven.RunTest(t, "testdata/refused", func(t *testing.T, d *datadriven.TestData) string {
		out := ""
		for _, f := range All() {
			if f.Name != d.Input || f.With == nil {
				continue
			}
			for _, s := range refusedConstants[f.Name] {
				if !fits(f, s) {
					continue
				}
				if s.zone == "" {
					s.zone = "UTC"
				}
				_, err := f.With(Constants{Values: s.values, Zone: s.zone})
				if err == nil {
					continue
				}
				hint := "no hint"
				if pe, ok := err.(*sqlerr.Error); ok && pe.Hint != "" {
					hint = pe.Hint
				}
				if line := fmt.Sprintf("%v: %v\n  %s\n", s.values, err, hint); !strings.Contains(out, line) {
					out += line
				}
			}
		}
		return out
	})
}

// fits: a sample is of a row's types.
func fits(f *Func, s sample) bool {
	if len(s.values) != len(f.Const) || s.zone != "UTC" && s.zone != "" && !f.Zoned {
		return false
	}
	for k, i := range f.Const {
		if !ofType(s.values[k], f.Args[i]) {
			return false
		}
	}
	return true
}
