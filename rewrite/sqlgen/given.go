package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// released prints rows that were released before. Without rows (Analysis.Given is not set: the print is only
// tried) it has none.
func (p *printer) released(n *plan.Released) *from {
	var rows [][]sqltype.Value
	if n.N < len(p.given) {
		rows = p.given[n.N]
	}
	alias := p.alias()
	f := &from{one: true, cols: map[plan.ColID]*column{}}
	names := make([]string, len(n.Columns))
	for i, id := range n.Columns {
		names[i] = quote(fmt.Sprintf("c%d", i+1))
		f.cols[id] = &column{ref: alias + "." + names[i], typ: n.Types[i]}
	}
	if len(names) == 0 {
		return p.nothing(internalError("a relation without columns cannot be printed"))
	}
	text := p.or(p.d.Released(n.Types, rows, p.constant))
	text = fmt.Sprintf("%s AS %s(%s)", text, alias, strings.Join(names, ", "))
	f.text = func() string { return text }
	return f
}

// nothing is the FROM of what cannot be printed.
func (p *printer) nothing(err error) *from {
	p.fail(err)
	return &from{text: func() string { return "" }, one: true, none: true, cols: map[plan.ColID]*column{}}
}

// CheckGiven refuses rows of released values, or of a statement's parameters, that a database could only round.
func CheckGiven(d dialect.Dialect, types []sqltype.Type, rows [][]sqltype.Value) error {
	return d.CheckRows(types, rows)
}

// paramType is the type that a parameter is sent as.
func (p *printer) paramType(n *plan.Param) sqltype.Type {
	var v sqltype.Value
	if n.N <= len(p.params) {
		v = p.params[n.N-1]
	}
	return p.d.ParamType(n.T, v)
}
