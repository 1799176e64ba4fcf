package plan

import (
	"maps"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// IntervalColumns makes the intervals of columns, and the columns that the intervals' ends are in. A released aggregate gets
// error items beside it. A column that is computed above it gets two more: Intervals says how its ends follow from those of what it reads.
// A statement's dp_low and dp_high, and the answer's digits, are both made here, each in two passes (simultaneously).
type IntervalColumns struct {
	columns  *[]ColumnInfo
	released func(*Aggregate) bool
	noisy    map[ColID]bool // nil: not known, so that nothing computed has an interval

	binding bool                       // the aggregates are still being bound: they get their error items themselves
	errors  map[*Aggregate][]ErrorItem // what the plan will have beside its own
	items   map[Rel][]Item             // above a Project, a Window or an Aggregate of released numbers
	sums    map[*Window][]WindowItem
	windows map[windowKey]ColID // of sums
	aggs    map[*Aggregate][]AggItem
	passed  []ColID     // the columns that a Project passes on
	rows    map[Rel]int // a number for each released relation
	known   map[columnAt]knownEnds
	forms   map[columnAt]knownForm

	divided map[ColID]bool // lower ends in which something is divided

	Digits bool // values that have no interval get ends for their digits
}

// Joint is the confidence of an interval: it and Of - 1 others hold at once with 95%.
type Joint struct {
	Of     int
	Total  bool // it is summed over rows
	DryRun bool // its sources are counted, and no columns are made
}

// simultaneously makes an interval of several sources. A dry run counts them, and then each gets the confidence with which all hold at once with 95% (Bonferroni 1936).
func simultaneously(of func(Joint, map[Source]bool) (Interval, bool)) (v Interval, read map[Source]bool, ok bool) {
	read = map[Source]bool{}
	if v, ok = of(Joint{DryRun: true}, read); ok {
		v, ok = of(Joint{Of: max(1, len(read))}, read)
	}
	return v, read, ok
}

// columnAt is a column of a relation whose interval is one of so many that hold at once.
type columnAt struct {
	rel   Rel
	col   ColID
	joint Joint
}

// windowKey is a sum over a window, by its text.
type windowKey struct {
	in   *Window
	text string
}

// knownEnds is what Ends gave for a column.
type knownEnds struct {
	v    Interval
	read map[Source]bool
	ok   bool
}

// knownForm is what terms gave for a column; it reads nothing.
type knownForm struct {
	terms []term
	ok    bool
}

// NewIntervalColumns is for a plan in which released says which aggregates are released, and noisy are the columns that follow from them.
func NewIntervalColumns(columns *[]ColumnInfo, released func(*Aggregate) bool, noisy map[ColID]bool) *IntervalColumns {
	return &IntervalColumns{columns: columns, released: released, noisy: noisy, errors: map[*Aggregate][]ErrorItem{}, items: map[Rel][]Item{}, sums: map[*Window][]WindowItem{}, windows: map[windowKey]ColID{}, aggs: map[*Aggregate][]AggItem{}, rows: map[Rel]int{}, known: map[columnAt]knownEnds{}, forms: map[columnAt]knownForm{}, divided: map[ColID]bool{}}
}

// OtherError is why a released aggregate is shown as it is.
const OtherError = "its error is not that of a count, sum, average or statistic"

// Aggregate is the released aggregate that a column is; nil where it is something else, and why where it is one in a way that hides its error.
func (w *IntervalColumns) Aggregate(r Rel, col ColID) (*Aggregate, ColID, string) {
	switch n := r.(type) {
	case *Project:
		for _, it := range n.Items {
			if x, ok := it.Expr.(*Col); ok && it.ID == col {
				return w.Aggregate(n.Input, x.ID)
			}
		}
	case *Filter, *Sort, *Limit, *DistinctOn, *Window, *Join:
		for _, in := range Inputs(r) {
			if slices.Contains(in.Cols(), col) {
				return w.Aggregate(in, col)
			}
		}
	case *Distinct:
		a, _, why := w.Aggregate(n.Input, col)
		return hidden(a, why, "DISTINCT compares its rows")
	case *SetOp:
		for _, in := range Inputs(r) {
			if at := slices.Index(r.Cols(), col); at >= 0 && at < len(in.Cols()) {
				if a, _, why := w.Aggregate(in, in.Cols()[at]); a != nil || why != "" {
					return hidden(a, why, "it is put together of several answers")
				}
			}
		}
	case *Aggregate:
		for _, g := range n.Aggs {
			switch {
			case g.ID != col:
			case !w.released(n):
				return nil, 0, "it is computed from released values"
			case g.Fn.IsRoundable():
				return n, col, ""
			default:
				return nil, 0, OtherError
			}
		}
	}
	return nil, 0, ""
}

// hidden is an aggregate that has no error of its own, and why.
func hidden(a *Aggregate, why, by string) (*Aggregate, ColID, string) {
	if a != nil {
		why = by
	}
	return nil, 0, why
}

// Error is the column of a released aggregate's error, or of an end of its interval.
func (w *IntervalColumns) Error(a *Aggregate, g ColID, kind ErrorKind) ColID {
	return w.error(a, g, kind, Joint{Of: 1})
}

func (w *IntervalColumns) error(a *Aggregate, g ColID, kind ErrorKind, joint Joint) ColID {
	return w.item(a, ErrorItem{Kind: kind, Of: g, Joint: joint.Of, Total: joint.Total})
}

func (w *IntervalColumns) item(a *Aggregate, item ErrorItem) ColID {
	if item.Joint == 1 {
		item.Joint = 0
	}
	for _, e := range slices.Concat(a.Errors, w.errors[a]) {
		if item.ID = e.ID; item == e {
			w.pass(e.ID)
			return e.ID
		}
	}
	item.ID = w.column(item.Kind)
	if w.binding {
		a.Errors = append(a.Errors, item)
	} else {
		w.errors[a] = append(w.errors[a], item)
	}
	return item.ID
}

func (w *IntervalColumns) newColumn(name string, t sqltype.Type) ColID {
	*w.columns = append(*w.columns, ColumnInfo{Name: name, Type: t})
	return ColID(len(*w.columns) - 1)
}

func (w *IntervalColumns) column(kind ErrorKind) ColID {
	id := w.newColumn(string(kind), sqltype.Float8)
	(*w.columns)[id].IsEnd = true
	w.pass(id)
	return id
}

func (w *IntervalColumns) pass(id ColID) {
	if !slices.Contains(w.passed, id) {
		w.passed = append(w.passed, id)
	}
}

// Computed is the interval of what is computed from released aggregates (Intervals).
type Computed struct {
	Ends    [2]ColID
	Exact   bool    // it is not rounded: some of the aggregates are not (AggFunc.IsRoundable)
	Totals  bool    // some are summed over rows
	Divides bool    // something is divided
	Digits  bool    // the ends say only how many digits the value has
	Reads   []ColID // the aggregates
}

// forDigits is the Row of a source of what has no interval: noise chooses its rows, or it is the least or greatest of several.
const forDigits = "digits"

// Computed gives the columns of a column's interval; false where none is known.
func (w *IntervalColumns) Computed(root Rel, col ColID) (c Computed, ok bool) {
	if !w.noisy[col] {
		return c, false
	}
	v, read, ok := simultaneously(func(joint Joint, read map[Source]bool) (Interval, bool) { return w.Ends(root, col, joint, read) })
	if !ok || len(read) == 0 { // none: a CASE of constants
		return c, false
	}
	for of, rounded := range read {
		c.Reads = append(c.Reads, of.Of)
		c.Exact, c.Totals, c.Digits = c.Exact || !rounded, c.Totals || of.Total, c.Digits || of.Row == forDigits
	}
	slices.Sort(c.Reads)
	c.Reads = slices.Compact(c.Reads)
	c.Divides = w.divided[v.Low.(*Col).ID]
	c.Ends = [2]ColID{v.Low.(*Col).ID, v.High.(*Col).ID}
	return c, true
}

// Unrounded gives a released aggregate that is shown as it is (OtherError), and the columns of its interval; false where none is known.
func (w *IntervalColumns) Unrounded(root Rel, col ColID) (of ColID, ends [2]ColID, ok bool) {
	read := map[Source]bool{}
	v, ok := w.Ends(root, col, Joint{Of: 1}, read)
	if !ok {
		return 0, ends, false
	}
	for source := range read { // the aggregate alone
		of = source.Of
	}
	return of, [2]ColID{v.Low.(*Col).ID, v.High.(*Col).ID}, true
}

// IsNoisy reports a column that follows from released numbers.
func (w *IntervalColumns) IsNoisy(col ColID) bool { return w.noisy[col] }

// IsError reports a column that is dp_error, dp_low or dp_high itself.
func (w *IntervalColumns) IsError(r Rel, col ColID) bool {
	switch n := r.(type) {
	case *Project:
		at := slices.IndexFunc(n.Items, func(it Item) bool { return it.ID == col })
		if at >= 0 {
			x, isColumn := n.Items[at].Expr.(*Col)
			return (*w.columns)[col].Error != "" || isColumn && w.IsError(n.Input, x.ID)
		}
	case *Aggregate:
		return slices.ContainsFunc(n.Errors, func(e ErrorItem) bool { return e.ID == col })
	}
	return slices.ContainsFunc(Inputs(r), func(in Rel) bool { return slices.Contains(in.Cols(), col) && w.IsError(in, col) })
}

// ErrorColumn is a column that is dp_error, dp_low or dp_high itself: of which column, and that one's interval.
type ErrorColumn struct {
	Kind         ErrorKind
	Value, Width ColID // Width is 0 of what is computed from aggregates
	Ends         [2]ColID
}

// ErrorColumn finds what a column is an error or an end of; false where it is neither, or of a value that is not rounded.
func (w *IntervalColumns) ErrorColumn(r Rel, col ColID) (c ErrorColumn, ok bool) {
	switch n := r.(type) {
	case *Project:
		at := slices.IndexFunc(n.Items, func(it Item) bool { return it.ID == col })
		if at < 0 {
			return c, false
		}
		if is := (*w.columns)[col]; is.Error != "" {
			return w.computedError(n, is)
		}
		if x, is := n.Items[at].Expr.(*Col); is {
			return w.ErrorColumn(n.Input, x.ID)
		}
	case *Filter, *Sort, *Limit, *DistinctOn, *Window, *Join:
		for _, in := range Inputs(r) {
			if slices.Contains(in.Cols(), col) {
				return w.ErrorColumn(in, col)
			}
		}
	case *Aggregate:
		at := slices.IndexFunc(n.Errors, func(e ErrorItem) bool { return e.ID == col })
		if at < 0 || !w.released(n) {
			return c, false
		}
		e := n.Errors[at]
		of := slices.IndexFunc(n.Aggs, func(g AggItem) bool { return g.ID == e.Of })
		if (e != ErrorItem{ID: e.ID, Kind: e.Kind, Of: e.Of}) || of < 0 || !n.Aggs[of].Fn.IsRoundable() {
			return c, false
		}
		w.pass(e.Of)
		return ErrorColumn{e.Kind, e.Of, w.Error(n, e.Of, ErrorHalfWidth), [2]ColID{w.Error(n, e.Of, ErrorLow), w.Error(n, e.Of, ErrorHigh)}}, true
	}
	return c, false
}

// computedError is of what the binder found to be the error or an end of an expression. dp_error needs no other number to be rounded by.
func (w *IntervalColumns) computedError(n *Project, is ColumnInfo) (ErrorColumn, bool) {
	c := ErrorColumn{Kind: is.Error}
	if is.ErrorOf == 0 {
		return c, c.Kind == ErrorHalfWidth
	}
	of, ok := w.Computed(n, is.ErrorOf)
	if !ok || of.Exact || of.Digits {
		return c, false
	}
	w.pass(is.ErrorOf)
	c.Value, c.Ends = is.ErrorOf, of.Ends
	return c, true
}

// Ends are the columns of a column's interval. read gets the aggregates that it is computed from, and whether they are rounded. A column that is read many times is computed once.
func (w *IntervalColumns) Ends(r Rel, col ColID, joint Joint, read map[Source]bool) (Interval, bool) {
	at := columnAt{r, col, joint}
	k, done := w.known[at]
	if !done {
		k.read = map[Source]bool{}
		k.v, k.ok = w.newEnds(r, col, joint, k.read)
		w.known[at] = k
	}
	maps.Copy(read, k.read)
	return k.v, k.ok
}

func (w *IntervalColumns) newEnds(r Rel, col ColID, joint Joint, read map[Source]bool) (v Interval, ok bool) {
	switch n := r.(type) {
	case *Aggregate:
		for _, g := range n.Aggs {
			if g.ID != col || !HasInterval(g) {
				continue
			}
			if !w.released(n) {
				return w.ofReleased(n, g, joint, read)
			}
			read[Source{Of: col, Total: joint.Total}] = g.Fn.IsRoundable()
			v = columnsOf(joint, func(kind ErrorKind) ColID { return w.error(n, col, kind, joint) })
			v.Open = g.Fn == Min || g.Fn == Max
			return v, true
		}
	case *Project:
		at := slices.IndexFunc(n.Items, func(it Item) bool { return it.ID == col })
		if at < 0 {
			return v, false
		}
		if x, is := n.Items[at].Expr.(*Col); is {
			return w.Ends(n.Input, x.ID, joint, read)
		}
		x, ok := w.Over(n.Input, joint, read).Interval(n.Items[at].Expr)
		if !ok {
			return v, false
		}
		v = w.named(n, x, joint)
		if !joint.DryRun {
			w.divided[v.Low.(*Col).ID] = divides(x.Low, w.divided)
		}
		return v, true
	case *Window:
		if at := slices.IndexFunc(n.Items, func(it WindowItem) bool { return it.ID == col }); at >= 0 {
			it, x := n.Items[at], Interval{}
			if !ChosenByNoise(n.Input, w.noisy) {
				x, ok = windowed(it, read, w.windowColumn(n, joint), func(read map[Source]bool) *Intervals { return w.Over(n.Input, joint, read) })
			}
			if !ok && w.Digits && len(it.Args) > 0 {
				x, ok = w.forDigits(n.Input, it.Fn, it.Args[0], joint, read, func(fn AggFunc, t sqltype.Type, arg Scalar) Scalar {
					of := it
					of.Type, of.Args = t, append([]Scalar{arg}, it.Args[1:]...)
					return w.windowColumn(n, joint)(of)
				})
			}
			if !ok {
				return v, false
			}
			return w.named(n, x, joint), true
		}
		return w.Ends(n.Input, col, joint, read)
	case *Filter, *Sort, *Limit, *DistinctOn, *Join:
		for _, in := range Inputs(r) {
			if slices.Contains(in.Cols(), col) {
				return w.Ends(in, col, joint, read)
			}
		}
	}
	return v, false
}

// windowColumn finds a column of a window, or makes it.
func (w *IntervalColumns) windowColumn(n *Window, joint Joint) func(WindowItem) Scalar {
	return func(it WindowItem) Scalar {
		if joint.DryRun {
			return &Const{T: it.Type}
		}
		key := windowKey{n, windowText(&printer{}, it)}
		id, made := w.windows[key]
		if !made {
			it.ID = w.newColumn(string(it.Fn), it.Type)
			id, w.windows[key] = it.ID, it.ID
			w.sums[n] = append(w.sums[n], it)
		}
		return &Col{ID: id, T: it.Type}
	}
}

// terms are those of a column that is a linear form. (7)
func (w *IntervalColumns) terms(r Rel, col ColID, joint Joint, read map[Source]bool) ([]term, bool) {
	switch n := r.(type) {
	case *Aggregate:
		at := slices.IndexFunc(n.Aggs, func(g AggItem) bool { return g.ID == col })
		if at < 0 || !w.released(n) || !n.Aggs[at].Fn.Facts().IsTotal || !n.Aggs[at].Type.IsNumber() {
			return nil, false
		}
		return []term{{of: col, in: n, fn: n.Aggs[at].Fn, once: n.Sets == nil, times: 1, total: joint.Total, item: func(kind ErrorKind, beside Beside, total bool) Scalar {
			if joint.DryRun {
				return &Const{T: sqltype.Float8}
			}
			return &Col{ID: w.item(n, ErrorItem{Kind: kind, Of: col, Joint: joint.Of, Total: total, Beside: beside}), T: sqltype.Float8}
		}}}, true
	case *Project:
		if at := slices.IndexFunc(n.Items, func(it Item) bool { return it.ID == col }); at >= 0 {
			key := columnAt{r, col, joint}
			form, done := w.forms[key]
			if !done {
				form.terms, form.ok = w.Over(n.Input, joint, read).linear(n.Items[at].Expr)
				w.forms[key] = form
			}
			return slices.Clone(form.terms), form.ok
		}
	case *Window:
		at := slices.IndexFunc(n.Items, func(it WindowItem) bool { return it.ID == col })
		switch {
		case at < 0:
			return w.terms(n.Input, col, joint, read)
		case !ChosenByNoise(n.Input, w.noisy):
			return w.Over(n.Input, joint, read).totals(n.Items[at], w.windowColumn(n, joint))
		}
	case *Filter, *Sort, *Limit, *DistinctOn, *Join:
		_, joined := r.(*Join)
		for _, in := range Inputs(r) {
			if slices.Contains(in.Cols(), col) {
				terms, ok := w.terms(in, col, joint, read)
				for i := range terms {
					terms[i].once, terms[i].whole = terms[i].once && !joined, terms[i].whole && !joined
				}
				return terms, ok
			}
		}
	}
	return nil, false
}

// forDigits are ends that do not hold the value without noise with any probability, and say how many digits it has: those of one row, taken as the value is, or a spread of rows with the half width that it has (spreadEnds).
func (w *IntervalColumns) forDigits(r Rel, fn AggFunc, arg Scalar, joint Joint, read map[Source]bool, over func(AggFunc, sqltype.Type, Scalar) Scalar) (v Interval, ok bool) {
	isSpread := fn.Facts().IsOfOne
	if _, isColumn := arg.(*Col); !isColumn || fn != Min && fn != Max && !fn.picksRow() && !isSpread {
		return v, false
	}
	own := map[Source]bool{}
	of := w.Over(r, joint, own)
	x, ok := of.Interval(arg)
	if !ok || of.Exact(arg) {
		return v, false
	}
	for s, rounded := range own {
		s.Row = forDigits
		read[s] = rounded
	}
	if isSpread {
		return spreadEnds(fn, doubleOf(arg), x, over), true
	}
	return Interval{Low: over(fn, sqltype.Float8, x.Low), High: over(fn, sqltype.Float8, x.High), size: x.size + 1}, true
}

// spreadEnds are those of a deviation or a variance of numbers: x is one number's interval. A deviation is a norm of the numbers less their mean, so it moves by no more than the root of the mean square of their half widths, w, and a variance s^2 by no more than w (2 s + w).
func spreadEnds(fn AggFunc, arg Scalar, x Interval, over func(AggFunc, sqltype.Type, Scalar) Scalar) Interval {
	half := op("/", op("-", x.High, x.Low), double(2))
	w := doubles(funcs.Function, "sqrt", over(Avg, sqltype.Float8, op("*", half, half)))
	s := over(fn, sqltype.Float8, arg)
	if fn.Facts().IsProportional { // a variance
		w = op("*", w, op("+", op("*", double(2), doubles(funcs.Function, "sqrt", s)), w))
	}
	return Interval{Low: op("-", s, w), High: op("+", s, w), size: 6*x.size + 12}
}

// ofReleased is the interval of a sum or an average of released numbers.
func (w *IntervalColumns) ofReleased(n *Aggregate, g AggItem, joint Joint, read map[Source]bool) (v Interval, ok bool) {
	keyed := slices.ContainsFunc(n.Keys, func(id ColID) bool { return w.noisy[id] })
	of := w.Over(n.Input, joint, read)
	if w.Digits && g.Fn == CountRows && n.Sets == nil { // how many rows there are: all of its digits are told, though noise may hide groups
		read[Source{Of: g.ID, Row: forDigits}] = true
		rows := doubleOf(&Col{ID: g.ID, T: g.Type})
		return w.named(n, Interval{Low: rows, High: rows, exact: true, size: 1}, joint), true
	}
	if n.Sets != nil || g.Distinct || g.Within || len(g.Order) > 0 || g.Arg == nil || of.Exact(g.Arg) {
		return v, false
	}
	over := func(fn AggFunc, t sqltype.Type, arg Scalar) Scalar {
		if joint.DryRun {
			return &Const{T: t}
		}
		it := g
		it.ID, it.Fn, it.Arg, it.Type = w.newColumn(string(fn), t), fn, arg, t
		w.aggs[n] = append(w.aggs[n], it)
		return &Col{ID: it.ID, T: t}
	}
	x := Interval{}
	if !keyed && (g.Filter == nil || of.Exact(g.Filter)) && !ChosenByNoise(n.Input, w.noisy) {
		x, ok = of.sumOver(g.Fn, []Scalar{g.Arg}, over)
	}
	if !ok && w.Digits {
		x, ok = w.forDigits(n.Input, g.Fn, g.Arg, joint, read, over)
	}
	if !ok {
		return v, false
	}
	return w.named(n, x, joint), true
}

// divides reports a division in an expression, or in a column that it reads.
func divides(x Scalar, cols map[ColID]bool) bool {
	c, is := x.(*Call)
	return is && c.Fn.Name == "/" || ReadsAny(x, cols) || slices.ContainsFunc(Children(x), func(y Scalar) bool { return divides(y, cols) })
}

// named computes the ends of an interval as columns above a relation.
func (w *IntervalColumns) named(r Rel, x Interval, joint Joint) Interval {
	v := columnsOf(joint, func(kind ErrorKind) ColID {
		id, expr := w.column(kind), x.Low
		if kind == ErrorHigh {
			expr = x.High
		}
		w.items[r] = append(w.items[r], Item{ID: id, Expr: expr})
		return id
	})
	v.Open = x.Open
	return v
}

// ChosenByNoise reports a relation that may have other rows than it would have without noise: noisy columns, or aggregates in a subquery, are in a condition, rows are cut by LIMIT, or several aggregates are joined, of which one may hide groups.
func ChosenByNoise(r Rel, noisy map[ColID]bool) (chosen bool) {
	aggregates, joined := 0, false
	reads := func(x Scalar) bool { return x != nil && (ReadsAny(x, noisy) || !withoutAggregates(x)) }
	VisitRels(r, func(r Rel) bool {
		switch n := r.(type) {
		case *Filter:
			chosen = chosen || reads(n.Cond)
		case *Join:
			joined, chosen = true, chosen || reads(n.On)
		case *Limit, *DistinctOn:
			chosen = true
		case *Aggregate:
			aggregates++
		}
		return !chosen
	})
	return chosen || joined && aggregates > 1
}

// withoutAggregates: no subquery of an expression has any.
func withoutAggregates(x Scalar) bool {
	return VisitQueries(x, func(s *Subquery) bool {
		return VisitRels(s.Query, func(r Rel) bool { _, is := r.(*Aggregate); return !is })
	})
}

// HasInterval reports an aggregate whose dp_low and dp_high are known.
func HasInterval(g AggItem) bool { return g.Type.IsNumber() && !g.Fn.Facts().HasNoInterval }

// columnsOf makes an interval of two columns; of none where nothing is made.
func columnsOf(joint Joint, column func(ErrorKind) ColID) Interval {
	end := func(kind ErrorKind) Scalar {
		if joint.DryRun {
			return &Const{T: sqltype.Float8}
		}
		return &Col{ID: column(kind), T: sqltype.Float8}
	}
	return Interval{Low: end(ErrorLow), High: end(ErrorHigh)}
}

// Over makes the intervals of expressions over a relation's columns.
func (w *IntervalColumns) Over(r Rel, joint Joint, read map[Source]bool) *Intervals {
	return &Intervals{
		Exact: func(x Scalar) bool { return w.noisy != nil && FirstQuery(x) == nil && !ReadsAny(x, w.noisy) },
		Of: func(id ColID, total bool) (Interval, bool) {
			j := joint
			j.Total = j.Total || total
			return w.Ends(r, id, j, read)
		},
		counts: func(id ColID) (counted, bool) { return w.counted(r, id) },
		query:  func(x *Subquery) (Interval, bool) { return w.ofQuery(x, joint, read) },
		terms:  func(id ColID) ([]term, bool) { return w.terms(r, id, joint, read) },
		read:   read,
		some: func(id ColID) (Scalar, bool) {
			a, g, _ := w.Aggregate(r, id)
			if a == nil {
				return nil, false
			}
			return someOf(joint, func(item ErrorItem) ColID { return w.item(a, item) }, g), true
		},
		isSum: func(id ColID) bool {
			a, at, _ := w.Aggregate(r, id)
			return a != nil && a.Aggs[slices.IndexFunc(a.Aggs, func(g AggItem) bool { return g.ID == at })].Fn != Avg
		},
	}
}

// someOf is the column that says whether an aggregate is of some rows.
func someOf(joint Joint, column func(ErrorItem) ColID, of ColID) Scalar {
	if joint.DryRun {
		return &Const{T: sqltype.Float8}
	}
	return &Col{ID: column(ErrorItem{Kind: ErrorLow, Of: of, Joint: joint.Of, Some: true}), T: sqltype.Float8}
}

// ofQuery is the interval of a scalar subquery that reads nothing of the queries around it: its ends are subqueries too.
func (w *IntervalColumns) ofQuery(x *Subquery, joint Joint, read map[Source]bool) (v Interval, ok bool) {
	if x.Kind != ScalarQuery || len(x.Free()) > 0 {
		return v, false
	}
	ends, ok := w.Ends(x.Query, x.Cols[0], joint, read)
	if !ok || joint.DryRun {
		return ends, ok
	}
	with, err := w.Rel(x.Query)
	if err != nil {
		return v, false
	}
	of := func(end Scalar) Scalar {
		id := end.(*Col).ID
		return &Subquery{Kind: ScalarQuery, Query: &Project{Input: with, Items: []Item{{ID: id, Expr: end}}}, Cols: []ColID{id}, T: sqltype.Float8, Pos: x.Pos}
	}
	return Interval{Low: of(ends.Low), High: of(ends.High), Open: ends.Open}, true
}

// counted is the released count that a column is, or the sum of one over rows.
func (w *IntervalColumns) counted(r Rel, col ColID) (c counted, ok bool) {
	a, at, _ := w.Aggregate(r, col)
	if a == nil {
		return w.countedTotal(r, col)
	}
	if w.rows[a] == 0 {
		w.rows[a] = len(w.rows) + 1
	}
	return counted{row: w.rows[a], of: a.Aggs[slices.IndexFunc(a.Aggs, func(g AggItem) bool { return g.ID == at })]}, true
}

func (w *IntervalColumns) countedTotal(r Rel, col ColID) (c counted, ok bool) {
	n, is := r.(*Window)
	if !is {
		return c, false
	}
	at := slices.IndexFunc(n.Items, func(it WindowItem) bool { return it.ID == col })
	if at < 0 {
		return c, false
	}
	return totalOf(n.Items[at], func(id ColID) (counted, bool) { return w.counted(n.Input, id) })
}

// above computes what was named above a relation, beside its columns.
func (w *IntervalColumns) above(with, r Rel) Rel {
	items := make([]Item, 0, len(with.Cols()))
	for _, id := range with.Cols() {
		items = append(items, Item{ID: id, Expr: &Col{ID: id, T: (*w.columns)[id].Type}})
	}
	return &Project{Input: with, Items: append(items, w.items[r]...)}
}

// Rel is a relation with the columns that were asked for.
func (w *IntervalColumns) Rel(r Rel) (Rel, error) {
	same := func(x Scalar) (Scalar, error) { return x, nil }
	switch n := r.(type) {
	case *Aggregate:
		if more := w.errors[n]; more != nil {
			with := *n
			with.Errors = slices.Concat(n.Errors, more)
			return &with, nil
		}
		if w.aggs[n] == nil && w.items[n] == nil {
			return r, nil
		}
		in, err := w.Rel(n.Input)
		if err != nil {
			return nil, err
		}
		with := *n
		with.Input, with.Aggs = in, slices.Concat(n.Aggs, w.aggs[n])
		return w.above(&with, n), nil
	case *Project:
		in, err := w.Rel(n.Input)
		if err != nil {
			return nil, err
		}
		items, below := slices.Clone(n.Items), in.Cols()
		for _, id := range w.passed {
			if slices.Contains(below, id) && !slices.ContainsFunc(items, func(it Item) bool { return it.ID == id }) {
				items = append(items, Item{ID: id, Expr: &Col{ID: id, T: (*w.columns)[id].Type}})
			}
		}
		return &Project{Input: in, Items: append(items, w.items[n]...)}, nil
	case *Window:
		in, err := w.Rel(n.Input)
		if err != nil {
			return nil, err
		}
		with := &Window{Input: in, Items: slices.Concat(n.Items, w.sums[n])}
		if len(w.items[n]) == 0 {
			return with, nil
		}
		return w.above(with, n), nil
	case *Filter, *Sort, *Limit, *DistinctOn, *Join:
		return MapParts(r, w.Rel, same)
	}
	return r, nil
}
