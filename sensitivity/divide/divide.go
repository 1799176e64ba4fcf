package divide

import (
	"context"
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Divide finds what is released of a statement (1), or refuses it. An aggregate that reads private rows is released unless all of its private rows have
// passed another one of many units; then it is computed, like all that stands above. Aggregates that are canonically equal are one release.
//
// Proof: (1) holds: every node above the stages reads releases, public tables, literals and parameters, and no private row: Divide ends at a stage, at a relation of
// public tables, or refuses. So the answer is a function of the releases, the public tables and the statement, which costs nothing more (post-processing: Dwork, Roth
// 2014, Proposition 2.1), and the statement's loss is at most the sum of its stages' (sequential composition: package budget). Which they are follows from the plan and the policy alone.
func Divide(ctx context.Context, q *plan.Query, opts sensitivity.Options) (*Program, error) {
	if err := steps(ctx, func() error { return walkable(q) }); err != nil {
		return nil, err
	}
	p := &Program{Class: sensitivity.Public}
	if relation.HasPrivateTable(q.Root) {
		p.Warnings = slices.Concat(relation.ReversedLines(q), relation.NullLines(q), relation.ContradictionLines(q))
		q = withoutUnmetFilters(q)
	}
	p.Query, p.Answer.Root = q, q.Root
	own := *q
	own.Columns = slices.Clone(q.Columns)
	d := &divider{ctx: ctx, q: &own, opts: opts, out: p, stages: map[string]int{}, passed: map[plan.Rel]bool{}}
	err := steps(ctx, func() error { return d.withoutPrivate(q) })
	if err == nil && p.Class != sensitivity.Public {
		err = steps(ctx, func() error { return shallow(q.Root) }, func() error { return d.rewriteAll(q) })
	}
	if err == nil && p.Class != sensitivity.Public {
		err = d.release()
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// release finds the stages.
func (d *divider) release() error {
	p := d.out
	return steps(d.ctx, func() error { return d.above(p.Answer.Root, &p.Answer) }, func() error { return d.columns(&p.Answer) }, func() (err error) {
		p.Answer.Root, err = plan.ClampShares(p.Answer.Root, p.counts())
		return err
	})
}

// withoutPrivate divides a statement that reads no private row.
func (d *divider) withoutPrivate(q *plan.Query) error {
	p := d.out
	if !relation.HasPrivateTable(q.Root) {
		p.Query = withoutNoise(q)
		p.Answer.Root = p.Query.Root
		return nil
	}
	if none := withoutRows(q); none != nil {
		p.Query, p.Answer.Root = none, none.Root
		return nil
	}
	p.Class = sensitivity.Private
	return nil
}

// rewriteAll puts what can be released in place of what cannot, where the statement has the same answer.
func (d *divider) rewriteAll(q *plan.Query) error {
	p, own := d.out, d.q
	root, err := d.rewriteSemiJoinCounts(q.Root)
	if err != nil {
		return err
	}
	if !d.rewrote {
		root = q.Root
	}
	if own.Root = root; !relation.HasPrivateTable(root) { // one row was counted
		p.Class, p.Query, p.Answer.Root = sensitivity.Public, own, root
		return nil
	}
	if isCorrelated(root) {
		d.rewrote = true
		if own.Root, err = d.lookUp(root); err != nil {
			return err
		}
	}
	if d.rewrote {
		p.Query, p.Answer.Root = d.q, own.Root
	} else {
		d.q = q
	}
	return nil
}
