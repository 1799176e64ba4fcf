package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

func isComparison(x *Call) bool {
	return mirrors[x.Fn.Name] != "" && len(x.Args) == 2 && len(x.Fn.Args) == 2 && x.T.OID == sqltype.OIDBool
}

// truth writes a condition, or its negation.
func (p *printer) truth(x Scalar, not bool) string {
	switch n := p.behind(x).(type) {
	case *Const:
		if v, ok := n.Value.(bool); ok {
			return p.text(&Const{Value: v != not, T: n.T})
		}
	case *Logic:
		if n.Op == Not {
			return p.truth(n.Args[0], !not)
		}
		return p.junctionText(n, not)
	case *In:
		return p.oneOf(n, not)
	case *Call:
		if isComparison(n) {
			return p.comparison(n.Fn.Name, n.Args[0], n.Args[1], not)
		}
	case *Is:
		word := ""
		if n.Not != not {
			word = "NOT "
		}
		return fmt.Sprintf("(%s IS %s%s)", p.scalar(n.X), word, n.What)
	case *DistinctFrom:
		sides := []string{p.compared(n.X), p.compared(n.Y)}
		slices.Sort(sides)
		word := "DISTINCT"
		if n.Not != not {
			word = "NOT DISTINCT"
		}
		return fmt.Sprintf("(%s IS %s FROM %s)", sides[0], word, sides[1])
	}
	if not {
		return "NOT(" + p.scalar(x) + ")"
	}
	return p.scalar(x)
}

// behind is what a column of conditions stands for.
func (p *printer) behind(x Scalar) Scalar {
	for {
		c, ok := x.(*Col)
		if !ok || p.normal.defs[c.ID] == nil {
			return x
		}
		x = p.normal.defs[c.ID]
	}
}

// comparison writes one with ">" and ">=" turned round.
func (p *printer) comparison(name string, x, y Scalar, not bool) string {
	for _, side := range [2][2]Scalar{{x, y}, {y, x}} {
		if c, ok := p.behind(side[1]).(*Const); ok && (name == "=" || name == "<>") {
			if v, ok := c.Value.(bool); ok {
				return p.truth(side[0], not != (v == (name == "<>")))
			}
		}
	}
	if not {
		name = negations[name]
	}
	if name == ">" || name == ">=" {
		name, x, y = mirrors[name], y, x
	}
	a, b := p.compared(x), p.compared(y)
	if (name == "=" || name == "<>") && b < a {
		a, b = b, a
	}
	return fmt.Sprintf("(%s %s %s)", a, name, b)
}

// compared writes what is compared, with its type: zeros behind a numeric's point change no comparison.
func (p *printer) compared(x Scalar) string {
	if c, ok := p.value(x).(*Const); ok {
		if d, ok := c.Value.(decimal.Decimal); ok {
			return d.String() + ":numeric" // without trailing zeros
		}
	}
	return p.scalar(x) + ":" + x.Type().String()
}

// value is a parameter's value, where it is known.
func (p *printer) value(x Scalar) Scalar {
	if n, ok := x.(*Param); ok && n.N <= len(p.normal.values) {
		return &Const{Value: p.normal.values[n.N-1], T: n.T}
	}
	return x
}

// oneOf writes IN as the comparisons that it stands for.
func (p *printer) oneOf(n *In, not bool) string {
	op := Or
	if n.Not != not {
		op = And
	}
	return joined(op, p.parts(op, n, not))
}

func (p *printer) junctionText(n *Logic, not bool) string {
	op := n.Op
	if not {
		op = map[LogicOp]LogicOp{And: Or, Or: And}[op]
	}
	return joined(op, p.parts(op, n, not))
}

// parts are those of a condition that is a junction of that kind, or the condition itself.
func (p *printer) parts(op LogicOp, x Scalar, not bool) []string {
	switch n := p.behind(x).(type) {
	case *Logic:
		same := n.Op == op && !not || not && (n.Op == And && op == Or || n.Op == Or && op == And)
		if n.Op == Not {
			return p.parts(op, n.Args[0], !not)
		}
		if same {
			var out []string
			for _, a := range n.Args {
				out = append(out, p.parts(op, a, not)...)
			}
			return out
		}
	case *In:
		if name := map[LogicOp]string{Or: "=", And: "<>"}[op]; (op == And) == (n.Not != not) {
			var out []string
			for _, v := range n.List {
				out = append(out, p.comparison(name, n.X, v, false))
			}
			return out
		}
	}
	return []string{p.truth(x, not)}
}

// joined is a junction of texts, whatever their order; a part that changes nothing is left out.
func joined(op LogicOp, texts []string) string {
	nothing := map[LogicOp]string{And: "true:boolean", Or: "false:boolean"}[op]
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if kept := slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == nothing }); len(kept) > 0 {
		texts = kept
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return fmt.Sprintf("%s(%s)", op, strings.Join(texts, ", "))
}

// conjuncts are the texts of what must be true for a row to stay: NULL is as good as false.
func (p *printer) conjuncts(x Scalar) []string {
	var out []string
	for _, c := range p.split(x, false, nil) {
		out = append(out, c.Text)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *printer) split(x Scalar, not bool, out []Cond) []Cond {
	switch n := p.behind(x).(type) {
	case *Logic:
		switch {
		case n.Op == Not:
			return p.split(n.Args[0], !not, out)
		case (n.Op == And) != not:
			for _, a := range n.Args {
				out = p.split(a, not, out)
			}
			return out
		}
	case *Is:
		if !n.Not && !not && (n.What == "TRUE" || n.What == "FALSE") {
			return p.split(n.X, n.What == "FALSE", out)
		}
	}
	text := p.truth(x, not)
	if text == "true:boolean" {
		return out
	}
	if not {
		x = &Logic{Op: Not, Args: []Scalar{x}}
	}
	return append(out, Cond{text, x})
}
