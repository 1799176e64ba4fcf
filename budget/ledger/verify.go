package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"
)

// Records reads all records. The ledger is held while the loop runs: its body must not call the ledger.
func (l *book) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		unlock, err := l.reading(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer unlock()
		for r, err := range readChain(l.store.chain(0), newState()) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(*r, nil) {
				return
			}
		}
	}
}

// Verify reads everything again and checks what an opening does not: the store's own structure, each charge's loss against its
// events, that its window's budget and the lifetime held it when it was made and its analyst was neither frozen nor stopped, the stored
// releases, and that the sums are those in memory.
func (l *book) Verify(ctx context.Context) error {
	unlock, err := l.reading(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.store.sound(); err != nil {
		return err
	}
	if _, err := l.start(); err != nil {
		return err
	}
	stored, head, err := l.store.releases() // before the chain: one that is shared may grow
	if err != nil {
		return err
	}
	l.mu.Lock()
	now := l.time()
	l.mu.Unlock()
	var lost []absent
	st := newState()
	balances := newState() // one record behind st: what a charge was admitted against
	for r, err := range readChain(l.store.chain(0), st) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if r.Reserve != nil {
			if reason := recheck(balances, r); reason != "" {
				return &CorruptError{Seq: r.Seq, Reason: reason}
			}
		}
		if r.Checkpoint != nil {
			if err := balances.holds(r); err != nil {
				return &CorruptError{Seq: r.Seq, Reason: err.Error()}
			}
		}
		balances.add(r, st.last)
		if r.Commit != nil {
			switch has, ok := stored[r.Seq]; {
			case ok && (has.bytes != r.Commit.Bytes || has.hash != r.Commit.Payload):
				lost = append(lost, absent{seq: r.Seq, reason: "it is not the one that was committed", until: r.Commit.Expires})
				continue
			case !ok && r.Seq <= head:
				lost = append(lost, absent{seq: r.Seq, reason: "it is missing", until: r.Commit.Expires})
				continue
			}
			if reason := l.verifySpool(r.Commit, now); reason != "" {
				lost = append(lost, absent{r.Seq, reason, r.Commit.Expires, true})
			}
		}
	}
	if st.clock.After(now) { // others, whose clocks run ahead, drop what has expired, beside a record
		now = st.clock
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.store.shared() || st.seq <= l.state.seq { // else others went on: the sums in memory are those of their time
		if reason := st.differs(l.state); reason != "" {
			return &CorruptError{Seq: st.seq, Reason: reason}
		}
	}
	return firstOf(lost, now)
}

// firstOf names the first stored release that should be there, and says how many more; nil: there is none. It is told last, when all records have proved whole.
func firstOf(lost []absent, now time.Time) error {
	lost = slices.DeleteFunc(lost, func(a absent) bool { return !now.Before(a.until) })
	if len(lost) == 0 {
		return nil
	}
	return &BrokenRelease{Seq: lost[0].seq, Reason: lost[0].reason, more: len(lost) - 1, spool: slices.ContainsFunc(lost, func(a absent) bool { return a.spool })}
}

// ulps is what another machine's mathematics may differ by.
const ulps = 1e-12

// recheck says what is wrong with a charge after the records before it, or "".
func recheck(before *state, r *Record) string {
	c := r.Reserve
	d := before.of(r.Version, c.Dataset)
	own, err := d.head.Filter.Sum(c.Events)
	if err != nil {
		return err.Error()
	}
	if c.Loss.Pure < own.Pure*(1-ulps) || c.Loss.Renyi < own.Renyi*(1-ulps) || c.Loss.Delta < own.Delta*(1-ulps) {
		return fmt.Sprintf("its loss %+v is below its events' loss %+v", c.Loss, own)
	}
	if err := before.checkFrozen(c.Analyst); err != nil {
		return "it was charged to a frozen analyst"
	}
	if err := before.checkStopped(c.Analyst); err != nil {
		return "it was charged to an analyst who was stopped"
	}
	denied, err := before.admit(d, []Reservation{c.Reservation}, r.Time)
	switch {
	case err != nil:
		return err.Error()
	case denied != nil:
		return fmt.Sprintf("the budget (%s) did not hold its charge", denied.whose())
	}
	return ""
}

// absent is a stored payload or spool that is not there as it was committed. Until it expires that is wrong.
type absent struct {
	seq    int64
	reason string
	until  time.Time
	spool  bool
}

// verifySpool says what is wrong with a commit's spool, which must be there until it expires, or "".
func (l *book) verifySpool(c *Commit, now time.Time) string {
	if c.Spool == nil || !now.Before(c.Expires) {
		return ""
	}
	f, err := l.spools.open(c.Reservation)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "its spool is missing"
	case err != nil:
		return fmt.Sprintf("its spool cannot be read: %v", err)
	}
	defer func() { _ = f.Close() }()
	reason, err := heldAgainst(f, *c.Spool)
	if err != nil {
		return fmt.Sprintf("its spool cannot be read: %v", err)
	}
	return reason
}
