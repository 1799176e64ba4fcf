package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// selecting is the state of one SELECT.
type selecting struct {
	*binder
	stmt  *pgsyntax.Select
	scope *scope
	rel   Rel
	next  ColID // the first column that was made after FROM
	aggregation
	windowing

	own map[ColID]bool // the columns of FROM, once they were asked for

	sets []SetItem // functions of the select list that give rows

	derived   *IntervalColumns // of aggregates in FROM, once dp_error was asked for
	ownErrors *IntervalColumns // of agg, likewise

	targets []target
	sort    []sortItem

	on   []sortItem // DISTINCT ON
	leaf bool       // a side of a set operation
}

// aggregation is what grouping adds to a query.
type aggregation struct {
	agg       *Aggregate       // nil without aggregation
	keyText   map[string]ColID // canonical text of a grouping expression -> its column
	largest   int              // the nodes of the largest one
	aggText   map[string]ColID
	below     []Item     // expressions that are computed under the Aggregate
	groupings []grouping // beside agg.Groupings: until the keys are known
}

// windowing is what window functions add to a query.
type windowing struct {
	window     *Window // nil without window functions
	windowText map[string]ColID
	windows    map[string]bool // the clauses in which window functions may stand
}

// sortItem is an ORDER BY key: a place in the select list, or (target -1) an expression.
type sortItem struct {
	target           int
	expr             Scalar
	pos              pgsyntax.Pos
	desc, nullsFirst bool
	saysNulls        bool // NULLS FIRST or LAST is written
}

type target struct {
	name    string
	isAlias bool // the statement gives the name
	expr    Scalar
	ast     pgsyntax.Expr
	pos     pgsyntax.Pos

	error   ErrorKind // it is dp_error, dp_low or dp_high of an expression
	errorOf int       // the target that is the expression; -1: none
}

// ofAlias hints at an output name that WHERE takes for a column.
func ofAlias(err error, s *pgsyntax.Select) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID != sqlerr.UndefinedColumn.ID {
		return err
	}
	for _, t := range s.Targets {
		if t.Alias != "" && e.Message == fmt.Sprintf("column %q does not exist", t.Alias) {
			return e.WithHint("An output name cannot be used in WHERE: write the expression of %q there, or put the query in FROM.", t.Alias)
		}
	}
	return err
}

// grouping is GROUPING(args) before the keys are known.
type grouping struct {
	args []Scalar
	pos  []pgsyntax.Pos
}

// exprs binds expressions of a clause in which aggregates may stand.
func (q *selecting) exprs(clause string) *exprs {
	return &exprs{binder: q.binder, scope: q.scope, clause: clause, aggs: q}
}

// column gives an expression a column: its own if it is one, else a new one computed in items.
func (q *selecting) column(x Scalar, items *[]Item, name string) ColID {
	if c, ok := x.(*Col); ok && c.T == q.columns[c.ID].Type {
		return c.ID
	}
	id := q.newCol(ColumnInfo{Name: name, Type: x.Type()})
	*items = append(*items, Item{ID: id, Expr: x})
	return id
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
