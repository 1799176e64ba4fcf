package ledger

import (
	"cmp"
	"slices"
	"time"
)

// What a stored release takes beside its bytes: its record, and the memory that finds it. Expired ones stay on disk until they take mostExpired together, or are many.
const (
	besideRelease = 1 << 10
	mostExpired   = 64 << 20
)

// holder is whose stored releases count together.
type holder struct{ dataset, analyst string }

// holding is what an analyst's stored releases take on disk until they expire.
type holding struct {
	bytes int64
	ends  []ending // in the order of their records: the ttl is mostly one
}

// ending is when one of them does.
type ending struct {
	at         time.Time
	seq, bytes int64
}

// holdings are those of all analysts.
type holdings struct {
	of   map[holder]*holding
	dead int64 // bytes that have expired since they were swept
}

func (h *holdings) add(ref *storedRef) {
	who := holder{ref.of.head.Dataset, ref.analyst}
	if h.of == nil {
		h.of = map[holder]*holding{}
	}
	own := h.of[who]
	if own == nil {
		own = &holding{}
		h.of[who] = own
	}
	own.bytes += ref.bytes + besideRelease
	own.ends = append(own.ends, ending{ref.expires, ref.seq, ref.bytes + besideRelease})
}

// take takes back what was added last.
func (h *holdings) take(ref *openCharge, seq int64) {
	own := h.of[holder{ref.of.head.Dataset, ref.Analyst}]
	if own == nil || len(own.ends) == 0 || own.ends[len(own.ends)-1].seq != seq {
		return // it never was stored
	}
	own.bytes -= own.ends[len(own.ends)-1].bytes
	own.ends = own.ends[:len(own.ends)-1]
}

// expire lets one analyst's go that have expired. Those behind one with a longer ttl, of before a reload, count until it has expired too.
func (h *holdings) expire(own *holding, now time.Time) {
	n := 0
	for n < len(own.ends) && !own.ends[n].at.After(now) {
		own.bytes -= own.ends[n].bytes
		h.dead += own.ends[n].bytes
		n++
	}
	own.ends = own.ends[n:]
}

// expired is how many bytes have expired since they were swept.
func (h *holdings) expired(now time.Time) int64 {
	for who, own := range h.of {
		if h.expire(own, now); len(own.ends) == 0 {
			delete(h.of, who)
		}
	}
	return h.dead
}

// StoredBytes is what an analyst's stored releases take on disk, large ones in spools too, about. Those that have expired do not count.
func (l *book) StoredBytes(analyst string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving == nil {
		return 0
	}
	own := l.state.held.of[holder{l.serving.head.Dataset, analyst}]
	if own == nil {
		return 0
	}
	l.state.held.expire(own, l.time())
	return own.bytes
}

// Room is an error where a release of so many bytes would take what stays free of the ledger's disk, so that charges and small releases can still be written. What lies in a database is that database's.
func (l *book) Room(bytes int64) error { return l.spools.room(bytes) }

// measure counts what is stored, once the records are read: a checkpoint does not say how large releases are.
func (l *book) measure() error {
	sizes, err := l.store.sizes()
	if err != nil {
		return err
	}
	var all []*storedRef
	for _, refs := range l.state.stored {
		for i := range refs {
			all = append(all, &refs[i])
		}
	}
	slices.SortFunc(all, func(a, b *storedRef) int { return cmp.Compare(a.seq, b.seq) })
	l.state.held = holdings{}
	for _, ref := range all {
		if ref.bytes = sizes[ref.seq]; ref.spool != nil {
			ref.bytes += ref.spool.Bytes
		}
		l.state.held.add(ref)
	}
	return nil
}
