package divide

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

type divider struct {
	ctx        context.Context
	q          *plan.Query
	opts       sensitivity.Options
	out        *Program
	stages     map[string]int    // by canonical text, without error functions
	aggregates int               // of all of them
	passed     map[plan.Rel]bool // what was found of a relation

	rewrote bool // q is no longer the statement as it was bound
}

// inside calls f for a node's inputs and for the queries in its expressions.
func (d *divider) inside(r plan.Rel, f func(plan.Rel) error) error {
	var err error
	for _, x := range plan.Scalars(r) {
		plan.VisitQueries(x, func(s *plan.Subquery) bool {
			err = f(s.Query)
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	for _, in := range plan.Inputs(r) {
		if err := f(in); err != nil {
			return err
		}
	}
	return nil
}

// canFinish are the nodes that may stand above releases.
func canFinish(r plan.Rel) bool {
	switch r.(type) {
	case *plan.OneRow, *plan.Values, *plan.Filter, *plan.Project, *plan.Distinct, *plan.Sort, *plan.Limit, *plan.DistinctOn, *plan.Window, *plan.Aggregate, *plan.Join, *plan.SetOp:
		return true
	}
	return false
}

// released: every private row below passes an aggregate whose groups may have rows of many units.
func (d *divider) released(r plan.Rel) bool {
	if !relation.HasPrivateTable(r) {
		return true
	}
	was, known := d.passed[r]
	if known {
		return was
	}
	out := canFinish(r)
	if a, ok := r.(*plan.Aggregate); ok && !d.released(a.Input) {
		out = len(plan.Free(a)) == 0 && d.ofMany(a)
	} else {
		out = out && d.inside(r, func(r plan.Rel) error {
			if !d.released(r) {
				return errNotReleased
			}
			return nil
		}) == nil
	}
	d.passed[r] = out
	return out
}

var errNotReleased = sqlerr.New(sqlerr.Internal, "private rows are not released here")

// ofMany: the groups of an aggregate may have rows of many units.
func (d *divider) ofMany(a *plan.Aggregate) bool {
	b := &body{divider: d, trial: true, stage: &Stage{Params: d.q.Params}}
	r, err := b.over(a)
	if err != nil {
		return false
	}
	if a = r; unit.HasSeveralUnitKinds(a.Input) { // whatever it is grouped by: of a kind it has many
		return true
	}
	z := unit.NewLinker(d.ctx, d.q, a, d.opts)
	_, err = z.UnitRows(&plan.Aggregate{Input: a.Input, Keys: a.Keys, Pos: a.Pos})
	_, is := err.(*unit.NotOfUnit)                       // not one of an aggregate further down
	return is || sqlerr.ID(err) == sqlerr.JoinOffUnit.ID // joined rows are of several; further down they are refused wherever they stand
}
