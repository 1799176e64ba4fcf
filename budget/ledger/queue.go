package ledger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// queue makes one batch of all that wait while another batch is written: 64 sessions wait for a few syncs, not for 64.
type queue struct {
	mu      sync.Mutex
	waiting []*entry
	leading bool // somebody writes a batch
}

// entry is one caller's part of a batch.
type entry struct {
	ctx  context.Context
	read bool // it writes nothing
	// decide says which records follow, by the state that all before it made. It runs under mu, and again where a connection was cut before it
	// was durable. An error is the caller's, and writes nothing.
	decide  func(at time.Time) ([]*Record, error)
	load    func() error // what one that only reads takes from the store, after decide and in its transaction, but not under mu; nil: nothing
	payload []byte       // stored beside the only record; nil: nothing
	gone    []int64      // releases to drop; decide may set it

	records  []*Record
	rows     []row // as they were last given to the store
	durable  bool  // they are there, whatever becomes of the rest of the batch
	err      error
	turn     chan bool // true: lead the next batch; false: it is done
	answered bool      // a read that was answered before its batch was written
}

// The most that one batch takes.
const (
	batchEntries = 256
	batchBytes   = 16 << 20
)

// take adds those who wait to a batch, in their order; with reads up to the first that writes.
func (q *queue) take(batch []*entry, reads bool) []*entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for _, e := range batch {
		bytes += len(e.payload)
	}
	for n < len(q.waiting) && len(batch) < batchEntries && (len(batch) == 0 || bytes+len(q.waiting[n].payload) <= batchBytes) && (!reads || q.waiting[n].read) {
		bytes += len(q.waiting[n].payload)
		batch = append(batch, q.waiting[n])
		n++
	}
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch
}

// split puts reads first: they see what was durable before the batch.
func split(batch []*entry) (reads, writes []*entry) {
	for _, e := range batch {
		if e.answered {
			continue
		}
		if e.read {
			reads = append(reads, e)
		} else {
			writes = append(writes, e)
		}
	}
	return reads, writes
}

// loads lets those read that have decided what. Its error is a store's whose connection was cut.
func loads(reads []*entry) error {
	for _, e := range reads {
		if e.err != nil || e.load == nil {
			continue
		}
		if e.err = e.load(); errors.Is(e.err, errUncertain) {
			return e.err
		}
	}
	return nil
}
