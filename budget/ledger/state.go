package ledger

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// state is the sum of the records so far. The same code adds a record that was read and one that was just written, so what
// a restart finds is what the process held.
type state struct {
	version     int // of the last record: it never falls
	seq         int64
	last        Hash
	clock       time.Time  // of the last record: time never runs back
	datasets    []*dataset // in the order of their first openings
	current     *dataset   // of the last opening: whose charges of versions 1 and 2 are
	outstanding map[int64]*openCharge
	releases    storedReleases
	frozen      map[string]FrozenAnalyst
	stopped     map[string]StoppedAnalyst
	moved       *Departure // the last record, if it is one
	checkpoint  int64      // number of the last one's record
	segments    []segment  // of the checkpoints so far
	recent      []Hash     // keys of releases that were stored since the last one
}

func newState() *state {
	return &state{outstanding: map[int64]*openCharge{}, releases: newStoredReleases(), frozen: map[string]FrozenAnalyst{}}
}

// find is a data set by its name; nil if it was never opened.
func (s *state) find(name string) *dataset {
	i := slices.IndexFunc(s.datasets, func(d *dataset) bool { return d.head.Dataset == name })
	if i < 0 {
		return nil
	}
	return s.datasets[i]
}

// of is the data set of a charge or an epoch: what it says, or before version 3 that of the last opening; nil if there is none.
func (s *state) of(version int, name string) *dataset {
	switch {
	case version < 3 && name != "":
		return nil
	case version < 3:
		return s.current
	}
	if d := s.find(name); d != nil && d.opened {
		return d
	}
	return nil
}

// open are the outstanding reservations, in order.
func (s *state) open() []int64 { return slices.Sorted(maps.Keys(s.outstanding)) }

func (s *state) checkOutstanding(id int64) error {
	if s.outstanding[id] == nil {
		return fmt.Errorf("%w: %d", ErrNotOpen, id)
	}
	return nil
}

// segment is one of a checkpoint's record.
type segment struct {
	Seq int64 `json:"seq"`
	Segment
}

// FrozenAnalyst is a freeze that holds.
type FrozenAnalyst struct {
	Analyst string    `json:"analyst"` // "": everybody
	By      string    `json:"by"`
	Since   time.Time `json:"since"`
}

// StoppedAnalyst is one who had MaxFailures resource failures in a window of a data set, and was not pardoned since.
type StoppedAnalyst struct {
	Analyst string    `json:"analyst"`
	Dataset string    `json:"data_set"` // whose failures they were
	Since   time.Time `json:"since"`
}

// liveSegments are those that hold releases that have not expired.
func (s *state) liveSegments(at time.Time) []segment {
	return slices.DeleteFunc(slices.Clone(s.segments), func(g segment) bool { return !g.Until.After(at) })
}

// recover closes those of the reservations that are outstanding. The ids are in order.
func (s *state) recover(ids []int64) []*Record {
	open := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return s.outstanding[id] == nil })
	if len(open) == 0 {
		return nil
	}
	return []*Record{{Recovery: &Recovery{open}}}
}

// put adds to a map that is made where it is needed: one that has nothing is left out of the sums, as it was before there were any.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
