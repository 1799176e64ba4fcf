package ledger

import "slices"

// few is how many stored releases of one key are looked at one by one; of more there is a pile. It is also how many a shelf has at most.
const few = 16

// A pile is what is looked at of many releases of one key: who asks the same anew and anew (dpsql.fresh) makes nobody's look-up longer. The others stay among the stored ones until they
// expire, with their records and payloads.
type pile map[shelf][]storedRef

// shelf is a pile's part: its releases answer the same questions of the same analysts, but for their prices and how long they do.
type shelf struct {
	of                     *dataset
	epoch, sealed, analyst string
	family                 Hash
	spooled                bool
}

func (r *storedRef) shelf() shelf {
	return shelf{r.of, r.epoch, r.sealed, r.analyst, r.family, r.spool != nil}
}

// put lays the newest release on its shelf, where each is dearer than those after it.
//
// An older one that is no dearer answers nothing that this one does not: of two the dearer answers, of one price the later, and it lives as long at least, unless the time to live was made
// shorter in between. Of many that were each made at less than the one before, the dearest stay, and the newest, which answers longest. What leaves a shelf early is asked and paid for once more: never less is charged.
func (p pile) put(ref *storedRef) {
	at := ref.shelf()
	list := slices.DeleteFunc(p[at], func(old storedRef) bool { return old.price <= ref.price || !ref.made.Before(old.expires) })
	p[at] = append(list[:min(len(list), few-1)], *ref)
}

func pileOf(refs []storedRef) pile {
	p := pile{}
	for i := range refs {
		p.put(&refs[i])
	}
	return p
}
