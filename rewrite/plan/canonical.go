package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// printer writes plans as text. With numbers set, columns are numbered in the order of their first use and names, aliases and
// positions are dropped: equal texts are equal plans.
type printer struct {
	columns []ColumnInfo
	numbers map[ColID]int
	plain   bool // as an analyst would write it: Readable
	normal  *normalizer
}

// Canonical is a stable text of a relation: column ids are renumbered in the order of first use, conjuncts are sorted, names of
// outputs, aliases and positions are dropped. Plans with equal texts return the same rows.
func Canonical(r Rel) string {
	p := &printer{numbers: map[ColID]int{}}
	return p.rel(r)
}

// Format is a readable tree of a query, for EXPLAIN and golden tests.
func Format(q *Query) string {
	p := &printer{columns: q.Columns}
	var b strings.Builder
	for i, o := range q.Outputs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s:%s %s", o.Name, p.col(o.Col), o.Type)
		if o.Count {
			b.WriteString(" count")
		}
	}
	b.WriteString("\n")
	p.tree(&b, q.Root, 1)
	return b.String()
}

// FormatScalar is a readable text of an expression of a query.
func FormatScalar(q *Query, x Scalar) string { return (&printer{columns: q.Columns}).scalar(x) }

func (p *printer) tree(b *strings.Builder, r Rel, depth int) {
	b.WriteString(strings.Repeat("  ", depth) + p.line(r) + "\n")
	for _, in := range Inputs(r) {
		p.tree(b, in, depth+1)
	}
}

// rel is the canonical form: inputs first, so that columns are numbered where they are made.
func (p *printer) rel(r Rel) string {
	if p.normal != nil {
		return p.taken(r).text(p)
	}
	var ins []string
	for _, in := range Inputs(r) {
		ins = append(ins, p.rel(in))
	}
	return p.line(r) + "(" + strings.Join(ins, ",") + ")"
}

func (p *printer) line(r Rel) string {
	switch n := r.(type) {
	case *Scan:
		var cols []string
		for i, c := range n.Columns {
			if p.numbers != nil {
				cols = append(cols, p.col(c))
			} else if n.Table.Columns[i].Visible {
				cols = append(cols, p.col(c))
			}
		}
		if n.Rows != nil {
			return fmt.Sprintf("rows [%s]", strings.Join(cols, " "))
		}
		return fmt.Sprintf("scan %s.%s [%s]", QuoteIdent(n.Table.Schema), QuoteIdent(n.Table.Name), strings.Join(cols, " "))
	case *OneRow:
		return "one row"
	case *Released:
		return fmt.Sprintf("released %d [%s]", n.N, p.cols(n.Columns))
	case *Filter:
		return "filter " + p.condition(n.Cond)
	case *Project:
		var items []string
		for _, it := range n.Items {
			if c, ok := it.Expr.(*Col); ok && c.ID == it.ID { // which columns go on decides what DISTINCT above compares
				items = append(items, p.col(it.ID))
				continue
			}
			e := p.scalar(it.Expr)
			items = append(items, p.col(it.ID)+"="+e)
		}
		return "project " + strings.Join(items, ", ")
	case *Join:
		kind := string(n.Kind) + " join"
		if n.Lateral {
			kind += " lateral"
		}
		if n.On == nil {
			return kind
		}
		return kind + " on " + p.condition(n.On)
	case *Aggregate:
		var keys, aggs []string
		for _, k := range n.Keys {
			keys = append(keys, p.ref(k))
		}
		for _, a := range n.Aggs {
			text := aggTextWith(p, a)
			aggs = append(aggs, p.col(a.ID)+"="+text)
		}
		for _, e := range n.Errors {
			joint := ""
			if e.Joint > 1 {
				joint = fmt.Sprintf(", one of %d", e.Joint)
			}
			if e.Total {
				joint += ", summed"
			}
			if e.Some {
				joint += ", of some rows"
			}
			if e.Beside != (Beside{}) {
				joint += ", beside"
				for _, id := range e.Beside {
					if id != 0 {
						joint += " " + p.ref(id)
					}
				}
			}
			aggs = append(aggs, fmt.Sprintf("%s=%s(%s%s)", p.col(e.ID), e.Kind, p.col(e.Of), joint))
		}
		for _, g := range n.Groupings {
			aggs = append(aggs, fmt.Sprintf("%s=grouping(%s)", p.col(g.ID), p.cols(g.Cols)))
		}
		sets := ""
		for _, s := range n.Sets {
			sets += " (" + p.cols(s) + ")"
		}
		return fmt.Sprintf("aggregate by [%s]%s %s", strings.Join(keys, " "), sets, strings.Join(aggs, ", "))
	case *Distinct:
		return "distinct"
	case *Capped:
		also := ""
		for _, k := range n.Also {
			also += fmt.Sprintf(" and at most %d by [%s]", k.Most, p.cols(k.By))
		}
		return fmt.Sprintf("at most %d by [%s]%s order [%s]", n.Most, p.cols(n.By), also, p.cols(n.Order))
	case *Sort:
		var keys []string
		for _, k := range n.Keys {
			keys = append(keys, p.ref(k.Col)+order(k.Desc, k.NullsFirst))
		}
		return "sort " + strings.Join(keys, ", ")
	case *Limit:
		s := "limit"
		if n.Count != nil {
			s += " " + p.scalar(n.Count)
		}
		if n.Offset != nil {
			s += " offset " + p.scalar(n.Offset)
		}
		if n.Ties {
			s += " with ties"
		}
		return s
	case *Values:
		rows := make([]string, len(n.Rows))
		for i, row := range n.Rows {
			rows[i] = "(" + p.list(row) + ")"
		}
		return fmt.Sprintf("values [%s] %s", p.cols(n.Columns), strings.Join(rows, ", "))
	case *SetOp:
		all := ""
		if n.All {
			all = " all"
		}
		return fmt.Sprintf("%s%s [%s] of [%s] and [%s]", strings.ToLower(string(n.Op)), all, p.cols(n.Columns), p.cols(n.LeftCols), p.cols(n.RightCols))
	case *DistinctOn:
		return fmt.Sprintf("distinct on [%s]", p.cols(n.On))
	case *Window:
		items := make([]string, len(n.Items))
		for i, it := range n.Items {
			text := windowText(p, it)
			items[i] = p.col(it.ID) + "=" + text
		}
		return "window " + strings.Join(items, ", ")
	case *FuncScan:
		return fmt.Sprintf("function [%s] %s", p.cols(n.Columns), p.scalar(n.Call))
	case *ProjectSet:
		items := make([]string, len(n.Items))
		for i, it := range n.Items {
			items[i] = "[" + p.cols(it.Cols) + "]=" + p.scalar(it.Call)
		}
		return "project rows " + strings.Join(items, ", ")
	case *Recursive:
		return fmt.Sprintf("recursive [%s] of [%s] and [%s]", p.cols(n.Columns), p.cols(n.FirstCols), p.cols(n.AgainCols))
	case *Working:
		return fmt.Sprintf("working [%s]", p.cols(n.Columns))
	case *Unplanned:
		return n.Name
	}
	return fmt.Sprintf("unknown %T", r)
}

// condition sorts conjuncts in canonical form.
func (p *printer) condition(x Scalar) string {
	if p.normal != nil {
		return strings.Join(p.conjuncts(x), " AND ")
	}
	parts := Conjuncts(x)
	texts := make([]string, len(parts))
	if p.numbers == nil {
		for i, c := range parts {
			texts[i] = p.scalar(c)
		}
		return strings.Join(texts, " AND ")
	}
	for i, c := range parts {
		texts[i] = p.scalar(c) // columns of a condition are numbered by its inputs already
	}
	slices.Sort(texts)
	return strings.Join(texts, " AND ")
}

func (p *printer) col(id ColID) string {
	if p.numbers != nil {
		n, ok := p.numbers[id]
		if !ok {
			n = len(p.numbers) + 1
			p.numbers[id] = n
		}
		return "#" + strconv.Itoa(n)
	}
	if int(id) < len(p.columns) && p.plain {
		return QuoteIdent(p.columns[id].Name)
	}
	if int(id) < len(p.columns) {
		return fmt.Sprintf("%s:%d", p.columns[id].Name, id)
	}
	return fmt.Sprintf("col:%d", id)
}

// scalar writes an expression; in canonical form with its type where that is not in the text otherwise.
func (p *printer) scalar(x Scalar) string {
	text := p.text(x)
	switch x.(type) {
	case *Case, *Coalesce, *MinMax, *ArrayExpr, *Subquery:
		if p.numbers != nil {
			text += ":" + x.Type().String()
		}
	}
	return text
}

func (p *printer) text(x Scalar) string {
	if p.normal != nil {
		if text, ok := p.normalText(x); ok {
			return text
		}
	}
	switch x := x.(type) {
	case *Col:
		return p.col(x.ID)
	case *Const:
		if p.plain {
			return constLiteral(x)
		}
		return constText(x)
	case *Param:
		if p.plain {
			return "$" + strconv.Itoa(x.N)
		}
		return "$" + strconv.Itoa(x.N) + ":" + x.T.String()
	case *Call:
		return p.call(x)
	case *Logic:
		if p.plain {
			return p.junction(x)
		}
		return fmt.Sprintf("%s(%s)", x.Op, p.list(x.Args))
	case *Is:
		not := ""
		if x.Not {
			not = "NOT "
		}
		return fmt.Sprintf("(%s IS %s%s)", p.scalar(x.X), not, x.What)
	case *In:
		not := ""
		if x.Not {
			not = " NOT"
		}
		return fmt.Sprintf("(%s%s IN (%s))", p.scalar(x.X), not, p.list(x.List))
	case *Case:
		var b strings.Builder
		b.WriteString("CASE")
		for _, w := range x.Whens {
			fmt.Fprintf(&b, " WHEN %s THEN %s", p.scalar(w.Cond), p.scalar(w.Result))
		}
		if x.Else != nil {
			b.WriteString(" ELSE " + p.scalar(x.Else))
		}
		return b.String() + " END"
	case *Coalesce:
		return fmt.Sprintf("COALESCE(%s)", p.list(x.Args))
	case *MinMax:
		if x.Greatest {
			return fmt.Sprintf("GREATEST(%s)", p.list(x.Args))
		}
		return fmt.Sprintf("LEAST(%s)", p.list(x.Args))
	case *DistinctFrom:
		if x.Not {
			return fmt.Sprintf("(%s IS NOT DISTINCT FROM %s)", p.scalar(x.X), p.scalar(x.Y))
		}
		return fmt.Sprintf("(%s IS DISTINCT FROM %s)", p.scalar(x.X), p.scalar(x.Y))
	case *Subscript:
		return fmt.Sprintf("%s[%s]", p.scalar(x.X), p.list(x.Index))
	case *Slice:
		ends := [2]string{}
		for i, y := range []Scalar{x.Low, x.High} {
			if y != nil {
				ends[i] = p.scalar(y)
			}
		}
		return fmt.Sprintf("%s[%s:%s]", p.scalar(x.X), ends[0], ends[1])
	case *AnyAll:
		word := "ANY"
		if x.All {
			word = "ALL"
		}
		return fmt.Sprintf("(%s %s %s (%s))", p.scalar(x.X), x.Fn.Name, word, p.scalar(x.Array))
	case *Tuple:
		return p.tuple(x)
	case *ArrayExpr:
		return fmt.Sprintf("ARRAY[%s]", p.list(x.Elems))
	case *Subquery:
		return p.subquery(x)
	case *Unplanned:
		return fmt.Sprintf("%s(%s)", x.Name, p.list(x.Args))
	}
	return fmt.Sprintf("unknown %T", x)
}

func castSuffix(x *Call) string {
	if x.Fn.Name == "cast" {
		return "::" + x.T.String()
	}
	return ""
}

func (p *printer) list(xs []Scalar) string {
	texts := make([]string, len(xs))
	for i, x := range xs {
		texts[i] = p.scalar(x)
	}
	return strings.Join(texts, ", ")
}

// longConst is how long a constant's text may be where it is written out: an expression is written at each of its uses, so a longer one is named by its digest.
const longConst = 256

// constText is the same for the same constants alone, as SHA-256 has no collisions. A long text is not quoted first, and its digest has other words.
func constText(c *Const) string {
	var s string
	switch v := c.Value.(type) {
	case nil:
		s = "NULL"
	case string:
		if len(v) > longConst {
			return fmt.Sprintf("sha256 %x of a text of %d bytes:%s", digest(v), len(v), c.T)
		}
		s = strconv.Quote(v)
	case decimal.Decimal:
		s = sqltype.FormatText(v, sqltype.Numeric)
	case sqltype.Bytes, sqltype.JSON, sqltype.UUID, sqltype.Interval, sqltype.Clock, sqltype.ClockTZ, *sqltype.Array:
		s = strconv.Quote(sqltype.FormatText(v, c.T))
	default:
		s = fmt.Sprint(v)
	}
	if len(s) > longConst {
		s = fmt.Sprintf("sha256 %x of %d bytes", sha256.Sum256([]byte(s)), len(s))
	}
	return s + ":" + c.T.String()
}

// digest is the SHA-256 of a text, which is not copied as a whole.
func digest(text string) []byte {
	h := sha256.New()
	for part := make([]byte, min(len(text), 4096)); text != ""; {
		n := copy(part, text)
		_, _ = h.Write(part[:n]) // it never fails
		text = text[n:]
	}
	return h.Sum(nil)
}

// scalarText is equal for equal expressions of one statement.
func scalarText(x Scalar) string { return (&printer{}).scalar(x) + ":" + x.Type().String() }

// SameNumber: two expressions of one statement are equal, casts to numbers around them apart.
func SameNumber(a, b Scalar) bool { return scalarText(Uncast(a)) == scalarText(Uncast(b)) }

func aggText(a AggItem) string { return aggTextWith(&printer{}, a) }

func aggTextWith(p *printer, a AggItem) string {
	var b strings.Builder
	b.WriteString(string(a.Fn))
	if a.Fn != CountRows {
		b.WriteByte('(')
		if a.Distinct {
			b.WriteString("DISTINCT ")
		}
		if a.Arg != nil {
			b.WriteString(p.list(append([]Scalar{a.Arg}, a.More...)))
		}
		b.WriteByte(')')
	}
	if a.Within {
		b.WriteString(" WITHIN GROUP")
	}
	for i, o := range a.Order {
		fmt.Fprintf(&b, "%s%s%s", map[bool]string{true: " ORDER BY ", false: ", "}[i == 0], p.scalar(o.Expr), order(o.Desc, o.NullsFirst))
	}
	if a.Filter != nil {
		b.WriteString(" FILTER " + p.condition(a.Filter))
	}
	return b.String()
}

// order is what follows a key that is not ascending with NULLs last.
func order(desc, nullsFirst bool) string {
	s := ""
	if desc {
		s = " desc"
	}
	if nullsFirst != desc {
		s += map[bool]string{true: " nulls first", false: " nulls last"}[nullsFirst]
	}
	return s
}

func (p *printer) cols(ids []ColID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = p.ref(id)
	}
	return strings.Join(texts, " ")
}

func (p *printer) subquery(x *Subquery) string {
	text := fmt.Sprintf("%s{%s}", x.Kind, p.rel(x.Query))
	if p.normal == nil || x.Kind != ExistsQuery { // whether there are rows depends on no column
		text += fmt.Sprintf("[%s]", p.cols(x.Cols))
	}
	if x.Cond == nil {
		return text
	}
	left := make([]string, len(x.Left))
	for i, it := range x.Left {
		e := p.scalar(it.Expr)
		left[i] = p.col(it.ID) + "=" + e
	}
	return fmt.Sprintf("%s for %s: %s", text, strings.Join(left, ", "), p.condition(x.Cond))
}

func windowText(p *printer, it WindowItem) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(%s)", strings.TrimSuffix(string(it.Fn), "(*)"), p.list(it.Args))
	if it.Filter != nil {
		b.WriteString(" FILTER " + p.condition(it.Filter))
	}
	b.WriteString(" OVER (")
	if len(it.Partition) > 0 {
		b.WriteString("by " + p.list(it.Partition))
	}
	for i, o := range it.Order {
		fmt.Fprintf(&b, "%s%s%s", map[bool]string{true: " order ", false: ", "}[i == 0], p.scalar(o.Expr), order(o.Desc, o.NullsFirst))
	}
	if f := it.Frame; f != nil {
		end := func(e FrameEnd) string {
			if e.Offset != nil {
				return p.scalar(e.Offset) + " " + e.Kind
			}
			return e.Kind
		}
		fmt.Fprintf(&b, " %s between %s and %s", f.Mode, end(f.Start), end(f.End))
		if f.Exclude != "" {
			b.WriteString(" exclude " + f.Exclude)
		}
	}
	return b.String() + ")"
}

func (p *printer) tuple(x *Tuple) string {
	text := "(" + p.list(x.Items) + ")"
	if x.Held == nil {
		return text
	}
	return fmt.Sprintf("%s in %s of %s", text, x.Held.Text(func(n int64) string { return fmt.Sprint(n) }), p.scalar(x.Side))
}
