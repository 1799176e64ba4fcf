package private

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// spool writes a release of many groups to disk, and gives what its commit names; nil where memory holds it.
func (r *Run) spool(a *StageRun) (*ledger.Spool, error) {
	if !a.Release.IsOnDisk() {
		return nil, nil
	}
	to, err := r.Session.Engine.Ledger.NewSpool(a.ID, a.key)
	if err != nil {
		return nil, err
	}
	if err := a.Release.Spool(a.An, to, r.World.Policy.Limits.ReleaseBytes); err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return to, nil
}

// Answer computes the rows of the answer, or as many of them as are asked for, with the first at once: what fails in it fails before any is shown.
func (r *Run) Answer(ctx context.Context) (*answer.Answer, error) {
	a := &answer.Answer{Tag: "SELECT"}
	if r.InBackend != nil {
		var err error
		a.Rows, err = r.finishInBackend(ctx)
		return a, err
	}
	at := &answer.Relay{Context: ctx}
	out, err := r.compute(at, r.Program.Answer)
	if err != nil {
		return nil, err
	}
	if out.Each == nil {
		a.Rows, err = r.picked(out.Cols, out.Rows)
		return a, err
	}
	pick, err := r.picker(out.Cols)
	if err != nil {
		return nil, err
	}
	a.More = answer.NewStream(at, rowsOut(out, pick), r.CloseReleases)
	row, ok, err := a.More.Next(ctx)
	shown := len(r.Nulls) // the answer's warnings have these
	a.More.UseLate(func() []string { return r.Nulls[shown:] })
	if ok {
		a.Rows = [][]sqltype.Value{row}
	}
	if err != nil {
		_ = a.Close()
		return nil, err
	}
	return a, nil
}

// rowsOut are an answer's rows, an error the last.
func rowsOut(rel *eval.Relation, pick func([]sqltype.Value) ([]sqltype.Value, bool)) iter.Seq2[[]sqltype.Value, error] {
	return func(yield func([]sqltype.Value, error) bool) {
		stopped := errors.New("stopped")
		err := rel.Each(func(row []sqltype.Value) error {
			if row, ok := pick(row); ok && !yield(row, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(nil, err)
		}
	}
}

// gathered are the rows of a computation's leaf.
func (r *Run) gathered(ctx context.Context, given map[plan.Rel]*eval.Relation, at plan.Rel) ([][]sqltype.Value, error) {
	return eval.Gather(ctx, given[at], r.Within())
}

// encoded is a release as it is committed.
func (r *Run) encoded(a *StageRun) (out ledger.Release, err error) {
	out.Key, out.Family = a.key, r.related(a)
	if a.Release.Target = ""; a.Release.Data == "" { // a top-up is of the data of what it tops up
		a.Release.Data = cmp.Or(r.Data(), fmt.Sprintf("snapshot of reservation %d", r.first))
	}
	if t, _, err := r.TargetAndSize(); err == nil && t.Most > 0 {
		a.Release.Target = t.String()
	}
	if out.Payload, err = release.Encode(a.An, a.Release); err != nil {
		return out, err
	}
	if most := min(r.World.Policy.Limits.ReleaseBytes, ledger.MaxRelease); int64(len(out.Payload)) > most {
		return out, session.ErrLargeRelease
	}
	out.Spool, err = r.spool(a)
	return out, err
}

// finishInBackend computes the answer in the database, in a snapshot of its own. What fails there fails of released and public values, or for want of resources: the releases are stored, and may be asked again.
func (r *Run) finishInBackend(ctx context.Context) ([][]sqltype.Value, error) {
	s := r.Session
	rels, err := r.leaves(ctx, r.Program.Answer, r.simultaneousRows())
	if err != nil {
		return nil, err
	}
	given := finish.Given(r.Program.Answer, rels, r.PublicRows)
	rows := make([][][]sqltype.Value, len(r.Program.Answer.Leaves))
	for i, l := range r.Program.Answer.Leaves {
		if rows[i], err = r.gathered(ctx, given, l.At); err != nil {
			return nil, err
		}
	}
	done, err := s.Turn(ctx)
	if err != nil {
		return nil, s.Unfinished(ctx, err)
	}
	defer done()
	out := &eval.Relation{Cols: r.InBackend.Cols}
	run := func(noisy map[plan.ColID]bool) error {
		st, err := sqlgen.Finishing(r.InBackend.Query, rows, noisy, s.Engine.Dialect)
		if err != nil {
			return err
		}
		return s.Engine.InSnapshot(ctx, r.World, st, r.args, func(rows secret.Rows) (err error) {
			out.Rows, err = server.PublicRows(r.World, rows, int(r.World.Policy.Limits.PublicRows))
			return err
		})
	}
	err = run(nil)
	if of := session.OfValues(err); of != nil && eval.IsByValue(of) { // again, with NULL where a noisy number made it fail
		if err = run(r.Program.Noisy(r.Program.Answer)); err == nil {
			r.raised(of)
		}
	}
	if err != nil {
		return nil, s.Unfinished(ctx, err)
	}
	return r.picked(out.Cols, out.Rows)
}
