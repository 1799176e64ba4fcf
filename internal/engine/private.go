package engine

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/engine/answer"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// privateStatement is a statement that reads rows of people: it is charged, unless stored releases answer it.
type privateStatement struct {
	*stagedStatement
	again func(ctx context.Context, args []sqltype.Value) (kind, error) // analyses the statement anew, which may be of another kind then
}

// Columns implements kind: a count by weights says so in its name.
func (p *privateStatement) Columns() []answer.Column {
	out := p.statement.Columns()
	for i, o := range p.query.Outputs {
		out[i].Name = p.label(o)
	}
	return out
}

// Run implements kind: it answers at the order of the window that pays, and tells the owner once.
func (p *privateStatement) Run(ctx context.Context, args []sqltype.Value) (ans *answer.Answer, err error) {
	var heard *AuditEvent
	defer func() {
		if heard != nil {
			p.session.observeEnd(heard, err)
		}
	}()
	of := p
	err = p.session.withOrderRetries(func(again bool) error {
		if again {
			now, err := p.again(ctx, args)
			if err != nil {
				return err
			}
			var private bool
			if of, private = now.(*privateStatement); !private {
				ans, err = now.Run(ctx, args)
				return err
			}
		}
		ans, err = of.runPrivate(ctx, args, &heard)
		return err
	})
	return ans, err
}

// runPrivate is the way of design section 3 from the charge on. auditEvent is what the owner will be told of it.
func (p *privateStatement) runPrivate(ctx context.Context, args []sqltype.Value, heard **AuditEvent) (ans *answer.Answer, err error) {
	s := p.session
	if err := sqlgen.CheckGiven(s.engine.dialect, p.query.Params, [][]sqltype.Value{args}); err != nil {
		return nil, err
	}
	defer p.releaseTurn()
	r, err := newRun(ctx, p.stagedStatement, args)
	if err != nil {
		return nil, err
	}
	p.releaseTurn()
	*heard = r.auditEvent()
	s.progress.At("waiting for a turn")
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, s.uncharged(ctx, err) // nothing was charged yet
	}
	defer unlock()
	defer func() {
		if r != nil && (ans == nil || ans.More == nil) {
			r.closeReleases()
		}
	}()
	if r.hasPublicFirst() {
		if err := r.inOwnSnapshot(ctx); err != nil {
			return nil, err
		}
	}
	if r, err = r.askOnce(ctx, *heard); err != nil {
		return nil, err
	}
	s.progress.At("computing the answer")
	last := r.lastAnswer()
	s.last = last
	notice, mark := r.notice(ctx), r.mark()
	ans, err = r.answer(ctx)
	switch {
	case err != nil && (errors.Is(err, ctx.Err()) || r.hasReleaseOnDisk() && sqlerr.ID(err) == ""):
		return nil, s.unfinished(ctx, err)
	case err != nil:
		return nil, err
	}
	ans.Notice, ans.Mark = notice, mark
	ans.Warnings, last.warnings = r.warnings(ctx)
	return ans, nil
}
