package plan

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/funcs"
)

// mostListed is how many constant rows of a subquery are listed.
const mostListed = 1000

// WithListedRows puts what a subquery over constants says in its place, so that both spellings are one question: (SELECT 'a') is 'a', and x IN (SELECT 'a' UNION SELECT 'b') is x = 'a' OR x = 'b'. It is the query itself where there is no such subquery.
func (q *Query) WithListedRows() *Query {
	changed := false
	var rel func(Rel) (Rel, error)
	scalar := func(x Scalar) (Scalar, error) {
		return MapQueries(x, func(s *Subquery) (Scalar, error) {
			if y := s.listed(); y != nil {
				changed = true
				return y, nil
			}
			of := *s
			var err error
			of.Query, err = rel(s.Query)
			return &of, err
		})
	}
	rel = func(r Rel) (Rel, error) { return MapParts(r, rel, scalar) }
	root, err := rel(q.Root)
	if err != nil || !changed {
		return q
	}
	out := *q
	out.Root = root
	return &out
}

// listed is what a subquery over constant rows says without them; nil where it is another one. What is compared with several rows is a column or a constant, which may be written once for each.
func (x *Subquery) listed() Scalar {
	if x.Kind != ScalarQuery && x.Kind != AnyQuery || slices.ContainsFunc(x.Left, func(it Item) bool { return isNoConstant(it.Expr) && !isColumn(it.Expr) }) {
		return nil
	}
	rows := constantRows(x.Query)
	if len(rows) == 0 || len(rows) > 1 && x.Kind == ScalarQuery {
		return nil
	}
	of, out := x.Query.Cols(), &Logic{Op: Or}
	for _, row := range rows {
		value := func(part Scalar) Scalar {
			c, is := part.(*Col)
			if !is {
				return nil
			}
			if i := slices.IndexFunc(x.Left, func(it Item) bool { return it.ID == c.ID }); i >= 0 {
				return x.Left[i].Expr
			}
			if i := slices.Index(of, c.ID); i >= 0 {
				return row[i]
			}
			return nil
		}
		if x.Kind == ScalarQuery {
			return value(&Col{ID: x.Cols[0]})
		}
		out.Args = append(out.Args, Replace(x.Cond, value))
	}
	if len(out.Args) == 1 {
		return out.Args[0]
	}
	if in := x.in(rows); in != nil {
		return in
	}
	return out
}

// in is x IN (list) for a comparison of one value with one column by =; nil for any other.
func (x *Subquery) in(rows [][]Scalar) Scalar {
	eq, ok := x.Cond.(*Call)
	if !ok || eq.Fn.Name != "=" || len(x.Left) != 1 || len(x.Cols) != 1 {
		return nil
	}
	left, isLeft := eq.Args[0].(*Col)
	right, isRight := eq.Args[1].(*Col)
	at := slices.Index(x.Query.Cols(), x.Cols[0])
	if !isLeft || !isRight || left.ID != x.Left[0].ID || right.ID != x.Cols[0] {
		return nil
	}
	out := &In{X: x.Left[0].Expr, Eq: eq.Fn}
	for _, row := range rows {
		out.List = append(out.List, row[at])
	}
	return out
}

// isColumn: an expression is a column, or the cast of one.
func isColumn(x Scalar) bool {
	switch n := x.(type) {
	case *Col:
		return true
	case *Call:
		return n.Fn.Kind == funcs.Cast && isColumn(n.Args[0])
	}
	return false
}

// constantRows are the rows of a relation of constants and parameters, by its columns; those of UNION may be there twice. nil: of any other relation, or of one that has too many.
func constantRows(r Rel) (rows [][]Scalar) {
	switch n := r.(type) {
	case *OneRow:
		return [][]Scalar{{}}
	case *Sort:
		return constantRows(n.Input)
	case *Distinct:
		return constantRows(n.Input)
	case *SetOp:
		left, right := constantRows(columnsIn(n.Left, n.LeftCols)), constantRows(columnsIn(n.Right, n.RightCols))
		if n.Op != "UNION" || left == nil || right == nil || len(left)+len(right) > mostListed {
			return nil
		}
		return slices.Concat(left, right)
	case *Values:
		if len(n.Rows) > mostListed || slices.ContainsFunc(n.Rows, func(row []Scalar) bool { return slices.ContainsFunc(row, isNoConstant) }) {
			return nil
		}
		return n.Rows
	case *Project:
		of := n.Input.Cols()
		for _, in := range constantRows(n.Input) {
			var row []Scalar
			for _, it := range n.Items {
				x := it.Expr
				if c, is := x.(*Col); is {
					i := slices.Index(of, c.ID)
					if i < 0 { // of a row around the subquery
						return nil
					}
					x = in[i]
				}
				if isNoConstant(x) {
					return nil
				}
				row = append(row, x)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// columnsIn are some of a relation's columns, in an order.
func columnsIn(r Rel, cols []ColID) Rel {
	out := &Project{Input: r}
	for _, id := range cols {
		out.Items = append(out.Items, Item{ID: id, Expr: &Col{ID: id}})
	}
	return out
}

func isNoConstant(x Scalar) bool {
	switch x.(type) {
	case *Const, *Param:
		return false
	}
	return true
}
