package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"iter"
	"slices"
	"time"
)

// Related finds stored releases of families, payloads and all.
func (l *book) Related(ctx context.Context, families []Hash, analyst string, most int) (out []Stored, broken []*CorruptError, err error) {
	if err := l.forServing(); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	err = errors.Join(ctx.Err(), l.ready())
	none := l.noKin(families, analyst, l.time())
	l.mu.Unlock()
	if none || err != nil {
		return nil, nil, err
	}
	err = l.do(&entry{ctx: ctx, read: true, decide: func(at time.Time) ([]*Record, error) {
		if err := l.state.checkFrozen(analyst); err != nil {
			return nil, err
		}
		out, broken = nil, nil // a cut connection decides anew
		kin := l.kin(families, analyst, at)
		for i := range kin[:min(most, len(kin))] {
			one, err := l.read(kin[i].key, &kin[i].storedRef)
			var bad *CorruptError
			switch {
			case errors.As(err, &bad):
				broken = append(broken, bad)
			case err != nil:
				return nil, err
			default:
				out = append(out, *one)
			}
		}
		return nil, nil
	}})
	return out, broken, err
}

// ofKin gives the releases of families that may answer, of each key the best, but for those whose groups lie in spools. Under mu.
func (l *book) ofKin(families []Hash, analyst string, now time.Time) iter.Seq[keyedRef] {
	return func(yield func(keyedRef) bool) {
		for _, f := range families {
			for _, key := range l.state.related[f] {
				ref := l.bestOf(key, analyst, now, func(ref *storedRef) bool { return ref.family == f && ref.spool == nil })
				if ref != nil && !yield(keyedRef{key, *ref}) {
					return
				}
			}
		}
	}
}

// noKin: there are none. Under mu.
func (l *book) noKin(families []Hash, analyst string, now time.Time) bool {
	for range l.ofKin(families, analyst, now) {
		return false
	}
	return true
}

// kin are all of them, the dearest first, of one price the latest. Under mu.
func (l *book) kin(families []Hash, analyst string, now time.Time) []keyedRef {
	out := slices.Collect(l.ofKin(families, analyst, now))
	slices.SortFunc(out, func(a, b keyedRef) int { return cmp.Or(cmp.Compare(b.price, a.price), cmp.Compare(b.seq, a.seq)) })
	return out
}

// read is a stored release with its payload, which must be what was committed.
func (l *book) read(key Hash, ref *storedRef) (*Stored, error) {
	payload, err := l.store.payload(ref.seq)
	if err != nil {
		return nil, err
	}
	if payload == nil || sha256.Sum256(payload) != ref.payload {
		return nil, &CorruptError{Seq: ref.seq, Reason: "its release is not the one that was committed"}
	}
	if ref.sealed != "" {
		if payload, err = l.cache.Key.open(key, ref.reservation, payload); err != nil {
			return nil, &CorruptError{Seq: ref.seq, Reason: "its release does not open with the key that it names"}
		}
	}
	return &Stored{Key: key, Reservation: ref.reservation, Analyst: ref.analyst, Price: ref.price, Loss: ref.loss, Made: ref.made, Expires: ref.expires, Payload: payload}, nil
}
