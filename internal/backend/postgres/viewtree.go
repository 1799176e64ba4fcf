package postgres

import (
	"fmt"
	"slices"
	"strings"
)

// simpleQuery is what a simple view's own text says: one relation, and which of its columns are plain.
type simpleQuery struct {
	base  uint32
	plain map[int16]int16 // the view's attribute: the relation's
}

// notSimple is why a view is not.
type notSimple string

func (e notSimple) Error() string { return string(e) }

// queryWords says what fields of a query mean in a view; one with a value that is not listed here nor harmless is no simple
// view, whatever later versions call it.
var queryWords = map[string]string{
	"hasAggs": "it has aggregates", "hasWindowFuncs": "it has window functions", "hasTargetSRFs": "it has set-returning functions",
	"hasSubLinks": "it has subqueries", "hasDistinctOn": "it has DISTINCT ON", "hasForUpdate": "it locks rows",
	"cteList": "it has a WITH clause", "groupClause": "it has GROUP BY", "groupingSets": "it has GROUP BY", "havingQual": "it has HAVING",
	"windowClause": "it has window functions", "distinctClause": "it has DISTINCT", "limitOffset": "it has OFFSET", "limitCount": "it has LIMIT",
	"setOperations": "it has a set operation", "rowMarks": "it locks rows",
}

// Fields whose value is free, or checked by itself.
var (
	queryFields = words("commandType querySource canSetTag hasRowSecurity rtable rteperminfos jointree targetList sortClause queryId stmt_location stmt_len")
	rteFields   = words("alias eref rtekind relid inh relkind rellockmode perminfoindex inFromCl requiredPerms checkAsUser selectedCols")
)

// simple decides whether each row of the view comes from exactly one row of one relation; known tells of functions and operators.
//
// Proof: claim: the view is a map from the rows of one relation to at most one row each, whose value depends on that row alone
// and never fails. (1) A plain SELECT with (2) one relation, read whole, in FROM (3) and nothing that groups, joins, samples, cuts,
// combines or repeats rows gives for each row one or none: WHERE decides on it alone. Every field of the query, of its one relation
// and of FROM is either checked or empty, so what later versions add is refused. (4) Each expression is a tree of nodes that
// PostgreSQL evaluates from their arguments, over the row's own columns (not system columns, which tell where it is stored), with
// functions that are immutable and total.
func simple(q *treeNode, known *functions) (*simpleQuery, error) {
	if q.label != "QUERY" || q.text("commandType") != "1" || q.text("querySource") != "0" { // (1) a plain SELECT
		return nil, notSimple("it is no plain SELECT")
	}
	if err := onlyFields(q, queryFields, queryWords); err != nil { // (3) nothing that groups, joins or repeats rows
		return nil, err
	}
	index, quals, err := onlyFrom(q)
	if err != nil {
		return nil, err
	}
	rtable, ok := q.nodes("rtable")
	if !ok || index < 1 || index > len(rtable) {
		return nil, notSimple("its FROM is not understood")
	}
	rte := rtable[index-1]
	if rte.label != "RTE" && rte.label != "RANGETBLENTRY" || rte.text("rtekind") != "0" || rte.oid("relid") == 0 { // (2) one relation, read whole
		return nil, notSimple("it does not read a relation")
	}
	if err := onlyFields(rte, rteFields, map[string]string{"tablesample": "it samples rows"}); err != nil {
		return nil, err
	}
	s := &simpleQuery{base: rte.oid("relid"), plain: map[int16]int16{}}
	check := expressions{varno: fmt.Sprint(index), known: known}
	if err := check.value(quals); err != nil {
		return nil, err
	}
	sorts, ok := q.nodes("sortClause")
	if !ok {
		return nil, notSimple("its ORDER BY is not understood")
	}
	for _, n := range sorts {
		for _, op := range operatorsOf(n) {
			if f := known.byOperator[op]; f == nil || !f.builtin || !comparisons.MatchString(f.signature) {
				return nil, notSimple("it sorts in a way that dpsql does not know")
			}
		}
	}
	targets, ok := q.nodes("targetList")
	if !ok {
		return nil, notSimple("its columns are not understood")
	}
	for _, t := range targets {
		expr, ok := t.fields["expr"].(*treeNode)
		if t.label != "TARGETENTRY" || !ok {
			return nil, notSimple("its columns are not understood")
		}
		if err := check.value(expr); err != nil { // sorting columns too, which are computed but not shown
			return nil, err
		}
		if expr.label == "VAR" && t.text("resjunk") == "false" {
			s.plain[int16(t.oid("resno"))] = int16(expr.oid("varattno")) // attributes are few
		}
	}
	return s, nil
}

// onlyFrom gives the one entry of FROM, and WHERE.
func onlyFrom(q *treeNode) (index int, quals any, err error) {
	from, ok := q.fields["jointree"].(*treeNode)
	if !ok || from.label != "FROMEXPR" {
		return 0, nil, notSimple("its FROM is not understood")
	}
	list, ok := from.nodes("fromlist")
	switch {
	case !ok:
		return 0, nil, notSimple("its FROM is not understood")
	case len(list) == 0:
		return 0, nil, notSimple("it reads no relation")
	case len(list) > 1 || list[0].label == "JOINEXPR":
		return 0, nil, notSimple("it joins")
	case list[0].label != "RANGETBLREF":
		return 0, nil, notSimple("its FROM is not understood")
	}
	if err := onlyFields(from, words("fromlist quals"), nil); err != nil {
		return 0, nil, err
	}
	return int(list[0].oid("rtindex")), from.fields["quals"], nil
}

// onlyFields refuses a node in which a field that is not free says anything.
func onlyFields(n *treeNode, free map[string]bool, because map[string]string) error {
	var names []string
	for name, v := range n.fields {
		if !free[name] && !isEmpty(v) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names) // of several reasons always the same is told
	for _, name := range names {
		if why := because[name]; why != "" {
			return notSimple(why)
		}
	}
	return notSimple(fmt.Sprintf("its definition has %s, which dpsql does not know", names[0]))
}

// expressions checks values within a query.
type expressions struct {
	varno string
	known *functions
}

// expressionNodes are evaluated from their arguments alone, and fail only where a function does. Older versions' names are
// here too.
var expressionNodes = words(`VAR CONST FUNCEXPR OPEXPR DISTINCTEXPR NULLIFEXPR SCALARARRAYOPEXPR BOOLEXPR NULLTEST BOOLEANTEST
	CASEEXPR CASE CASEWHEN WHEN CASETESTEXPR COALESCEEXPR COALESCE MINMAXEXPR MINMAX RELABELTYPE COLLATEEXPR COLLATE
	ARRAYEXPR ARRAY COERCEVIAIO`)

func (x *expressions) value(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := x.value(e); err != nil {
				return err
			}
		}
	case *treeNode:
		if err := x.node(v); err != nil {
			return err
		}
		for _, name := range sortedFields(v) {
			if err := x.value(v.fields[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func sortedFields(n *treeNode) []string {
	var names []string
	for name := range n.fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// node checks one node; its arguments are checked after it.
func (x *expressions) node(n *treeNode) error {
	if !expressionNodes[n.label] {
		if s := impure[n.label]; s != "" {
			return notSimple("it uses " + s)
		}
		return notSimple("it uses " + strings.ToLower(n.label) + ", which dpsql does not know")
	}
	switch n.label {
	case "VAR":
		if n.text("varno") != x.varno || n.text("varlevelsup") != "0" {
			return notSimple("it refers to other rows")
		}
		if n.oid("varattno") == 0 { // negative ones too
			return notSimple("it uses a whole row or a system column")
		}
	case "MINMAXEXPR", "MINMAX":
		if t := n.oid("minmaxtype"); !comparable[t] || texts[t] && n.oid("inputcollid") == 0 {
			return notSimple("it uses GREATEST or LEAST of a type that dpsql does not know")
		}
	case "COERCEVIAIO":
		if !textual(n) {
			return notSimple("it casts through text")
		}
	}
	for _, field := range []string{"inputcollid", "collOid", "constcollid"} {
		if !plainCollations[n.oid(field)] {
			return notSimple("it uses a collation of its own")
		}
	}
	f, uses := x.known.of(n)
	if !uses {
		return nil
	}
	switch {
	case f == nil:
		return notSimple("it uses a function that dpsql does not know")
	case f.retset:
		return notSimple("it has set-returning functions")
	case !f.immutable:
		return notSimple(fmt.Sprintf("%s is not immutable", f.name))
	case !f.builtin:
		return notSimple(fmt.Sprintf("%s is a function of users, whose body dpsql does not read", f.name))
	case !f.total(n):
		return notSimple(fmt.Sprintf("%s can fail on some rows, which would be seen", f.name))
	}
	return nil
}
