package sqlgen

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// rows prints a scan of a relation: its columns are a table's, and are read through the ranges that the scan's table has.
func (p *printer) rows(n *plan.Scan) *from {
	in := p.build(n.Rows)
	if !in.one || len(in.where) > 0 || in.none {
		in = p.wrap(in)
	}
	f := &from{text: in.text, one: true, cols: map[plan.ColID]*column{}}
	for i, id := range n.Columns {
		f.cols[id] = &column{read: func() string { return in.column(p, id, stored) }, typ: n.Table.Columns[i].Type, rows: in}
	}
	return f
}

// ofUnit prints an aggregate within a unit's rows as a subquery of one row a group.
//
// Proof: each row is a function of the multiset of rows of one unit, as the unit's column is one of the keys (unit.Linker.derive). Keys
// are canonical before they group; what is aggregated does not depend on the order of rows: counts, sums of integers and
// PostgreSQL's numerics, which are exact (DISTINCT of them is of their canonical form), least and greatest values without their spelling, and, or. Nothing raises: arguments have their
// total forms, and no sum overflows below 2^32 rows of a unit (bigint of integers, decimals of 38 digits of at most 18; numerics without a precision
// are NULL above 10^100000, and PostgreSQL's hold 10^131072).
func (p *printer) ofUnit(n *plan.Aggregate) *from {
	if n.Sets != nil || len(n.Groupings) > 0 || len(n.Errors) > 0 {
		p.fail(internalError("grouping sets and dp_error have no form within a person's rows"))
	}
	in := p.build(n.Input)
	f, _, _ := p.grouped(n, in, func(k plan.ColID, t sqltype.Type) string {
		return p.withLetters(p.canonicalKey(p.named(in, k, stored), t), t)
	}, func(a plan.AggItem) string { return p.unitAggregate(a, in, "") })
	return f
}

// unitAggregate prints one of them, of a group's rows or, with over, of a window's.
func (p *printer) unitAggregate(a plan.AggItem, in *from, over string) string {
	isThere := a.Fn.Facts().IsOfUnit && slices.Contains(p.d.Facts().UnitAggregates, string(a.Fn)) // it does not depend on the order of rows, and the database has it
	switch {
	case a.Fn == plan.Avg && !isThere:
		return p.fail(noUnitAverage(a))
	case a.Fn == "every" && !isThere:
		return p.fail(sqlerr.New(sqlerr.PrivateFunction, "the aggregate every within a person's rows cannot be computed by the data set's database here").At(a.Pos).WithHint("Use bool_and, which is the same."))
	case !isThere && a.Fn.Facts().IsOfUnit:
		return p.fail(dialect.NotHere("the aggregate "+string(a.Fn)+" within a person's rows", a.Pos))
	}
	if err := a.OfUnit(); err != nil {
		return p.fail(err)
	}
	a.Order = nil // nothing depends on it
	if a.Arg == nil || a.Fn == plan.Count {
		return p.plainCall(a, in) + over
	}
	t := a.Arg.Type()
	args := p.arguments([]plan.Scalar{a.Arg}, in)
	if _, _, fixed := t.NumericMod(); t.OID == sqltype.OIDNumeric && !fixed && (a.Fn == plan.Sum || a.Fn == plan.Avg) {
		args[0] = p.d.UnitSummand(args[0], a.Distinct)
	}
	text := p.callOf(a, args, in) + over
	switch a.Fn {
	case plan.Sum, plan.Avg:
		switch {
		case t.IsFloat():
			return p.fail(sqlerr.New(sqlerr.PrivateFunction, "%s of %s within a person's rows depends on their order", a.Fn, t).At(a.Pos).WithHint("Cast the values to whole numbers, as in round(100 * x)::bigint."))
		case !t.IsNumber():
			return p.fail(sqlerr.New(sqlerr.PrivateFunction, "%s of %s within a person's rows is not supported", a.Fn, t).At(a.Pos).WithHint("Take it of a number, such as extract(day from x)::int."))
		}
		text, ok := p.d.UnitSum(text, t)
		if !ok {
			return p.fail(sqlerr.New(sqlerr.PrivateFunction, "the sum of %s within a person's rows cannot be computed by the data set's database here", t).At(a.Pos).
				WithHint("Cast the values to whole numbers: sum(round(100 * x)::bigint)::float8 is 100 times the sum."))
		}
		return text
	case plan.Min, plan.Max:
		return p.canonicalKey(text, t)
	}
	return text
}

// noUnitAverage refuses an average within a unit's rows where the database's own is a double: the scale of PostgreSQL's quotient depends on its values. The hint's quotient is a double for PostgreSQL, too.
func noUnitAverage(a plan.AggItem) error {
	err := sqlerr.New(sqlerr.PrivateFunction, "avg within a person's rows cannot be computed exactly by the data set's database here").At(a.Pos)
	t := a.Arg.Type()
	if prec, _, fixed := t.NumericMod(); t.IsFloat() || t.OID == sqltype.OIDNumeric && (!fixed || prec > 18) {
		return err.WithHint("Divide a sum of whole numbers by their number: sum(round(100 * x)::bigint)::float8 / count(x) / 100.")
	}
	return err.WithHint("Divide the sum by the number of values: sum(x)::float8 / count(x).")
}
