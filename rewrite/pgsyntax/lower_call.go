package pgsyntax

import (
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/pingcap/tidb/pkg/parser/ast"
)

// call lowers a bracketed list in the place of an operand.
func (l *lowering) call(a *atom, args []ast.ExprNode) (Expr, error) {
	switch a.mark {
	case mFunc:
		if a.kind != aCall || a.call == nil {
			return nil, l.atomAt(a)
		}
		if a.op != "" && separators[a.op] != nil {
			return l.special(a, args)
		}
		return l.funcCall(a, args)
	case mCast:
		if len(args) != 2 {
			return nil, l.atomAt(a)
		}
		typ := l.peek(args[1])
		if typ == nil || typ.mark != mType {
			return nil, l.atomAt(a)
		}
		typ.used = true
		x, err := l.expr(args[0])
		return &Cast{Pos: a.pos, X: x, Type: *typ.typ}, err
	case mArray:
		if a.op == "[" {
			return nil, l.atomAt(a)
		}
		return l.array(a, args)
	}
	list, err := l.exprs(args)
	if err != nil {
		return nil, err
	}
	switch a.mark {
	case mParen:
		switch len(list) {
		case 0:
			return nil, l.closed(a)
		case 1:
			return list[0], nil
		}
		return &Row{Pos: a.pos, Elems: list}, nil
	case mRow:
		return &Row{Pos: a.pos, Elems: list, Explicit: true}, nil
	}
	return nil, l.atomAt(a)
}

// array lowers ARRAY[...] and the brackets in it: either all elements are such brackets, or none.
func (l *lowering) array(a *atom, args []ast.ExprNode) (Expr, error) {
	out := &Array{Pos: a.pos}
	inner := 0
	for _, n := range args {
		var e Expr
		var err error
		if m := l.atomOf(n); m != nil && m.kind == aCall && m.mark == mArray && m.op == "[" {
			m.used = true
			inner++
			call, ok := n.(*ast.FuncCallExpr)
			if !ok {
				return nil, l.atomAt(m)
			}
			e, err = l.array(m, call.Args)
		} else {
			e, err = l.expr(n)
		}
		if err != nil {
			return nil, err
		}
		out.Elems = append(out.Elems, e)
	}
	if inner > 0 && inner < len(args) {
		return nil, l.atomAt(a)
	}
	return out, nil
}

// funcCall lowers a plain call: arguments, then ORDER BY.
func (l *lowering) funcCall(a *atom, args []ast.ExprNode) (Expr, error) {
	c := a.call
	ordered := false
	for _, n := range args {
		if m := l.peek(n); m != nil && m.kind == aMark && m.mark == mOrder && !ordered {
			m.used, ordered = true, true
			continue
		}
		if ordered {
			o, err := l.sortItem(n)
			if err != nil {
				return nil, err
			}
			c.OrderBy = append(c.OrderBy, o)
			continue
		}
		if len(c.Args) > 0 {
			if v, ok := c.Args[len(c.Args)-1].(*Variadic); ok {
				return nil, l.lost(v.Pos)
			}
		}
		e, err := l.argument(n)
		if err != nil {
			return nil, err
		}
		if v, ok := e.(*Variadic); ok && c.Distinct {
			return nil, l.lost(v.Pos)
		}
		c.Args = append(c.Args, e)
	}
	n := len(c.Args)
	switch {
	case a.op != "" && n == 0, a.op == "nullif" && n == 1:
		return nil, l.closed(a)
	case a.op == "nullif" && n != 2, a.op == "collation" && n != 1, a.op != "" && ordered, c.Distinct && n == 0, ordered && (n == 0 || len(c.OrderBy) == 0):
		return nil, l.atomAt(a)
	}
	return c, nil
}

// argument lowers an argument with the words in front of it.
func (l *lowering) argument(n ast.ExprNode) (Expr, error) {
	items, err := l.flatten(n)
	if err != nil {
		return nil, err
	}
	var marks []*atom
	for len(items) > 1 {
		m := l.peek(items[0])
		if m == nil || m.kind != aMark || m.mark != mNamed && m.mark != mVariadic {
			break
		}
		m.used = true
		marks, items = append(marks, m), items[1:]
	}
	e, err := l.chain(items)
	if err != nil {
		return nil, err
	}
	for i := len(marks) - 1; i >= 0; i-- {
		m := marks[i]
		if m.mark == mVariadic {
			if i > 0 {
				return nil, l.atomAt(m)
			}
			e = &Variadic{Pos: m.pos, X: e}
		} else {
			e = &NamedArg{Pos: m.pos, Name: m.name, X: e}
		}
	}
	return e, nil
}

// special lowers the constructs with words between their arguments to their functions.
func (l *lowering) special(a *atom, args []ast.ExprNode) (Expr, error) {
	c := a.call
	plain := map[mark][]Expr{}
	part, words := mark(""), ""
	var form Expr
	for _, n := range args {
		if m := l.peek(n); m != nil && m.kind == aMark {
			m.used = true
			part = m.mark
			words += string(part) + " "
			form = m.expr
			continue
		}
		items, err := l.flatten(n)
		if err != nil {
			return nil, err
		}
		e, err := l.grouped(items, a.op == "position")
		if err != nil {
			return nil, err
		}
		plain[part] = append(plain[part], e)
	}
	one := func(m mark) Expr {
		if len(plain[m]) == 1 {
			return plain[m][0]
		}
		return nil
	}
	ok := true
	take := func(ms ...mark) {
		for _, m := range ms {
			e := one(m)
			ok = ok && e != nil
			c.Args = append(c.Args, e)
		}
	}
	switch a.op + " " + words {
	case "extract FROM ":
		take("", mFrom)
	case "position IN ":
		take("", mIn)
	case "overlay PLACING FROM ":
		take("", mPlacing, mFrom)
	case "overlay PLACING FROM FOR ":
		take("", mPlacing, mFrom, mFor)
	case "substring FROM ":
		take("", mFrom)
	case "substring FROM FOR ", "substring FOR FROM ":
		take("", mFrom, mFor)
	case "substring FOR ":
		// PostgreSQL's own expansion: from 1, for an integer.
		take("", mFor)
		if ok {
			at := c.Args[1].Position()
			c.Args = []Expr{c.Args[0], &Literal{Pos: at, Kind: IntegerLit, Text: "1"},
				&Cast{Pos: at, X: c.Args[1], Type: TypeName{Pos: at, Name: "integer"}}}
		}
	case "substring SIMILAR ESCAPE ":
		take("", mSimilar, mEscape)
	case "normalize ":
		take("")
	case "normalize form ":
		take("")
		c.Args = append(c.Args, form)
	case "substring ", "overlay ":
		c.Special = false // the plain function
		c.Args = plain[""]
	case "trim FROM ":
		switch {
		case len(plain[""]) == 0:
			take(mFrom)
		default:
			take(mFrom, "")
		}
	case "trim ":
		c.Args = plain[""]
		ok = len(c.Args) > 0 && len(c.Args) < 3
	default:
		ok = false
	}
	if !ok {
		return nil, l.closed(a)
	}
	return c, nil
}

// window lowers a window specification.
func (l *lowering) window(a *atom, args []ast.ExprNode) (*Window, error) {
	a.used = true
	if a.kind != aCall || a.mark != mOver {
		return nil, l.atomAt(a)
	}
	w := &Window{}
	if len(a.names) > 0 {
		w.Name = a.names[0]
	}
	rank := map[mark]int{mPartition: 1, mOrder: 2, mFrame: 3, mBound: 3}
	part := mark("")
	var offset Expr
	var bounds []FrameBound
	var at []Pos
	for _, n := range args {
		if m := l.peek(n); m != nil && m.kind == aMark {
			m.used = true
			switch {
			case m.mark == mBound:
				b := FrameBound{Kind: m.op}
				if m.not {
					b.Offset = offset
				}
				if m.not != (offset != nil) || part != mFrame {
					return nil, l.atomAt(m)
				}
				offset = nil
				bounds, at = append(bounds, b), append(at, m.pos)
			case m.mark == mFrame && m.frame == nil:
				if w.Frame == nil || w.Frame.Exclude != "" {
					return nil, l.atomAt(m)
				}
				w.Frame.Exclude = m.op
			case rank[m.mark] <= rank[part]:
				return nil, l.atomAt(m)
			default:
				part = m.mark
				if part == mFrame {
					w.Frame = m.frame
				}
			}
			continue
		}
		switch part {
		case mPartition:
			e, err := l.expr(n)
			if err != nil {
				return nil, err
			}
			w.PartitionBy = append(w.PartitionBy, e)
		case mOrder:
			o, err := l.sortItem(n)
			if err != nil {
				return nil, err
			}
			w.OrderBy = append(w.OrderBy, o)
		case mFrame:
			e, err := l.expr(n)
			if err != nil {
				return nil, err
			}
			if offset != nil {
				return nil, l.atomAt(a)
			}
			offset = e
		default:
			return nil, l.atomAt(a)
		}
	}
	if w.Frame == nil {
		return w, nil
	}
	return w, l.frame(a, w.Frame, bounds, at)
}

// frame sets a frame's bounds and refuses the pairs that PostgreSQL refuses.
func (l *lowering) frame(a *atom, f *Frame, bounds []FrameBound, at []Pos) error {
	switch len(bounds) {
	case 1:
		f.Start, f.End = bounds[0], FrameBound{Kind: "CURRENT ROW"}
	case 2:
		f.Start, f.End = bounds[0], bounds[1]
	default:
		return l.atomAt(a)
	}
	start, end := f.Start.Kind, f.End.Kind
	switch {
	case start == "UNBOUNDED FOLLOWING":
		return frameError(at[0], "frame start cannot be UNBOUNDED FOLLOWING")
	case end == "UNBOUNDED PRECEDING":
		return frameError(at[len(at)-1], "frame end cannot be UNBOUNDED PRECEDING")
	case start == "FOLLOWING" && len(bounds) == 1:
		return frameError(at[0], "frame starting from following row cannot end with current row")
	case start == "CURRENT ROW" && end == "PRECEDING":
		return frameError(at[len(at)-1], "frame starting from current row cannot have preceding rows")
	case start == "FOLLOWING" && (end == "PRECEDING" || end == "CURRENT ROW"):
		return frameError(at[len(at)-1], "frame starting from following row cannot have preceding rows")
	}
	return nil
}

// groupItem lowers one entry of GROUP BY.
func (l *lowering) groupItem(n ast.ExprNode) (Expr, error) {
	call, ok := n.(*ast.FuncCallExpr)
	if !ok {
		return l.expr(n)
	}
	a := l.atomOf(n)
	switch {
	case a == nil || a.kind != aCall:
		return l.expr(n)
	case a.mark == mParen && len(call.Args) == 0:
		a.used = true
		return &Row{Pos: a.pos}, nil
	case a.mark != mGroups:
		return l.expr(n)
	}
	a.used = true
	g := &Grouping{Pos: a.pos, Kind: a.op}
	for _, arg := range call.Args {
		set, err := l.groupSet(a, arg)
		if err != nil {
			return nil, err
		}
		g.Sets = append(g.Sets, set)
	}
	if len(g.Sets) == 0 {
		return nil, l.closed(a)
	}
	return g, nil
}

// groupSet lowers one entry of ROLLUP, CUBE or GROUPING SETS.
func (l *lowering) groupSet(g *atom, n ast.ExprNode) ([]Expr, error) {
	a := l.atomOf(n)
	call, ok := n.(*ast.FuncCallExpr)
	if ok && a != nil && a.kind == aCall && a.mark == mParen {
		if len(call.Args) == 0 && g.op != "GROUPING SETS" {
			return nil, l.atomAt(a)
		}
		a.used = true
		set, err := l.exprs(call.Args)
		if err == nil && set == nil {
			set = []Expr{}
		}
		return set, err
	}
	var e Expr
	var err error
	if g.op == "GROUPING SETS" {
		e, err = l.groupItem(n)
	} else {
		e, err = l.expr(n)
	}
	return []Expr{e}, err
}

func frameError(pos Pos, text string) error {
	return sqlerr.New(sqlerr.Windowing, "%s", text).At(int(pos))
}
