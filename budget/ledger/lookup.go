package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

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

// lookUpSpool opens the spool of a stored release that was found. One that is gone has expired meanwhile, or is missing.
func (l *book) lookUpSpool(ctx context.Context, found *storedRef, key Hash, analyst string) (*Spool, error) {
	s, gone, err := l.openSpool(found, key)
	if err != nil || !gone {
		return s, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.best(key, analyst, l.time()); now == nil || now.seq != found.seq {
		return nil, ctx.Err()
	}
	return nil, &BrokenRelease{Seq: found.seq, Reason: "its spool is missing"}
}

// openSpool opens a committed release's spool and holds it against the record. gone: there is none.
func (l *book) openSpool(ref *storedRef, key Hash) (s *Spool, gone bool, err error) {
	f, err := l.spools.open(ref.reservation)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("ledger: spool: %w", err)
	}
	s = &Spool{file: f, release: key, reservation: ref.reservation, named: *ref.spool}
	if ref.sealed != "" {
		l.mu.Lock()
		s.key = l.opt.Cache.Key
		l.mu.Unlock()
	}
	switch reason, err := heldAgainst(f, *ref.spool); {
	case err != nil:
		return nil, false, errors.Join(fmt.Errorf("ledger: spool: %w", err), s.Close())
	case reason != "":
		if err := s.Close(); err != nil {
			return nil, false, fmt.Errorf("ledger: spool: %w", err)
		}
		return nil, false, &BrokenRelease{Seq: ref.seq, Reason: reason}
	}
	return s, false, nil
}

// canAnswer says whether a release may answer an analyst. Under mu.
func (l *book) canAnswer(ref *storedRef, analyst string, now time.Time) bool {
	return l.isLive(ref, now) && (l.opt.Cache.Scope == ScopeDataset || l.opt.Cache.Scope == ScopeAnalyst && ref.analyst == analyst)
}

// isLive says whether a release may still answer. Under mu.
func (l *book) isLive(ref *storedRef, now time.Time) bool {
	expires := ref.made.Add(l.opt.Cache.TTL) // a shorter ttl holds for older releases too
	return now.Before(ref.expires) && now.Before(expires) && ref.of == l.service.dataset && ref.epoch == l.service.epoch && !l.lost[ref.seq] &&
		(ref.sealed == "" || ref.sealed == l.opt.Cache.Key.name())
}

// best is the dearest release of a key that may answer, of one price the latest; nil if there is none. Under mu.
func (l *book) best(key Hash, analyst string, now time.Time) *storedRef {
	return l.bestOf(key, analyst, now, func(*storedRef) bool { return true })
}

// bestOf is the best of those that do. Under mu.
func (l *book) bestOf(key Hash, analyst string, now time.Time, does func(*storedRef) bool) (best *storedRef) {
	for ref := range l.state.releases.candidates(key) {
		if does(ref) && l.canAnswer(ref, analyst, now) && (best == nil || ref.price > best.price || ref.price == best.price && ref.seq > best.seq) {
			best = ref
		}
	}
	return best
}

// taken is a stored release on its way out: chosen under mu, loaded within the store's transaction, opened when both are free for others.
type taken struct {
	keyedRef
	with *Key   // that was in force when it was chosen
	text []byte // as it is stored
}

// take chooses one. Under mu.
func (l *book) take(key Hash, ref *storedRef) *taken {
	return &taken{keyedRef: keyedRef{key, *ref}, with: l.opt.Cache.Key}
}

// payloads reads what is stored of them. Under io.
func (l *book) payloads(list []*taken) (err error) {
	for _, t := range list {
		if t.text, err = l.store.payload(t.seq); err != nil {
			return err
		}
	}
	return nil
}

// open is the release with its payload, which must be what was committed.
func (t *taken) open() (*Stored, error) {
	payload, err := t.text, error(nil)
	if payload == nil || sha256.Sum256(payload) != t.payload {
		return nil, &BrokenRelease{Seq: t.seq, Reason: "it is not the one that was committed"}
	}
	if t.sealed != "" {
		if payload, err = t.with.open(t.key, t.reservation, payload); err != nil {
			return nil, &BrokenRelease{Seq: t.seq, Reason: "it does not open with the key that it names"}
		}
	}
	return &Stored{Key: t.key, Reservation: t.reservation, Analyst: t.analyst, Price: t.price, Loss: t.loss, Made: t.made, Expires: t.expires, Payload: payload}, nil
}
