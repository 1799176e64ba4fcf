package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"
)

// do writes an entry, beside whatever else waits, and returns once it is durable. From the moment that its batch begins the caller's context
// is not asked any more: a write is never left half-way.
//
// Who comes first leads: it writes the batch that it is in, of all who came before the store was its own, and hands over to the first of those who came meanwhile.
func (l *book) do(e *entry) error {
	q := &l.queue
	e.turn = make(chan bool, 1)
	q.mu.Lock()
	q.waiting = append(q.waiting, e)
	lead := !q.leading
	q.leading = true
	q.mu.Unlock()
	if !lead && !<-e.turn {
		return e.err
	}
	batch := l.settle(q.take(nil, false)) // the leader is the first of it

	q.mu.Lock()
	if len(q.waiting) > 0 {
		q.waiting[0].turn <- true
	} else {
		q.leading = false
	}
	q.mu.Unlock()
	for _, other := range batch[1:] {
		if !other.answered {
			other.turn <- false
		}
	}
	l.sweepExpired()
	return e.err
}

// cuts is how often a batch is tried on a store that lost its connection.
const cuts = 3

// settle writes a batch, and gives it as it was in the end. After errUncertain on a shared store it looks there again: what is found is durable, the rest is decided anew.
func (l *book) settle(batch []*entry) []*entry {
	l.io.Lock()
	defer l.io.Unlock()
	var err error
	for range cuts {
		if batch, err = l.try(batch); !errors.Is(err, errUncertain) || errors.Is(err, ErrNotDurable) || !l.store.shared() { // looking again shows what is written, not that it lasts
			break
		}
	}
	if err == nil {
		return batch
	}
	if errors.Is(err, errMark) || errors.Is(err, errUncertain) && !l.store.shared() {
		l.stop(ErrBroken)
	}
	for _, e := range batch {
		if !e.answered && !e.durable {
			e.err = err
		}
	}
	return batch
}

// try runs a batch, and who came while it waited for the store, in one transaction. Its error is everybody's; that of a single entry is in the entry.
func (l *book) try(batch []*entry) ([]*entry, error) {
	l.mu.Lock()
	err, known := l.ready(), waterline{l.state.seq, l.state.last}
	l.mu.Unlock()
	if err != nil {
		return batch, err
	}
	lock := slices.ContainsFunc(batch, func(e *entry) bool { return !e.read })
	rows, err := l.store.begin(known, lock)
	if err != nil {
		var broken *CorruptError
		if errors.Is(err, ErrRolledBack) || errors.Is(err, ErrForeign) || errors.As(err, &broken) {
			l.stop(err)
		}
		return batch, err
	}
	batch = l.queue.take(batch, !lock)
	reads, writes := split(batch)
	c, undo, err := l.decide(rows, reads, writes)
	if err == nil {
		err = loads(reads)
	}
	if err != nil {
		l.takeBack(undo)
		l.store.end()
		return batch, err
	}
	for _, e := range reads { // what they saw was durable before
		if e != batch[0] {
			e.answered = true
			e.turn <- false
		}
	}
	if len(c.rows) == 0 {
		l.store.end()
		return batch, nil
	}
	err = l.store.write(c)
	if err != nil && !errors.Is(err, errMark) {
		l.takeBack(undo)
	}
	return batch, err
}

// decide adds what others wrote, and then each entry's records, to the state; undo takes the entries' back.
func (l *book) decide(rows []row, reads, writes []*entry) (c change, undo []func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.catchUp(rows); err != nil {
		l.ended = err
		return c, nil, err
	}
	at := l.time() // one moment for the admissions and the records of a batch
	for _, e := range slices.Concat(reads, writes) {
		if e.durable {
			continue
		}
		if e.rows != nil && wrote(rows, e.rows) { // before the connection was cut
			e.durable = true
			l.hold(e.records)
			continue
		}
		e.records, e.rows, e.err = nil, nil, e.ctx.Err()
		if e.err == nil {
			e.records, e.err = e.decide(at)
		}
		if errors.Is(e.err, errUncertain) { // the store's connection was cut while it decided
			return c, undo, e.err
		}
		if e.err != nil || len(e.records) == 0 {
			continue
		}
		var back []func()
		if e.rows, back, e.err = l.chained(e.records, at); e.err != nil {
			continue
		}
		undo = append(append(undo, back...), l.hold(e.records))
		c.rows, c.gone = append(c.rows, e.rows...), append(c.gone, e.gone...)
		if e.payload != nil {
			c.releases = append(c.releases, storedPayload{e.rows[0].seq, e.payload})
		}
	}
	if len(c.rows) > 0 {
		c.gone = append(c.gone, l.expired(at)...)
	}
	if len(c.rows) > 0 && l.state.seq-l.state.checkpoint >= l.opt.every && l.state.moved == nil {
		err = l.addCheckpoint(&c, &undo, at)
	}
	return c, undo, err
}

// addCheckpoint ends a batch with the sums so far. Under mu.
func (l *book) addCheckpoint(c *change, undo *[]func(), at time.Time) error {
	text, err := l.state.sums(at)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	refs, expired := l.state.recently(at)
	stored, named := segmentOf(refs)
	var gone []int64
	for _, g := range l.state.segments {
		if !g.Until.After(at) {
			gone = append(gone, g.Seq)
		}
	}
	if expired || len(gone) > 0 { // the next start does not know of them any more
		c.gone = append(c.gone, l.state.releases.dropExpired(at)...)
	}
	rows, back, err := l.chained([]*Record{{Checkpoint: &Checkpoint{Sums: sha256.Sum256(text), Bytes: len(text), Stored: named}}}, at)
	*undo = append(*undo, back...)
	c.rows = append(c.rows, rows...)
	if err == nil {
		c.sums = &sumsChange{rows[0].seq, text, stored, gone}
	}
	return err
}

// catchUp adds what others wrote. Under mu.
func (l *book) catchUp(rows []row) error {
	for _, one := range rows {
		r, err := readRow(one, l.state)
		if err != nil {
			return &CorruptError{Seq: l.state.seq + 1, Reason: err.Error()}
		}
		l.state.add(r, one.hash)
	}
	if len(rows) > 0 && l.state.moved != nil && !l.opening.moving { // one that moves it may have written this itself
		return l.state.moved.err() // (1) of move.go: no process goes on with a ledger that ends with a departure
	}
	return nil
}

// wrote says whether records are among those that were read.
func wrote(read, own []row) bool {
	i := slices.IndexFunc(read, func(r row) bool { return r.seq == own[0].seq })
	return i >= 0 && read[i].hash == own[0].hash
}

// chained numbers, checks and adds records that follow one another: all or none. Under mu.
func (l *book) chained(recs []*Record, at time.Time) (rows []row, undo []func(), err error) {
	for _, r := range recs {
		r.Version, r.Seq, r.Previous, r.Owner = version, l.state.seq+1, l.state.last, l.owner
		if r.Time.IsZero() {
			r.Time = at
		}
		var (
			body []byte
			hash Hash
		)
		if err = l.state.check(r); err == nil {
			body, hash, err = r.encode()
		}
		if err != nil {
			for _, f := range slices.Backward(undo) {
				f()
			}
			return nil, nil, fmt.Errorf("ledger: %w", err)
		}
		undo = append(undo, l.state.undo(r))
		l.state.add(r, hash)
		rows = append(rows, row{r.Seq, body, hash})
	}
	return rows, undo, nil
}

// fresh reads what other processes wrote; where there are none it does nothing.
func (l *book) fresh() error {
	if !l.store.shared() {
		return nil
	}
	return l.do(&entry{ctx: context.Background(), read: true, decide: func(time.Time) ([]*Record, error) { return nil, nil }})
}
