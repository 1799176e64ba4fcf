package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
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
	stored      map[Hash][]storedRef // in the order of their records
	piles       map[Hash]pile        // of the keys with more than few of them
	held        holdings             // what they take
	related     map[Hash][]Hash      // the keys of a family's stored releases, each once
	frozen      map[string]FrozenAnalyst
	stopped     map[string]StoppedAnalyst
	moved       *Departure // the last record, if it is one
	checkpoint  int64      // number of the last one's record
	segments    []segment  // of the checkpoints so far
	recent      []Hash     // keys of releases that were stored since the last one
	nextSpool   time.Time  // when the first of the stored releases with a spool expires; zero: there is none
}

// dataset is one data set's budget. The accounts are those of the window that was charged last.
type dataset struct {
	head     *Head
	opened   bool
	epoch    string
	windows  int       // charged, in all
	start    time.Time // of the last of them
	all      account
	accounts map[payee]*account
	past     []era          // of earlier promises: their charged windows, which are among windows
	began    *budget.Filter // of the promise at that window's first charge, where it was raised since
	grants   map[payee]granted
	failed   map[string]failed // by analyst
}

type account struct {
	spent                dp.Loss
	statements, failures int64
	quota                quota // a payee's, at the last charge
}

// openCharge is an outstanding reservation. It stays with the window and the policy that it was made under.
type openCharge struct {
	*Charge
	of    *dataset
	start time.Time
	epoch string
	owner string
}

// failed counts a failure where its charge is counted, or takes it back; not in a window that began since.
func (c *openCharge) failed(n int64) {
	if !c.start.Equal(c.of.start) {
		return
	}
	c.of.all.failures += n
	for who := range c.payees() {
		c.of.accounts[who].failures += n
	}
}

// storedRef is a commit that may still answer.
type storedRef struct {
	seq           int64
	reservation   int64
	analyst       string
	price         float64
	loss          dp.Loss
	made, expires time.Time
	of            *dataset
	epoch         string
	payload       Hash
	sealed        string
	family        Hash
	spool         *SpoolRef
	bytes         int64 // on disk, with the spool's
}

func newState() *state {
	return &state{outstanding: map[int64]*openCharge{}, stored: map[Hash][]storedRef{}, piles: map[Hash]pile{}, related: map[Hash][]Hash{}, frozen: map[string]FrozenAnalyst{}}
}

// find is a data set by its name; nil if it was never opened.
func (s *state) find(name string) *dataset {
	i := slices.IndexFunc(s.datasets, func(d *dataset) bool { return d.head.Dataset == name })
	if i < 0 {
		return nil
	}
	return s.datasets[i]
}

// at gives the accounts of the window that a moment is in. They are empty until it is charged.
func (d *dataset) at(at time.Time) (all account, accounts map[payee]*account, w Window) {
	w = windowAt(d.head.Window, at)
	if w.Charged = d.windows > 0 && d.start.Equal(w.Start); w.Charged {
		return d.all, d.accounts, w
	}
	return account{}, nil, w
}

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

func (h *Head) validate() error {
	switch {
	case h.Dataset == "" || h.People == "" || h.Epoch == "":
		return fmt.Errorf("the head names no data set, people or policy epoch")
	case !knownWindow(h.Window):
		return fmt.Errorf("the window %q is not one that this version keeps", h.Window)
	case h.Lifetime != nil && !(h.Lifetime.Epsilon > 0 && h.Lifetime.Epsilon <= maxLifetime):
		return fmt.Errorf("a lifetime of epsilon %g is not in (0, %g]", h.Lifetime.Epsilon, float64(maxLifetime))
	case h.Filter == nil:
		return fmt.Errorf("the head has no filter")
	}
	return h.Filter.Validate()
}

// maxLifetime refuses slips; it is the policy's limit too.
const maxLifetime = 1e9

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

// open are the outstanding reservations, in order.
func (s *state) open() []int64 { return slices.Sorted(maps.Keys(s.outstanding)) }

func (s *state) checkCharge(version int, c *Charge) error {
	d := s.of(version, c.Dataset)
	if d == nil {
		return fmt.Errorf("a charge before an opening")
	}
	return c.validate(version, d.head.Filter)
}

// validate refuses a charge that is none of this filter's.
func (c *Charge) validate(version int, f *budget.Filter) error {
	switch {
	case (version < 3) != (c.Epoch == ""):
		return fmt.Errorf("a charge of version %d with epoch %q", version, c.Epoch)
	case len(c.Events) == 0:
		return fmt.Errorf("a charge without events")
	case c.Sealed != nil && c.Sealed.Key == "":
		return fmt.Errorf("a text that is not encrypted")
	case !(c.Price > 0):
		return fmt.Errorf("a charge with price %g", c.Price)
	case c.Order != f.Order:
		return fmt.Errorf("a charge at order %g, not %g", c.Order, f.Order)
	}
	if err := c.check(version, f); err != nil {
		return err
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
		d.start, d.all, d.accounts = w.Start, account{}, map[payee]*account{}
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

func (a *account) add(loss dp.Loss) {
	a.spent = a.spent.Plus(loss)
	a.statements++
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
		s.store(r.Commit.Key, storedRef{
			bytes: bytes, seq: r.Seq, reservation: r.Commit.Reservation, analyst: c.Analyst, price: c.Price, loss: c.Loss,
			made: r.Time, expires: r.Commit.Expires, of: c.of, epoch: c.epoch, payload: r.Commit.Payload, sealed: r.Commit.Sealed, family: r.Commit.Family, spool: r.Commit.Spool,
		})
		s.recent = append(s.recent, r.Commit.Key)
	}
}

// store keeps a release that may answer.
func (s *state) store(key Hash, ref storedRef) {
	known := s.inFamily(key, ref.family)
	s.stored[key] = append(s.stored[key], ref)
	s.piled(key, true)
	s.expires(ref)
	s.held.add(ref.holder(), ref.ending())
	if ref.family != (Hash{}) && !known { // a family may have many keys: it is not searched
		s.related[ref.family] = append(s.related[ref.family], key)
	}
}

// holder is whose it is, and ending what it takes until when.
func (r *storedRef) holder() holder { return holder{r.of.head.Dataset, r.analyst} }
func (r *storedRef) ending() ending { return ending{r.expires, r.seq, r.bytes} }

func (s *state) inFamily(key, family Hash) bool {
	for ref := range s.candidates(key) { // each family has a shelf
		if ref.family == family {
			return true
		}
	}
	return false
}

// leaves takes keys out of a family of which nothing is stored under them any more.
func (s *state) leaves(family Hash) {
	if s.related[family] = slices.DeleteFunc(s.related[family], func(key Hash) bool { return !s.inFamily(key, family) }); len(s.related[family]) == 0 {
		delete(s.related, family)
	}
}

// dropExpired forgets stored releases that can never answer again, and returns their records' numbers.
func (s *state) dropExpired(now time.Time) []int64 {
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
