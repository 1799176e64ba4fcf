package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// InFlightError refuses a charge that may not be needed: the same is being asked, under a reservation of whichever process, or was released since the caller
// looked. Nothing was written. Who waits for that reservation to be closed (Await) and looks again finds its release, or pays for one.
type InFlightError struct {
	Reservation int64
}

// Error names the reservation.
func (e *InFlightError) Error() string {
	return fmt.Sprintf("ledger: the same is asked by reservation %d", e.Reservation)
}

// inFlight is the reservation that makes this one needless so far; nil: none. Under mu.
//
// Proof: claim: of those who ask the same at once, whatever process they ask, one is charged and the others are given its release, or are charged themselves if there is none. Reservations are decided in one
// order, each by a state with all earlier ones (ReserveAll): of two, the later one finds the earlier outstanding, or its release, or that it ended without one. It waits only for one that could answer it:
// of this data set and epoch, at a price that is enough, under a cache that keeps releases and gives them to it: so who asks again and again at a small price keeps nobody who asks at a larger one from a question. Nobody who has a reservation waits for another, so none wait for each other; a reservation is closed when its
// statement ends, or when its owner's lease does. What is charged is never less than what is run: who is refused here has not read anything.
func (l *book) inFlight(r Reservation, at time.Time) *InFlightError {
	if !r.Once || l.opt.Cache.TTL <= 0 {
		return nil
	}
	if best := l.best(r.Statement, r.Analyst, at); best != nil && best.reservation != r.Known && best.price >= r.Enough {
		return &InFlightError{best.reservation}
	}
	for id, c := range l.state.outstanding {
		if c.Statement == r.Statement && c.Price >= r.Enough && c.of == l.service.dataset && c.epoch == l.service.epoch && (l.opt.Cache.Scope == ScopeDataset || c.Analyst == r.Analyst) {
			return &InFlightError{id}
		}
	}
	return nil
}

// The pauses between two looks at a reservation that somebody waits for.
const (
	firstLook = time.Millisecond
	slowLook  = 100 * time.Millisecond
)

// Await returns when a reservation is closed, by whichever process, or with the context's error. One whose owner died is closed when its lease has ended.
func (l *book) Await(ctx context.Context, id int64) error {
	for wait := firstLook; ; wait = min(2*wait, slowLook) {
		if err := l.fresh(); err != nil {
			return err
		}
		l.mu.Lock()
		err, open := l.ready(), l.state.outstanding[id] != nil
		l.mu.Unlock()
		if err != nil || !open {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Abandon closes reservations of this process that ended without a release or a failure to count: their clients left. The charges stay; who waits for them goes on. Where it
// cannot be written now, a later beat does.
func (l *book) Abandon(ctx context.Context, ids []int64) error {
	if err := l.forServing(); err != nil {
		return err
	}
	l.letGo(ids...)
	ids = slices.Sorted(slices.Values(ids))
	return l.do(&entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) {
		return l.state.recover(ids), nil
	}})
}
