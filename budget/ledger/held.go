package ledger

import "time"

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

func (h *holdings) add(who holder, e ending) {
	e.bytes += besideRelease
	if h.of == nil {
		h.of = map[holder]*holding{}
	}
	own := h.of[who]
	if own == nil {
		own = &holding{}
		h.of[who] = own
	}
	own.bytes += e.bytes
	own.ends = append(own.ends, e)
}

// take takes back what was added last.
func (h *holdings) take(who holder, seq int64) {
	own := h.of[who]
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
