package pgsyntax

import (
	"sort"
	"strconv"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// lowering turns the parser's tree of a skeleton back into ours.
type lowering struct {
	*speller
	limits map[*Select]uint8 // which of LIMIT (1) and OFFSET (2) a query has
}

// query reads a whole query from a reader: spell, parse, lower.
func query(r *reader) (*Select, error) {
	s, err := spell(r)
	if err != nil {
		return nil, err
	}
	node, err := grammar(s)
	if err != nil {
		return nil, err
	}
	l := &lowering{speller: s, limits: map[*Select]uint8{}}
	sel, err := l.query(node)
	if err != nil {
		return nil, err
	}
	for i := range s.atoms {
		if !s.atoms[i].used {
			return nil, sqlerr.New(sqlerr.Unsupported, "this combination of clauses is not supported").At(int(s.atoms[i].pos))
		}
	}
	return sel, nil
}

// lost is the error of a tree that no statement of PostgreSQL gives: a syntax error at the token of that position.
func (l *lowering) lost(pos Pos) error {
	n := sort.Search(len(l.toks), func(i int) bool { return l.toks[i].pos >= int(pos) })
	return syntaxAt(&l.toks[min(n, len(l.toks)-1)])
}

// take gives the atom of a number, once.
func (l *lowering) take(num string) (*atom, error) {
	a := l.peekNumber(num)
	if a == nil {
		return nil, l.lost(Pos(l.toks[0].pos))
	}
	a.used = true
	return a, nil
}

// atomAt is the syntax error at an atom.
func (l *lowering) atomAt(a *atom) error { return l.lost(a.pos) }

// closed is the syntax error at the bracket that closes an atom's list.
func (l *lowering) closed(a *atom) error {
	for i := sort.Search(len(l.toks), func(i int) bool { return l.toks[i].pos >= int(a.pos) }); i < len(l.toks); i++ {
		if t := &l.toks[i]; t.punct("(") || t.punct("[") {
			return syntaxAt(&l.toks[l.match[i]])
		}
	}
	return l.atomAt(a)
}

// query lowers a query expression.
func (l *lowering) query(node ast.Node) (*Select, error) {
	switch n := node.(type) {
	case *ast.SelectStmt:
		return l.selectStmt(n)
	case *ast.SetOprStmt:
		sel, err := l.setOps(n.SelectList.Selects)
		if err != nil {
			return nil, err
		}
		return sel, l.outer(sel, n.With, n.OrderBy)
	case *ast.SubqueryExpr:
		return l.query(n.Query)
	}
	return nil, l.lost(Pos(l.toks[0].pos))
}

// outer adds to a query what stands around its parenthesis; PostgreSQL merges it, and refuses it twice.
func (l *lowering) outer(sel *Select, with *ast.WithClause, order *ast.OrderByClause) error {
	if with != nil {
		if len(sel.With) > 0 {
			return sqlerr.New(sqlerr.Syntax, "multiple WITH clauses not allowed").At(int(sel.With[0].Pos))
		}
		var err error
		if sel.With, err = l.with(with); err != nil {
			return err
		}
		sel.Recursive = with.IsRecursive
	}
	if order != nil {
		return l.orderBy(sel, order.Items)
	}
	return nil
}

func (l *lowering) with(w *ast.WithClause) ([]CTE, error) {
	var out []CTE
	for _, c := range w.CTEs {
		a, err := l.take(c.Name.O)
		if err != nil {
			return nil, err
		}
		if a.kind != aCTE {
			return nil, l.atomAt(a)
		}
		if a.cte.Query, err = l.query(c.Query); err != nil {
			return nil, err
		}
		out = append(out, *a.cte)
	}
	return out, nil
}

// setOps lowers a list of queries joined by set operations: INTERSECT binds tighter, else from the left.
func (l *lowering) setOps(list []ast.Node) (*Select, error) {
	var ops []SetOp
	var alls []bool
	var branches []*Select
	for i, n := range list {
		sel, after, err := l.branch(n, len(list) > 1)
		if err != nil {
			return nil, err
		}
		branches = append(branches, sel)
		if i == 0 {
			continue
		}
		if after == nil {
			return nil, l.lost(sel.Pos)
		}
		switch *after {
		case ast.Union, ast.UnionAll:
			ops = append(ops, Union)
		case ast.Intersect, ast.IntersectAll:
			ops = append(ops, Intersect)
		case ast.Except, ast.ExceptAll:
			ops = append(ops, Except)
		default:
			return nil, l.lost(sel.Pos)
		}
		alls = append(alls, *after == ast.UnionAll || *after == ast.IntersectAll || *after == ast.ExceptAll)
	}
	join := func(left, right *Select, i int) *Select {
		return &Select{Pos: left.Pos, Op: ops[i], All: alls[i], Left: left, Right: right}
	}
	var sum *Select // joined by UNION and EXCEPT
	last := -1      // the operation before term
	term := branches[0]
	for i, op := range ops {
		if op == Intersect {
			term = join(term, branches[i+1], i)
			continue
		}
		if sum == nil {
			sum = term
		} else {
			sum = join(sum, term, last)
		}
		last, term = i, branches[i+1]
	}
	if sum == nil {
		return term, nil
	}
	return join(sum, term, last), nil
}

// branch lowers one operand of a set operation.
func (l *lowering) branch(n ast.Node, several bool) (*Select, *ast.SetOprType, error) {
	switch b := n.(type) {
	case *ast.SelectStmt:
		sel, err := l.selectStmt(b)
		return sel, b.AfterSetOperator, err
	case *ast.SetOprSelectList:
		if len(b.Selects) == 1 {
			if x, ok := b.Selects[0].(*ast.SelectStmt); ok {
				sel, err := l.selectStmt(x)
				if err == nil && b.With != nil && b.With != x.With {
					err = l.lost(sel.Pos)
				}
				if err == nil && b.OrderBy != nil {
					err = l.orderBy(sel, b.OrderBy.Items)
				}
				return sel, b.AfterSetOperator, err
			}
		}
		sel, err := l.setOps(b.Selects)
		if err != nil {
			return nil, nil, err
		}
		return sel, b.AfterSetOperator, l.outer(sel, b.With, b.OrderBy)
	}
	return nil, nil, l.lost(Pos(l.toks[0].pos))
}

// selectStmt lowers one SELECT or VALUES.
func (l *lowering) selectStmt(n *ast.SelectStmt) (*Select, error) {
	if n.Fields == nil || len(n.Fields.Fields) == 0 || n.Limit != nil || n.LockInfo != nil || n.SelectIntoOpt != nil || n.Distinct {
		return nil, l.lost(Pos(l.toks[0].pos))
	}
	fields := n.Fields.Fields
	call, ok := fields[0].Expr.(*ast.FuncCallExpr)
	if !ok {
		return nil, l.lost(Pos(l.toks[0].pos))
	}
	head, err := l.take(call.FnName.O)
	if err != nil {
		return nil, err
	}
	if head.kind != aHead || fields[0].AsName.O != "" {
		return nil, l.atomAt(head)
	}
	sel := head.query
	if n.With != nil { // first: names are read in the order of the text
		if sel.With, err = l.with(n.With); err != nil {
			return nil, err
		}
		sel.Recursive = n.With.IsRecursive
	}
	if sel.DistinctOn, err = l.exprs(call.Args); err != nil {
		return nil, err
	}
	if head.rows {
		err = l.values(sel, n)
	} else {
		err = l.clauses(sel, n)
	}
	if err == nil && n.OrderBy != nil {
		err = l.orderBy(sel, n.OrderBy.Items)
	}
	return sel, err
}

// values lowers VALUES.
func (l *lowering) values(sel *Select, n *ast.SelectStmt) error {
	if n.Where != nil || n.GroupBy != nil || n.Having != nil || n.WindowSpecs != nil || n.From != nil && !l.noFrom(n) {
		return l.lost(sel.Pos)
	}
	for _, f := range n.Fields.Fields[1:] {
		call, ok := f.Expr.(*ast.FuncCallExpr)
		if !ok || f.AsName.O != "" {
			return l.lost(sel.Pos)
		}
		a, err := l.take(call.FnName.O)
		if err != nil {
			return err
		}
		if a.kind != aCall || a.mark != mParen {
			return l.atomAt(a)
		}
		if len(call.Args) == 0 {
			return l.closed(a)
		}
		row, err := l.exprs(call.Args)
		if err != nil {
			return err
		}
		sel.Values = append(sel.Values, row)
	}
	return nil
}

// noFrom says whether FROM was written by the speller, and takes its atom.
func (l *lowering) noFrom(n *ast.SelectStmt) bool {
	j := n.From.TableRefs
	if j.Right != nil {
		return false
	}
	ts, ok := j.Left.(*ast.TableSource)
	if !ok {
		return false
	}
	name, ok := ts.Source.(*ast.TableName)
	if !ok || ts.AsName.O != "" {
		return false
	}
	a := l.peekNumber(name.Name.O)
	if a == nil || a.kind != aNoFrom {
		return false
	}
	a.used = true
	return true
}

// clauses lowers the clauses of a SELECT.
func (l *lowering) clauses(sel *Select, n *ast.SelectStmt) error {
	for _, f := range n.Fields.Fields[1:] {
		if f.WildCard != nil || f.Expr == nil {
			return l.lost(sel.Pos)
		}
		e, err := l.target(f.Expr)
		if err != nil {
			return err
		}
		t := Target{Expr: e}
		if f.AsName.O != "" {
			a, err := l.take(f.AsName.O)
			if err != nil {
				return err
			}
			if star, ok := e.(*Star); ok && len(star.Table) == 0 || a.kind != aLabel {
				return l.atomAt(a)
			}
			t.Alias = a.name
		}
		sel.Targets = append(sel.Targets, t)
	}
	var err error
	if n.From != nil && !l.noFrom(n) {
		if sel.From, err = l.from(n.From.TableRefs); err != nil {
			return err
		}
	}
	if n.Where != nil {
		if sel.Where, err = l.expr(n.Where); err != nil {
			return err
		}
	}
	if n.GroupBy != nil {
		if n.GroupBy.Rollup {
			return l.lost(sel.Pos)
		}
		for _, it := range n.GroupBy.Items {
			e, err := l.groupItem(it.Expr)
			if err != nil {
				return err
			}
			sel.GroupBy = append(sel.GroupBy, e)
		}
	}
	if n.Having != nil {
		if sel.Having, err = l.expr(n.Having.Expr); err != nil {
			return err
		}
	}
	for i := range n.WindowSpecs {
		w, err := l.namedWindow(&n.WindowSpecs[i])
		if err != nil {
			return err
		}
		sel.Windows = append(sel.Windows, w)
	}
	return nil
}

// namedWindow lowers one entry of the WINDOW clause.
func (l *lowering) namedWindow(spec *ast.WindowSpec) (w NamedWindow, err error) {
	a, err := l.take(spec.Name.O)
	if err != nil {
		return w, err
	}
	if a.kind != aMark || a.mark != mWindow || spec.PartitionBy == nil || len(spec.PartitionBy.Items) != 1 {
		return w, l.atomAt(a)
	}
	call, ok := spec.PartitionBy.Items[0].Expr.(*ast.FuncCallExpr)
	if !ok {
		return w, l.atomAt(a)
	}
	def, err := l.take(call.FnName.O)
	if err != nil {
		return w, err
	}
	win, err := l.window(def, call.Args)
	if err != nil {
		return w, err
	}
	return NamedWindow{Name: a.names[0], Def: *win}, nil
}

// orderBy lowers ORDER BY with the LIMIT and OFFSET that it carries.
func (l *lowering) orderBy(sel *Select, items []*ast.ByItem) error {
	var value *Expr // where the next item belongs
	marked, sorted, limited, ties := false, len(sel.OrderBy) > 0, l.limits[sel] > 0, false
	for _, it := range items {
		a := l.peek(it.Expr)
		switch {
		case a != nil && a.kind == aMark && a.mark == mAll && value != nil:
			a.used, value = true, nil
		case a != nil && a.kind == aMark && (a.mark == mLimit || a.mark == mOffset) && value == nil:
			a.used, marked = true, true
			bit := uint8(1)
			value = &sel.Limit
			if a.mark == mOffset {
				bit, value = 2, &sel.Offset
			}
			if limited || l.limits[sel]&bit != 0 {
				return sqlerr.New(sqlerr.Syntax, "multiple %s clauses not allowed", a.mark).At(int(a.pos))
			}
			l.limits[sel] |= bit
		case value != nil:
			e, err := l.expr(it.Expr)
			if err != nil {
				return err
			}
			*value, value = e, nil
		case a != nil && a.kind == aMark && a.mark == mTies && marked && sel.Limit != nil && !ties:
			a.used, ties = true, true
			if len(sel.OrderBy) == 0 {
				return sqlerr.New(sqlerr.Syntax, "WITH TIES cannot be specified without ORDER BY clause").At(int(a.pos))
			}
			sel.Limit = &Ties{Pos: a.pos, X: sel.Limit}
		case marked:
			return l.lost(sel.Pos)
		default:
			o, err := l.sortItem(it.Expr)
			if err != nil {
				return err
			}
			if sorted {
				return sqlerr.New(sqlerr.Syntax, "multiple ORDER BY clauses not allowed").At(int(o.Expr.Position()))
			}
			sel.OrderBy = append(sel.OrderBy, o)
		}
	}
	if value != nil {
		return l.lost(sel.Pos)
	}
	return nil
}

// peek is the atom of a node that is a single number, not taken; nil if it is something else.
func (l *lowering) peek(n ast.ExprNode) *atom {
	c, ok := n.(*ast.ColumnNameExpr)
	if !ok || c.Name.Table.O != "" {
		return nil
	}
	return l.peekNumber(c.Name.Name.O)
}

func (l *lowering) peekNumber(num string) *atom {
	if a := l.number(num); a != nil && !a.used {
		return a
	}
	return nil
}

// number is the atom of a number, nil if there is none.
func (l *lowering) number(num string) *atom {
	i, err := strconv.Atoi(num)
	if err != nil || i < 0 || i >= len(l.atoms) {
		return nil
	}
	return &l.atoms[i]
}
