package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// What dpsql.on_low_count and dpsql.rounding make of an answer, so that noise does not look like data.
const (
	lowKeep = "keep"
	lowNull = "null"
	lowDrop = "drop"

	roundOff   = "off"
	roundError = "error"
)

// shown are the output columns that are changed when they are shown, and those that would be but stay as they are.
type shown struct {
	low, rounding string
	marks         []mark
	asIs          []string // why, with the column's name
}

// mark is an output column that is an aggregate itself, or is computed from some, and the columns of its 95% interval, which the answer is computed with.
type mark struct {
	out     int
	of      plan.ColID    // the aggregate; 0: it is computed
	width   plan.ColID    // of an aggregate
	ends    [2]plan.ColID // dp_low and dp_high
	grouped bool          // the row is that of a group; else there is no other, and it stays
	exactly bool          // it is not rounded, as the aggregates that it is computed from are not
}

// showing computes the intervals of a program's output columns beside them: of aggregates where the settings ask for it, of what is computed from them always.
//
// Proof: what is shown, and the warning of a NULL, is a function of the row that would be shown without and of dp_error, dp_low and dp_high of its columns, which analysts may ask for in the same statement at the same charge: both are computed from released
// values and public parameters, so it is post-processing (Dwork, Roth 2014, Proposition 2.1). The releases are the same ones: error functions are no part of what is measured (sensitivity.Canonical), and where the
// statement would be divided otherwise, it is left as it is.
func (s *Session) showing(ctx context.Context, q *plan.Query, program *sensitivity.Program) (*sensitivity.Program, *shown) {
	if program.Class != sensitivity.Private {
		return program, nil
	}
	asIs := s.now.low == lowKeep && s.now.rounding == roundOff
	out := &shown{low: s.now.low, rounding: s.now.rounding}
	w := newWithErrors(q, program)
	for i, o := range q.Outputs {
		a, g, why := w.find(q.Root, o.Col)
		switch {
		case a == nil && why == "":
			if ends, exactly, ok := w.computed(q.Root, o.Col); ok {
				out.marks = append(out.marks, mark{out: i, ends: ends, exactly: exactly})
			}
		case asIs:
		case why != "":
			out.asIs = append(out.asIs, fmt.Sprintf("%s (%s)", o.Name, why))
		case a != nil:
			ends := [2]plan.ColID{w.bound(a, g, plan.ErrorLow), w.bound(a, g, plan.ErrorHigh)}
			out.marks = append(out.marks, mark{out: i, of: g, width: w.bound(a, g, plan.ErrorHalfWidth), ends: ends, grouped: len(a.Keys) > 0 || a.Sets != nil})
		}
	}
	if len(out.marks) == 0 {
		return program, out
	}
	if root, err := w.rel(q.Root); err == nil {
		w.q.Root = root
		with, err := sensitivity.Divide(ctx, &w.q, s.options())
		if err == nil && len(with.Stages) == len(program.Stages) {
			return with, out
		}
	}
	out.leave(q, "the statement would be computed another way with its error")
	return program, out
}

// choosesRows reports an answer in which noisy numbers choose what is shown: as the statement says, or dpsql.on_low_count.
func (p *Prepared) choosesRows() bool {
	return p.hidesLow() || p.program.ChoosesRows()
}

// hidesLow: dpsql.on_low_count hides some of the answer's values.
func (p *Prepared) hidesLow() bool {
	return p.shown != nil && p.shown.low != lowKeep && slices.ContainsFunc(p.shown.marks, func(m mark) bool { return m.of != 0 })
}

// leave leaves all columns as they are.
func (n *shown) leave(q *plan.Query, why string) {
	for _, m := range n.marks {
		if m.of != 0 {
			n.asIs = append(n.asIs, fmt.Sprintf("%s (%s)", q.Outputs[m.out].Name, why))
		}
	}
	n.marks = nil
}

// withErrors puts errors into a plan.
type withErrors struct {
	q     plan.Query
	given map[plan.Rel]bool // released
	noisy map[plan.ColID]bool
	whole bool // the plan is the statement's own, so noisy is known
	of    map[*plan.Aggregate][]plan.ErrorItem
	items map[*plan.Project][]plan.Item
	ids   []plan.ColID
	rows  map[plan.Rel]int // a number for each released relation
	known map[columnAt]knownEnds
}

// columnAt is a column of a relation whose interval is one of so many that hold at once.
type columnAt struct {
	rel   plan.Rel
	col   plan.ColID
	joint int
}

// knownEnds is what withErrors.ends gave for a column.
type knownEnds struct {
	v    plan.Interval
	read map[plan.ColID]bool
	ok   bool
}

func newWithErrors(q *plan.Query, program *sensitivity.Program) *withErrors {
	w := &withErrors{q: *q, given: map[plan.Rel]bool{}, of: map[*plan.Aggregate][]plan.ErrorItem{}, items: map[*plan.Project][]plan.Item{}, rows: map[plan.Rel]int{}, known: map[columnAt]knownEnds{}}
	w.q.Columns = slices.Clone(q.Columns)
	for _, l := range program.Answer.Leaves {
		w.given[l.At] = l.Parts != nil
	}
	if w.whole = program.Query == q; w.whole {
		w.noisy = program.Noisy(sensitivity.Computed{Root: q.Root, Leaves: program.Answer.Leaves})
	}
	return w
}

// find is the released aggregate that a column is; nil where it is something else, and why where it is one in a way that hides its error.
func (w *withErrors) find(r plan.Rel, col plan.ColID) (*plan.Aggregate, plan.ColID, string) {
	switch n := r.(type) {
	case *plan.Project:
		for _, it := range n.Items {
			if x, ok := it.Expr.(*plan.Col); ok && it.ID == col {
				return w.find(n.Input, x.ID)
			}
		}
	case *plan.Filter, *plan.Sort, *plan.Limit, *plan.DistinctOn, *plan.Window, *plan.Join:
		for _, in := range plan.Inputs(r) {
			if slices.Contains(in.Cols(), col) {
				return w.find(in, col)
			}
		}
	case *plan.Distinct:
		return hidden(w.find(n.Input, col))("DISTINCT compares its rows")
	case *plan.SetOp:
		for _, in := range plan.Inputs(r) {
			if at := slices.Index(r.Cols(), col); at >= 0 && at < len(in.Cols()) {
				if a, g, why := w.find(in, in.Cols()[at]); a != nil || why != "" {
					return hidden(a, g, why)("it is put together of several answers")
				}
			}
		}
	case *plan.Aggregate:
		for _, g := range n.Aggs {
			switch {
			case g.ID != col:
			case !w.given[r]:
				return nil, 0, "it is computed from released values"
			case roundable(g.Fn):
				return n, col, ""
			default:
				return nil, 0, "its error is not that of a count, sum or average"
			}
		}
	}
	return nil, 0, ""
}

// hidden is an aggregate that is not changed.
func hidden(a *plan.Aggregate, _ plan.ColID, why string) func(by string) (*plan.Aggregate, plan.ColID, string) {
	return func(by string) (*plan.Aggregate, plan.ColID, string) {
		if a != nil {
			why = by
		}
		return nil, 0, why
	}
}

// bound is the column of an aggregate's error, or of an end of its interval, which the plan will have.
func (w *withErrors) bound(a *plan.Aggregate, g plan.ColID, kind plan.ErrorKind) plan.ColID {
	return w.joint(a, g, kind, 1)
}

// joint is that of one of so many intervals that hold at once.
func (w *withErrors) joint(a *plan.Aggregate, g plan.ColID, kind plan.ErrorKind, joint int) plan.ColID {
	for _, e := range append(slices.Clone(a.Errors), w.of[a]...) {
		if e.Kind == kind && e.Of == g && max(1, e.Joint) == joint {
			w.note(e.ID)
			return e.ID
		}
	}
	if joint == 1 {
		joint = 0
	}
	id := w.column(kind)
	w.of[a] = append(w.of[a], plan.ErrorItem{ID: id, Kind: kind, Of: g, Joint: joint})
	return id
}

// column is a new one.
func (w *withErrors) column(kind plan.ErrorKind) plan.ColID {
	id := plan.ColID(len(w.q.Columns))
	w.q.Columns = append(w.q.Columns, plan.ColumnInfo{Name: string(kind), Type: sqltype.Float8})
	w.note(id)
	return id
}

// computed gives the columns of the interval of what is computed from released aggregates (plan.Intervals); false where none is known. exactly says that some of them are no counts, sums or averages.
func (w *withErrors) computed(root plan.Rel, col plan.ColID) (ends [2]plan.ColID, exactly, ok bool) {
	if !w.whole || !w.noisy[col] {
		return ends, false, false
	}
	read := map[plan.ColID]bool{}
	if _, ok = w.ends(root, col, 0, read); !ok || len(read) == 0 { // which they are; none: a CASE of constants
		return ends, false, false
	}
	for _, rounded := range read {
		exactly = exactly || !rounded
	}
	v, _ := w.ends(root, col, len(read), read)
	return [2]plan.ColID{v.Low.(*plan.Col).ID, v.High.(*plan.Col).ID}, exactly, true
}

// ends are the columns of a column's interval, of which so many hold at once; of 0 none are made. read gets the aggregates that it is computed from, and whether they are rounded. A column that is read many times is computed once.
func (w *withErrors) ends(r plan.Rel, col plan.ColID, joint int, read map[plan.ColID]bool) (plan.Interval, bool) {
	at := columnAt{r, col, joint}
	k, done := w.known[at]
	if !done {
		k.read = map[plan.ColID]bool{}
		k.v, k.ok = w.newEnds(r, col, joint, k.read)
		w.known[at] = k
	}
	maps.Copy(read, k.read)
	return k.v, k.ok
}

func (w *withErrors) newEnds(r plan.Rel, col plan.ColID, joint int, read map[plan.ColID]bool) (v plan.Interval, ok bool) {
	interval := func(column func(plan.ErrorKind) plan.ColID) plan.Interval {
		end := func(kind plan.ErrorKind) (of plan.Scalar) {
			if joint == 0 {
				return &plan.Const{T: sqltype.Float8}
			}
			return &plan.Col{ID: column(kind), T: sqltype.Float8}
		}
		return plan.Interval{Low: end(plan.ErrorLow), High: end(plan.ErrorHigh)}
	}
	switch n := r.(type) {
	case *plan.Aggregate:
		for _, g := range n.Aggs {
			if g.ID != col || !w.given[r] || !g.Type.IsNumber() || g.Fn == plan.TopK || g.Fn == "mode" {
				continue
			}
			read[col] = roundable(g.Fn)
			v = interval(func(kind plan.ErrorKind) plan.ColID { return w.joint(n, col, kind, joint) })
			v.Open = g.Fn == plan.Min || g.Fn == plan.Max
			return v, true
		}
	case *plan.Project:
		at := slices.IndexFunc(n.Items, func(it plan.Item) bool { return it.ID == col })
		if at < 0 {
			return v, false
		}
		if x, is := n.Items[at].Expr.(*plan.Col); is {
			return w.ends(n.Input, x.ID, joint, read)
		}
		of := plan.Intervals{
			Exact: func(x plan.Scalar) bool { return plan.FirstQuery(x) == nil && !plan.ReadsAny(x, w.noisy) },
			Of:    func(id plan.ColID) (plan.Interval, bool) { return w.ends(n.Input, id, joint, read) },
			Count: func(id plan.ColID) (plan.AggItem, int, bool) { return w.counted(n.Input, id) },
		}
		x, ok := of.Interval(n.Items[at].Expr)
		if !ok {
			return v, false
		}
		v = interval(func(kind plan.ErrorKind) plan.ColID {
			id, expr := w.column(kind), x.Low
			if kind == plan.ErrorHigh {
				expr = x.High
			}
			w.items[n] = append(w.items[n], plan.Item{ID: id, Expr: expr})
			return id
		})
		v.Open = x.Open
		return v, true
	case *plan.Filter, *plan.Sort, *plan.Limit, *plan.DistinctOn, *plan.Window, *plan.Join:
		for _, in := range plan.Inputs(r) {
			if slices.Contains(in.Cols(), col) {
				return w.ends(in, col, joint, read)
			}
		}
	}
	return v, false
}

// counted is the released count that a column is, and a number of its relation.
func (w *withErrors) counted(r plan.Rel, col plan.ColID) (g plan.AggItem, row int, ok bool) {
	a, at, _ := w.find(r, col)
	if a == nil {
		return g, 0, false
	}
	if w.rows[a] == 0 {
		w.rows[a] = len(w.rows) + 1
	}
	return a.Aggs[slices.IndexFunc(a.Aggs, func(g plan.AggItem) bool { return g.ID == at })], w.rows[a], true
}

// roundable: an aggregate is shown with the digits that its interval supports.
func roundable(fn plan.AggFunc) bool {
	return fn == plan.CountRows || fn == plan.Count || fn == plan.Sum || fn == plan.Avg
}

func (w *withErrors) note(id plan.ColID) {
	if !slices.Contains(w.ids, id) {
		w.ids = append(w.ids, id)
	}
}

// rel is a relation with the errors beside its columns.
func (w *withErrors) rel(r plan.Rel) (plan.Rel, error) {
	same := func(x plan.Scalar) (plan.Scalar, error) { return x, nil }
	switch n := r.(type) {
	case *plan.Aggregate:
		if more := w.of[n]; more != nil {
			with := *n
			with.Errors = append(slices.Clone(n.Errors), more...)
			return &with, nil
		}
		return r, nil
	case *plan.Project:
		in, err := w.rel(n.Input)
		if err != nil {
			return nil, err
		}
		items, below := slices.Clone(n.Items), in.Cols()
		for _, id := range w.ids {
			if slices.Contains(below, id) && !slices.ContainsFunc(items, func(it plan.Item) bool { return it.ID == id }) {
				items = append(items, plan.Item{ID: id, Expr: &plan.Col{ID: id, T: sqltype.Float8}})
			}
		}
		return &plan.Project{Input: in, Items: append(items, w.items[n]...)}, nil
	case *plan.Filter, *plan.Sort, *plan.Limit, *plan.DistinctOn, *plan.Window, *plan.Join:
		return plan.MapParts(r, w.rel, same)
	}
	return r, nil
}

// picker picks an answer's columns of one row as they are shown; false where the row is left out.
func (r *run) picker(cols []plan.ColID) (func(in []sqltype.Value) ([]sqltype.Value, bool), error) {
	p := r.Prepared
	pick, err := finish.Output(p.query, cols)
	if err != nil {
		return nil, err
	}
	var marks []mark
	var places [][3]int // of a mark's width and ends
	var ranges []*sensitivity.Measure
	if p.shown != nil {
		for _, m := range p.shown.marks {
			at := [3]int{slices.Index(cols, m.width), slices.Index(cols, m.ends[0]), slices.Index(cols, m.ends[1])}
			if at[1] >= 0 && at[2] >= 0 && (at[0] >= 0 || m.of == 0) {
				marks, places, ranges = append(marks, m), append(places, at), append(ranges, p.averaged(m.of))
			}
		}
	}
	return func(in []sqltype.Value) ([]sqltype.Value, bool) {
		row := pick(in)
		for i, m := range marks {
			at := func(k int) float64 {
				if x, ok := in[places[i][k]].(float64); ok {
					return x
				}
				return math.NaN()
			}
			v, low, high := row[m.out], at(1), at(2)
			if v == nil {
				continue
			}
			x, _ := inFloat(v)
			width := math.Max(x-low, high-x)
			if m.of != 0 {
				width = at(0)
			}
			switch {
			case m.of == 0 && math.IsNaN(low) && math.IsNaN(high):
				row[m.out] = nil
				r.noInterval(p.query.Outputs[m.out].Name, m.exactly)
			case m.of != 0 && p.shown.low != lowKeep && (under(v, width) || saysNothing(v, width, ranges[i])):
				if p.shown.low == lowDrop && m.grouped {
					return nil, false
				}
				row[m.out] = nil
			case p.shown.rounding == roundError && !m.exactly:
				row[m.out] = rounded(v, p.query.Outputs[m.out].Type, low, high, width)
			}
		}
		return row, true
	}, nil
}

// picked are the rows that are shown.
func (r *run) picked(cols []plan.ColID, rows [][]sqltype.Value) ([][]sqltype.Value, error) {
	pick, err := r.picker(cols)
	if err != nil {
		return nil, err
	}
	out := make([][]sqltype.Value, 0, len(rows))
	for _, in := range rows {
		if row, ok := pick(in); ok {
			out = append(out, row)
		}
	}
	return out, nil
}

// rounded is a value with the digits that its interval supports: of the same type, and within the interval if it was.
func rounded(v sqltype.Value, t sqltype.Type, low, high, width float64) sqltype.Value {
	out := significant(v, nearer(v, low, high, width))
	if _, scale, declared := t.NumericMod(); declared { // all values of the column have so many digits
		if d, ok := out.(decimal.Decimal); ok && int(-d.Exponent()) < scale {
			out = d.Add(decimal.New(0, -int32(scale))) //nolint:gosec // at most 1000
		}
	}
	was, _ := inFloat(v)
	is, _ := inFloat(out)
	leaves := was >= low && is < low || was <= high && is > high
	if n, whole := out.(int64); leaves || whole && (t.OID == sqltype.OIDInt4 && int64(int32(n)) != n || t.OID == sqltype.OIDInt2 && int64(int16(n)) != n) { //nolint:gosec // that is what is asked
		return v
	}
	return out
}

// under: a value is less than its error, or of an error of which nothing can be said.
func under(v sqltype.Value, width float64) bool {
	x, ok := inFloat(v)
	return ok && !(math.Abs(x) >= width)
}

// averaged is the measure whose range an average has; nil where it has none, and of other aggregates.
func (p *Prepared) averaged(agg plan.ColID) *sensitivity.Measure {
	for _, st := range p.stages {
		for _, f := range st.an.Formulas {
			if f.Agg == agg && f.Kind == sensitivity.IsAvg {
				return &st.an.Measures[f.Sum]
			}
		}
	}
	return nil
}

// saysNothing: an average's interval is its whole range, as where its number of rows is not told from none.
func saysNothing(v sqltype.Value, width float64, of *sensitivity.Measure) bool {
	x, ok := inFloat(v)
	if _, whole := v.(int64); !ok || whole || of == nil {
		return false
	}
	lo, hi := of.RangeLo.InexactFloat64(), of.RangeHi.InexactFloat64()
	return width >= max(x-lo, hi-x)-1e-9*(hi-lo)
}

// nearer is how far a value is from the nearer end of its interval, which what bounds take away does not move: rounded by that, it stays inside.
func nearer(v sqltype.Value, low, high, width float64) float64 {
	x, ok := inFloat(v)
	if near := math.Min(x-low, high-x); ok && near > 0 {
		return math.Min(near, width)
	}
	return width
}

// inFloat is a numeric value as a float.
func inFloat(v sqltype.Value) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case decimal.Decimal:
		return x.InexactFloat64(), true
	}
	return 0, false
}

// significant rounds a value to the power of ten at or next below half of its 95% error on the nearer side, which is about the standard deviation of its noise: what is left of the error then has one or two digits, as results of measurements
// are given (JCGM 100:2008, 7.2.6).
func significant(v sqltype.Value, width float64) sqltype.Value {
	if !(width > 0) || math.IsInf(width, 1) {
		return v
	}
	digit := int32(math.Floor(math.Log10(width / 2)))
	switch x := v.(type) {
	case int64:
		if d := decimal.NewFromInt(x).Round(-digit); digit > 0 && d.BigInt().IsInt64() {
			return d.IntPart()
		}
	case float64:
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			return decimal.NewFromFloat(x).Round(-digit).InexactFloat64()
		}
	case decimal.Decimal:
		if -digit >= -x.Exponent() { // it has no more digits
			return x
		}
		if x = x.Round(-digit); x.Exponent() > 0 {
			x = decimal.NewFromBigInt(x.BigInt(), 0)
		}
		return x
	}
	return v
}

// words say what was done.
func (n *shown) words() string {
	if n != nil {
		does := ""
		for _, m := range n.marks {
			if words := n.does(m); len(words) > len(does) { // aggregates have more of them
				does = words
			}
		}
		if does != "" {
			return does
		}
	}
	return "as released"
}

// does says what is done to a column.
func (n *shown) does(m mark) string {
	var parts []string
	switch {
	case m.of == 0:
	case n.low == lowNull:
		parts = append(parts, "values less than their error as NULL")
	case n.low == lowDrop:
		parts = append(parts, "groups with a value less than its error left out")
	}
	if n.rounding == roundError && !m.exactly {
		parts = append(parts, "rounded to what their errors leave significant")
	}
	return strings.Join(parts, ", ")
}

// lines are EXPLAIN's.
func (n *shown) lines(q *plan.Query) (lines []told) {
	if n == nil {
		return nil
	}
	var said []string
	for rest := n.marks; len(rest) > 0; {
		var names []string
		does := n.does(rest[0])
		rest = slices.DeleteFunc(slices.Clone(rest), func(m mark) bool {
			if n.does(m) != does {
				return false
			}
			names = append(names, q.Outputs[m.out].Name)
			return true
		})
		if does != "" {
			said = append(said, strings.Join(names, ", ")+": "+does)
		}
	}
	if len(said) > 0 {
		lines = append(lines, keyed("Shown", "%s", strings.Join(said, "; ")))
	}
	if len(n.asIs) > 0 && n.low != lowKeep {
		lines = append(lines, keyed("Shown as released", "%s", strings.Join(n.asIs, "; ")))
	}
	return lines
}
