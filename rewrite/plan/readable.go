package plan

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Readable is a condition or an expression of a query as an analyst would write it: operators between their operands, columns by their names.
func Readable(q *Query, x Scalar) string {
	return (&printer{columns: q.Columns, plain: true}).scalar(x)
}

// Writable is an expression as an analyst can paste it; "" where another query names its columns, or where it is too long for a message.
func Writable(q *Query, x Scalar) string {
	if call, is := x.(*Call); is && len(call.Args) == 1 && strings.Contains(call.Fn.Name, " ") { // no function of a statement
		x = call.Args[0]
	}
	computed := map[ColID]bool{}
	for id, c := range q.Columns {
		computed[ColID(id)] = c.Table == nil
	}
	text := Readable(q, x)
	if len(text) > longestWritten || strings.Contains(text, "extract('") || ReadsAny(x, computed) || !hasPlainParts(x) {
		return ""
	}
	return text
}

// hasPlainParts says whether an expression is made of columns, constants and calls: a parameter or a subquery has another text than the statement's.
func hasPlainParts(x Scalar) bool {
	switch x.(type) {
	case *Col, *Const, *Call, *Logic, *Is, *In, *Case, *Coalesce, *MinMax:
		return !slices.ContainsFunc(Children(x), func(of Scalar) bool { return of != nil && !hasPlainParts(of) })
	}
	return false
}

// longestWritten is the length of an expression in a message.
const longestWritten = 60

// ReadableAggregate is an aggregate of a query as an analyst would write it.
func ReadableAggregate(q *Query, a AggItem) string {
	p, filter := &printer{columns: q.Columns, plain: true}, a.Filter
	a.Filter = nil
	text := aggTextWith(p, a)
	if a.isMedian() {
		text = medianName + "(" + p.scalar(a.Order[0].Expr) + ")"
	}
	if filter != nil {
		text += " FILTER (WHERE " + p.condition(filter) + ")"
	}
	return text
}

// Name is the aggregate's function, as an analyst calls it.
func (a AggItem) Name() string {
	if a.isMedian() {
		return medianName
	}
	return string(a.Fn)
}

// isMedian reports the aggregate that median(x) stands for.
func (a AggItem) isMedian() bool {
	at, ok := a.Arg.(*Const)
	return ok && a.Fn == "percentile_cont" && at.Value == 0.5 && len(a.Order) == 1 && order(a.Order[0].Desc, a.Order[0].NullsFirst) == ""
}

// matches are the words of operators that nobody writes as they are called.
var matches = map[string]string{"~~": "LIKE", "~~*": "ILIKE", "!~~": "NOT LIKE", "!~~*": "NOT ILIKE"}

// isOperator tells whether a call stands between or before its operands.
func isOperator(x *Call) bool {
	name := x.Fn.Name
	if name == "cast" && len(x.Args) == 1 {
		return true
	}
	return name != "" && !unicode.IsLetter(rune(name[0])) && name[0] != '_' && (len(x.Args) == 1 || len(x.Args) == 2)
}

// operator puts a call of that kind around the text of its first argument.
func (p *printer) operator(n *nested, x *Call) {
	open, shut := "", ""
	if inBrackets(x.Args[0]) {
		open, shut = "(", ")"
	}
	name := x.Fn.Name
	if name == "cast" {
		n.within(open, shut+castSuffix(x))
		return
	}
	if word, ok := matches[name]; ok {
		name = word
	}
	if len(x.Args) == 1 {
		n.within(name+open, shut)
		return
	}
	n.within(open, shut+" "+name+" "+p.operand(x.Args[1]))
}

// operand stands in brackets where it has an operator itself.
func (p *printer) operand(x Scalar) string {
	text := p.scalar(x)
	if inBrackets(x) {
		return "(" + text + ")"
	}
	return text
}

func inBrackets(x Scalar) bool {
	if _, ok := x.(*Logic); ok {
		return true
	}
	c, ok := x.(*Call)
	return ok && isOperator(c)
}

// junction is AND, OR or NOT of conditions.
func (p *printer) junction(x *Logic) string {
	texts := make([]string, len(x.Args))
	for i, a := range x.Args {
		texts[i] = p.scalar(a)
		if l, ok := a.(*Logic); ok && l.Op != x.Op || x.Op == Not {
			texts[i] = "(" + texts[i] + ")"
		}
	}
	if x.Op == Not {
		return "NOT " + strings.Join(texts, " ")
	}
	return strings.Join(texts, " "+string(x.Op)+" ")
}

// constLiteral is a constant as SQL has it.
func constLiteral(c *Const) string {
	if c.Value == nil {
		return "NULL"
	}
	if b, ok := c.Value.(bool); ok {
		return strconv.FormatBool(b)
	}
	text := sqltype.FormatText(c.Value, c.T)
	if len(text) > longConst { // it is read, not asked
		text = strings.ToValidUTF8(text[:longConst], "") + "..."
	}
	if c.T.IsNumber() {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
