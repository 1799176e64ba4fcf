package private

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// Statement is a statement that reads rows of people: it is charged, unless stored releases answer it.
type Statement struct {
	*stage.Staged
	Again func(ctx context.Context, args []sqltype.Value) (session.Kind, error) // analyses the statement anew, which may be of another kind then
	Keep  func(ctx context.Context, r *Run) error                               // keeps what was released, before the answer; nil: nothing more is kept
}

// Columns implements session.Kind: a count by weights says so in its name.
func (p *Statement) Columns() []answer.Column {
	out := p.Statement.Columns()
	for i, o := range p.Query.Outputs {
		out[i].Name = p.Label(o)
	}
	return out
}

// Run implements session.Kind: it answers at the order of the window that pays, and tells the owner once.
func (p *Statement) Run(ctx context.Context, args []sqltype.Value) (ans *answer.Answer, err error) {
	var event *server.AuditEvent
	defer func() {
		if event != nil {
			p.Session.ObserveEnd(event, err)
		}
	}()
	of := p
	err = p.Session.WithOrderRetries(func(again bool) error {
		if again {
			now, err := p.Again(ctx, args)
			if err != nil {
				return err
			}
			var private bool
			if of, private = now.(*Statement); !private {
				ans, err = now.Run(ctx, args)
				return err
			}
			of.Keep = p.Keep
		}
		ans, err = of.runPrivate(ctx, args, &event)
		return err
	})
	return ans, err
}

// runPrivate is the way of design section 3 from the charge on. event is what the audit log will have of it.
func (p *Statement) runPrivate(ctx context.Context, args []sqltype.Value, event **server.AuditEvent) (ans *answer.Answer, err error) {
	s := p.Session
	if err := sqlgen.CheckGiven(s.Engine.Dialect, p.Query.Params, [][]sqltype.Value{args}); err != nil {
		return nil, err
	}
	defer p.ReleaseTurn()
	r, err := NewRun(ctx, p.Staged, args)
	if err != nil {
		return nil, err
	}
	p.ReleaseTurn()
	*event = r.AuditEvent()
	s.Progress.At("waiting for a turn")
	unlock, err := r.Lock(ctx)
	if err != nil {
		return nil, s.Uncharged(ctx, err) // nothing was charged yet
	}
	defer unlock()
	defer func() {
		if r != nil && (ans == nil || ans.More == nil) {
			r.CloseReleases()
		}
	}()
	if r.hasPublicFirst() {
		if err := r.InOwnSnapshot(ctx); err != nil {
			return nil, err
		}
	}
	if r, err = r.AskOnce(ctx, *event); err != nil {
		return nil, err
	}
	s.Progress.At("computing the answer")
	if _, err := r.adjusted(ctx); err != nil {
		return nil, s.Unfinished(ctx, err)
	}
	if p.Keep != nil {
		if err := p.Keep(ctx, r); err != nil {
			return nil, err
		}
	}
	last := r.LastAnswer(ctx)
	s.Last = last
	notice, mark := r.Notice(ctx), r.Mark()
	ans, err = r.Answer(ctx)
	switch {
	case err != nil && (errors.Is(err, ctx.Err()) || r.hasReleaseOnDisk() && sqlerr.ID(err) == ""):
		return nil, s.Unfinished(ctx, err)
	case err != nil:
		return nil, err
	}
	if len(r.widest) > 0 && ans.More == nil { // all rows are known
		notice = r.Notice(ctx)
	}
	ans.Notice, ans.Mark = notice, mark
	ans.Warnings, last.warnings = r.Warnings(ctx)
	return ans, nil
}
