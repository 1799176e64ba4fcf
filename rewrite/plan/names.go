package plan

import (
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// Anonymous is PostgreSQL's name of a column that has none.
const Anonymous = "?column?"

// outputName is PostgreSQL's name of an unnamed output column (parse_target.c, FigureColname).
func outputName(x pgsyntax.Expr) string {
	if name, _ := figure(x); name != "" {
		return name
	}
	return Anonymous
}

// figure gives a name and how much it is worth: 2 from a column or function, 1 from a type or a construct.
func figure(x pgsyntax.Expr) (string, int) {
	switch x := x.(type) {
	case *pgsyntax.ColumnRef:
		return x.Path[len(x.Path)-1], 2
	case *pgsyntax.FuncCall:
		return x.Name, 2
	case *pgsyntax.Cast:
		if name, worth := figure(x.X); worth > 1 {
			return name, worth
		}
		return typeColumn(x.Type), 1
	case *pgsyntax.Case:
		if x.Else != nil {
			if name, worth := figure(x.Else); worth > 1 {
				return name, worth
			}
		}
		return "case", 1
	case *pgsyntax.Collate:
		return figure(x.X)
	case *pgsyntax.Subscript:
		return figure(x.X)
	case *pgsyntax.Paren:
		return figure(x.X)
	case *pgsyntax.Field:
		return x.Name, 2
	case *pgsyntax.Exists:
		return "exists", 2
	case *pgsyntax.Subquery:
		if x.Array {
			return "array", 2
		}
		return subqueryName(x.Query), 2
	case *pgsyntax.Array:
		return "array", 2
	case *pgsyntax.Row:
		return "row", 2
	}
	return "", 0
}

// subqueryName is that of a subquery's first column.
func subqueryName(s *pgsyntax.Select) string {
	for s.Left != nil {
		s = s.Left
	}
	switch {
	case len(s.Targets) == 0:
		return ""
	case s.Targets[0].Alias != "":
		return s.Targets[0].Alias
	}
	return outputName(s.Targets[0].Expr)
}

// nameErrors tells unnamed calls of one error function apart, where a select list has several: dp_error_avg is dp_error of the column avg, dp_error_3 that of something without a name in the third place.
func nameErrors(targets []target) {
	if !slices.ContainsFunc(targets, func(t target) bool { // else nothing is printed, which a long literal makes dear
		x, is := unbracketed(t.ast).(*pgsyntax.FuncCall)
		return is && !t.isAlias && isErrorFunction(x)
	}) {
		return
	}
	calls, taken, named := map[string][]int{}, map[string]bool{}, map[string]string{}
	for i, t := range targets {
		x, is := unbracketed(t.ast).(*pgsyntax.FuncCall)
		switch {
		case is && !t.isAlias && isErrorFunction(x):
			calls[x.Name] = append(calls[x.Name], i)
			continue
		case t.ast != nil && t.isAlias:
			named[pgsyntax.PrintExpr(unbracketed(t.ast))] = t.name
		}
		taken[t.name] = true
	}
	for function, at := range calls {
		if len(at) < 2 {
			continue
		}
		for _, i := range at {
			of := unbracketed(unbracketed(targets[i].ast).(*pgsyntax.FuncCall).Args[0])
			name := named[pgsyntax.PrintExpr(of)]
			if name == "" {
				name = outputName(of)
			}
			if name = function + "_" + name; name == function+"_"+Anonymous || taken[name] {
				name = fmt.Sprintf("%s_%d", function, i+1)
			}
			targets[i].name, taken[name] = name, true
		}
	}
}

func unbracketed(x pgsyntax.Expr) pgsyntax.Expr {
	for p, is := x.(*pgsyntax.Paren); is; p, is = x.(*pgsyntax.Paren) {
		x = p.X
	}
	return x
}
