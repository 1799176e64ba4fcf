package pgsyntax

import "github.com/pingcap/tidb/pkg/parser/ast"

// from lowers FROM: a comma list of tables and joins.
func (l *lowering) from(j *ast.Join) ([]TableExpr, error) {
	var rev []ast.ResultSetNode
	var node ast.ResultSetNode = j
	for {
		x, ok := node.(*ast.Join)
		if !ok || x.On != nil || x.ExplicitParens {
			break
		}
		if x.Right != nil {
			if x.Tp != ast.CrossJoin || x.NaturalJoin || x.StraightJoin || x.Using != nil {
				return nil, l.lost(Pos(l.toks[0].pos))
			}
			rev = append(rev, x.Right)
		}
		node = x.Left
	}
	rev = append(rev, node)
	out := make([]TableExpr, 0, len(rev))
	for i := len(rev) - 1; i >= 0; i-- {
		t, err := l.table(rev[i])
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// table lowers a table, a derived table, a function or a join.
func (l *lowering) table(node ast.ResultSetNode) (TableExpr, error) {
	switch n := node.(type) {
	case *ast.Join:
		return l.join(n)
	case *ast.TableSource:
		if name, ok := n.Source.(*ast.TableName); ok {
			a, err := l.take(name.Name.O)
			if err != nil {
				return nil, err
			}
			if a.kind != aTable || n.AsName.O != "" || name.Schema.O != "" {
				return nil, l.atomAt(a)
			}
			return a.table, nil
		}
		return l.derived(n)
	}
	return nil, l.lost(Pos(l.toks[0].pos))
}

// join lowers one join. The skeleton has LEFT JOINs with the kind in front of the condition only.
func (l *lowering) join(n *ast.Join) (TableExpr, error) {
	if n.On == nil || n.Right == nil || n.Tp != ast.LeftJoin || n.NaturalJoin || n.Using != nil {
		if n.ExplicitParens {
			return nil, l.parenTable(n)
		}
		return nil, l.lost(Pos(l.toks[0].pos))
	}
	left, err := l.table(n.Left)
	if err != nil {
		return nil, err
	}
	right, err := l.table(n.Right)
	if err != nil {
		return nil, err
	}
	items, err := l.flatten(n.On.Expr)
	if err != nil {
		return nil, err
	}
	a := l.peek(items[0])
	if a == nil || a.kind != aJoin {
		return nil, l.lost(left.Position())
	}
	a.used = true
	j := a.join
	j.Left, j.Right = left, right
	bare := j.Kind == CrossJoin || j.Natural || len(j.Using) > 0
	if bare != (len(items) == 1) {
		return nil, l.atomAt(a)
	}
	if !bare {
		if j.On, err = l.chain(items[1:]); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// parenTable is the error of a parenthesis around something that is no join.
func (l *lowering) parenTable(n *ast.Join) error {
	if t, err := l.table(n.Left); err == nil {
		return l.lost(t.Position())
	}
	return l.lost(Pos(l.toks[0].pos))
}

// derived lowers a subquery or a function in FROM.
func (l *lowering) derived(n *ast.TableSource) (TableExpr, error) {
	a, err := l.take(n.AsName.O)
	if err != nil {
		return nil, err
	}
	if a.kind != aAlias || n.Lateral {
		return nil, l.atomAt(a)
	}
	q, err := l.query(n.Source)
	if err != nil {
		return nil, err
	}
	if !a.fn {
		return &Derived{Pos: a.pos, Query: q, Alias: a.name, Columns: a.cols, Lateral: a.later}, nil
	}
	if len(q.Targets) != 1 {
		return nil, l.atomAt(a)
	}
	call, ok := q.Targets[0].Expr.(*FuncCall)
	if !ok {
		return nil, l.atomAt(a)
	}
	return &TableFunc{Pos: call.Pos, Call: call, Alias: a.name, Columns: a.cols, Lateral: a.later, Ordinality: a.ord}, nil
}
