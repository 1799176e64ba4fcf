package ledger

import (
	"iter"
	"slices"
	"time"
)

// storedReleases are those that may answer, by their keys. piles and related, by which they are found, follow from stored.
type storedReleases struct {
	stored    map[Hash][]storedRef // in the order of their records
	piles     map[Hash]pile        // of the keys with more than few of them
	held      holdings             // what they take
	related   map[Hash][]Hash      // the keys of a family's stored releases, each once
	nextSpool time.Time            // when the first of those with a spool expires; zero: there is none
}

func newStoredReleases() storedReleases {
	return storedReleases{stored: map[Hash][]storedRef{}, piles: map[Hash]pile{}, related: map[Hash][]Hash{}}
}

// store keeps a release that may answer.
func (s *storedReleases) store(key Hash, ref storedRef) {
	known := s.inFamily(key, ref.family)
	s.stored[key] = append(s.stored[key], ref)
	s.piled(key, true)
	s.expires(ref)
	s.held.add(ref.holder(), ref.ending())
	if ref.family != (Hash{}) && !known { // a family may have many keys: it is not searched
		s.related[ref.family] = append(s.related[ref.family], key)
	}
}

// candidates are the releases of a key among which is the one that answers, if any does.
func (s *storedReleases) candidates(key Hash) iter.Seq[*storedRef] {
	return func(yield func(*storedRef) bool) {
		shelves := [][]storedRef{s.stored[key]}
		if p, ok := s.piles[key]; ok {
			shelves = shelves[:0]
			for _, list := range p {
				shelves = append(shelves, list)
			}
		}
		for _, list := range shelves {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// piled keeps a key's pile after its stored releases have changed: added says by one more at their end.
func (s *storedReleases) piled(key Hash, added bool) {
	refs := s.stored[key]
	switch p, ok := s.piles[key]; {
	case len(refs) <= few:
		delete(s.piles, key)
	case ok && added:
		p.put(&refs[len(refs)-1])
	default:
		s.piles[key] = pileOf(refs)
	}
}

func (s *storedReleases) inFamily(key, family Hash) bool {
	for ref := range s.candidates(key) { // each family has a shelf
		if ref.family == family {
			return true
		}
	}
	return false
}

// leaves takes keys out of a family of which nothing is stored under them any more.
func (s *storedReleases) leaves(family Hash) {
	if s.related[family] = slices.DeleteFunc(s.related[family], func(key Hash) bool { return !s.inFamily(key, family) }); len(s.related[family]) == 0 {
		delete(s.related, family)
	}
}

// takeBack forgets the release that was stored last.
func (s *storedReleases) takeBack(key Hash, seq int64, who holder, family Hash) {
	refs := slices.DeleteFunc(s.stored[key], func(ref storedRef) bool { return ref.seq == seq })
	if s.stored[key] = refs; len(refs) == 0 {
		delete(s.stored, key)
	}
	s.held.take(who, seq)
	s.piled(key, false)
	s.leaves(family)
}

// dropExpired forgets stored releases that can never answer again, and returns their records' numbers.
func (s *storedReleases) dropExpired(now time.Time) []int64 {
	var gone []int64
	families := map[Hash]bool{}
	s.nextSpool = time.Time{}
	for key, refs := range s.stored {
		kept, n := refs[:0], len(refs)
		for _, ref := range refs {
			if ref.expires.After(now) {
				kept = append(kept, ref)
				s.expires(ref)
			} else {
				gone = append(gone, ref.seq)
				families[ref.family] = true
			}
		}
		if len(kept) == 0 {
			delete(s.stored, key)
		} else {
			s.stored[key] = kept
		}
		if len(kept) < n {
			s.piled(key, false)
		}
	}
	for f := range families {
		s.leaves(f)
	}
	return gone
}

// expires notes when a stored release's spool does.
func (s *storedReleases) expires(ref storedRef) {
	if ref.spool != nil && (s.nextSpool.IsZero() || ref.expires.Before(s.nextSpool)) {
		s.nextSpool = ref.expires
	}
}
