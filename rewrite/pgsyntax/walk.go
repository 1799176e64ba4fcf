package pgsyntax

// Visitor is called for each node of a tree; a false answer keeps Walk out of what is below. Nil fields are skipped.
type Visitor struct {
	Query func(*Select) bool
	Table func(TableExpr) bool
	Expr  func(Expr) bool
}

// Walk visits a query in the order of its clauses, subqueries with it.
func Walk(s *Select, v *Visitor) {
	if s == nil || v.Query != nil && !v.Query(s) {
		return
	}
	for i := range s.With {
		Walk(s.With[i].Query, v)
	}
	Walk(s.Left, v)
	Walk(s.Right, v)
	v.exprs(s.DistinctOn)
	for i := range s.Targets {
		WalkExpr(s.Targets[i].Expr, v)
	}
	for _, row := range s.Values {
		v.exprs(row)
	}
	for _, t := range s.From {
		WalkTable(t, v)
	}
	WalkExpr(s.Where, v)
	v.exprs(s.GroupBy)
	WalkExpr(s.Having, v)
	for i := range s.Windows {
		v.window(&s.Windows[i].Def)
	}
	v.order(s.OrderBy)
	WalkExpr(s.Limit, v)
	WalkExpr(s.Offset, v)
}

// WalkTable visits an entry of FROM.
func WalkTable(t TableExpr, v *Visitor) {
	if t == nil || v.Table != nil && !v.Table(t) {
		return
	}
	switch x := t.(type) {
	case *Derived:
		Walk(x.Query, v)
	case *TableFunc:
		WalkExpr(x.Call, v)
	case *Join:
		WalkTable(x.Left, v)
		WalkTable(x.Right, v)
		WalkExpr(x.On, v)
	}
}

// WalkExpr visits an expression, subqueries with it.
func WalkExpr(e Expr, v *Visitor) {
	if e == nil || v.Expr != nil && !v.Expr(e) {
		return
	}
	switch x := e.(type) {
	case *Unary:
		WalkExpr(x.X, v)
	case *Binary:
		WalkExpr(x.Left, v)
		WalkExpr(x.Right, v)
		WalkExpr(x.Escape, v)
	case *Is:
		WalkExpr(x.X, v)
	case *Between:
		WalkExpr(x.X, v)
		WalkExpr(x.Low, v)
		WalkExpr(x.High, v)
	case *In:
		WalkExpr(x.X, v)
		v.exprs(x.List)
		Walk(x.Query, v)
	case *Quantified:
		WalkExpr(x.X, v)
		WalkExpr(x.Array, v)
		Walk(x.Query, v)
	case *Exists:
		Walk(x.Query, v)
	case *Subquery:
		Walk(x.Query, v)
	case *Case:
		WalkExpr(x.Operand, v)
		for _, w := range x.Whens {
			WalkExpr(w.Cond, v)
			WalkExpr(w.Result, v)
		}
		WalkExpr(x.Else, v)
	case *Cast:
		WalkExpr(x.X, v)
	case *FuncCall:
		v.exprs(x.Args)
		v.order(x.OrderBy)
		v.order(x.WithinGroup)
		WalkExpr(x.Filter, v)
		if x.Over != nil {
			v.window(x.Over)
		}
	case *Array:
		v.exprs(x.Elems)
	case *Row:
		v.exprs(x.Elems)
	case *Subscript:
		WalkExpr(x.X, v)
		v.exprs(x.Index)
	case *Grouping:
		for _, set := range x.Sets {
			v.exprs(set)
		}
	case *Collate:
		WalkExpr(x.X, v)
	case *Field:
		WalkExpr(x.X, v)
	case *Paren:
		WalkExpr(x.X, v)
	case *NamedArg:
		WalkExpr(x.X, v)
	case *Variadic:
		WalkExpr(x.X, v)
	case *Ties:
		WalkExpr(x.X, v)
	}
}

func (v *Visitor) exprs(list []Expr) {
	for _, e := range list {
		WalkExpr(e, v)
	}
}

func (v *Visitor) order(list []OrderItem) {
	for i := range list {
		WalkExpr(list[i].Expr, v)
	}
}

func (v *Visitor) window(w *Window) {
	v.exprs(w.PartitionBy)
	v.order(w.OrderBy)
	if w.Frame != nil {
		WalkExpr(w.Frame.Start.Offset, v)
		WalkExpr(w.Frame.End.Offset, v)
	}
}
