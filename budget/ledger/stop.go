package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// MaxFailures is how many resource failures an analyst may have in a window before the owner must look (design section 1).
const MaxFailures = 5

// The classes of failures that a ledger knows; others are words for the owner.
const (
	FailResource = "resource" // counts towards MaxFailures
	FailStage    = "stage"    // another stage of a statement whose failure was counted
)

// countFailure counts a resource failure in the window of its record. Those of records before version 5 stopped nobody for longer than a process ran.
//
// Proof: claim: of one window of a data set an analyst learns the ends of at most MaxFailures statements that failed for want of a resource, and of those that were reserved before the last of them was written, between two
// pardons. Each such end is a record of FailResource with the analyst's name, in the ledger's one order of writes, whichever process wrote it; n is how many of them the window has since the pardon, and from the last of them on
// no reservation of the analyst is admitted (checkStopped, in the transaction that would write it). A later window does not lift that: it begins another n, for those alone who are not stopped.
func (s *state) countFailure(r *Record, c *openCharge) {
	if r.Version < 5 || r.Fail.Class != FailResource {
		return
	}
	f, start := c.of.failed[c.Analyst], windowAt(c.of.head.Window, r.Time).Start
	if !f.start.Equal(start) {
		f = failed{start: start}
	}
	f.n++
	c.of.failed = maps.Clone(c.of.failed)
	put(&c.of.failed, c.Analyst, f)
	if _, stopped := s.stopped[c.Analyst]; !stopped && f.n >= MaxFailures {
		s.stopped = maps.Clone(s.stopped)
		put(&s.stopped, c.Analyst, StoppedAnalyst{c.Analyst, c.of.head.Dataset, r.Time})
	}
}

// pardon forgets failures.
func (s *state) pardon(analyst string) {
	s.stopped = without(s.stopped, analyst)
	for _, d := range s.datasets {
		d.failed = without(d.failed, analyst)
	}
}

// without is a map without an analyst, or without anybody (""); the map stays what it was, for undoStops.
func without[V any](m map[string]V, analyst string) map[string]V {
	if analyst == "" {
		return nil
	}
	m = maps.Clone(m)
	delete(m, analyst)
	return m
}

// canPardon says whether a pardon would forget something.
func (s *state) canPardon(analyst string, at time.Time) bool {
	if _, stopped := s.stopped[analyst]; stopped || analyst == "" && len(s.stopped) > 0 {
		return true
	}
	for _, d := range s.datasets {
		start := windowAt(d.head.Window, at).Start
		for who, f := range d.failed {
			if (analyst == "" || who == analyst) && f.start.Equal(start) {
				return true
			}
		}
	}
	return false
}

// undoStops gives what puts failures and stops back: the maps are never changed, but replaced.
func (s *state) undoStops() func() {
	stopped, counts := s.stopped, make([]map[string]failed, len(s.datasets))
	for i, d := range s.datasets {
		counts[i] = d.failed
	}
	return func() {
		s.stopped = stopped
		for i, d := range s.datasets {
			d.failed = counts[i]
		}
	}
}

// checkStopped wraps ErrStopped if the analyst is stopped.
func (s *state) checkStopped(analyst string) error {
	if _, stopped := s.stopped[analyst]; stopped {
		return fmt.Errorf("%w: analyst %q", ErrStopped, analyst)
	}
	return nil
}

// stops are those who are stopped, by name.
func (s *state) stops() []StoppedAnalyst {
	return slices.SortedFunc(maps.Values(s.stopped), func(a, b StoppedAnalyst) int { return strings.Compare(a.Analyst, b.Analyst) })
}

// checkFrozen wraps ErrFrozen if the analyst, or everybody, is frozen.
func (s *state) checkFrozen(analyst string) error {
	if _, all := s.frozen[""]; all {
		return fmt.Errorf("%w: everybody", ErrFrozen)
	}
	if _, one := s.frozen[analyst]; one {
		return fmt.Errorf("%w: analyst %q", ErrFrozen, analyst)
	}
	return nil
}
