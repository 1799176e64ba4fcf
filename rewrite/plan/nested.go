package plan

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// nested is a text within others: what stands before and after it on each level, from the innermost on. Thousands of calls within each other, as in a + b + c and so on, are written in one pass;
// a text made anew on each level would take the square of their number.
type nested struct {
	before, after []string
	core          string
}

func (n *nested) within(before, after string) {
	n.before, n.after = append(n.before, before), append(n.after, after)
}

// write gives the pieces in order until one is refused.
func (n *nested) write(take func(piece string) bool) {
	for i := len(n.before) - 1; i >= 0; i-- {
		if !take(n.before[i]) {
			return
		}
	}
	if !take(n.core) {
		return
	}
	for _, piece := range n.after {
		if !take(piece) {
			return
		}
	}
}

func (n *nested) String() string {
	size := 0
	n.write(func(piece string) bool { size += len(piece); return true })
	var b strings.Builder
	b.Grow(size)
	n.write(func(piece string) bool { b.WriteString(piece); return true })
	return b.String()
}

// compare is of the text and another. It reads no more of it than the other's length.
func (n *nested) compare(other string) int {
	var b strings.Builder
	n.write(func(piece string) bool { b.WriteString(piece); return b.Len() <= len(other) })
	return cmp.Compare(b.String(), other)
}

// call writes a call, with those that its first argument is made of.
func (p *printer) call(x *Call) string {
	var n nested
	levels := []*Call{x}
	for c := x; len(c.Args) > 0; {
		inner, is := c.Args[0].(*Call)
		if !is || p.normal != nil && isComparison(inner) {
			n.core = p.scalar(c.Args[0])
			break
		}
		levels = append(levels, inner)
		c = inner
	}
	for i := len(levels) - 1; i >= 0; i-- {
		p.around(&n, levels[i])
	}
	return n.String()
}

// around puts a call around the text of its first argument, if it has one.
func (p *printer) around(n *nested, c *Call) {
	switch {
	case p.plain && isOperator(c):
		p.operator(n, c)
		return
	case p.normal != nil && commutes(c):
		other := p.scalar(c.Args[1])
		if head := fmt.Sprintf("%s:%s(", c.Fn.Name, c.T); n.compare(other) <= 0 {
			n.within(head, ", "+other+")")
		} else {
			n.within(head+other+", ", ")")
		}
		return
	}
	rest := ""
	if len(c.Args) > 1 {
		rest = ", " + p.list(c.Args[1:])
	}
	if p.numbers == nil {
		n.within(c.Fn.Name+"(", rest+")"+castSuffix(c))
		return
	}
	types := make([]string, len(c.Fn.Args))
	for i, t := range c.Fn.Args {
		types[i] = strconv.Itoa(int(t))
	}
	n.within(fmt.Sprintf("%s/%s:%s(", c.Fn.Name, strings.Join(types, "/"), c.T), rest+")")
}

// commutes: its arguments say the same in any order.
func commutes(c *Call) bool {
	return (c.Fn.Name == "+" || c.Fn.Name == "*") && len(c.Args) == 2 && c.Args[0].Type().OID == c.Args[1].Type().OID
}
