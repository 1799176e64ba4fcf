package ledger

import (
	"cmp"
	"slices"
)

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
		if l.opening.moving {
			return nil
		}
		return st.moved.err() // (1) of move.go: no process serves a ledger that ends with a departure
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

// measure counts what is stored, once the records are read: a checkpoint does not say how large releases are.
func (l *book) measure() error {
	sizes, err := l.store.sizes()
	if err != nil {
		return err
	}
	var all []*storedRef
	for _, refs := range l.state.releases.stored {
		for i := range refs {
			all = append(all, &refs[i])
		}
	}
	slices.SortFunc(all, func(a, b *storedRef) int { return cmp.Compare(a.seq, b.seq) })
	l.state.releases.held = holdings{}
	for _, ref := range all {
		if ref.bytes = sizes[ref.seq]; ref.spool != nil {
			ref.bytes += ref.spool.Bytes
		}
		l.state.releases.held.add(ref.holder(), ref.ending())
	}
	return nil
}
