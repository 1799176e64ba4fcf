package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/dpsql/dpsql/budget"
)

// service is the data set that is served, under a policy. An owner serves none.
type service struct {
	dataset *dataset
	epoch   string // of the policy
	promise Head   // what the policy says
	raising *Head  // what this process is just making of the promise
}

// serve takes up a data set: a new one gets its head, one that is known must have promised the same.
func (l *book) serve(head Head, o *Opening) error {
	if l.state.seq > 0 && len(l.opt.Data) > 0 {
		first, err := l.first()
		if err == nil {
			err = l.ofData(l.opt.Data, first)
		}
		if err != nil {
			return err
		}
	}
	first := func(time.Time) ([]*Record, error) {
		if known := l.state.find(head.Dataset); known != nil {
			return nil, known.head.Accepts(head)
		}
		l.opening.began = l.state.seq == 0
		return []*Record{{Head: &head}}, nil
	}
	opening := &entry{ctx: context.Background()}
	opening.decide = func(at time.Time) ([]*Record, error) {
		if !o.Shared { // whoever had it before is gone
			o.Recovered = l.state.open()
		}
		opening.gone = l.state.releases.dropExpired(at)
		return []*Record{{Opening: o}}, nil
	}
	for _, e := range []*entry{{ctx: context.Background(), decide: first}, opening} {
		if err := l.do(e); err != nil {
			return err
		}
	}
	if err := l.SetData(l.opt.Data); err != nil { // (2) of datamark.go: the mark is written after the first record and before the first charge
		return err
	}
	l.mu.Lock()
	l.service = service{dataset: l.state.find(head.Dataset), epoch: head.Epoch, promise: head}
	l.mu.Unlock()
	return l.sweepSpools()
}

// ofData refuses a ledger that data marks do not name; of a ledger without records the first is zero.
func (l *book) ofData(marks []DataMark, first Hash) error {
	for _, m := range marks {
		o, err := readDataMark(m.Path)
		if err != nil {
			return err
		}
		if o.place != "" && o.first != first { // (1) of datamark.go: this ledger does not begin with the record that the mark names
			return m.refusal(o, l.place)
		}
	}
	return nil
}

// first is the hash of the first record; zero if there is none.
func (l *book) first() (out Hash, err error) {
	l.io.Lock()
	defer l.io.Unlock()
	for one, err := range l.store.span(0, 1) {
		return one.hash, err
	}
	return out, nil
}

// SetData names the ledger in the data marks of what is served from now on, or refuses.
func (l *book) SetData(marks []DataMark) error {
	if len(marks) == 0 {
		return nil
	}
	first, err := l.first()
	if err != nil {
		return err
	}
	if err := l.ofData(marks, first); err != nil { // (3) of datamark.go: no mark changes to another first record
		return err
	}
	for _, m := range marks {
		err := writeDataMark(m.Path, dataOwner{first, l.place})
		if err != nil && (!m.Optional || !unwritable(err)) {
			return err
		}
	}
	return nil
}

// fits is the filter that the policy asks for a window which begins now. Under mu, of a ledger that serves.
func (s *service) fits() *budget.Filter {
	if s.raising != nil && !s.promise.Filter.IsSamePromise(s.dataset.head.Filter) {
		return s.raising.Filter
	}
	return s.promise.Filter
}

// present is the served data set as a charge of that moment finds it. Under mu.
func (s *service) present(at time.Time) *dataset { return s.dataset.fitted(s.fits(), at) }

// Filter is the filter of the window of now: that which its first charge found, or the next charge will find if it is the first; nil for an owner.
func (l *book) Filter() *budget.Filter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.service.dataset == nil {
		return nil
	}
	return l.service.present(l.time()).head.Filter
}

// promised refuses what would be charged, or shown, under another promise than that of the policy which is served: one that another process made larger since it was read. Under mu.
func (s *service) promised() error {
	if err := s.dataset.head.Accepts(s.promise); err != nil && (s.raising == nil || s.dataset.head.Accepts(*s.raising) != nil) {
		return fmt.Errorf("%w: run dpsql reload with the policy that says it (%w)", ErrPromise, err)
	}
	return nil
}

// Healthy tells a ledger that takes charges from one that has stopped, or whose promise this process does not know any more. On one that is shared it asks the server.
func (l *book) Healthy() error {
	if err := l.fresh(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(); err != nil || l.service.dataset == nil {
		return err
	}
	return l.service.promised()
}

// SetHead goes on under another policy text.
func (l *book) SetHead(ctx context.Context, wanted Head) error {
	if err := l.forServing(); err != nil {
		return err
	}
	wanted, err := wanted.own()
	if err != nil {
		return err
	}
	err = l.do(&entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) {
		head := l.service.dataset.head
		if head.Dataset != wanted.Dataset {
			return nil, fmt.Errorf("%w: it is data set %q's that is served, not %q's", ErrMismatch, head.Dataset, wanted.Dataset)
		}
		if err := head.Accepts(wanted); err != nil || l.service.epoch == wanted.Epoch {
			return nil, err
		}
		return []*Record{{Epoch: &Epoch{Epoch: wanted.Epoch, Dataset: wanted.Dataset}}}, nil
	}})
	if err == nil {
		l.mu.Lock()
		l.service.epoch, l.service.promise = wanted.Epoch, wanted
		l.mu.Unlock()
	}
	return err
}

// IsUnmarked reports whether no mark lay beside the ledger when it was opened: whether it is the newest is then its owner's word alone, which the record of the opening keeps.
func (l *book) IsUnmarked() bool { return l.opening.unmarked }

// IsNew reports whether this opening wrote the first record.
func (l *book) IsNew() bool { return l.opening.began }
