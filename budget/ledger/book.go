package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"
)

// book is a ledger over a store: what is admitted, and in which order it is written. One batch of writes runs at a time (batch.go).
type book struct {
	store   store
	spools  spools
	owner   string  // this process in its records
	place   string  // for people, as Place.String
	opt     Options // Cache and TextKeys change, and are guarded by mu
	opening opening

	queue queue
	io    sync.Mutex // held while the store is used; taken before mu

	own ownCharges

	mu      sync.Mutex // guards all below
	state   *state     // of what is written and of the batch that is being written
	service service
	lost    map[int64]bool // broken releases, by their records' numbers
	held    map[int64]bool // outstanding reservations whose callers have their ids
	sweep   sweep
	ended   error // why nothing is written any more: ErrClosed, or what broke
}

// opening is how a ledger was found when it was read.
type opening struct {
	moving   bool // it may have departed: who reads it moves it
	unmarked bool // there was no mark
	began    bool // there was no record
}

func newBook(opt Options) (*book, error) {
	if err := opt.Cache.validate(); err != nil {
		return nil, err
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.every == 0 {
		opt.every = checkpointEvery
	}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return &book{opt: opt, owner: hex.EncodeToString(id[:]), state: newState(), held: map[int64]bool{}, sweep: sweep{at: firstSweep}, lost: map[int64]bool{}}, nil
}

// time is the clock's, but never before the last record's: a clock that was turned back revives nothing.
func (l *book) time() time.Time {
	now := l.opt.Now().UTC().Round(0)
	if now.Before(l.state.clock) {
		return l.state.clock
	}
	return now
}

// ready is nil while the ledger is read and written. Under mu.
func (l *book) ready() error {
	return l.ended
}

// forServing refuses an owner what only the process that serves a data set may do.
func (l *book) forServing() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(); err != nil {
		return err
	}
	if l.service.dataset == nil {
		return ErrOwner
	}
	return nil
}

// Close gives the store free. Outstanding reservations stay charged.
func (l *book) Close() error {
	l.io.Lock()
	defer l.io.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == ErrClosed {
		return nil
	}
	l.ended = ErrClosed
	return l.store.close()
}

// reading keeps batches away while everything is read.
func (l *book) reading(ctx context.Context) (unlock func(), err error) {
	l.io.Lock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err = ctx.Err(); err == nil {
		err = l.ready()
	}
	if err != nil {
		l.io.Unlock()
		return nil, err
	}
	return l.io.Unlock, nil
}

// lose takes a broken release out of what answers in this process, as if it had not been stored: the question is asked and charged anew, which is never less than what is told.
func (l *book) lose(b *BrokenRelease) {
	l.mu.Lock()
	known := l.lost[b.Seq]
	l.lost[b.Seq] = true
	l.mu.Unlock()
	if !known && l.opt.Broken != nil {
		l.opt.Broken(b)
	}
}

// stop ends all writing, for a reason.
func (l *book) stop(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = why
	}
}

// takeBack makes the state what it was before a batch.
func (l *book) takeBack(undo []func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range slices.Backward(undo) {
		f()
	}
}

// hold notes the reservations among records whose caller will be given their ids, so that whatever else is outstanding of this process has nobody who closes it: what was written
// before a connection was cut for good, and what was abandoned in vain. back forgets them. Under mu.
func (l *book) hold(recs []*Record) (back func()) {
	var ids []int64
	for _, r := range recs {
		if r.Reserve != nil {
			l.held[r.Seq] = true
			ids = append(ids, r.Seq)
		}
	}
	return func() {
		for _, id := range ids {
			delete(l.held, id)
		}
	}
}

func (l *book) letGo(ids ...int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		delete(l.held, id)
	}
}

// Options are what an opening may choose.
type Options struct {
	Cache Cache
	Now   func() time.Time // nil: time.Now
	Mark  string           // a new file is held against the mark beside this path too: of where the ledger may have been before; "": against its own alone

	Data []DataMark // of what is served

	Broken func(*BrokenRelease) // hears once of each stored release that was found broken when it was asked for; nil: nobody

	every int64     // records between two checkpoints; 0: checkpointEvery
	disk  spoolDisk // nil: osDisk

	TextKeys []*Key // encrypt statements' texts: the first one; each may decrypt. None: no text is kept
}
