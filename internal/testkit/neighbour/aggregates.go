package neighbour

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// OutputTypes are the types of a statement's columns.
func OutputTypes(q *plan.Query) []sqltype.Type {
	out := make([]sqltype.Type, len(q.Outputs))
	for i, o := range q.Outputs {
		out[i] = o.Type
	}
	return out
}

// Lines is a multiset of rows as text; a numeric is its number whatever its scale, as group keys are.
func Lines(rows [][]sqltype.Value) []string {
	return LinesOf(rows, func(d decimal.Decimal) string { return d.Round(9).String() })
}

// LinesOf are rows as texts, in order.
func LinesOf(rows [][]sqltype.Value, numeric func(decimal.Decimal) string) []string {
	var out []string
	for _, r := range rows {
		var vals []string
		for _, v := range r {
			switch x := v.(type) {
			case decimal.Decimal:
				v = numeric(x)
			case float64:
				v = fmt.Sprintf("%.9g", x)
			case string:
				v = strings.TrimRight(x, " ")
			}
			vals = append(vals, fmt.Sprint(v))
		}
		out = append(out, strings.Join(vals, "|"))
	}
	sort.Strings(out)
	return out
}

// Aggregates applies the formulas, and adds the number of units where it is returned; NULL stands where a group has no value.
func Aggregates(t *testing.T, a *sensitivity.Analysis, cols []sqlgen.Column, rows [][]sqltype.Value) map[string][]decimal.Decimal {
	out := map[string][]decimal.Decimal{}
	for _, r := range rows {
		measures, units := make([]decimal.Decimal, len(a.Measures)), []decimal.Decimal(nil)
		keys := make([]sqltype.Value, len(a.Keys))
		for i, c := range cols {
			switch c.Role {
			case sqlgen.RoleKey:
				keys[c.Index] = r[i]
			case sqlgen.RoleMeasure:
				measures[c.Index] = Decimal(r[i])
			case sqlgen.RoleUnits:
				units = append(units, Decimal(r[i]))
			}
		}
		var vals []decimal.Decimal
		for _, f := range a.Formulas {
			vals = append(vals, apply(a, f, measures))
		}
		key := strings.Join(Lines([][]sqltype.Value{keys}), "")
		if _, ok := out[key]; ok {
			t.Errorf("group %s comes twice", key)
		}
		out[key] = append(vals, units...)
	}
	return out
}

func apply(a *sensitivity.Analysis, f sensitivity.Formula, m []decimal.Decimal) decimal.Decimal {
	two := decimal.NewFromInt(2)
	switch f.Kind {
	case sensitivity.IsCount:
		return m[f.Count]
	case sensitivity.IsSum:
		return m[f.Sum].Mul(a.Measures[f.Sum].Grid)
	case sensitivity.IsSome, sensitivity.IsNone:
		return Decimal(m[f.Count].IsPositive() == (f.Kind == sensitivity.IsSome))
	case sensitivity.IsMoment:
		return decimal.NewFromFloat(statistic(a, f, m))
	}
	s := a.Measures[f.Sum]
	middle := decimal.NewFromInt(s.RowLo + s.RowHi).Mul(s.Grid).Div(two)
	half := m[f.Sum].Mul(s.Grid).Div(two)
	if f.Kind == sensitivity.IsSumFromPair {
		return middle.Mul(m[f.Count]).Add(half)
	}
	if m[f.Count].IsZero() {
		return middle
	}
	return middle.Add(half.Div(m[f.Count]))
}

// statistic computes one by its textbook formula from sums about the middles of ranges, in units of the values.
func statistic(a *sensitivity.Analysis, f sensitivity.Formula, m []decimal.Decimal) float64 {
	n, to := m[f.Count].InexactFloat64(), f.Moments
	sum := func(i int) (total, middle float64) {
		if i < 0 {
			return 0, 0
		}
		s := a.Measures[i]
		half := s.Grid.InexactFloat64() / 2
		return m[i].InexactFloat64() * half, float64(s.RowLo+s.RowHi) * half
	}
	product := func(i int) float64 {
		if i < 0 {
			return 0
		}
		p := a.Measures[i].Product
		total, middle := sum(i) // of values that have an offset
		offset := float64(p.Offset) * a.Measures[i].Grid.InexactFloat64() / math.Exp2(float64(p.Cut))
		return total + n*(middle-offset)
	}
	x, midX := sum(to.X)
	y, midY := sum(to.Y)
	xx, yy, xy := product(to.XX)-x*x/n, product(to.YY)-y*y/n, product(to.XY)-x*y/n
	switch to.Stat {
	case "var_pop":
		return xx / n
	case "var_samp":
		return xx / (n - 1)
	case "stddev_pop":
		return math.Sqrt(xx / n)
	case "stddev_samp":
		return math.Sqrt(xx / (n - 1))
	case "covar_pop":
		return xy / n
	case "covar_samp":
		return xy / (n - 1)
	case "corr":
		return xy / math.Sqrt(xx*yy)
	case "regr_r2":
		return xy * xy / (xx * yy)
	case "regr_slope":
		return xy / xx
	case "regr_intercept":
		return midY + y/n - xy/xx*(midX+x/n)
	case "regr_sxx":
		return xx
	case "regr_syy":
		return yy
	}
	return xy
}

// Decimal is a number's value.
func Decimal(v sqltype.Value) decimal.Decimal {
	switch x := v.(type) {
	case bool:
		if x {
			return decimal.NewFromInt(1)
		}
	case int64:
		return decimal.NewFromInt(x)
	case float64:
		return decimal.NewFromFloat(x)
	case decimal.Decimal:
		return x
	case sqltype.Interval: // in seconds
		v, _ := funcs.Length.Eval([]sqltype.Value{x}, nil, sqltype.Numeric)
		return Decimal(v)
	}
	return decimal.Zero
}

// CompareGroups compares the values of groups.
func CompareGroups(a *sensitivity.Analysis, got map[string][]decimal.Decimal, want [][]sqltype.Value) error {
	seen := map[string]bool{}
	for _, r := range want {
		key := strings.Join(Lines([][]sqltype.Value{r[:len(a.Keys)]}), "")
		if seen[key] { // the text's own grouping is finer, by spelling
			continue
		}
		seen[key] = true
		vals, ok := got[key]
		if !ok {
			if !a.Groups.Public || slices.ContainsFunc(a.Groups.Sources, func(s sensitivity.Source) bool { return s.Fixed || s.Joined }) {
				return fmt.Errorf("group %s is missing", key)
			}
			continue
		}
		for i, v := range vals {
			w := r[len(a.Keys)+i]
			if w == nil { // nobody
				continue
			}
			f := sensitivity.Formula{Sum: -1}
			if i < len(a.Formulas) {
				f = a.Formulas[i]
			}
			tolerance := Decimal(w).Abs().Mul(decimal.New(1, -14)).Add(decimal.New(1, -9)) // of the last digits of a quotient
			if f.Sum >= 0 && a.Measures[f.Sum].Rounded {                                   // at most half a step a row
				tolerance = a.Measures[f.Sum].Grid.Mul(decimal.NewFromInt(200))
			}
			if f.Moments != nil {
				tolerance = tolerance.Add(Decimal(w).Abs().Mul(decimal.New(1, -4))) // of rounded rows, which add up and cancel out
			}
			if d := v.Sub(Decimal(w)).Abs(); d.GreaterThan(tolerance) {
				return fmt.Errorf("group %s: aggregate %d is %s, want %v", key, i+1, v, w)
			}
		}
	}
	return nil
}
