package eval

import (
	"math"
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// windowFrame says which rows of a partition a row's window has.
type windowFrame struct {
	mode    string
	ends    [2]frameEnd
	exclude string
	within  inRange // of RANGE with an offset
}

type frameEnd struct {
	kind   string
	offset scalar // nil for none
	value  sqltype.Value
}

// bounds are the rows from lo up to before hi.
type bounds struct{ lo, hi int }

// The kinds of a frame's ends, as the parser gives them.
const (
	currentRow = "CURRENT ROW"
	preceding  = "PRECEDING"
	following  = "FOLLOWING"
	fromFirst  = "UNBOUNDED PRECEDING"
	toLast     = "UNBOUNDED FOLLOWING"
)

func (c *compiler) windowFrame(it *plan.WindowItem) (*windowFrame, error) {
	f := &windowFrame{mode: "RANGE", ends: [2]frameEnd{{kind: fromFirst}, {kind: currentRow}}}
	if it.Frame == nil {
		return f, nil
	}
	f.mode, f.exclude = it.Frame.Mode, it.Frame.Exclude
	for i, e := range []plan.FrameEnd{it.Frame.Start, it.Frame.End} {
		f.ends[i].kind = e.Kind
		if e.Offset == nil {
			continue
		}
		var err error
		if f.ends[i].offset, err = c.scalar(e.Offset, nil); err != nil {
			return nil, err
		}
		if f.mode != "RANGE" {
			continue
		}
		if len(it.Order) != 1 {
			return nil, windowing(it, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
		}
		t := it.Order[0].Expr.Type()
		if f.within = rangeOf(t, e.Offset.Type()); f.within == nil {
			return nil, unsupported("RANGE with offset PRECEDING/FOLLOWING cannot be computed over released values for column type %s and offset type %s", t, e.Offset.Type()).At(it.Pos)
		}
	}
	switch {
	case f.mode == "GROUPS" && len(it.Order) == 0:
		return nil, windowing(it, "GROUPS mode requires an ORDER BY clause")
	case f.mode != "ROWS" && f.mode != "RANGE" && f.mode != "GROUPS":
		return nil, unsupported("a frame of %s", f.mode).At(it.Pos)
	}
	return f, nil
}

// offsets computes the ends' offsets, once a run.
func (f *windowFrame) offsets(m *machine) error {
	for i, what := range []string{"starting", "ending"} {
		e := &f.ends[i]
		if e.offset == nil {
			continue
		}
		v, err := e.offset(m, nil)
		if err != nil {
			return err
		}
		if v == nil {
			return sqlerr.New(sqlerr.NullValue, "frame %s offset must not be null", what)
		}
		if n, ok := v.(int64); ok && n < 0 && f.mode != "RANGE" {
			return sqlerr.New(sqlerr.InvalidFrameSize, "frame %s offset must not be negative", what)
		}
		e.value = v
	}
	return nil
}

// of gives each row's frame.
func (f *windowFrame) of(p *partition) ([]bounds, error) {
	out := make([]bounds, len(p.rows))
	lo, hi := 0, 0 // of RANGE with an offset: they only move on
	for i := range p.rows {
		var err error
		if lo, err = f.edge(p, i, 0, lo); err != nil {
			return nil, err
		}
		if hi, err = f.edge(p, i, 1, hi); err != nil {
			return nil, err
		}
		out[i] = bounds{lo, max(lo, hi)}
	}
	return out, nil
}

// edge is the first row of row i's frame (end 0), or the first after it (end 1); was is that of the row before.
func (f *windowFrame) edge(p *partition, i, end, was int) (int, error) {
	e, n := f.ends[end], len(p.rows)
	switch e.kind {
	case fromFirst:
		return 0, nil
	case toLast:
		return n, nil
	case currentRow:
		if f.mode == "ROWS" {
			return i + end, nil
		}
		return p.starts[p.peers[i]+end], nil
	}
	if f.mode == "RANGE" {
		return f.reach(p, i, end, was)
	}
	at, most := i, n
	if f.mode == "GROUPS" {
		at, most = p.peers[i], len(p.starts)-1
	}
	size, ok := e.value.(int64)
	if !ok {
		return 0, sqlerr.New(sqlerr.Internal, "a frame's offset is a %T", e.value)
	}
	by := int(min(size, int64(most)+1)) // no further than beyond all
	if e.kind == preceding {
		by = -by
	}
	at = min(max(at+by+end, 0), most)
	if f.mode == "GROUPS" {
		return p.starts[at], nil
	}
	return at, nil
}

// reach moves an edge of RANGE with an offset on (nodeWindowAgg.c, update_frameheadpos and update_frametailpos).
func (f *windowFrame) reach(p *partition, i, end, at int) (int, error) {
	k, e := p.keys[0], f.ends[end]
	back, less := e.kind == preceding, end == 1
	if k.desc {
		back, less = !back, !less
	}
	current := p.rows[i].order[0]
	for ; at < len(p.rows); at++ {
		if err := p.m.tick(); err != nil {
			return 0, err
		}
		v := p.rows[at].order[0]
		on := false // whether the edge goes beyond this row
		switch {
		case v != nil && current != nil:
			in, err := f.within(v, current, e.value, back, less)
			if err != nil {
				return 0, err
			}
			on = in == (end == 1)
		case end == 0 && k.nullsFirst:
			on = v == nil && current != nil
		case end == 0:
			on = v != nil && current == nil
		case k.nullsFirst:
			on = v == nil || current != nil
		default:
			on = v != nil || current == nil
		}
		if !on {
			return at, nil
		}
	}
	return at, nil
}

// without takes from a frame what EXCLUDE takes; what is left comes in pieces.
func (f *windowFrame) without(p *partition, i int, b bounds) []bounds {
	from, to := p.starts[p.peers[i]], p.starts[p.peers[i]+1]
	pieces := []bounds{{b.lo, min(from, b.hi)}, {max(to, b.lo), b.hi}}
	switch f.exclude {
	case "", "NO OTHERS":
		return []bounds{b}
	case currentRow:
		pieces = []bounds{{b.lo, min(i, b.hi)}, {max(i+1, b.lo), b.hi}}
	case "TIES":
		pieces = []bounds{pieces[0], {max(i, b.lo), min(i+1, b.hi)}, pieces[1]}
	}
	var out []bounds
	for _, piece := range pieces {
		if piece.lo < piece.hi {
			out = append(out, piece)
		}
	}
	return out
}

// inRange says whether v is at most (less) or at least base plus, or with back minus, the offset: PostgreSQL's in_range.
type inRange func(v, base, offset sqltype.Value, back, less bool) (bool, error)

// rangeOf finds the comparison of a type with an offset of another; nil for none.
func rangeOf(t, offset sqltype.Type) inRange {
	switch {
	case t.IsInteger() && offset.IsInteger():
		return intInRange
	case t.OID == sqltype.OIDNumeric && (offset.IsInteger() || offset.OID == sqltype.OIDNumeric):
		return numericInRange
	case t.IsFloat() && offset.IsNumber():
		return floatInRange
	case (t.OID == sqltype.OIDDate || t.OID == sqltype.OIDTimestamp) && offset.OID == sqltype.OIDInterval:
		return timeInRange(t)
	}
	return nil
}

// timeInRange compares timestamps; a date is its midnight.
func timeInRange(t sqltype.Type) inRange {
	plus, minus := funcs.Lookup(funcs.Operator, "+", t.OID, sqltype.OIDInterval), funcs.Lookup(funcs.Operator, "-", t.OID, sqltype.OIDInterval)
	if plus == nil || minus == nil || plus.Eval == nil || minus.Eval == nil {
		return nil
	}
	shift := func(f *funcs.Func, v sqltype.Value, by sqltype.Interval) (sqltype.Value, error) {
		return f.Eval([]sqltype.Value{v, by}, []sqltype.Type{t, sqltype.IntervalType}, sqltype.Timestamp)
	}
	return func(v, base, offset sqltype.Value, back, less bool) (bool, error) {
		by, ok := offset.(sqltype.Interval)
		if !ok || sqltype.Compare(by, sqltype.Interval{}) < 0 {
			return false, badSize()
		}
		f := plus
		if back {
			f = minus
		}
		to, err := shift(f, base, by)
		if err != nil {
			return false, err
		}
		at, err := shift(plus, v, sqltype.Interval{})
		if err != nil {
			return false, err
		}
		c := sqltype.Compare(at, to)
		return less && c <= 0 || !less && c >= 0, nil
	}
}

func badSize() error {
	return sqlerr.New(sqlerr.InvalidFrameSize, "invalid preceding or following size in window function")
}

func intInRange(v, base, offset sqltype.Value, back, less bool) (bool, error) {
	by, from := offset.(int64), base.(int64)
	if by < 0 {
		return false, badSize()
	}
	if back {
		by = -by
	}
	sum, _ := bits.Add64(uint64(from), uint64(by), 0)
	to := int64(sum)
	if by > 0 && to < from || by < 0 && to > from { // beyond all integers
		return back != less, nil
	}
	return less && v.(int64) <= to || !less && v.(int64) >= to, nil
}

func numericInRange(v, base, offset sqltype.Value, back, less bool) (bool, error) {
	by := exactly(offset)
	if by.Sign() < 0 {
		return false, badSize()
	}
	if back {
		by = by.Neg()
	}
	c := exactly(v).Cmp(exactly(base).Add(by))
	return less && c <= 0 || !less && c >= 0, nil
}

func floatInRange(v, base, offset sqltype.Value, back, less bool) (bool, error) {
	x, from, by := v.(float64), base.(float64), 0.0
	switch o := offset.(type) {
	case int64:
		by = float64(o)
	case float64:
		by = o
	case decimal.Decimal:
		by = o.InexactFloat64()
	}
	switch {
	case math.IsNaN(by) || by < 0:
		return false, badSize()
	case math.IsNaN(x):
		return math.IsNaN(from) || !less, nil // NaN is above all, and equal to itself
	case math.IsNaN(from):
		return less, nil
	case math.IsInf(by, 0) && math.IsInf(from, 0) && (from > 0) == back:
		return true, nil
	}
	if back {
		by = -by
	}
	to := from + by
	return less && x <= to || !less && x >= to, nil
}
