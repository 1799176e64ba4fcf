package claims

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// rowRange brings the interval of a row's value to the steps of its grid, outward: bounds are exact (Analyze, (9)).
func (z *Measurer) rowRange(m *sensitivity.Measure, iv *num.Interval, narrow bool, g plan.AggItem) error {
	m.Narrow, m.Declared = narrow, true
	m.RangeLo, m.RangeHi = iv.Lo, iv.Hi
	return z.steps(m, iv, 1, g)
}

// steps chooses the grid, finer as GridOf has it.
func (z *Measurer) steps(m *sensitivity.Measure, iv *num.Interval, finer uint64, g plan.AggItem) error {
	var ok bool
	if m.Grid, m.Rounded, ok = z.GridOf(m.Arg, iv, finer); !ok {
		return interval.BeyondDoubles(iv, g)
	}
	var ok1, ok2 bool
	m.RowLo, ok1 = interval.Steps(iv.Lo, m.Grid, -1)
	m.RowHi, ok2 = interval.Steps(iv.Hi, m.Grid, 1)
	if !ok1 || !ok2 {
		return interval.TooWide().At(g.Pos)
	}
	return nil
}

// Where a bound is chosen by what a unit's values add up to, a range has up to 2^finerBits times as many steps: what is chosen may be a thousandth of the range or less, and rounding rows must change no sum by as much as its noise does.
// Candidates reach MostSteps, so there are no more steps than leave room for 2^fewRows rows that are as large as can be, or for the declared ones.
const (
	finerBits = 14
	fewRows   = 11
)

// refine divides the range into finer steps, where it is divided by its width.
func (z *Measurer) refine(m *sensitivity.Measure, iv *num.Interval, g plan.AggItem) {
	if iv == nil || !m.Rounded || z.HasStep(m.Arg) || m.Product != nil || m.Distinct || !m.IsSumBounded() {
		return
	}
	room := bits.Len64(sensitivity.MostSteps) - 1 - bits.Len64(m.MostOfRow()) - max(fewRows, bits.Len64(z.Out.MaxRows))
	coarse := *m
	if err := z.steps(m, iv, 1<<min(finerBits, max(0, room)), g); err != nil { // steps would be less than doubles have
		*m = coarse
	}
}

func (z *Measurer) noRange(x plan.Scalar, g plan.AggItem) error {
	err := sqlerr.New(sqlerr.NoRange, "%s, so one person's part of %s is not bounded", LacksRange(z.withoutRange(x)), g.Name()).At(g.Pos)
	such := ""
	if call, ok := x.(*plan.Call); ok && call.Fn == funcs.Length {
		such = "; lo and hi are such as interval '30 days'"
	} else if relation.IsDay(x.Type()) {
		such = "; lo and hi are such as date '2030-01-01'"
	}
	if c, ok := relation.Uncast(x).(*plan.Col); ok {
		id := z.Base(c.ID)
		if s := z.Owner[id]; s != nil && s.Scan.Table.Name != unit.DerivedName {
			return err.WithHint("The owner can declare range: [lo, hi] for %s in the policy. Or bound it by constants of your own: greatest(lo, least(%s, hi)) counts what is outside as lo or hi, and NULL as hi. WHERE with BETWEEN leaves both out%s.", z.TableColumn(s, slices.Index(s.Scan.Columns, id)), z.Named(c.ID), such)
		}
	}
	text := plan.Writable(z.Out.Query, x)
	if text == "" {
		text, such = "x", such+"; x stands for the expression"
	}
	if names := z.withoutRange(x); len(names) > 0 {
		return err.WithHint("The owner can declare range: [lo, hi] for %[1]s in the policy, from which that of the expression follows. Or bound it by constants of your own, as in greatest(lo, least(%[2]s, hi)): what is outside counts as lo or hi, and NULL as hi unless %[2]s IS NOT NULL is a condition%[3]s.", strings.Join(names, " and "), text, such)
	}
	return err.WithHint("Bound it by constants of your own, as in greatest(lo, least(%[1]s, hi)): what is outside counts as lo or hi, and NULL as hi unless %[1]s IS NOT NULL is a condition%[2]s.", text, such)
}

// LacksRange says that columns have no declared range; of none, that the expression over them has none.
func LacksRange(columns []string) string {
	switch len(columns) {
	case 0:
		return "no range of its expression follows from the declared ones"
	case 1:
		return columns[0] + " has no declared range"
	}
	return strings.Join(columns, " and ") + " have no declared range"
}

// withoutRange names the columns of numbers and times under an expression that have no declared range.
func (z *Measurer) withoutRange(x plan.Scalar) (names []string) {
	z.WalkBase(x, func(id plan.ColID) {
		s := z.Owner[id]
		if s == nil || s.Scan.Table.Name == unit.DerivedName {
			return
		}
		c := s.Scan.Table.Columns[slices.Index(s.Scan.Columns, id)]
		if name := z.Out.VisibleName(id); c.Range == nil && name != "" && (c.Type.IsNumber() || funcs.TimeRange(c.Type.OID) != nil) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	return names
}

// lengthOf is the length of an interval; other values are what they are.
func lengthOf(x plan.Scalar) plan.Scalar {
	if x.Type().OID != sqltype.OIDInterval {
		return x
	}
	return &plan.Call{Fn: funcs.Length, Args: []plan.Scalar{x}, T: sqltype.Numeric, Pos: -1}
}

// times is x*n if its magnitude is at most dp.MaxSensitivity, as every bound is (Analyze, (9)).
func times(x int64, n uint64) (int64, bool) {
	hi, lo := bits.Mul64(relation.Magnitude(x), n)
	if hi != 0 || lo > dp.MaxSensitivity {
		return 0, false
	}
	if x < 0 {
		return -int64(lo), true
	}
	return int64(lo), true
}
