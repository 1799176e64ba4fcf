package sqlgen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// unitWindow prints window functions within a unit's rows as columns of a subquery over them.
//
// Proof: claim: the multiset of the subquery's rows, in the columns that are read of it, is a function of the multiset of its input's rows, and each row depends on
// rows of its partition alone, which are one unit's (unit.Linker.windowRows). (a) Where which row is first or next matters, the written order is completed by all that is read
// of the rows: exported columns, and the columns that any of the functions reads; values that are equal and spelled differently by their spelling (Spellings). Rows that still are
// equal agree in all of these, so an exchange of them changes no row that is read. PostgreSQL may give the same answer: it leaves
// the order of ties open. (b) Where rows that are equal in the written order count together (ranks, frames of RANGE and GROUPS) it stays as written, and what is made of
// the frame does not depend on its order: the aggregates of ofUnit. (c) Nothing raises: offsets and numbers of buckets are constants, those of RANGE
// are added to whole numbers that they do not take out of their type (reachKey), arguments have their total forms, and sums have room (ofUnit; a frame's rows are some of a unit's).
func (p *printer) unitWindow(n *plan.Window) *from {
	in := p.build(n.Input)
	s := p.subquery(in)
	s.fixed, s.types = map[plan.ColID]string{}, map[plan.ColID]sqltype.Type{}
	f := s.from()
	for i, it := range n.Items {
		s.fixed[it.ID], s.types[it.ID] = quote(fmt.Sprintf("w%d", i+1)), it.Type
		f.cols[it.ID] = &column{sub: s}
		if len(it.Args) > 0 {
			f.cols[it.ID].places = p.aggregatePlaces(it.Fn, it.Args[0], in)
		}
	}
	s.more = func() []string {
		read := &plan.Window{}
		for _, it := range n.Items {
			if slices.Contains(s.used, it.ID) {
				read.Items = append(read.Items, it)
			}
		}
		ties, out := p.ties(read, s), []string(nil)
		for _, it := range read.Items {
			if p.err != nil {
				return nil
			}
			out = append(out, p.held(p.withLetters(p.unitCall(it, in, ties), it.Type))+" AS "+s.fixed[it.ID])
		}
		return out
	}
	return f
}

// ties are the keys that complete an order: the columns that are read of a window's input, each once. What the functions compute of columns is equal where these are. An array is read where it is asked about, and not as a key.
func (p *printer) ties(n *plan.Window, s *subquery) []string {
	var out []string
	known := map[string]bool{}
	add := func(text string, t sqltype.Type) {
		for _, k := range p.d.Spellings(text, t) {
			if k = direction(k, false, false); !known[k] {
				known[k] = true
				out = append(out, k)
			}
		}
	}
	for _, e := range s.exports {
		add(e.text, e.typ)
	}
	read := map[plan.ColID]bool{}
	for _, x := range plan.Scalars(n) {
		arrays, cols := false, []*plan.Col(nil)
		plan.VisitCols(x, func(c *plan.Col) {
			arrays = arrays || c.Type().IsArray()
			cols = append(cols, c)
		})
		if arrays {
			add(p.scalar(x, s.in, stored), x.Type())
			continue
		}
		for _, c := range cols {
			if !read[c.ID] {
				read[c.ID] = true
				add(p.scalar(c, s.in, stored), c.Type())
			}
		}
	}
	return out
}

// over is what stands in the parentheses of OVER.
type over struct {
	partition, order []string
	frame            string
}

func (o over) String() string {
	var parts []string
	if len(o.partition) > 0 {
		parts = append(parts, "PARTITION BY "+strings.Join(o.partition, ", "))
	}
	if len(o.order) > 0 {
		parts = append(parts, "ORDER BY "+strings.Join(o.order, ", "))
	}
	if o.frame != "" {
		parts = append(parts, o.frame)
	}
	return " OVER (" + strings.Join(parts, " ") + ")"
}

const (
	unboundedPreceding = "UNBOUNDED PRECEDING"
	unboundedFollowing = "UNBOUNDED FOLLOWING"
	currentRow         = "CURRENT ROW"
	wholePartition     = "ROWS BETWEEN " + unboundedPreceding + " AND " + unboundedFollowing
)

func (p *printer) unitCall(it plan.WindowItem, in *from, ties []string) string {
	o := over{partition: p.list(it.Partition, in, stored)}
	for i := range it.Order {
		o.order = append(o.order, p.orderKeys(it.Order[i:i+1], in))
	}
	completed := func() {
		known := map[string]bool{}
		for _, k := range o.order {
			known[k] = true
		}
		for _, k := range o.partition {
			known[direction(k, false, false)] = true
		}
		for _, k := range ties {
			if !known[k] {
				o.order = append(o.order, k)
			}
		}
	}
	a := plan.AggItem{Fn: it.Fn, Filter: it.Filter, Type: it.Type, Pos: it.Pos}
	if len(it.Args) > 0 {
		a.Arg, a.More = it.Args[0], it.Args[1:]
	}
	rows := it.Frame != nil && it.Frame.Mode == "ROWS"
	switch it.Fn {
	case "rank", "dense_rank", "percent_rank", "cume_dist": // they have no frame
	case "row_number":
		completed()
	case "ntile":
		if n, ok := constant(it.Args[0]); !ok || n < 1 {
			return p.fail(notConstant("ntile", it.Pos))
		}
		completed()
	case "lag", "lead":
		if len(it.Args) > 1 {
			if _, ok := constant(it.Args[1]); !ok {
				return p.fail(notConstant(string(it.Fn), it.Pos))
			}
		}
		if p.castsDefault(it) {
			return ""
		}
		completed()
	case "nth_value", "first_value", "last_value":
		if it.Fn == "nth_value" {
			if n, ok := constant(it.Args[1]); !ok || n < 1 {
				return p.fail(notConstant("nth_value", it.Pos))
			}
		}
		switch start, end := bounds(it.Frame); {
		case rows:
			o.frame = p.frame(it)
		case it.Frame != nil && it.Frame.Exclude != "":
			return p.fail(whichRow(it))
		case start == unboundedPreceding && end == unboundedFollowing, it.Fn == "first_value" && start == unboundedPreceding && end == currentRow, it.Fn == "last_value" && start == currentRow && end == unboundedFollowing:
			o.frame = wholePartition
		case it.Fn == "last_value" && end == currentRow && (start == unboundedPreceding || start == currentRow): // the last of those that are equal in the order
			for _, k := range it.Order {
				o.partition = append(o.partition, p.binary(p.scalar(k.Expr, in, stored), k.Expr.Type()))
			}
			o.order, o.frame = nil, wholePartition
		default:
			return p.fail(whichRow(it))
		}
		completed()
	default:
		if it.Frame != nil {
			if p.reaches(it.Frame) {
				o.order = []string{p.reachKey(it, in)}
			}
			o.frame = p.frame(it)
		}
		if rows {
			completed()
		}
		return p.unitAggregate(a, in, o.String())
	}
	return p.callOf(a, p.arguments(it.Args, in), in) + o.String()
}

// castsDefault refuses the default of lag or lead that a database casts to the first argument's decimal: it is rounded, or raises where a row needs it.
func (p *printer) castsDefault(it plan.WindowItem) bool {
	if it.Fn != "lag" && it.Fn != "lead" || len(it.Args) < 3 || p.d.Decimals() == nil || it.Args[0].Type().OID != sqltype.OIDNumeric {
		return false
	}
	p.fail(sqlerr.New(sqlerr.PrivateFunction, "%s of numerics with a default cannot be computed by the data set's database here", it.Fn).At(it.Pos).
		WithHint("Leave the default out: %s is NULL there.", it.Fn))
	return true
}

// bounds are the ends of a frame without offsets; "" for one with.
func bounds(f *plan.Frame) (start, end string) {
	if f == nil {
		return unboundedPreceding, currentRow
	}
	kind := func(e plan.FrameEnd) string {
		if e.Offset != nil {
			return ""
		}
		return e.Kind
	}
	return kind(f.Start), kind(f.End)
}

// frame prints a frame whose offsets are constants; which rows EXCLUDE leaves out besides the current one would depend on a completed order.
func (p *printer) frame(it plan.WindowItem) string {
	end := func(e plan.FrameEnd) string {
		if e.Offset == nil {
			return e.Kind
		}
		n, ok := constant(e.Offset)
		if it.Frame.Mode == "RANGE" {
			n, ok = p.reach(it, e.Offset)
		}
		if !ok || n < 0 {
			p.fail(sqlerr.New(sqlerr.PrivateShape, "a frame with this offset over private rows is not supported").At(it.Pos).
				WithHint("Use whole numbers, or RANGE with whole days over dates: RANGE BETWEEN INTERVAL '30 days' PRECEDING AND CURRENT ROW."))
		}
		if it.Frame.Mode == "RANGE" {
			return p.d.RangeOffset(n) + " " + e.Kind
		}
		return strconv.FormatInt(n, 10) + " " + e.Kind
	}
	text := it.Frame.Mode + " BETWEEN " + end(it.Frame.Start) + " AND " + end(it.Frame.End)
	switch it.Frame.Exclude {
	case "":
	case currentRow:
		text += " EXCLUDE " + currentRow
	default:
		p.fail(sqlerr.New(sqlerr.PrivateShape, "EXCLUDE %s over private rows is not supported", it.Frame.Exclude).At(it.Pos).WithHint("Use EXCLUDE CURRENT ROW, or leave it out."))
	}
	return text
}

// constant is the value of an integer literal.
func constant(x plan.Scalar) (int64, bool) {
	if c, ok := x.(*plan.Call); ok && c.Fn.Name == "cast" && len(c.Args) == 1 && c.T.IsInteger() {
		x = c.Args[0]
	}
	c, ok := x.(*plan.Const)
	if !ok || !c.T.IsInteger() {
		return 0, false
	}
	n, ok := c.Value.(int64)
	return n, ok
}

func notConstant(fn string, pos int) error {
	return sqlerr.New(sqlerr.PrivateShape, "%s over private rows takes a constant whole number", fn).At(pos).WithHint("Write the number, such as 1.")
}

func whichRow(it plan.WindowItem) error {
	return sqlerr.New(sqlerr.PrivateShape, "%s over private rows is not supported with this frame", it.Fn).At(it.Pos).
		WithHint("Use a frame with ROWS, such as ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING.")
}

// reaches: a frame of RANGE has an offset.
func (p *printer) reaches(f *plan.Frame) bool {
	return f.Mode == "RANGE" && (f.Start.Offset != nil || f.End.Offset != nil)
}

// reach is an offset of RANGE in steps of what reachKey makes of the order: whole numbers, or the days of dates.
func (p *printer) reach(it plan.WindowItem, x plan.Scalar) (int64, bool) {
	if len(it.Order) != 1 {
		return 0, false
	}
	t := it.Order[0].Expr.Type()
	if t.IsInteger() {
		return constant(x)
	}
	c, ok := x.(*plan.Const)
	if !ok || t.OID != sqltype.OIDDate {
		return 0, false
	}
	by, ok := c.Value.(sqltype.Interval)
	return int64(by.Days), ok && by.Months == 0 && by.Micros == 0
}

// reachKey is the order of a frame of RANGE with offsets, as whole numbers.
//
// Proof: no sum of an integer and an offset raises (RangeKey). Dates are the days since one of them,
// which is at most 2^31 each way, as a date plus whole days is; an infinite one is as far from all others as it is by any number of days (dialect.DaysOf).
func (p *printer) reachKey(it plan.WindowItem, in *from) string {
	if len(it.Order) != 1 {
		return p.fail(sqlerr.New(sqlerr.Windowing, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column").At(it.Pos))
	}
	k := it.Order[0]
	return direction(p.d.RangeKey(p.scalar(k.Expr, in, stored), k.Expr.Type()), k.Desc, k.NullsFirst)
}
