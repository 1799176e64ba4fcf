package ledger

import (
	"errors"
	"fmt"
)

// check says whether a record may follow the ones so far.
func (s *state) check(r *Record) error {
	switch {
	case r.Version < max(1, s.version) || r.Version > version:
		return fmt.Errorf("version %d follows version %d and this program knows up to %d", r.Version, s.version, version)
	case r.Seq != s.seq+1:
		return fmt.Errorf("number %d does not follow %d", r.Seq, s.seq)
	case r.Previous != s.last:
		return fmt.Errorf("the chain is broken: its hash of the record before is another")
	case r.Time.Before(s.clock):
		return fmt.Errorf("its time runs back")
	case r.Seq == 1 && r.Head == nil:
		return fmt.Errorf("the first record is no head")
	case r.kinds() != 1:
		return fmt.Errorf("it is of %d kinds", r.kinds())
	}
	if err := s.checkMove(r); err != nil {
		return err
	}
	switch {
	case r.Head != nil:
		return s.checkHead(r.Head)
	case r.Opening != nil:
		return s.checkOpening(r)
	case r.Reserve != nil:
		return s.checkCharge(r.Version, r.Reserve)
	case r.Commit != nil:
		return errors.Join(s.checkOutstanding(r.Commit.Reservation), r.Commit.Spool.validate())
	case r.Fail != nil:
		return s.checkOutstanding(r.Fail.Reservation)
	case r.Epoch != nil:
		if s.of(r.Version, r.Epoch.Dataset) == nil || r.Epoch.Epoch == "" {
			return fmt.Errorf("an epoch without a data set or a name")
		}
	case r.Recovery != nil:
		return s.checkRecovered(r.Recovery.Reservations)
	case r.Grant != nil:
		return s.checkGrant(r.Grant)
	case r.Promise != nil:
		return s.checkPromise(r)
	case r.Fit != nil:
		return s.checkFit(r)
	case r.Departure != nil, r.Arrival != nil:
		return nil // checkMove did
	case r.Checkpoint != nil:
		return nil // what it names is held against the records by checkpointed and Verify
	case r.Pardon != nil:
		if r.Pardon.By == "" {
			return fmt.Errorf("a pardon does not say by whom")
		}
	case r.Freeze.By == "":
		return fmt.Errorf("a freeze does not say by whom")
	}
	return nil
}

// checkMove says whether a record may follow as far as moves go.
func (s *state) checkMove(r *Record) error {
	switch {
	case s.moved != nil && (r.Arrival == nil || r.Arrival.ID != s.moved.ID):
		return s.moved.err() // (1) of move.go: nothing follows a departure but the arrival of its own move
	case s.moved == nil && r.Arrival != nil:
		return errors.New("an arrival without a departure")
	case r.Departure != nil && (r.Departure.ID == "" || r.Departure.To == "" || r.Departure.By == ""), r.Arrival != nil && (r.Arrival.From == "" || r.Arrival.By == ""):
		return errors.New("a move says from where, where to and by whom")
	}
	return nil
}

// checkHead compares a new data set's head with those of the data sets before it.
func (s *state) checkHead(h *Head) error {
	if err := h.validate(); err != nil || len(s.datasets) == 0 {
		return err
	}
	first := s.datasets[0].head
	switch {
	case s.find(h.Dataset) != nil:
		return fmt.Errorf("data set %q has a head already", h.Dataset)
	case first.People != h.People:
		return fmt.Errorf("%w: its people are %q (data set %q), not %q (data set %q). Other people need a ledger of their own: set ledger in the policy",
			ErrMismatch, first.People, first.Dataset, h.People, h.Dataset)
	case first.Lifetime == nil || h.Lifetime == nil:
		return fmt.Errorf("%w: it is data set %q's with lifetime %s; data set %q over the same people has lifetime %s. Data sets over the same people "+
			"need one lifetime from the first of them on", ErrMismatch, first.Dataset, first.Lifetime, h.Dataset, h.Lifetime)
	case !sameLifetime(first.Lifetime, h.Lifetime):
		return fmt.Errorf("%w: it is data set %q's with lifetime %s; data set %q over the same people has lifetime %s. They share one: "+
			"set budget.lifetime to %s", ErrMismatch, first.Dataset, first.Lifetime, h.Dataset, h.Lifetime, first.Lifetime)
	}
	return nil
}

func (s *state) checkOpening(r *Record) error {
	o := r.Opening
	most := len(s.outstanding)
	if o.Shared {
		most = 0
	}
	if o.Epoch == "" || len(o.Recovered) != most {
		return fmt.Errorf("an opening recovers %d of %d reservations", len(o.Recovered), most)
	}
	if r.Version > 1 && s.find(o.Dataset) == nil {
		return fmt.Errorf("an opening of data set %q, which has no head", o.Dataset)
	}
	if most == 0 {
		return nil
	}
	return s.checkRecovered(o.Recovered)
}

// checkRecovered refuses reservations that are not outstanding, or that are named twice.
func (s *state) checkRecovered(ids []int64) error {
	if len(ids) == 0 {
		return fmt.Errorf("it recovers nothing")
	}
	for i, id := range ids {
		if s.outstanding[id] == nil || i > 0 && id <= ids[i-1] {
			return fmt.Errorf("reservation %d is not outstanding", id)
		}
	}
	return nil
}

func (s *state) checkCharge(version int, c *Charge) error {
	d := s.of(version, c.Dataset)
	if d == nil {
		return fmt.Errorf("a charge before an opening")
	}
	return c.validate(version, d.head.Filter)
}

// add counts a checked record; hash is its own.
func (s *state) add(r *Record, hash Hash) {
	s.version, s.seq, s.last, s.clock = r.Version, r.Seq, hash, r.Time
	switch {
	case r.Head != nil:
		s.datasets = append(s.datasets, &dataset{head: r.Head, epoch: r.Head.Epoch})
		s.current = nil // until its opening
	case r.Opening != nil:
		s.current = s.datasets[0]
		if r.Version > 1 {
			s.current = s.find(r.Opening.Dataset)
		}
		s.current.epoch, s.current.opened = r.Opening.Epoch, true
		for _, id := range r.Opening.Recovered {
			delete(s.outstanding, id)
		}
	case r.Reserve != nil:
		s.addCharge(r)
	case r.Commit != nil:
		s.addCommit(r)
	case r.Fail != nil:
		s.addFailure(r)
	case r.Epoch != nil:
		s.of(r.Version, r.Epoch.Dataset).epoch = r.Epoch.Epoch
	case r.Recovery != nil:
		for _, id := range r.Recovery.Reservations {
			delete(s.outstanding, id)
		}
	case r.Grant != nil:
		s.addGrant(r)
	case r.Promise != nil:
		s.addPromise(r)
	case r.Fit != nil:
		s.addFit(r.Fit)
	case r.Departure != nil:
		s.moved = r.Departure
	case r.Arrival != nil:
		s.moved = nil
	case r.Pardon != nil:
		s.pardon(r.Pardon.Analyst)
	case r.Checkpoint != nil:
		s.checkpoint, s.recent, s.segments = r.Seq, nil, s.liveSegments(r.Time)
		if r.Checkpoint.Stored != nil {
			s.segments = append(s.segments, segment{r.Seq, *r.Checkpoint.Stored})
		}
	case r.Freeze.On:
		s.frozen[r.Freeze.Analyst] = FrozenAnalyst{Analyst: r.Freeze.Analyst, By: r.Freeze.By, Since: r.Time}
	default:
		delete(s.frozen, r.Freeze.Analyst)
	}
}

// addCharge counts a reservation in the window of its record's time, which begins with its first.
//
// Proof: a window is never reopened. check refuses a record whose time is before the last one's, and windowAt's start rises
// with time; so d.start never falls, and whatever leaves it, for a later window or a clock that jumped, leaves it for good.
func (s *state) addCharge(r *Record) {
	d, epoch := s.of(r.Version, r.Reserve.Dataset), r.Reserve.Epoch
	if epoch == "" {
		epoch = d.epoch
	}
	if _, _, w := d.at(r.Time); !w.Charged {
		d.windows++
		d.began = nil
		d.start, d.all, d.accounts = w.Start, account{}, map[payee]*account{} // (3) of addFit: no sum holds losses of two orders
	}
	d.all.add(r.Reserve.Loss)
	for who, q := range r.Reserve.payees() {
		a := d.accounts[who]
		if a == nil {
			a = &account{}
			d.accounts[who] = a
		}
		a.quota = q
		a.add(r.Reserve.Loss)
	}
	charge := *r.Reserve
	charge.Sealed, charge.Text = nil, "" // the record has it
	s.outstanding[r.Seq] = &openCharge{Charge: &charge, of: d, start: d.start, epoch: epoch, owner: r.Owner}
}

func (s *state) addFailure(r *Record) {
	c := s.outstanding[r.Fail.Reservation]
	delete(s.outstanding, r.Fail.Reservation)
	c.failed(1)
	s.countFailure(r, c)
}

func (s *state) addCommit(r *Record) {
	c := s.outstanding[r.Commit.Reservation]
	delete(s.outstanding, r.Commit.Reservation)
	if r.Commit.Expires.After(r.Time) {
		bytes := int64(r.Commit.Bytes)
		if r.Commit.Spool != nil {
			bytes += r.Commit.Spool.Bytes
		}
		s.releases.store(r.Commit.Key, storedRef{
			bytes: bytes, seq: r.Seq, reservation: r.Commit.Reservation, analyst: c.Analyst, price: c.Price, loss: c.Loss,
			made: r.Time, expires: r.Commit.Expires, of: c.of, epoch: c.epoch, payload: r.Commit.Payload, sealed: r.Commit.Sealed, family: r.Commit.Family, spool: r.Commit.Spool,
		})
		s.recent = append(s.recent, r.Commit.Key)
	}
}
