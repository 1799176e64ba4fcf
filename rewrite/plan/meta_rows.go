package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Whole rows and JSON in statements over the catalogs: a row is a value only where a function makes JSON of it at once, and so it is that JSON.

const rowToJSON = "row_to_json"

// takesRow are these functions.
func takesRow(name string) bool {
	return name == rowToJSON || name == "to_json" || name == "to_jsonb" || isJSONAgg(AggFunc(name))
}

func isJSONAgg(fn AggFunc) bool { return fn == "json_agg" || fn == "jsonb_agg" }

// wholeRow is a table of FROM as an argument, t or t.*; nil if the argument is something else.
func (e *exprs) wholeRow(function string, a pgsyntax.Expr) Scalar {
	if e.find.meta == nil || !takesRow(function) {
		return nil
	}
	table := ""
	switch a := a.(type) {
	case *pgsyntax.ColumnRef:
		if len(a.Path) == 1 && len(e.scope.places(a.Path[0])) == 0 {
			table = a.Path[0]
		}
	case *pgsyntax.Star:
		if len(a.Table) == 1 {
			table = a.Table[0]
		}
	}
	for s := e.scope; s != nil && table != ""; s = s.outer {
		if !slices.Contains(s.tables, table) {
			continue
		}
		var args []Scalar
		for _, c := range s.cols {
			if c.table == table && !c.system {
				args = append(args, &Const{Value: c.name, T: sqltype.Text}, e.named(c, a.Position()))
			}
		}
		return e.metaCall(rowToJSON, args, sqltype.OIDJSON, a.Position())
	}
	return nil
}

// metaCall calls a function of the catalogs by its name.
func (b *binder) metaCall(name string, args []Scalar, result sqltype.OID, pos pgsyntax.Pos) Scalar {
	types := oidsOf(args)
	return &Call{Fn: b.find.meta.Call(funcs.Function, name, types, types, result), Args: args, T: sqltype.Type{OID: result, Typmod: -1}, Pos: int(pos)}
}

func isRow(v Scalar) bool {
	c, ok := v.(*Call)
	return ok && c.Fn.Name == rowToJSON
}

// jsonArgs are json_agg's argument as JSON, and what stands between two of them: rows and arrays have lines of their own.
func (b *binder) jsonArgs(arg Scalar, pos pgsyntax.Pos) []Scalar {
	between := ", "
	if isRow(arg) || arg.Type().IsArray() {
		between = ", \n "
	}
	if !isRow(arg) {
		arg = b.metaCall("to_json", []Scalar{arg}, sqltype.OIDJSON, pos)
	}
	return []Scalar{arg, &Const{Value: between, T: sqltype.Text}}
}
