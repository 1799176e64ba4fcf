package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
)

// book is a ledger over a store: what is admitted, and in which order it is written. One batch of writes runs at a time (queue.go).
type book struct {
	store  store
	spools spools
	now    func() time.Time
	owner  string
	place  string     // for people, as Place.String
	data   []DataMark // of what is served
	every  int64      // records between checkpoints
	broke  func(*BrokenRelease)

	queue queue
	io    sync.Mutex // held while the store is used; taken before mu

	own ownCharges

	mu       sync.Mutex // guards all below
	cache    Cache
	texts    []*Key // Options.TextKeys
	state    *state // of what is written and of the batch that is being written
	serving  *dataset
	epoch    string         // of the policy that is served; "" for the owner
	served   Head           // what that policy promises
	lost     map[int64]bool // broken releases, by their records' numbers
	raising  *Head          // what this process is just making of it
	broken   error          // why nothing is written any more
	closed   bool
	moving   bool           // it may have departed
	unmarked bool           // when it was read, there was no mark
	began    bool           // when it was read, there was no record
	held     map[int64]bool // outstanding reservations whose callers have their ids
	sweep    int            // size of state.stored at which expired releases are dropped next
	unswept  bool           // spools have expired
}

// store keeps records in one order, durably, and releases beside them. It is used by one goroutine at a time.
type store interface {
	// begin opens a transaction and gives the records that others wrote since the last one known. With lock nobody else writes before it
	// ends. An error has written nothing.
	begin(known waterline, lock bool) ([]row, error)
	// write adds to the transaction and makes it durable. After an error that is errUncertain it may have happened all the same, after any
	// other it has not. The transaction is over either way.
	write(change) error
	// end gives up a transaction that wrote nothing.
	end()
	// payload reads a stored release within a transaction; nil if there is none.
	payload(seq int64) ([]byte, error)
	// chain reads all records after one; sums the last checkpoint's record and its sums; segment what lies beside a checkpoint; releases the numbers, sizes and hashes
	// of all stored releases, of those at least that came with the records up to head.
	chain(after int64) iter.Seq2[row, error]
	// span reads those after one, up to another.
	span(after, to int64) iter.Seq2[row, error]
	sums() (at row, text []byte, ok bool, err error)
	segment(seq int64) ([]byte, error)
	releases() (out map[int64]fingerprint, head int64, err error)
	// sizes are those of all stored releases, without reading them.
	sizes() (map[int64]int64, error)
	// sound asks the store itself whether it is damaged.
	sound() error
	// shared says that other processes write too: then errUncertain is resolved by reading again, and what is known may be old.
	shared() bool
	close() error
}

// row is a record as it is stored.
type row struct {
	seq  int64
	body []byte
	hash Hash
}

// change is what one transaction adds and drops.
type change struct {
	rows     []row
	releases []storedPayload
	gone     []int64
	sums     *sumsChange // of a checkpoint among the rows
}

// sumsChange is what lies beside a checkpoint's record, in place of the last one's sums; gone are segments that nobody needs any more.
type sumsChange struct {
	seq     int64
	text    []byte
	segment []byte // nil: none
	gone    []int64
}

type storedPayload struct {
	seq     int64
	payload []byte
}

// fingerprint is what a stored payload is.
type fingerprint struct {
	bytes int
	hash  Hash
}

// errUncertain is a transaction of which nobody knows whether it is durable.
var errUncertain = errors.New("ledger: it is not known whether the last write is durable")

// firstSweep is the number of stored releases from which expired ones are looked for while running.
const firstSweep = 1024

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
	return &book{cache: opt.Cache, texts: opt.TextKeys, data: opt.Data, now: opt.Now, owner: hex.EncodeToString(id[:]), state: newState(), held: map[int64]bool{}, sweep: firstSweep, every: opt.every,
		lost: map[int64]bool{}, broke: opt.Broken}, nil
}

// own makes a head that the caller cannot change any more.
func (h Head) own() (Head, error) {
	if err := h.validate(); err != nil {
		return h, fmt.Errorf("ledger: %w", err)
	}
	filter := *h.Filter
	h.Filter = &filter
	if h.Lifetime != nil {
		lifetime := *h.Lifetime
		h.Lifetime = &lifetime
	}
	return h, nil
}

// load reads the records from the last checkpoint on, checks the chain, and that it is not older than its mark.
func (l *book) load(w waterline, place string) error {
	st, err := l.start()
	if err != nil {
		return err
	}
	if w.seq > 0 && w.seq <= st.seq { // the mark is behind the checkpoint: what it names is looked at by itself
		for one, err := range l.store.chain(w.seq - 1) {
			if err != nil {
				return err
			}
			if err := w.holds(place, one.seq, one.hash); err != nil {
				return err
			}
			break
		}
	}
	for _, err := range readChain(l.store.chain(st.seq), st) {
		if err != nil {
			return err
		}
		if err := w.holds(place, st.seq, st.last); err != nil {
			return err
		}
	}
	if len(st.datasets) == 0 {
		return &CorruptError{Seq: 1, Reason: "it is missing"}
	}
	l.state = st
	if err := l.measure(); err != nil {
		return err
	}
	if st.moved != nil { // its mark may be where it goes on
		if l.moving {
			return nil
		}
		return st.moved.err()
	}
	return w.passed(place, st.seq)
}

// start is the state at the last checkpoint; the empty one where there is none.
func (l *book) start() (*state, error) {
	one, text, ok, err := l.store.sums()
	if err != nil || !ok {
		return newState(), broken(one.seq, err)
	}
	var unread error // a segment that could not be read is not one that is wrong
	st, err := checkpointed(one, text, func(seq int64) ([]byte, error) {
		text, err := l.store.segment(seq)
		unread = err
		return text, err
	})
	switch {
	case unread != nil:
		return nil, broken(one.seq, unread)
	case err != nil:
		return nil, &CorruptError{Seq: one.seq, Reason: err.Error()}
	}
	return st, nil
}

// serve takes up a data set: a new one gets its head, one that is known must have promised the same.
func (l *book) serve(head Head, o *Opening) error {
	if l.state.seq > 0 && len(l.data) > 0 {
		first, err := l.first()
		if err == nil {
			err = l.ofData(l.data, first)
		}
		if err != nil {
			return err
		}
	}
	first := func(time.Time) ([]*Record, error) {
		if known := l.state.find(head.Dataset); known != nil {
			return nil, known.head.accepts(head)
		}
		l.began = l.state.seq == 0
		return []*Record{{Head: &head}}, nil
	}
	opening := &entry{ctx: context.Background()}
	opening.decide = func(at time.Time) ([]*Record, error) {
		if !o.Shared { // whoever had it before is gone
			o.Recovered = l.state.open()
		}
		opening.gone = l.state.dropExpired(at)
		return []*Record{{Opening: o}}, nil
	}
	for _, e := range []*entry{{ctx: context.Background(), decide: first}, opening} {
		if err := l.do(e); err != nil {
			return err
		}
	}
	if err := l.SetData(l.data); err != nil { // (2) of datamark.go: after the first record, before the first charge
		return err
	}
	l.mu.Lock()
	l.serving, l.epoch, l.served = l.state.find(head.Dataset), head.Epoch, head
	l.mu.Unlock()
	return l.sweepSpools()
}

// accepts compares what the data set's head says with what the policy says.
func (h *Head) accepts(wanted Head) error {
	switch {
	case h.People != wanted.People:
		return fmt.Errorf("%w: its people are %q, not %q. A promise that was made stays: restore the policy's people", ErrMismatch, h.People, wanted.People)
	case h.Window != wanted.Window:
		return fmt.Errorf("%w: its window is %s, not %s. A promise that was made stays: restore the policy's budget.per", ErrMismatch, windowText(h.Window), windowText(wanted.Window))
	case !sameLifetime(h.Lifetime, wanted.Lifetime):
		return fmt.Errorf("%w: its lifetime is %s, not %s. A promise that was made stays: restore the policy's budget.lifetime: %s (a longer one is made with dpsql budget raise)",
			ErrMismatch, h.Lifetime, wanted.Lifetime, h.Lifetime)
	case !h.Filter.IsSamePromise(wanted.Filter):
		return fmt.Errorf("%w: it promises epsilon %g, delta %g by accountant %s; the policy says %g, %g, %s. A promise that was made stays: "+
			"restore the policy's budget (a larger one is made with dpsql budget raise)", ErrMismatch, h.Filter.Epsilon, h.Filter.Delta, h.Filter.Accountant,
			wanted.Filter.Epsilon, wanted.Filter.Delta, wanted.Filter.Accountant)
	}
	return nil
}

// time is the clock's, but never before the last record's: a clock that was turned back revives nothing.
func (l *book) time() time.Time {
	now := l.now().UTC().Round(0)
	if now.Before(l.state.clock) {
		return l.state.clock
	}
	return now
}

// ready is nil while the ledger is read and written. Under mu.
func (l *book) ready() error {
	if l.closed {
		return ErrClosed
	}
	return l.broken
}

// forServing refuses an owner what only the process that serves a data set may do.
func (l *book) forServing() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(); err != nil {
		return err
	}
	if l.serving == nil {
		return ErrOwner
	}
	return nil
}

// Lookup finds a stored release of this data set, whatever window it was made in.
func (l *book) Lookup(ctx context.Context, key Hash, analyst string) (*Stored, bool, error) {
	if err := l.forServing(); err != nil {
		return nil, false, err
	}
	for {
		out, ok, err := l.lookUp(ctx, key, analyst)
		var bad *BrokenRelease
		if !errors.As(err, &bad) {
			return out, ok, err
		}
		l.lose(bad) // another may answer
	}
}

// lookUp is the best one, or a *BrokenRelease.
func (l *book) lookUp(ctx context.Context, key Hash, analyst string) (*Stored, bool, error) {
	var found []*taken
	look := &entry{ctx: ctx, read: true, decide: func(at time.Time) ([]*Record, error) {
		if err := l.state.checkFrozen(analyst); err != nil {
			return nil, err
		}
		found = nil // a cut connection decides anew
		if best := l.best(key, analyst, at); best != nil {
			found = []*taken{l.take(key, best)}
		}
		return nil, nil
	}, load: func() error { return l.payloads(found) }}
	if !l.store.shared() { // what is not here now was not there when the caller asked
		if none, err := l.nothing(ctx, key, analyst); none || err != nil {
			return nil, false, err
		}
	}
	if err := l.do(look); err != nil || len(found) == 0 {
		return nil, false, err
	}
	out, err := found[0].open()
	if err == nil && found[0].spool != nil {
		if out.Spool, err = l.lookUpSpool(ctx, &found[0].storedRef, key, analyst); out.Spool == nil {
			out = nil
		}
	}
	return out, out != nil && err == nil, err
}

// nothing says without the store that there is no release to look for.
func (l *book) nothing(ctx context.Context, key Hash, analyst string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := errors.Join(ctx.Err(), l.ready())
	if err == nil {
		err = l.state.checkFrozen(analyst)
	}
	return err == nil && l.best(key, analyst, l.time()) == nil, err
}

// canAnswer says whether a release may answer an analyst. Under mu.
func (l *book) canAnswer(ref *storedRef, analyst string, now time.Time) bool {
	return l.isLive(ref, now) && (l.cache.Scope == ScopeDataset || l.cache.Scope == ScopeAnalyst && ref.analyst == analyst)
}

// isLive says whether a release may still answer. Under mu.
func (l *book) isLive(ref *storedRef, now time.Time) bool {
	expires := ref.made.Add(l.cache.TTL) // a shorter ttl holds for older releases too
	return now.Before(ref.expires) && now.Before(expires) && ref.of == l.serving && ref.epoch == l.epoch && !l.lost[ref.seq] &&
		(ref.sealed == "" || ref.sealed == l.cache.Key.name())
}

// Releases lists an analyst's own.
func (l *book) Releases(analyst string) ([]Stored, error) {
	return l.releases(func(payer string) bool { return payer == analyst })
}

// AllReleases lists everybody's.
func (l *book) AllReleases() ([]Stored, error) {
	return l.releases(func(string) bool { return true })
}

func (l *book) releases(isWanted func(payer string) bool) ([]Stored, error) {
	if err := l.fresh(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving == nil {
		return nil, ErrOwner
	}
	var out []Stored
	now := l.time()
	for key, refs := range l.state.stored {
		for i := range refs {
			ref := &refs[i]
			if !isWanted(ref.analyst) || !l.isLive(ref, now) {
				continue
			}
			expires := ref.expires
			if sooner := ref.made.Add(l.cache.TTL); sooner.Before(expires) {
				expires = sooner
			}
			out = append(out, Stored{Key: key, Reservation: ref.reservation, Analyst: ref.analyst, Price: ref.price, Loss: ref.loss, Made: ref.made, Expires: expires, Bytes: ref.bytes})
		}
	}
	slices.SortFunc(out, func(a, b Stored) int { return cmp.Compare(a.Reservation, b.Reservation) })
	return out, nil
}

// Close gives the store free. Outstanding reservations stay charged.
func (l *book) Close() error {
	l.io.Lock()
	defer l.io.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.store.close()
}
