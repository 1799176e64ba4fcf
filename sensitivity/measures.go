package sensitivity

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// measurer chooses what is measured, and bounds how far one unit can change it.
type measurer struct {
	*grouper

	places  map[measureKey]int // the places of Analysis.Measures, until they are sorted
	moments map[string]bool    // the values, as averageText has them, of which a statistic needs the sum about the middle
	smooth  *Choice            // of the rows that one unit changes (Joined); nil: steady
	steady  uint64             // that number, where nothing has to be measured
}

func newMeasurer(z *grouper) *measurer {
	return &measurer{grouper: z, places: map[measureKey]int{}}
}

// measures chooses the fewest integers that determine the aggregates, with their clamps (6).
func (z *measurer) measures() error {
	a := z.out
	averaged := map[string]bool{}
	for _, g := range z.aggs {
		if a.Pairs != nil { // a centred sum has negative parts
			break
		}
		if _, ok := statistics[g.Fn]; g.Fn == plan.Avg && !g.Distinct || ok && len(g.More) == 0 {
			averaged[z.averageText(z.exactArgument(g))] = true
		}
		z.noteMoments(z.exactArgument(g))
	}
	for _, g := range z.aggs {
		if err := z.ctx.Err(); err != nil {
			return err
		}
		g = z.exactArgument(g)
		if c, ok := g.Filter.(*plan.Const); ok && c.Value == true {
			g.Filter = nil
		}
		f, err := z.formula(g, averaged)
		if err != nil {
			return err
		}
		a.Formulas = append(a.Formulas, f)
	}
	if err := z.noWidth(); err != nil {
		return err
	}
	if z.opts.MinPeople <= 0 || len(a.Keys) == 0 {
		return nil
	}
	var err error
	a.People, err = z.measure(Measure{Kind: Units}, plan.AggItem{Pos: a.Agg.Pos})
	return err
}

// exactArgument takes the exact numbers of a declared range that floats are made of: they need no rounding, and share measures with aggregates of the numbers themselves.
// Where values are told apart, those that one float is made of are not. Of intervals they are the lengths: PostgreSQL takes two intervals of one length for equal, and its sum has the sum of their lengths.
func (z *measurer) exactArgument(g plan.AggItem) plan.AggItem {
	if g.Fn == plan.Sum || g.Fn == plan.Avg {
		g.Arg = lengthOf(g.Arg)
	}
	if _, ok := statistics[g.Fn]; g.Distinct || !ok && g.Fn != plan.Sum && g.Fn != plan.Avg {
		return g
	}
	exact := func(x plan.Scalar) plan.Scalar {
		if y := uncast(x); z.declared(y) != nil {
			return y
		}
		return x
	}
	g.Arg, g.More = exact(g.Arg), slices.Clone(g.More)
	for i, x := range g.More {
		g.More[i] = exact(x)
	}
	return g
}

// lengthOf is the length of an interval; other values are what they are.
func lengthOf(x plan.Scalar) plan.Scalar {
	if x.Type().OID != sqltype.OIDInterval {
		return x
	}
	return &plan.Call{Fn: funcs.Length, Args: []plan.Scalar{x}, T: sqltype.Numeric, Pos: -1}
}

// averageText is equal for aggregates of the same values of the same rows.
func (z *measurer) averageText(g plan.AggItem) string {
	return z.scalarText(g.Arg) + " of " + conditionText(g.Filter, z.scalarText)
}

// formula says what an aggregate is computed from. Its ORDER BY says nothing: exact counts and sums do not depend on it.
func (z *measurer) formula(g plan.AggItem, averaged map[string]bool) (Formula, error) {
	f := Formula{Agg: g.ID, Count: -1, Sum: -1}
	if z.out.Joined != nil {
		if err := z.ofJoined(g); err != nil {
			return f, err
		}
	}
	if g.Fn == plan.Min || g.Fn == plan.Max {
		g.Distinct = false // which says nothing
	}
	if _, ok := statistics[g.Fn]; ok && g.Distinct {
		return f, distinctOf(g.Fn).At(g.Pos).
			WithHint("Take it over released values, as in SELECT variance(x) FROM (SELECT x FROM t GROUP BY 1) AS v; or leave DISTINCT out.")
	}
	if _, ok := decides[g.Fn]; g.Distinct && g.Fn != plan.Count && g.Fn != plan.Sum && g.Fn != plan.Avg && !ok {
		return f, distinctOf(g.Fn).At(g.Pos).
			WithHint("Take it over released values, as in SELECT string_agg(x, ',') FROM (SELECT x FROM t GROUP BY 1) AS v.")
	}
	if stat, ok := statistics[g.Fn]; ok {
		return z.statistic(f, stat, g)
	}
	if _, ok := decides[g.Fn]; ok {
		return z.decided(f, g)
	}
	var err error
	switch g.Fn {
	case plan.CountRows, plan.Count, plan.Sum, plan.Avg:
		if len(g.More) > 0 || g.Within {
			return f, sqlerr.New(sqlerr.PrivateShape, "this form of %s over private rows is not supported", g.Fn).At(g.Pos)
		}
	}
	if (g.Fn == plan.Sum || g.Fn == plan.Avg) && !g.Arg.Type().IsNumber() { // measures are integers, made of numbers
		return f, sqlerr.New(sqlerr.PrivateShape, "%s of %s over private rows is not supported", g.Fn, g.Arg.Type()).At(g.Pos)
	}
	if g.Distinct && g.Fn != plan.Count {
		if f.Kind = IsAvg; g.Fn == plan.Sum {
			f.Kind = IsSumFromPair
		}
		f.Count, f.Sum, err = z.distinctPair(g)
		return f, err
	}
	switch g.Fn {
	case plan.CountRows:
		f.Kind = IsCount
		f.Count, err = z.measure(Measure{Kind: CountRows}, g)
	case plan.Count:
		f.Kind = IsCount
		if g.Distinct {
			f.Count, err = z.countDistinct(g)
		} else {
			f.Count, err = z.countValues(g)
		}
	case plan.Sum:
		if averaged[z.averageText(g)] && z.bounded(g) {
			f.Kind = IsSumFromPair
			f.Count, f.Sum, err = z.pair(g)
		} else {
			f.Kind = IsSum
			if f.Sum, err = z.measure(Measure{Kind: SumValues, Arg: g.Arg}, g); err == nil && z.out.Pairs == nil {
				z.paired(f.Sum, g)
			}
		}
	case plan.Avg:
		if f.Kind = IsAvg; !z.bounded(g) || z.out.Pairs != nil {
			f.Kind = IsRatio
			if f.Sum, err = z.measure(Measure{Kind: SumValues, Arg: g.Arg}, g); err == nil {
				f.Count, err = z.countValues(g)
			}
			return f, err
		}
		f.Count, f.Sum, err = z.pair(g)
	case plan.Min, plan.Max, "percentile_cont", "percentile_disc":
		err = z.orderStatistic(g, &f)
	case "mode", plan.TopK:
		err = z.mostFrequent(g, &f)
	case "string_agg", "array_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg":
		err = sqlerr.New(sqlerr.PrivateShape, "%s over private rows would list what single rows hold", g.Fn).At(g.Pos).
			WithHint("GROUP BY the values and count: which of them are shown is chosen with noise.")
	default:
		err = sqlerr.New(sqlerr.PrivateShape, "the aggregate %s over private rows is not supported", g.Fn).At(g.Pos).
			WithHint("COUNT, SUM, AVG, VARIANCE, CORR and the like are there.")
	}
	return f, err
}

func distinctOf(fn plan.AggFunc) *sqlerr.Error {
	return sqlerr.New(sqlerr.PrivateShape, "%s(DISTINCT ...) over private rows is not supported", fn)
}

// bounded: the argument's values have an interval.
func (z *measurer) bounded(g plan.AggItem) bool {
	iv, _ := z.filtered(g.Arg, g.Filter)
	return iv != nil
}

// pair measures the count of x and the centred sum of x. Where a bound is chosen, the sum has a choice of its own, within the range: a range is often much wider than what
// rows hold, and the count's bound times half of it much more than what anybody adds. Beside a statistic of the same values, which needs the sum about the middle, both have the count's.
func (z *measurer) pair(g plan.AggItem) (count, sum int, err error) {
	if count, err = z.countValues(g); err != nil {
		return
	}
	m := Measure{Kind: CentredSum, Arg: g.Arg, Bound: z.out.Measures[count].Bound}
	if m.HasOwnChoice = (z.out.MaxRows == 0 || z.out.Limit.Norm > 0) && z.out.Joined == nil && !z.moments[z.averageText(g)]; m.HasOwnChoice {
		m.Bound = nil
	}
	if sum, err = z.measure(m, g); err == nil && m.HasOwnChoice {
		z.out.Measures[sum].Bound.Rows = z.out.Measures[count].Bound
	}
	return
}

// noteMoments notes the values whose centred sums a statistic shares.
func (z *measurer) noteMoments(g plan.AggItem) {
	if _, ok := statistics[g.Fn]; !ok || len(g.More) > 1 {
		return
	}
	of := []plan.Scalar{g.Arg}
	if len(g.More) > 0 {
		x, y := z.besides(g.More[0], g.Arg)
		of = []plan.Scalar{x, y}
	}
	for _, x := range of {
		if g.Arg = x; z.moments == nil {
			z.moments = map[string]bool{}
		}
		z.moments[z.averageText(g)] = true
	}
}

// countValues counts rows where the argument is not NULL: all rows, if that follows from the plan.
func (z *measurer) countValues(g plan.AggItem) (int, error) {
	if !z.canBeNull(g.Arg, inRange) {
		return z.measure(Measure{Kind: CountRows}, g)
	}
	return z.measure(Measure{Kind: CountValues, Arg: g.Arg}, g)
}

// measureKey is equal for measures of the same values of the same rows.
type measureKey struct {
	kind        MeasureKind
	arg, filter string
}

// measure finds or adds a measure; g says what for, and of which rows.
func (z *measurer) measure(m Measure, g plan.AggItem) (int, error) {
	m.Filter = g.Filter
	is := measureKey{m.Kind, z.argText(&m), conditionText(m.Filter, z.scalarText)}
	if at, ok := z.places[is]; ok {
		return at, nil
	}
	z.clampColumns(m.Arg)
	m.Single, m.Subdivision = z.single, 1
	shared := m.Bound
	if z.out.Limit.Norm > 0 {
		m.Bound = nil
	}
	if err := z.bound(&m, g); err != nil {
		return 0, err
	}
	if z.out.Limit.Norm > 0 {
		if err := z.norm(&m, shared); err != nil {
			return 0, err
		}
	}
	at := len(z.out.Measures)
	z.out.Measures, z.places[is] = append(z.out.Measures, m), at
	return at, nil
}

// bound sets a measure's row range, partial range and sensitivity (6), (9). A Filter leaves a unit fewer rows of its own, chosen row by row, and bounds none.
func (z *measurer) bound(m *Measure, g plan.AggItem) error {
	if z.out.Joined != nil {
		return z.boundRow(m, g)
	}
	m.Grid, m.Factor = decimal.NewFromInt(1), 1
	if z.out.Pairs != nil {
		return z.pairBound(m, g)
	}
	if m.IsOwnExtreme() { // (10) of orderStatistic: a unit counts once in a group
		m.Hi, m.PerGroup = 1, 1
		return nil
	}
	switch m.Kind {
	case Units, SomeUnits:
		m.Hi, m.PerGroup = 1, 1
		return nil
	case DistinctValues:
		return z.distinct(m, g)
	case CountRows, CountValues, Leaves, Candidates:
		if z.out.MaxRows == 0 {
			return z.choose(m, 1, mostRows)
		}
		if z.out.MaxRows > dp.MaxSensitivity {
			return z.tooWide()
		}
		m.Hi, m.PerGroup = int64(z.out.MaxRows), z.out.MaxRows
		return nil
	}
	if m.Product != nil {
		m.productRows(z.out.MaxRows)
	} else if iv, narrow := z.filtered(m.Arg, m.Filter); iv == nil && m.Distinct {
		return z.noRange(m.Arg, g)
	} else if iv == nil {
		return z.undeclared(m, g)
	} else if err := z.rowRange(m, iv, narrow, g); err != nil {
		return err
	}
	lo, hi := min(m.RowLo, 0), max(m.RowHi, 0)
	if m.Kind == CentredSum { // about the middle each row is within +-(RowHi - RowLo)
		hi = int64(m.MostOfRow()) //nolint:gosec // of ends within dp.MaxSensitivity
		if lo = 0; 2*m.RowLo < m.DoubledCentre() {
			lo = -hi
		}
	}
	rows := z.out.MaxRows
	if m.Distinct {
		rows = m.Values
	}
	if rows == 0 {
		return z.automatic(m, max(1, magnitude(lo), magnitude(hi)))
	}
	var ok1, ok2 bool
	m.Lo, ok1 = times(lo, rows)
	m.Hi, ok2 = times(hi, rows)
	if !ok1 || !ok2 {
		return tooWide().At(g.Pos)
	}
	m.PerGroup = max(1, magnitude(m.Lo), magnitude(m.Hi))
	return nil
}

// rowRange brings the interval of a row's value to the steps of its grid, outward (9).
func (z *measurer) rowRange(m *Measure, iv *num.Interval, narrow bool, g plan.AggItem) error {
	m.Narrow, m.Declared = narrow, true
	var ok bool
	if m.Grid, m.Rounded, ok = z.gridOf(m.Arg, iv); !ok {
		return beyondDoubles(iv, g)
	}
	m.RangeLo, m.RangeHi = iv.Lo, iv.Hi
	var ok1, ok2 bool
	m.RowLo, ok1 = steps(iv.Lo, m.Grid, -1)
	m.RowHi, ok2 = steps(iv.Hi, m.Grid, 1)
	if !ok1 || !ok2 {
		return tooWide().At(g.Pos)
	}
	return nil
}

// times is x*n if its magnitude is at most dp.MaxSensitivity (9).
func times(x int64, n uint64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(x), n)
	if hi != 0 || lo > dp.MaxSensitivity {
		return 0, false
	}
	if x < 0 {
		return -int64(lo), true
	}
	return int64(lo), true
}

func (z *measurer) noRange(x plan.Scalar, g plan.AggItem) error {
	err := sqlerr.New(sqlerr.NoRange, "%s, so one person's part of %s is not bounded", LacksRange(z.withoutRange(x)), g.Fn).At(g.Pos)
	such := ""
	if call, ok := x.(*plan.Call); ok && call.Fn == funcs.Length {
		such = "; lo and hi are such as interval '30 days'"
	} else if isDay(x.Type()) {
		such = "; lo and hi are such as date '2030-01-01'"
	}
	if c, ok := uncast(x).(*plan.Col); ok {
		id := z.base(c.ID)
		if s := z.owner[id]; s != nil && s.scan.Table.Name != derivedName {
			return err.WithHint("The owner can declare range: [lo, hi] for %s in the policy. Or bound it by constants of your own: greatest(lo, least(%s, hi)) counts what is outside as lo or hi, and NULL as hi. WHERE with BETWEEN leaves both out%s.", z.tableColumn(s, slices.Index(s.scan.Columns, id)), z.named(c.ID), such)
		}
	}
	return err.WithHint("Bound it by constants of your own, as in greatest(lo, least(x, hi)): what is outside counts as lo or hi, and NULL as hi unless x IS NOT NULL is a condition%s.", such)
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
func (z *measurer) withoutRange(x plan.Scalar) (names []string) {
	z.walkBase(x, func(id plan.ColID) {
		s := z.owner[id]
		if s == nil || s.scan.Table.Name == derivedName {
			return
		}
		c := s.scan.Table.Columns[slices.Index(s.scan.Columns, id)]
		if name := z.out.visibleName(id); c.Range == nil && name != "" && (c.Type.IsNumber() || funcs.TimeRange(c.Type.OID) != nil) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	return names
}

// argText is equal for measures of the same values.
func (z *measurer) argText(m *Measure) string {
	text := z.scalarText(m.Arg)
	switch {
	case m.Distinct:
		return "distinct " + text
	case m.InRange:
		return "in range " + text
	case m.IsOwnExtreme():
		return string(m.Tree.Own) + " of " + text
	}
	if m.Product == nil {
		return text
	}
	other := z.scalarText(m.Product.Y.Arg)
	return min(text, other) + " times " + max(text, other)
}

// paired notes the measures that a sum would have beside an average of the same values: a release of both says the sum alone (ReuseCandidate.From). Where they are too wide there are none.
func (z *measurer) paired(sum int, g plan.AggItem) {
	own, at := z.out.Measures, z.places
	if z.out.Limit.Norm > 0 || z.smooth != nil || own[sum].Pair != nil || !z.bounded(g) {
		return
	}
	z.out.Measures, z.places = nil, map[measureKey]int{}
	if count, centred, err := z.pair(g); err == nil {
		z.settle()
		own[sum].Pair = &Pair{z.out.Measures[count], z.out.Measures[centred]}
	}
	z.out.Measures, z.places = own, at
}
