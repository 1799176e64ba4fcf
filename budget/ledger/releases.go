package ledger

import (
	"cmp"
	"slices"
)

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
	if l.service.dataset == nil {
		return nil, ErrOwner
	}
	var out []Stored
	now := l.time()
	for key, refs := range l.state.releases.stored {
		for i := range refs {
			ref := &refs[i]
			if !isWanted(ref.analyst) || !l.isLive(ref, now) {
				continue
			}
			expires := ref.expires
			if sooner := ref.made.Add(l.opt.Cache.TTL); sooner.Before(expires) {
				expires = sooner
			}
			out = append(out, Stored{Key: key, Reservation: ref.reservation, Analyst: ref.analyst, Price: ref.price, Loss: ref.loss, Made: ref.made, Expires: expires, Bytes: ref.bytes})
		}
	}
	slices.SortFunc(out, func(a, b Stored) int { return cmp.Compare(a.Reservation, b.Reservation) })
	return out, nil
}

// SetCache changes how long and to whom stored releases answer; it holds for those that are stored too, but none answers
// for longer than it was made for.
func (l *book) SetCache(c Cache) error {
	if err := c.validate(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opt.Cache = c
	return nil
}

// StoredBytes is what an analyst's stored releases take on disk, large ones in spools too, about. Those that have expired do not count.
func (l *book) StoredBytes(analyst string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.service.dataset == nil {
		return 0
	}
	own := l.state.releases.held.of[holder{l.service.dataset.head.Dataset, analyst}]
	if own == nil {
		return 0
	}
	l.state.releases.held.expire(own, l.time())
	return own.bytes
}

// Room is an error where a release of so many bytes would take what stays free of the ledger's disk, so that charges and small releases can still be written. What lies in a database is that database's.
func (l *book) Room(bytes int64) error { return l.spools.room(bytes) }

// Scratch is a folder beside the ledger for files that have no name.
func (l *book) Scratch() string { return l.spools.scratch() }
