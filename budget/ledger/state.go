package ledger

import (
	"fmt"
	"time"

	"github.com/dpsql/dpsql/internal/dp"
)

// state is the sum of the records so far. The same code adds a record that was read and one that was just written, so what
// a restart finds is what the process held.
type state struct {
	head        *Head
	epoch       string
	seq         int64
	last        Hash
	clock       time.Time // of the last record: time never runs back
	dataset     account
	analysts    map[string]*account
	outstanding map[int64]*Charge
	stored      map[Hash][]storedRef
}

type account struct {
	spent                dp.Loss
	statements, failures int64
}

// storedRef is a commit that may still answer.
type storedRef struct {
	seq           int64
	reservation   int64
	analyst       string
	price         float64
	loss          dp.Loss
	made, expires time.Time
	epoch         string
	payload       Hash
}

func newState() *state {
	return &state{analysts: map[string]*account{}, outstanding: map[int64]*Charge{}, stored: map[Hash][]storedRef{}}
}

// analyst is an analyst's account; that of one who never asked is empty and not kept.
func (s *state) analyst(name string) *account {
	if a := s.analysts[name]; a != nil {
		return a
	}
	return &account{}
}

// check says whether a record may follow the ones so far.
func (s *state) check(r *Record) error {
	switch {
	case r.Version != version:
		return fmt.Errorf("version %d is not %d", r.Version, version)
	case r.Seq != s.seq+1:
		return fmt.Errorf("number %d does not follow %d", r.Seq, s.seq)
	case r.Previous != s.last:
		return fmt.Errorf("the chain is broken: its hash of the record before is another")
	case r.Time.Before(s.clock):
		return fmt.Errorf("its time runs back")
	case (r.Head != nil) != (r.Seq == 1):
		return fmt.Errorf("the first record, and no other, is the head")
	}
	kinds := 0
	for _, set := range []bool{r.Head != nil, r.Opening != nil, r.Reserve != nil, r.Commit != nil, r.Fail != nil} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("it is of %d kinds", kinds)
	}
	switch {
	case r.Head != nil:
		return r.Head.validate()
	case r.Opening != nil:
		return s.checkOpening(r.Opening)
	case r.Reserve != nil:
		return s.checkCharge(r.Reserve)
	case r.Commit != nil:
		return s.checkOutstanding(r.Commit.Reservation)
	default:
		return s.checkOutstanding(r.Fail.Reservation)
	}
}

func (h *Head) validate() error {
	switch {
	case h.Dataset == "" || h.People == "" || h.Epoch == "":
		return fmt.Errorf("the head names no data set, people or policy epoch")
	case h.Window != "":
		return fmt.Errorf("the window %q is not one that this version keeps", h.Window)
	case h.Filter == nil:
		return fmt.Errorf("the head has no filter")
	}
	return h.Filter.Validate()
}

func (s *state) checkOpening(o *Opening) error {
	if o.Epoch == "" || len(o.Recovered) != len(s.outstanding) {
		return fmt.Errorf("an opening recovers %d of %d reservations", len(o.Recovered), len(s.outstanding))
	}
	for i, id := range o.Recovered {
		if s.outstanding[id] == nil || i > 0 && id <= o.Recovered[i-1] {
			return fmt.Errorf("reservation %d is not outstanding", id)
		}
	}
	return nil
}

func (s *state) checkCharge(c *Charge) error {
	switch {
	case c.Analyst == "":
		return fmt.Errorf("a charge without an analyst")
	case len(c.Events) == 0:
		return fmt.Errorf("a charge without events")
	case !(c.Price > 0):
		return fmt.Errorf("a charge with price %g", c.Price)
	case !(c.Quota > 0 && c.Quota <= 1):
		return fmt.Errorf("a charge with quota %g", c.Quota)
	case c.Order != s.head.Filter.Order:
		return fmt.Errorf("a charge at order %g, not %g", c.Order, s.head.Filter.Order)
	}
	return c.Loss.Validate()
}

func (s *state) checkOutstanding(id int64) error {
	if s.outstanding[id] == nil {
		return fmt.Errorf("%w: %d", ErrNotOpen, id)
	}
	return nil
}

// add counts a checked record; hash is its own.
func (s *state) add(r *Record, hash Hash) {
	s.seq, s.last, s.clock = r.Seq, hash, r.Time
	switch {
	case r.Head != nil:
		s.head, s.epoch = r.Head, r.Head.Epoch
	case r.Opening != nil:
		s.epoch = r.Opening.Epoch
		clear(s.outstanding)
	case r.Reserve != nil:
		s.outstanding[r.Seq] = r.Reserve
		a := s.analyst(r.Reserve.Analyst)
		s.analysts[r.Reserve.Analyst] = a
		for _, acc := range []*account{&s.dataset, a} {
			acc.spent = acc.spent.Plus(r.Reserve.Loss)
			acc.statements++
		}
	case r.Commit != nil:
		s.addCommit(r)
	case r.Fail != nil:
		s.dataset.failures++
		s.analysts[s.outstanding[r.Fail.Reservation].Analyst].failures++
		delete(s.outstanding, r.Fail.Reservation)
	}
}

func (s *state) addCommit(r *Record) {
	c := s.outstanding[r.Commit.Reservation]
	delete(s.outstanding, r.Commit.Reservation)
	if r.Commit.Expires.After(r.Time) {
		s.stored[r.Commit.Key] = append(s.stored[r.Commit.Key], storedRef{
			seq: r.Seq, reservation: r.Commit.Reservation, analyst: c.Analyst, price: c.Price, loss: c.Loss,
			made: r.Time, expires: r.Commit.Expires, epoch: s.epoch, payload: r.Commit.Payload,
		})
	}
}

// dropExpired forgets stored releases that can never answer again, and returns their records' numbers.
func (s *state) dropExpired(now time.Time) []int64 {
	var gone []int64
	for key, refs := range s.stored {
		kept := refs[:0]
		for _, ref := range refs {
			if ref.expires.After(now) {
				kept = append(kept, ref)
			} else {
				gone = append(gone, ref.seq)
			}
		}
		if len(kept) == 0 {
			delete(s.stored, key)
		} else {
			s.stored[key] = kept
		}
	}
	return gone
}
