package pgsyntax

import (
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// flatten gives the operands and operators of a chain "a|b|c" in the order of the text.
func (l *lowering) flatten(n ast.ExprNode) ([]ast.ExprNode, error) {
	var out []ast.ExprNode
	for {
		b, ok := n.(*ast.BinaryOperationExpr)
		if !ok {
			break
		}
		if b.Op != opcode.Or {
			return nil, l.lost(Pos(l.toks[0].pos))
		}
		out = append(out, b.R)
		n = b.L
	}
	out = append(out, n)
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}

// expr lowers an expression.
func (l *lowering) expr(n ast.ExprNode) (Expr, error) {
	items, err := l.flatten(n)
	if err != nil {
		return nil, err
	}
	return l.chain(items)
}

// target lowers a select-list entry, which may be a star.
func (l *lowering) target(n ast.ExprNode) (Expr, error) {
	if a := l.peek(n); a != nil && a.kind == aExpr {
		if _, ok := a.expr.(*Star); ok {
			a.used = true
			return a.expr, nil
		}
	}
	return l.expr(n)
}

func (l *lowering) exprs(list []ast.ExprNode) ([]Expr, error) {
	var out []Expr
	for _, n := range list {
		e, err := l.expr(n)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// sortItem lowers a sort key with its direction.
func (l *lowering) sortItem(n ast.ExprNode) (OrderItem, error) {
	items, err := l.flatten(n)
	if err != nil {
		return OrderItem{}, err
	}
	var o OrderItem
	if a := l.peek(items[len(items)-1]); a != nil && a.kind == aPostfix && a.mark == mSort {
		a.used = true
		o = a.sort
		items = items[:len(items)-1]
		if len(items) == 0 {
			return o, l.atomAt(a)
		}
	}
	o.Expr, err = l.chain(items)
	return o, err
}

// chain groups operands and operators by PostgreSQL's precedence.
func (l *lowering) chain(items []ast.ExprNode) (Expr, error) {
	return l.grouped(items, false)
}

// grouped is chain; plain allows only what PostgreSQL's b_expr has.
func (l *lowering) grouped(items []ast.ExprNode, plain bool) (Expr, error) {
	c := &chain{lowering: l, items: items}
	e, err := c.parse(0, plain)
	if err == nil && c.i < len(items) {
		err = c.unexpected()
	}
	return e, err
}

// chain is a reading position in a row of operands and operators.
type chain struct {
	*lowering
	items []ast.ExprNode
	i     int
}

// peekAtom is the atom of the next item, a number or a call; nil if there is none.
func (c *chain) peekAtom() *atom {
	if c.i >= len(c.items) {
		return nil
	}
	return c.atomOf(c.items[c.i])
}

// atomOf is the atom of a number or a call, not taken.
func (l *lowering) atomOf(n ast.ExprNode) *atom {
	if call, ok := n.(*ast.FuncCallExpr); ok && call.Schema.O == "" {
		return l.peekNumber(call.FnName.O)
	}
	return l.peek(n)
}

func (c *chain) args(n int) []ast.ExprNode {
	if call, ok := c.items[n].(*ast.FuncCallExpr); ok {
		return call.Args
	}
	return nil
}

// unexpected is the syntax error at the next item.
func (c *chain) unexpected() error {
	if a := c.peekAtom(); a != nil {
		return c.atomAt(a)
	}
	return c.lost(Pos(c.toks[len(c.toks)-1].pos))
}

// parse reads operators of at least a level. plain is PostgreSQL's b_expr.
func (c *chain) parse(least int, plain bool) (Expr, error) {
	left, err := c.operand(plain)
	if err != nil {
		return nil, err
	}
	unchained := 0 // the level of the operator just read, if it may not follow itself
	for {
		a := c.peekAtom()
		if a == nil || a.kind != aInfix && a.kind != aPostfix && (a.kind != aCall || !isPostfixCall(a.mark)) {
			return left, nil
		}
		lev, ok := a.level()
		if lev < least || plain && !ok || lev == levEscape || a.mark == mSort {
			return left, nil
		}
		if lev == unchained {
			return nil, c.unexpected()
		}
		a.used = true
		c.i++
		unchained = 0
		if a.kind != aInfix {
			left, err = c.postfix(a, left)
		} else {
			if !chains(lev) && !a.quant && a.op != "IN" {
				unchained = lev
			}
			left, err = c.infix(a, left, lev, plain)
		}
		if err != nil {
			return nil, err
		}
	}
}

func isPostfixCall(m mark) bool { return m == mIndex || m == mFilter || m == mWithin || m == mOver }

// operand reads prefix operators and an operand.
func (c *chain) operand(plain bool) (Expr, error) {
	a := c.peekAtom()
	if a == nil {
		return nil, c.unexpected()
	}
	a.used = true
	at := c.i
	c.i++
	switch a.kind {
	case aExpr:
		if star, ok := a.expr.(*Star); ok && len(star.Table) == 0 {
			return nil, c.atomAt(a)
		}
		return a.expr, nil
	case aPrefix:
		if plain && a.op == "NOT" {
			return nil, c.atomAt(a)
		}
		x, err := c.parse(prefixLevel(a.op), plain)
		return &Unary{Pos: a.pos, Op: a.op, X: x}, err
	case aMark:
		return c.marked(a)
	case aCall:
		x, err := c.call(a, c.args(at))
		if next := c.peekAtom(); err == nil && next != nil && next.kind == aInfix && next.op == "OVERLAPS" && !plain {
			return c.overlaps(next, x, c.isRow(a, at))
		}
		return x, err
	}
	return nil, c.atomAt(a)
}

// isRow says whether an item is a row as it is written, and no row in parentheses.
func (c *chain) isRow(a *atom, item int) bool {
	return a.mark == mRow || a.mark == mParen && len(c.args(item)) > 1
}

// overlaps reads OVERLAPS behind its left row; both rows have two fields.
func (c *chain) overlaps(op *atom, left Expr, ok bool) (Expr, error) {
	l, _ := left.(*Row)
	op.used = true
	c.i++
	right := c.peekAtom()
	if !ok || l == nil {
		return nil, c.atomAt(op)
	}
	if right == nil || right.kind != aCall || !c.isRow(right, c.i) {
		return nil, c.unexpected()
	}
	right.used = true
	c.i++
	e, err := c.call(right, c.args(c.i-1))
	if err != nil {
		return nil, err
	}
	r, ok := e.(*Row)
	switch next := c.peekAtom(); {
	case !ok:
		return nil, c.atomAt(right)
	case next != nil && (next.mark == mField || next.mark == mIndex):
		return nil, c.atomAt(next)
	case len(l.Elems) != 2:
		return nil, sqlerr.New(sqlerr.Syntax, "wrong number of parameters on left side of OVERLAPS expression").At(int(l.Pos))
	case len(r.Elems) != 2:
		return nil, sqlerr.New(sqlerr.Syntax, "wrong number of parameters on right side of OVERLAPS expression").At(int(r.Pos))
	}
	return &FuncCall{Pos: op.pos, Name: "overlaps", Args: []Expr{l.Elems[0], l.Elems[1], r.Elems[0], r.Elems[1]}, Special: true}, nil
}

// marked reads a subquery or CASE behind its mark.
func (c *chain) marked(a *atom) (Expr, error) {
	if c.i >= len(c.items) {
		return nil, c.atomAt(a)
	}
	n := c.items[c.i]
	c.i++
	if a.mark == mCase {
		if cs, ok := n.(*ast.CaseExpr); ok {
			return c.caseExpr(a, cs)
		}
		return nil, c.atomAt(a)
	}
	sub, ok := n.(*ast.SubqueryExpr)
	if !ok {
		return nil, c.atomAt(a)
	}
	q, err := c.query(sub)
	switch {
	case err != nil:
		return nil, err
	case a.mark == mSubquery:
		return &Subquery{Pos: a.pos, Query: q}, nil
	case a.mark == mArrayOf:
		return &Subquery{Pos: a.pos, Query: q, Array: true}, nil
	case a.mark == mExists:
		return &Exists{Pos: a.pos, Query: q}, nil
	}
	return nil, c.atomAt(a)
}

func (l *lowering) caseExpr(a *atom, n *ast.CaseExpr) (Expr, error) {
	out := &Case{Pos: a.pos}
	var err error
	if n.Value != nil {
		if out.Operand, err = l.expr(n.Value); err != nil {
			return nil, err
		}
	}
	for _, w := range n.WhenClauses {
		var when When
		if when.Cond, err = l.expr(w.Expr); err != nil {
			return nil, err
		}
		if when.Result, err = l.expr(w.Result); err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, when)
	}
	if n.ElseClause != nil {
		out.Else, err = l.expr(n.ElseClause)
	}
	return out, err
}

// infix builds the node of an infix operator whose left operand is read.
func (c *chain) infix(a *atom, left Expr, lev int, plain bool) (Expr, error) {
	switch {
	case a.quant:
		list, q, err := c.inArgs(a)
		if err != nil {
			return nil, err
		}
		x := &Quantified{Pos: a.pos, X: left, Op: a.op, All: a.all, Query: q}
		if q == nil {
			if len(list) != 1 {
				return nil, c.atomAt(a)
			}
			x.Array = list[0]
		}
		return x, nil
	case a.op == "IN":
		list, q, err := c.inArgs(a)
		return &In{Pos: a.pos, X: left, List: list, Query: q, Not: a.not}, err
	case a.op == "BETWEEN":
		return c.between(a, left)
	}
	right, err := c.parse(lev+1, plain)
	if err != nil {
		return nil, err
	}
	if a.op == "AT TIME ZONE" {
		return &FuncCall{Pos: a.pos, Name: "timezone", Args: []Expr{right, left}, Special: true}, nil
	}
	b := &Binary{Pos: a.pos, Op: a.op, Left: left, Right: right}
	if e := c.peekAtom(); lev == levIn && e != nil && e.kind == aInfix && e.op == "ESCAPE" {
		e.used = true
		c.i++
		b.Escape, err = c.parse(levIn+1, false)
	}
	return b, err
}

// inArgs reads the parenthesis behind IN, ANY or ALL.
func (c *chain) inArgs(op *atom) ([]Expr, *Select, error) {
	if c.i >= len(c.items) {
		return nil, nil, c.atomAt(op)
	}
	n := c.items[c.i]
	c.i++
	if sub, ok := n.(*ast.SubqueryExpr); ok {
		q, err := c.query(sub)
		return nil, q, err
	}
	a := c.atomOf(n)
	if a == nil || a.kind != aCall || a.mark != mArgs {
		return nil, nil, c.atomAt(op)
	}
	a.used = true
	var list []Expr
	for _, n := range c.args(c.i - 1) {
		if lits := c.peek(n); lits != nil && lits.kind == aList {
			lits.used = true
			if list == nil {
				list = lits.list
			} else {
				list = append(list, lits.list...)
			}
			continue
		}
		e, err := c.expr(n)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, nil, c.atomAt(a)
	}
	return list, nil, nil
}

// between reads low AND high.
func (c *chain) between(a *atom, x Expr) (Expr, error) {
	low, err := c.parse(0, true)
	if err != nil {
		return nil, err
	}
	and := c.peekAtom()
	if and == nil || and.kind != aInfix || and.op != "AND" {
		return nil, c.unexpected()
	}
	and.used = true
	c.i++
	high, err := c.parse(levIn+1, false)
	return &Between{Pos: a.pos, X: x, Low: low, High: high, Not: a.not, Symmetric: a.sym}, err
}
