package divide

import (
	"context"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/interval"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// PublicConditions are conditions of WHERE that make a stage's groups public, on the columns that it is grouped by and that have no listed values. The analysis itself decides: it runs with such conditions on a few values. nil: with these the groups are unknown too. They follow from the statement, the policy and public tables.
func (p *Program) PublicConditions(ctx context.Context, stage int, opts sensitivity.Options) (conds []string) {
	q, agg := *p.Query, *p.Stages[stage].Agg
	q.Params = p.Stages[stage].Params
	z := newAnalyzer(ctx, &q, &agg, opts)
	if err := z.run(); err != nil || z.Out.Groups.Public {
		return nil
	}
	with, seen, none := agg, []plan.ColID(nil), false
	for _, k := range z.Out.Keys {
		if k.Public {
			continue
		}
		z.Leaves(&plan.Col{ID: k.Col, T: k.Type}, func(id plan.ColID) {
			s := z.Owner[id]
			if slices.Contains(seen, id) || s != nil && !s.Private() {
				return
			}
			seen = append(seen, id)
			var few plan.Scalar
			words := ""
			if s != nil {
				c := s.Scan.Table.Columns[slices.Index(s.Scan.Columns, id)]
				few, words = fewValues(id, c.Type, interval.SpanOf(c.Range).Meet(z.Narrowed(id)))
			}
			if none = none || few == nil; none {
				return
			}
			with.Input = &plan.Filter{Input: with.Input, Cond: few}
			conds = append(conds, z.Named(id)+words)
		})
	}
	tried := newAnalyzer(ctx, &q, &with, opts)
	if err := tried.run(); none || err != nil || !tried.Out.Groups.Public {
		return nil
	}
	return conds
}

// InOneGroup is the analysis of a stage without GROUP BY: of one group that a condition names.
func (p *Program) InOneGroup(ctx context.Context, stage int, opts sensitivity.Options) (*sensitivity.Analysis, error) {
	q, agg := *p.Query, *p.Stages[stage].Agg
	q.Params, agg.Keys, agg.Sets = p.Stages[stage].Params, nil, nil
	z := newAnalyzer(ctx, &q, &agg, opts)
	return z.Out, z.run()
}

// fewValues is a condition that leaves a column a value within a span, and how an analyst writes such a condition of several; nil: it has none.
func fewValues(id plan.ColID, t sqltype.Type, in interval.Span) (plan.Scalar, string) {
	compare := func(eq *funcs.Func, v sqltype.Value) plan.Scalar {
		return &plan.Call{Fn: eq, Args: []plan.Scalar{&plan.Col{ID: id, T: t}, &plan.Const{Value: v, T: t}}, T: sqltype.Bool, Pos: -1}
	}
	if !interval.HasWholeValues(t) {
		switch {
		case relation.IsVarText(t):
			return compare(equalOf(t), "a"), " IN (a, b)"
		case t.OID == sqltype.OIDNumeric:
			return compare(equalOf(t), decimal.NewFromInt(1)), " IN (a, b)"
		}
		return nil, ""
	}
	n := int64(1)
	switch {
	case in.Lo != nil:
		n = in.Lo.Ceil().IntPart()
	case in.Hi != nil:
		n = in.Hi.Floor().IntPart()
	}
	var v sqltype.Value = n
	switch t.OID {
	case sqltype.OIDDate:
		v = sqltype.Days(n)
	case sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		v = sqltype.Micros(n)
	}
	of := func(op string) plan.Scalar { return compare(funcs.Lookup(funcs.Operator, op, t.OID, t.OID), v) }
	return &plan.Logic{Op: plan.And, Args: []plan.Scalar{of(">="), of("<=")}}, " BETWEEN a AND b"
}
