package engine

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Stream gives the rows of an answer that memory does not hold, as they are asked for. It is for one goroutine.
type Stream struct {
	at    *relay
	next  func() ([]sqltype.Value, error, bool)
	stop  func()
	close func()
	late  func() []string
}

// NewStream is of rows, an error the last; close is told when no more are asked for, at least once.
func NewStream(rows iter.Seq2[[]sqltype.Value, error], close func()) *Stream {
	return streamOf(&relay{context.Background()}, rows, close)
}

// streamOf is NewStream whose rows look at a context.
func streamOf(at *relay, rows iter.Seq2[[]sqltype.Value, error], close func()) *Stream {
	s := &Stream{at: at, close: close}
	s.next, s.stop = iter.Pull2(rows)
	return s
}

// relay is a context that stands for another, which changes: the one in which the next row is asked for.
type relay struct{ context.Context }

// Next gives a row; false after the last. An error is of finishing, and ends the answer.
func (s *Stream) Next(ctx context.Context) (row []sqltype.Value, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	s.at.Context = ctx
	row, err, ok = s.next()
	return row, ok && err == nil, err
}

// Close gives disk and memory free; it may be called twice.
func (s *Stream) Close() error {
	s.stop()
	s.close()
	return nil
}

// Late are the warnings of rows after the first, once they were read.
func (s *Stream) Late() []string {
	if s.late == nil {
		return nil
	}
	return s.late()
}

// All holds all rows of an answer, and closes it.
func (a *Answer) All(ctx context.Context) ([][]sqltype.Value, error) {
	if a.More == nil {
		return a.Rows, nil
	}
	defer func() { _ = a.Close() }()
	rows := a.Rows
	for {
		row, ok, err := a.More.Next(ctx)
		if err != nil || !ok {
			return rows, err
		}
		rows = append(rows, row)
	}
}

// Close ends an answer that is not read on.
func (a *Answer) Close() error {
	if a == nil || a.More == nil {
		return nil
	}
	return a.More.Close()
}

// within are the limits of finishing.
func (p *stagedStatement) within() eval.Limits {
	l := p.world.policy.Limits
	return eval.Limits{Held: int(l.FinishingMemory), Sort: p.onDisk()}
}

// sortMemory is what one sort holds before it writes.
const sortMemory = 16 << 20

// onDisk are the limits of a file without a name.
func (p *stagedStatement) onDisk() spool.Limits {
	return spool.Limits{Dir: p.session.engine.ledger.Scratch(), Memory: sortMemory, File: p.world.policy.Limits.ReleaseBytes}
}

// spooling are those of a stage's release of many groups, or of more bytes than the ledger stores in one piece.
func (p *stagedStatement) spooling(st *stage) spool.Limits {
	l := p.onDisk()
	l.Items = int(p.world.policy.Limits.SpoolGroups)
	if g := st.an.Groups; g.Public && g.Count > 1 {
		if _, spooled := release.PublicBytes(st.an, uint64(l.Items)); spooled { //nolint:gosec // not negative
			l.Items = min(l.Items, int(g.Count-1)) //nolint:gosec // at most limits.release_groups
		}
	}
	return l
}

// spool writes a release of many groups to disk, and gives what its commit names; nil where memory holds it.
func (r *run) spool(a *stageRun) (*ledger.Spool, error) {
	if !a.release.IsOnDisk() {
		return nil, nil
	}
	to, err := r.session.engine.ledger.NewSpool(a.id, a.key)
	if err != nil {
		return nil, err
	}
	if err := a.release.Spool(a.an, to, r.world.policy.Limits.ReleaseBytes); err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return to, nil
}

// closeReleases gives the disk of all releases free.
func (r *run) closeReleases() {
	for _, a := range r.stageRuns {
		if err := a.release.Close(); err != nil {
			r.session.engine.log.Error("a spool was not closed", logged(err)...)
		}
	}
}

// answer computes the rows of the answer, or as many of them as are asked for, with the first at once: what fails in it fails before any is shown.
func (r *run) answer(ctx context.Context) (*Answer, error) {
	a := &Answer{Tag: "SELECT"}
	if r.inBackend != nil {
		var err error
		a.Rows, err = r.finishInBackend(ctx)
		return a, err
	}
	at := &relay{ctx}
	out, err := r.compute(at, r.program.Answer)
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
	a.More = streamOf(at, rowsOut(out, pick), r.closeReleases)
	row, ok, err := a.More.Next(ctx)
	told := len(r.nulls) // the answer's warnings have these
	a.More.late = func() []string { return r.nulls[told:] }
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
func (r *run) gathered(ctx context.Context, given map[plan.Rel]*eval.Relation, at plan.Rel) ([][]sqltype.Value, error) {
	return eval.Gather(ctx, given[at], r.within())
}

// decoded is a stored release, whose spool is its own.
func decoded(st *stage, old *ledger.Stored) (*release.Release, error) {
	return release.DecodeSpooled(st.an, old.Payload, old.Spool)
}

var errLargeRelease = errors.New("a release is over limits.release_bytes, or over what a ledger stores beside its records")

// encoded is a release as it is committed.
func (r *run) encoded(a *stageRun) (out ledger.Release, err error) {
	out.Key, out.Family = a.key, r.related(a)
	a.release.Data = r.data()
	if out.Payload, err = release.Encode(a.an, a.release); err != nil {
		return out, err
	}
	if most := min(r.world.policy.Limits.ReleaseBytes, ledger.MaxRelease); int64(len(out.Payload)) > most {
		return out, errLargeRelease
	}
	out.Spool, err = r.spool(a)
	return out, err
}

// hasReleaseOnDisk says whether some release is on disk.
func (r *run) hasReleaseOnDisk() bool {
	return slices.ContainsFunc(r.stageRuns, func(a *stageRun) bool { return a.release != nil && a.release.IsOnDisk() })
}
