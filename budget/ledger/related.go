package ledger

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// Related finds stored releases of families, payloads and all.
func (l *book) Related(ctx context.Context, families []Hash, analyst string, most int) ([]Stored, error) {
	return l.several(ctx, analyst, most, func(at time.Time) iter.Seq[keyedRef] { return l.eachOfFamily(families, analyst, at) })
}

// All finds the stored releases of one key, payloads and all.
func (l *book) All(ctx context.Context, key Hash, analyst string) ([]Stored, error) {
	return l.several(ctx, analyst, few, func(at time.Time) iter.Seq[keyedRef] {
		return func(yield func(keyedRef) bool) {
			for ref := range l.state.releases.candidates(key) {
				if ref.spool == nil && l.canAnswer(ref, analyst, at) && !yield(keyedRef{key, *ref}) {
					return
				}
			}
		}
	})
}

// several loads at most so many of the releases that each gives under mu: the dearest first, of one price the latest.
func (l *book) several(ctx context.Context, analyst string, most int, each func(at time.Time) iter.Seq[keyedRef]) (out []Stored, err error) {
	if err := l.forServing(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	err = errors.Join(ctx.Err(), l.ready())
	none := true
	for range each(l.time()) {
		none = false
		break
	}
	l.mu.Unlock()
	if none || err != nil {
		return nil, err
	}
	var found []*taken
	err = l.do(&entry{ctx: ctx, read: true, decide: func(at time.Time) ([]*Record, error) {
		if err := l.state.checkFrozen(analyst); err != nil {
			return nil, err
		}
		found = nil // a cut connection decides anew
		related := slices.SortedFunc(each(at), func(a, b keyedRef) int { return cmp.Or(cmp.Compare(b.price, a.price), cmp.Compare(b.seq, a.seq)) })
		for i := range related[:min(most, len(related))] {
			found = append(found, l.take(related[i].key, &related[i].storedRef))
		}
		return nil, nil
	}, load: func() error { return l.payloads(found) }})
	if err != nil {
		return nil, err
	}
	for _, t := range found {
		one, err := t.open()
		var bad *BrokenRelease
		switch {
		case errors.As(err, &bad):
			l.lose(bad)
		case err != nil:
			return nil, err
		default:
			out = append(out, *one)
		}
	}
	return out, nil
}

// eachOfFamily gives the releases of families that may answer, of each key the best, but for those whose groups lie in spools. Under mu.
func (l *book) eachOfFamily(families []Hash, analyst string, now time.Time) iter.Seq[keyedRef] {
	return func(yield func(keyedRef) bool) {
		for _, f := range families {
			for _, key := range l.state.releases.related[f] {
				ref := l.bestOf(key, analyst, now, func(ref *storedRef) bool { return ref.family == f && ref.spool == nil })
				if ref != nil && !yield(keyedRef{key, *ref}) {
					return
				}
			}
		}
	}
}
