package groups

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Values are compared with texts where they are so few and so short.
const (
	mostCompared    = 1000
	longestText     = 48
	mostSuggestions = 3
	mostSought      = 20 // texts of a statement: each takes up to 20 ms of a core
)

// NearValues remembers what was sought of a statement's texts, which are in many of its stages.
type NearValues struct {
	mu     sync.Mutex
	found  map[soughtText]string
	sought int // of found, those that were compared with all values
}

// soughtText is a text that a column was compared with.
type soughtText struct {
	of   *plan.Table
	attr int
	text string
}

// suggestValues suggests values for the texts that any expression of the statement compares columns with: in conditions, FILTER, CASE.
func (z *Grouper) suggestValues() {
	var visit func(x plan.Scalar)
	visit = func(x plan.Scalar) {
		if x == nil {
			return
		}
		if id, consts := z.askedConsts(x); len(consts) > 0 {
			for _, c := range consts {
				if text, ok := c.Value.(string); ok {
					z.suggest(text, id)
				}
			}
		}
		for _, y := range plan.Children(x) {
			visit(y)
		}
	}
	for _, b := range z.Blocks {
		for _, x := range b.Conds {
			visit(x)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(z.Defs)) {
		visit(z.Defs[id].Expr)
	}
	for _, g := range z.Aggs {
		for _, x := range append([]plan.Scalar{g.Arg, g.Filter}, g.More...) {
			visit(x)
		}
	}
}

// publicValues are a column's public values, before conditions leave some out: of the policy's list, or of a public table, which are few; else nil.
func (z *Grouper) publicValues(id plan.ColID) []sqltype.Value {
	s := z.Owner[id]
	if s == nil || s.Scan.Rows != nil {
		return nil
	}
	attr := slices.Index(s.Scan.Columns, id)
	t, d := s.Scan.Table, s.Scan.Table.Columns[attr].Domain
	switch {
	case d != nil && d.From == nil:
		return d.Values
	case d != nil:
		t, attr = d.From, d.FromColumn
	case s.Private():
		return nil
	}
	if z.listedValues[id] == nil && z.Opts.Public != nil {
		tuples, err := z.Opts.Public.Distinct(z.Ctx, t, []int{attr}, mostCompared)
		if err != nil { // without a suggestion the statement is as good
			return nil
		}
		z.keepListed([]plan.ColID{id}, tuples)
	}
	return z.listedValues[id]
}

// suggest notes the public value that is nearest to a text which is none of them.
func (z *Grouper) suggest(text string, id plan.ColID) {
	s := z.Owner[id]
	if s == nil || z.Near == nil || len(z.Out.Suggestions) == mostSuggestions || len(text) > longestText {
		return
	}
	z.Near.mu.Lock()
	defer z.Near.mu.Unlock()
	key := soughtText{s.Scan.Table, slices.Index(s.Scan.Columns, id), text}
	near, ok := z.Near.found[key]
	if !ok {
		near = z.nearest(text, id)
		if z.Near.found == nil {
			z.Near.found = map[soughtText]string{}
		}
		z.Near.found[key] = near
	}
	if note := fmt.Sprintf("'%s' for '%s'", near, text); near != "" && !slices.Contains(z.Out.Suggestions, note) {
		z.Out.Suggestions = append(z.Out.Suggestions, note)
	}
}

// nearest is the public value of a column that is nearest to a text; "" where none is, or where the text is one. Blanks at the end mean nothing in char(n).
func (z *Grouper) nearest(text string, id plan.ColID) string {
	listed := textsOf(z.publicValues(id))
	if z.TypeOf(id).OID == sqltype.OIDBPChar {
		text = strings.TrimRight(text, " ")
		for i := range listed {
			listed[i] = strings.TrimRight(listed[i], " ")
		}
	}
	if len(listed) == 0 || z.Near.sought >= mostSought || slices.Contains(listed, text) {
		return ""
	}
	z.Near.sought++
	return sqlerr.NearestValue(strings.TrimSpace(text), listed)
}

// textsOf are the texts among a column's values; nil where they are too many to be compared.
func textsOf(values []sqltype.Value) (out []string) {
	if len(values) > mostCompared {
		return nil
	}
	for _, v := range values {
		if text, ok := v.(string); ok && len(text) <= longestText {
			out = append(out, text)
		}
	}
	return out
}

// keepListed keeps the values that columns of public tuples had before conditions left some out.
func (z *Grouper) keepListed(cols []plan.ColID, tuples [][]sqltype.Value) {
	if len(tuples) > mostCompared {
		return
	}
	if z.listedValues == nil {
		z.listedValues = map[plan.ColID][]sqltype.Value{}
	}
	for i, id := range cols {
		values, seen := []sqltype.Value(nil), map[string]bool{}
		for _, t := range tuples {
			if text := TupleText(t[i : i+1]); !seen[text] {
				seen[text] = true
				values = append(values, t[i])
			}
		}
		z.listedValues[id] = values
	}
}
