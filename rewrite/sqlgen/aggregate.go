package sqlgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// exactEnd is an end of a public aggregate's interval, which is the value itself; what noise and bounds do to it is 0.
func (p *printer) exactEnd(n *plan.Aggregate, e plan.ErrorItem, in *from) string {
	x := "0"
	if at := slices.IndexFunc(n.Aggs, func(a plan.AggItem) bool { return a.ID == e.Of }); at >= 0 && (e.Kind == plan.ErrorLow || e.Kind == plan.ErrorHigh) {
		if x = "NULL"; n.Aggs[at].Type.IsNumber() {
			x = p.publicAggregate(n.Aggs[at], in)
		}
	}
	return "CAST(" + x + " AS " + p.or(p.typeName(sqltype.Float8, nil)) + ")"
}

// aggregate prints a public aggregate as a subquery.
func (p *printer) aggregate(n *plan.Aggregate) *from {
	if len(n.Errors) > 0 && (p.given != nil || len(p.form.noisy) > 0) {
		p.fail(internalError("dp_error is no column of an aggregate over released rows"))
	}
	in := p.build(n.Input)
	f, s, put := p.grouped(n, in, func(k plan.ColID, _ sqltype.Type) string { return in.column(p, k, stored) }, func(a plan.AggItem) string { return p.publicAggregate(a, in) })
	for _, e := range n.Errors {
		put(e.ID, p.exactEnd(n, e, in), sqltype.Float8)
	}
	for _, g := range n.Groupings {
		put(g.ID, "GROUPING("+strings.Join(p.columns(in, g.Cols), ", ")+")", sqltype.Int4)
	}
	if n.Sets != nil {
		sets := make([]string, len(n.Sets))
		for i, set := range n.Sets {
			at := make([]string, len(set))
			for j, id := range set {
				at[j] = fmt.Sprint(slices.Index(n.Keys, id) + 1)
			}
			sets[i] = "(" + strings.Join(at, ", ") + ")"
		}
		s.suffix = " GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	}
	return f
}

// grouped is an aggregate over in by all its keys, as a subquery to which put adds columns.
func (p *printer) grouped(n *plan.Aggregate, in *from, key func(plan.ColID, sqltype.Type) string, agg func(plan.AggItem) string) (f *from, s *subquery, put func(plan.ColID, string, sqltype.Type)) {
	s = p.subquery(in)
	s.fixed, s.types = map[plan.ColID]string{}, map[plan.ColID]sqltype.Type{}
	f = &from{text: s.text, one: true, cols: map[plan.ColID]*column{}}
	put = func(id plan.ColID, text string, t sqltype.Type) {
		name := quote(fmt.Sprintf("c%d", len(s.list)+1))
		s.list = append(s.list, text+" AS "+name)
		s.fixed[id], s.types[id] = name, t
		f.cols[id] = &column{sub: s}
	}
	var group []string
	for i, k := range n.Keys {
		t, _ := in.typeOf(k)
		put(k, key(k, t), t)
		s := p.columnPlaces(&plan.Col{ID: k, T: t}, in)
		f.cols[k].places = &s
		group = append(group, fmt.Sprint(i+1))
	}
	for _, a := range n.Aggs {
		put(a.ID, p.withLetters(agg(a), a.Type), a.Type)
		f.cols[a.ID].places = p.aggregatePlaces(a.Fn, a.Arg, in)
	}
	switch {
	case len(group) > 0:
		s.suffix = " GROUP BY " + strings.Join(group, ", ")
	case len(n.Aggs) == 0:
		s.suffix = " HAVING TRUE" // one group, though nothing is read of it
	}
	return f, s, put
}

// publicAggregate prints an aggregate that the database computes as PostgreSQL does.
func (p *printer) publicAggregate(a plan.AggItem, in *from) string {
	if a.Fn == plan.TopK {
		return p.fail(sqlerr.New(sqlerr.UnsupportedFunction, "dp_top_k is an aggregate of private rows").At(a.Pos).WithHint("Over public tables: GROUP BY x ORDER BY count(*) DESC LIMIT 5."))
	}
	text := p.plainCall(a, in)
	if !p.d.HasAggregate(string(a.Fn)) {
		return p.fail(dialect.NotHere("the aggregate "+string(a.Fn), a.Pos))
	}
	return p.average(text, a)
}

// average refuses the average of integers and numerics where it is no exact one.
func (p *printer) average(text string, a plan.AggItem) string {
	if a.Fn == plan.Avg && a.Type.OID == sqltype.OIDNumeric && !p.d.Facts().ExactAverages {
		return p.fail(sqlerr.New(sqlerr.PrivateFunction, "avg of %s over public tables cannot be computed exactly by the data set's database here", a.Arg.Type()).At(a.Pos).
			WithHint("Ask for sum(x) and count(x), or for the average of floats: avg(x::float8)."))
	}
	return text
}

// plainCall is the call of an aggregate or window function.
func (p *printer) plainCall(a plan.AggItem, in *from) string {
	defer p.under(a.Filter)()
	var args []string
	if a.Arg != nil {
		args = p.list(append([]plan.Scalar{a.Arg}, a.More...), in, stored)
	}
	return p.callOf(a, args, in)
}

func (p *printer) callOf(a plan.AggItem, args []string, in *from) string {
	if a.Arg != nil && (a.Fn == plan.Min || a.Fn == plan.Max) && a.Arg.Type().IsString() {
		args[0] = p.binary(args[0], a.Arg.Type())
	}
	text := strings.Join(args, ", ")
	if a.Distinct {
		text = "DISTINCT " + text
	}
	order := ""
	if len(a.Order) > 0 {
		order = "ORDER BY " + p.orderKeys(a.Order, in)
	}
	switch {
	case a.Fn == plan.CountRows:
		text = p.fn("count") + "(*)"
	case a.Within:
		text = fmt.Sprintf("%s(%s) WITHIN GROUP (%s)", p.fn(string(a.Fn)), text, order)
	case order == "":
		text = fmt.Sprintf("%s(%s)", p.fn(string(a.Fn)), text)
	case text == "":
		text = fmt.Sprintf("%s(%s)", p.fn(string(a.Fn)), order)
	default:
		text = fmt.Sprintf("%s(%s %s)", p.fn(string(a.Fn)), text, order)
	}
	if a.Filter != nil {
		text += " FILTER (WHERE " + p.scalar(a.Filter, in, stored) + ")"
	}
	return text
}

// columns prints columns as stored.
func (p *printer) columns(f *from, ids []plan.ColID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = f.column(p, id, stored)
	}
	return out
}

// window prints window functions as columns of a subquery over their input.
func (p *printer) window(n *plan.Window) *from {
	in := p.build(n.Input)
	s := p.subquery(in)
	s.fixed, s.types = map[plan.ColID]string{}, map[plan.ColID]sqltype.Type{}
	f := s.from()
	for i, it := range n.Items {
		name := quote(fmt.Sprintf("w%d", i+1))
		s.list = append(s.list, p.withLetters(p.windowCall(it, in), it.Type)+" AS "+name)
		s.fixed[it.ID], s.types[it.ID] = name, it.Type
		f.cols[it.ID] = &column{sub: s}
	}
	return f
}

func (p *printer) windowCall(it plan.WindowItem, in *from) string {
	if !p.d.HasWindowFunction(string(it.Fn)) {
		return p.fail(dialect.NotHere("the window function "+string(it.Fn), it.Pos))
	}
	if p.castsDefault(it) {
		return ""
	}
	a := plan.AggItem{Fn: it.Fn, Filter: it.Filter, Type: it.Type, Pos: it.Pos}
	if len(it.Args) > 0 {
		a.Arg, a.More = it.Args[0], it.Args[1:]
	}
	var over []string
	if len(it.Partition) > 0 {
		over = append(over, "PARTITION BY "+strings.Join(p.list(it.Partition, in, stored), ", "))
	}
	if len(it.Order) > 0 {
		over = append(over, "ORDER BY "+p.orderKeys(it.Order, in))
	}
	if it.Frame != nil {
		end := func(e plan.FrameEnd) string {
			if e.Offset != nil {
				return p.scalar(e.Offset, in, stored) + " " + e.Kind
			}
			return e.Kind
		}
		over = append(over, it.Frame.Mode+" BETWEEN "+end(it.Frame.Start)+" AND "+end(it.Frame.End))
		if it.Frame.Exclude != "" {
			over = append(over, "EXCLUDE "+it.Frame.Exclude)
		}
	}
	return p.average(p.plainCall(a, in)+" OVER ("+strings.Join(over, " ")+")", a)
}

func (p *printer) orderKeys(keys []plan.AggOrder, in *from) string {
	out := make([]string, len(keys))
	for i, o := range keys {
		out[i] = direction(p.binary(p.scalar(o.Expr, in, stored), o.Expr.Type()), o.Desc, o.NullsFirst)
	}
	return strings.Join(out, ", ")
}
