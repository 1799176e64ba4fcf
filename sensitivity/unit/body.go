package unit

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity/scope"
)

// split adds the condition to the statement's rows.
//
// Proof: claim: the bounds of Analyze hold, for the rows that the condition keeps, and the parts of one Salt and Fraction have each unit in exactly one of them. (a) The condition is a function of the unit's value and of constants that are drawn without looking at the data, so of each unit all rows are kept or
// none: the rows that are kept are a database of the kept units' rows, and neighbours of the whole are neighbours of it, or equal to it. Everything that Analyze claims of the body's rows by unit it claims of any subset of whole units; rows without a unit, which no analysis counts, are dropped.
// (b) Equal values of a unit are hashed alike in whatever table and type they stand (funcs.InSplit), and of a value and its complement in comparison exactly one is true. (c) It raises for no value: text forms, a hash of bytes and a comparison of hexadecimal digits are total. Nothing is charged less for
// it: a part's statement costs what it does over all (parallel composition is not claimed).
func (z *Linker) split() {
	s := z.Opts.Split
	if !z.Whole || s.Salt == "" {
		return
	}
	z.Out.Split = s
	text := func(v string) plan.Scalar { return &plan.Const{Value: v, T: sqltype.Text} }
	fn := funcs.InSplit
	if s.Rest {
		fn = funcs.OutsideSplit
	}
	unit := z.Out.Body.UnitCol
	z.Out.Body.Rel = &plan.Filter{Input: z.Out.Body.Rel, Cond: &plan.Call{Fn: fn, T: sqltype.Bool, Pos: -1,
		Args: []plan.Scalar{z.splitValue(unit), text(s.Salt), text(fmt.Sprintf("%016x", uint64(s.Fraction*math.Ldexp(1, 63))<<1))}}}
}

// Body prepares the relation that is aggregated, and counts the rows of one unit in it.
func (z *Linker) Body(r plan.Rel) error {
	if err := z.prepared(r); err != nil {
		return err
	}
	return z.linkedBody()
}

// prepared is what a body may have, with the subqueries of its conditions prepared.
func (z *Linker) prepared(r plan.Rel) error {
	var err error
	if z.Input, err = z.derive(r); err != nil { // (2') a derived row is a function of one unit's rows
		return err
	}
	root := z.NewBlock(nil, nil)
	if err := z.collectBody(z.Input, root); err != nil { // (2) no other node is below, (4) no private row is on the padded side of a public one
		return err
	}
	root.Eqs = append(root.Eqs, z.beside...)
	return nil
}

// collectBody collects a relation, and notes the units of its private rows.
func (z *Linker) collectBody(r plan.Rel, in *scope.Block) error {
	if err := z.Collect(r, in); err != nil {
		return err
	}
	for _, s := range z.Scans {
		if s.Private() && s.Own() != 0 {
			z.scanUnit(s.Scan)
		}
	}
	return nil
}

// linkedBody is a prepared body as rows of one unit each.
func (z *Linker) linkedBody() error {
	if err := z.link(); err != nil { // (3) all private rows in a row belong to one unit
		return err
	}
	if z.Several { // rows of the statement's body alone (linkBlock): JoinedBody makes it
		return nil
	}
	if err := z.buildBody(); err != nil { // (3) the equalities of units are printed, (5) rows without a unit are dropped
		return err
	}
	z.split()
	return z.countRows()
}

// inside analyses a relation as a body of its own; it shares the statement's columns.
func (z *Linker) inside(r plan.Rel) (*Linker, error) {
	in := NewLinker(z.Ctx, z.Out.Query, &plan.Aggregate{Input: r, Pos: z.Out.Agg.Pos}, z.Opts.WithoutClip())
	in.Out.Query, in.Linked, in.around, in.Merged, in.Units, in.lost, in.PersonsOnly = z.Out.Query, z.Linked, z.around, z.Merged, z.Units, z.lost, z.PersonsOnly
	err := in.Body(r)
	z.take(in)
	return in, err
}

// take keeps what a body of its own found for the whole.
func (z *Linker) take(in *Linker) {
	z.Out.Multiplicities = append(z.Out.Multiplicities, in.Out.Multiplicities...)
	z.Warn(in.Out.Warnings...)
}
