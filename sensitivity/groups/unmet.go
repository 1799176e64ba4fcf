package groups

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// mostListed are the values that a cure names.
const mostListed = 20

// FindUnmet notes the columns of whose declared values the whole answer asks for none.
//
// Proof: what is noted follows from the statement's literals, the policy's lists and ranges and public tables that it takes lists from alone, so that a statement may be refused for it. (1) The conditions are true in every row of the body, or stand in the FILTER of every aggregate
// over public groups: without a row that meets them, nothing is counted. (2) Of a column with listed values each one fails a condition, and so does NULL where it may be stored; of one with a range, a condition holds beyond it only, and NULL fails a comparison.
func (z *Grouper) FindUnmet() {
	if len(z.Blocks) == 0 || len(z.Ownerless) > 0 { // groups of a public table LEFT JOIN a private one are there without such rows
		return
	}
	conds, a := z.Blocks[0].Conds, z.Out
	if a.Unmet = z.unmet(conds); a.Unmet != nil || !a.Groups.Public {
		return
	}
	var each []sensitivity.Unmet
	for _, g := range z.Aggs { // (1) conditions of every aggregate's FILTER
		if g.Filter == nil {
			return
		}
		own := z.unmet(append(slices.Clone(conds), plan.Conjuncts(g.Filter)...))
		if own == nil {
			return
		}
		each = merged(each, own)
	}
	a.Unmet = each
}

func merged(list, more []sensitivity.Unmet) []sensitivity.Unmet {
	for _, u := range more {
		if !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	return list
}

// unmet are the columns of whose declared values a condition keeps none by itself; nil where each keeps some. Conditions that exclude each other are not meant.
func (z *Grouper) unmet(conds []plan.Scalar) (out []sensitivity.Unmet) {
	for _, x := range conds {
		if n, is := x.(*plan.Logic); is && n.Op == plan.Or {
			out = merged(out, z.unmetOr(n))
			continue
		}
		if comparesNull(x) {
			continue
		}
		for _, s := range z.Scans {
			if !s.Private() || s.In != z.Blocks[0] || s.Scan.Rows != nil {
				continue
			}
			for i := range s.Scan.Table.Columns {
				if cure := z.unmetColumn(s, i, x); cure != "" {
					out = merged(out, []sensitivity.Unmet{{Column: z.Out.VisibleName(s.Scan.Columns[i]), Cure: cure}})
				}
			}
		}
	}
	return out
}

// unmetOr is unmet of a OR b, of which neither keeps a value.
func (z *Grouper) unmetOr(n *plan.Logic) (each []sensitivity.Unmet) {
	for _, part := range n.Args {
		own := z.unmet(plan.Conjuncts(part))
		if own == nil {
			return nil
		}
		each = merged(each, own)
	}
	return each
}

// comparesNull: a condition has a constant NULL, as a parameter may be. It asks for no value.
func comparesNull(x plan.Scalar) bool {
	if c, is := x.(*plan.Const); is {
		return c.Value == nil
	}
	return slices.ContainsFunc(plan.Children(x), comparesNull)
}

// unmetColumn is a condition that keeps declared values of a column, where one of the statement keeps none; "" where it keeps some. (2)
func (z *Grouper) unmetColumn(s *scope.ScanInfo, i int, cond plan.Scalar) string {
	conds := []plan.Scalar{cond}
	c, id := &s.Scan.Table.Columns[i], s.Scan.Columns[i]
	if !c.Visible {
		return ""
	}
	name := plan.QuoteIdent(c.Name)
	literal := func(v sqltype.Value) string { return plan.Readable(z.Out.Query, &plan.Const{Value: v, T: c.Type}) }
	if c.Domain != nil {
		allowed, nodes := z.AllowedBy(conds, id)
		if nodes == 0 {
			return ""
		}
		values := z.publicValues(id)
		if !z.keepsNone(id, values, allowed, nodes) {
			return ""
		}
		var texts []string
		for _, v := range values {
			if v != nil && len(texts) < mostListed {
				texts = append(texts, literal(v))
			}
		}
		return name + " IN (" + strings.Join(texts, ", ") + ")"
	}
	if c.Range == nil || !c.Type.IsNumber() && !relation.IsDay(c.Type) {
		return ""
	}
	at := z.NarrowedBy(conds, id)
	if !(at.Lo != nil && at.Lo.GreaterThan(c.Range.Hi)) && !(at.Hi != nil && at.Hi.LessThan(c.Range.Lo)) {
		return ""
	}
	lo, hi := c.RangeTexts()
	if !c.Type.IsNumber() {
		lo, hi = "'"+lo+"'", "'"+hi+"'"
	}
	return fmt.Sprintf("%s BETWEEN %s AND %s", name, lo, hi)
}

// keepsNone reports that conditions on a column keep none of its public values, and not NULL where it may be stored. No values: they are not known.
func (z *Grouper) keepsNone(id plan.ColID, values []sqltype.Value, allowed func(sqltype.Value) bool, nodes int) bool {
	return len(values) > 0 && nodes*len(values) <= interval.MostChecked && !slices.ContainsFunc(values, allowed) && !(allowed(nil) && z.CanColumnBeNull(id, interval.Stored))
}
