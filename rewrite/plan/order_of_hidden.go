package plan

import (
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// OrderHidden sorts values that are shown as NULL where the statement has its NULLs: hidden says of a key when its value is such; nil: never, and the key stays as it is. Of a Sort below another one or below computed columns nothing changes.
func OrderHidden(columns *[]ColumnInfo, r Rel, hidden func(SortKey) Scalar) Rel {
	switch n := r.(type) {
	case *Limit:
		with := *n
		with.Input = OrderHidden(columns, n.Input, hidden)
		return &with
	case *Sort:
		var items []Item
		var keys []SortKey
		for _, k := range n.Keys {
			if cond := hidden(k); cond != nil {
				id := ColID(len(*columns))
				*columns = append(*columns, ColumnInfo{Name: "hidden", Type: sqltype.Bool})
				items, keys = append(items, Item{ID: id, Expr: cond}), append(keys, SortKey{Col: id, Desc: k.NullsFirst})
			}
			keys = append(keys, k)
		}
		if items == nil {
			return r
		}
		var all []Item
		for _, id := range n.Input.Cols() {
			all = append(all, Item{ID: id, Expr: &Col{ID: id, T: (*columns)[id].Type}})
		}
		return &Sort{Input: &Project{Input: n.Input, Items: append(all, items...)}, Keys: keys}
	}
	return r
}

// IsNull is true where a column is NULL.
func IsNull(columns []ColumnInfo, id ColID) Scalar {
	return &Is{X: &Col{ID: id, T: columns[id].Type}, What: "NULL"}
}

// IsUnder is true where a number is nearer to 0 than a double says, and where either is NULL; nil of columns that are no numbers.
func IsUnder(columns []ColumnInfo, id, width ColID) Scalar {
	x := &Col{ID: id, T: columns[id].Type}
	if !x.T.IsInteger() && x.T.OID != sqltype.OIDNumeric && x.T.OID != sqltype.OIDFloat8 && x.T.OID != sqltype.OIDFloat4 {
		return nil
	}
	under := op("<", doubles(funcs.Function, "abs", doubleOf(x)), &Col{ID: width, T: sqltype.Float8})
	return &Coalesce{Args: []Scalar{under, &Const{Value: true, T: sqltype.Bool}}, T: sqltype.Bool}
}
