package ledger

import (
	"slices"
	"time"
)

// firstSweep is the number of stored releases from which expired ones are looked for while running.
const firstSweep = 1024

// sweep is when what has expired is dropped next.
type sweep struct {
	at     int  // the number of stored releases
	spools bool // now: some have expired
}

// expired drops what has expired where there is much, or a spool among it. Under mu, in a batch that writes.
func (l *book) expired(now time.Time) []int64 {
	many := len(l.state.releases.stored) >= l.sweep.at || l.state.releases.held.expired(now) >= mostExpired
	spool := !l.state.releases.nextSpool.IsZero() && !l.state.releases.nextSpool.After(now)
	if !many && !spool {
		return nil
	}
	gone := l.state.releases.dropExpired(now)
	l.state.releases.held.dead = 0
	l.sweep.spools = l.sweep.spools || spool
	if many {
		l.sweep.at = max(firstSweep, 2*len(l.state.releases.stored))
	}
	return gone
}

// sweepExpired removes the spools that expired releases had.
func (l *book) sweepExpired() {
	l.mu.Lock()
	due := l.sweep.spools && l.ready() == nil
	l.sweep.spools = false
	l.mu.Unlock()
	if due {
		_ = l.sweepSpools() // the next one that expires, or a start, tries again
	}
}

// sweepSpools removes what no stored release needs and no outstanding reservation may still write: left by a crash, a failure, or expired. What cannot be removed now is tried again.
//
// A reservation that is neither outstanding nor stored never is again, and all up to the last known record are known.
func (l *book) sweepSpools() error {
	l.mu.Lock()
	upTo, keep := l.state.seq, l.state.open()
	for _, refs := range l.state.releases.stored {
		for _, ref := range refs {
			if ref.spool != nil {
				keep = append(keep, ref.reservation)
			}
		}
	}
	l.mu.Unlock()
	slices.Sort(keep)
	return l.spools.sweep(upTo, keep)
}
