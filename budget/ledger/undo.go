package ledger

import (
	"maps"
)

// undo gives what takes a record back that is about to be added, if nothing was added after it that is not taken back before: for a
// batch that could not be written.
func (s *state) undo(r *Record) func() {
	version, seq, last, clock, current := s.version, s.seq, s.last, s.clock, s.current
	checkpoint, segments, recent, moved := s.checkpoint, s.segments, s.recent, s.moved
	rest := s.undoKind(r)
	return func() {
		s.version, s.seq, s.last, s.clock, s.current = version, seq, last, clock, current
		s.checkpoint, s.segments, s.recent, s.moved = checkpoint, segments, recent, moved
		rest()
	}
}

func (s *state) undoKind(r *Record) func() {
	switch {
	case r.Head != nil:
		return func() { s.datasets = s.datasets[:len(s.datasets)-1] }
	case r.Opening != nil:
		d := s.datasets[0]
		if r.Version > 1 {
			d = s.find(r.Opening.Dataset)
		}
		was, open := *d, maps.Clone(s.outstanding)
		return func() { *d, s.outstanding = was, open }
	case r.Reserve != nil:
		return s.undoCharge(r)
	case r.Commit != nil:
		c := s.outstanding[r.Commit.Reservation]
		return func() {
			s.outstanding[r.Commit.Reservation] = c
			s.releases.takeBack(r.Commit.Key, r.Seq, holder{c.of.head.Dataset, c.Analyst}, r.Commit.Family)
		}
	case r.Fail != nil:
		c, stops := s.outstanding[r.Fail.Reservation], s.undoStops()
		return func() {
			s.outstanding[r.Fail.Reservation] = c
			c.failed(-1)
			stops()
		}
	case r.Epoch != nil:
		d := s.of(r.Version, r.Epoch.Dataset)
		was := d.epoch
		return func() { d.epoch = was }
	case r.Recovery != nil:
		was := map[int64]*openCharge{}
		for _, id := range r.Recovery.Reservations {
			was[id] = s.outstanding[id]
		}
		return func() { maps.Copy(s.outstanding, was) }
	}
	if r.Grant != nil {
		d := s.find(r.Grant.Dataset)
		was := d.grants
		return func() { d.grants = was }
	}
	if r.Fit != nil {
		d := s.find(r.Fit.Dataset)
		was := *d
		return func() { *d = was }
	}
	if r.Promise != nil {
		was := make([]dataset, len(s.datasets))
		for i, d := range s.datasets {
			was[i] = *d
		}
		return func() {
			for i, d := range s.datasets {
				*d = was[i]
			}
		}
	}
	if r.Pardon != nil {
		return s.undoStops()
	}
	if r.Checkpoint != nil || r.Departure != nil || r.Arrival != nil {
		return func() {}
	}
	was, frozen := s.frozen[r.Freeze.Analyst]
	return func() {
		delete(s.frozen, r.Freeze.Analyst)
		if frozen {
			s.frozen[r.Freeze.Analyst] = was
		}
	}
}

func (s *state) undoCharge(r *Record) func() {
	d := s.of(r.Version, r.Reserve.Dataset)
	was := *d // with the map that a new window replaces
	before := map[payee]*account{}
	for who := range r.Reserve.payees() {
		if a := d.accounts[who]; a != nil {
			copied := *a
			before[who] = &copied
		}
	}
	return func() {
		*d = was
		delete(s.outstanding, r.Seq)
		for who := range r.Reserve.payees() {
			switch a := before[who]; {
			case a != nil:
				*d.accounts[who] = *a
			case d.accounts != nil:
				delete(d.accounts, who)
			}
		}
	}
}
