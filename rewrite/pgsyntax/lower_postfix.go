package pgsyntax

import (
	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// What stands behind an operand: casts, subscripts, fields, FILTER, WITHIN GROUP and OVER.

// postfix builds the node of what stands behind an operand.
func (c *chain) postfix(a *atom, x Expr) (Expr, error) {
	switch a.mark {
	case mTypecast:
		return &Cast{Pos: a.pos, X: x, Type: *a.typ}, nil
	case mIndex:
		return c.subscript(a, x)
	case mField:
		if r, ok := x.(*Row); ok && !r.Explicit {
			return nil, c.atomAt(a)
		}
		return &Field{Pos: a.pos, X: c.parenthesised(x), Name: a.name}, nil
	case mFilter, mWithin, mOver, mOverName:
		return c.modified(a, x)
	case "":
		switch a.op {
		case "COLLATE":
			return &Collate{Pos: a.pos, X: x, Name: a.names}, nil
		case "NORMALIZED":
			f := &FuncCall{Pos: a.pos, Name: "is_normalized", Args: []Expr{x}, Special: true}
			if a.expr != nil {
				f.Args = append(f.Args, a.expr)
			}
			if a.not {
				return &Unary{Pos: a.pos, Op: "NOT", X: f}, nil
			}
			return f, nil
		}
		return &Is{Pos: a.pos, X: x, Not: a.not, What: a.op}, nil
	}
	return nil, c.atomAt(a)
}

func (c *chain) subscript(a *atom, x Expr) (Expr, error) {
	if r, ok := x.(*Row); ok && !r.Explicit {
		return nil, c.atomAt(a)
	}
	s := &Subscript{Pos: a.pos, X: c.parenthesised(x)}
	for _, n := range c.args(c.i - 1) {
		if m := c.peek(n); m != nil && m.kind == aMark && m.mark == mColon {
			if s.Slice {
				return nil, c.atomAt(m)
			}
			m.used, s.Slice = true, true
			if len(s.Index) == 0 {
				s.Index = append(s.Index, nil)
			}
			continue
		}
		e, err := c.expr(n)
		if err != nil {
			return nil, err
		}
		s.Index = append(s.Index, e)
	}
	if s.Slice && len(s.Index) == 1 {
		s.Index = append(s.Index, nil)
	}
	if s.Slice != (len(s.Index) == 2) || len(s.Index) == 0 {
		return nil, c.atomAt(a)
	}
	return s, nil
}

// parenthesised keeps the parenthesis that the last item was, where it parts two subscripts.
func (c *chain) parenthesised(x Expr) Expr {
	call, ok := c.items[c.i-2].(*ast.FuncCallExpr)
	if !ok {
		return x
	}
	a := c.number(call.FnName.O)
	if a == nil || a.kind != aCall || a.mark != mParen {
		return x
	}
	switch x.(type) {
	case *Subscript, *Field:
		return &Paren{Pos: a.pos, X: x}
	}
	return x
}

// modified adds FILTER, WITHIN GROUP or OVER to the call right before it.
func (c *chain) modified(a *atom, x Expr) (Expr, error) {
	call, ok := x.(*FuncCall)
	if !ok || call.Special || c.i < 2 || !c.callItem(c.items[c.i-2]) {
		return nil, c.atomAt(a)
	}
	args := c.args(c.i - 1)
	switch {
	case call.Over != nil, a.mark != mOver && a.mark != mOverName && call.Filter != nil, a.mark == mWithin && call.WithinGroup != nil:
		return nil, c.atomAt(a)
	}
	var err error
	switch a.mark {
	case mFilter:
		if len(args) != 1 {
			return nil, c.atomAt(a)
		}
		call.Filter, err = c.expr(args[0])
	case mWithin:
		if err := beside(call); err != "" {
			return nil, sqlerr.New(sqlerr.Syntax, "cannot use %s with WITHIN GROUP", err).At(int(a.pos))
		}
		for _, n := range args {
			o, err := c.sortItem(n)
			if err != nil {
				return nil, err
			}
			call.WithinGroup = append(call.WithinGroup, o)
		}
	case mOver:
		call.Over, err = c.window(a, args)
	default:
		call.Over = &Window{Name: a.names[0], Bare: true}
	}
	return call, err
}

// beside names what a call has that WITHIN GROUP does not go with.
func beside(call *FuncCall) string {
	if len(call.OrderBy) > 0 {
		return "multiple ORDER BY clauses"
	}
	if call.Distinct {
		return "DISTINCT"
	}
	if n := len(call.Args); n > 0 {
		if _, ok := call.Args[n-1].(*Variadic); ok {
			return "VARIADIC"
		}
	}
	return ""
}

// callItem says whether an item is a plain call or one of its endings (its atom is taken already).
func (l *lowering) callItem(n ast.ExprNode) bool {
	call, ok := n.(*ast.FuncCallExpr)
	if !ok {
		return false
	}
	a := l.number(call.FnName.O)
	return a != nil && a.kind == aCall && (a.mark == mFunc && a.op == "" || a.mark == mFilter || a.mark == mWithin)
}
