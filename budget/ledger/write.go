package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Reserve charges a statement of one stage, durably.
func (l *book) Reserve(ctx context.Context, r Reservation) (int64, error) {
	ids, err := l.ReserveAll(ctx, []Reservation{r})
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// ReserveAll charges a statement, durably: all of its stages or none.
//
// Proof: one batch is written at a time, by one process: the file has one owner, or the transaction holds the lock of a shared ledger and has read what
// others wrote before it decides. Within a batch the entries are decided one after the other, each by a state that holds those before it. So the balances
// that the charges are compared with hold every earlier one of the window, of all processes, also those whose batch is not durable yet; if it does not become
// durable, no later batch is written by this process before the state is what is durable again. Each loss is taken again from the events by the filter of the window that pays, whose order is fixed before its first charge (state.addFit), and a smaller one than that is
// refused. Each stage is admitted beside those before it, at the time that their records bear, so they count in the window that held them. One transaction has all
// records, so that no crash leaves some of them. Where another process has raised the promise, nothing is charged under it before this one has read the policy again (promised). The method returns only after the transaction was synced. Windows: state.addCharge, state.lifetime. Sums are rounded up (dp.Loss.Plus),
// rooms down (budget.Rooms).
func (l *book) ReserveAll(ctx context.Context, stages []Reservation) ([]int64, error) {
	if err := l.forServing(); err != nil {
		return nil, err
	}
	if len(stages) == 0 {
		return nil, errors.New("ledger: nothing to reserve")
	}
	charges := make([]*Charge, len(stages))
	filter := l.Filter()
	for i, r := range stages {
		if !r.same(&stages[0].Payer) {
			return nil, errors.New("ledger: a statement of two analysts")
		}
		var err error
		if charges[i], err = l.charge(r, filter); err != nil {
			return nil, err
		}
	}
	e := &entry{ctx: ctx}
	e.decide = func(at time.Time) ([]*Record, error) {
		if err := errors.Join(l.service.promised(), l.state.checkFrozen(stages[0].Analyst), l.state.checkStopped(stages[0].Analyst)); err != nil {
			return nil, err
		}
		for _, r := range stages {
			if by := l.inFlight(r, at); by != nil {
				return nil, by
			}
		}
		d := l.service.present(at)
		if d.head.Filter.Order != filter.Order { // the window turned, or others began it
			return nil, ErrOrder
		}
		denied, err := l.state.admit(d, stages, at)
		switch {
		case err != nil:
			return nil, err
		case denied != nil:
			return nil, denied
		}
		var recs []*Record
		if d != l.service.dataset { // it is the window's first
			recs = append(recs, &Record{Fit: &Fit{Dataset: d.head.Dataset, Filter: d.head.Filter}})
		}
		for _, c := range charges {
			recs = append(recs, &Record{Reserve: c})
		}
		return recs, nil
	}
	if err := l.do(e); err != nil {
		return nil, err
	}
	var ids []int64
	for _, r := range e.records {
		if r.Reserve != nil {
			ids = append(ids, r.Seq)
		}
	}
	return ids, nil
}

// charge is a reservation as a filter has it.
func (l *book) charge(r Reservation, filter *budget.Filter) (*Charge, error) {
	if r.Filter != nil && r.Filter.Order != filter.Order {
		return nil, ErrOrder
	}
	l.mu.Lock()
	dataset, epoch := l.service.dataset.head.Dataset, l.service.epoch
	l.mu.Unlock()
	own, err := filter.Sum(r.Events)
	if err != nil {
		return nil, err
	}
	if !(r.Loss.Pure >= own.Pure && r.Loss.Renyi >= own.Renyi && r.Loss.Delta >= own.Delta) {
		return nil, fmt.Errorf("ledger: a charge of %+v is below its events' loss %+v", r.Loss, own)
	}
	c := &Charge{Reservation: r, Order: filter.Order, Dataset: dataset, Epoch: epoch}
	if err := c.validate(version, filter); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	c.Sealed, err = l.sealText(c)
	return c, err
}

// Commit closes a reservation with its release, durably, and stores it for as long as the cache says.
func (l *book) Commit(ctx context.Context, id int64, r Release) error {
	if len(r.Payload) > MaxRelease {
		return fmt.Errorf("ledger: a release of %d bytes is over the limit of %d", len(r.Payload), MaxRelease)
	}
	if err := l.forServing(); err != nil {
		return err
	}
	l.mu.Lock()
	ttl, key := l.opt.Cache.TTL, l.opt.Cache.Key
	l.mu.Unlock()
	if r.External {
		ttl = 0
	}
	text, err := key.seal(r.Key, id, r.Payload)
	if err != nil {
		return err
	}
	spool, err := l.keepSpool(r.Spool, id, r.Key, ttl)
	if err != nil {
		return err
	}
	c := Commit{Reservation: id, Key: r.Key, Bytes: len(text), Payload: sha256.Sum256(text), Sealed: key.name(), Family: r.Family, Spool: spool}
	e := &entry{ctx: ctx}
	switch {
	case ttl > 0 && text == nil:
		e.payload = []byte{}
	case ttl > 0:
		e.payload = text
	}
	e.decide = func(at time.Time) ([]*Record, error) {
		if err := l.state.checkOutstanding(id); err != nil {
			return nil, err
		}
		made := c
		made.Expires = at.Add(ttl)
		return []*Record{{Commit: &made}}, nil
	}
	err = l.closing(id, e)
	if spool != nil && ttl > 0 && (err == nil || l.Healthy() != nil) { // it is the record's, or may be: a start finds out
		r.Spool.forget = nil
	}
	return err
}

// Fail closes a reservation without a release; class is FailResource, FailStage or a word for the owner.
func (l *book) Fail(ctx context.Context, id int64, class string) error {
	if err := l.forServing(); err != nil {
		return err
	}
	return l.closing(id, &entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) {
		if err := l.state.checkOutstanding(id); err != nil {
			return nil, err
		}
		return []*Record{{Fail: &Failure{Reservation: id, Class: class}}}, nil
	}})
}

// closing writes what ends a reservation. One that could not be closed is still its caller's.
func (l *book) closing(id int64, e *entry) error {
	err := l.do(e)
	if err == nil {
		l.letGo(id)
	}
	return err
}

// sealText encrypts a statement's text; nil without a key or a text.
func (l *book) sealText(c *Charge) (*SealedText, error) {
	l.mu.Lock()
	keys := l.opt.TextKeys
	l.mu.Unlock()
	if len(keys) == 0 || c.Text == "" {
		return nil, nil
	}
	sealed, err := keys[0].sealWith(textBinding(c.Dataset, c.Analyst, c.Statement), []byte(sqltype.CutText(c.Text, 2*MaxText)))
	if err != nil {
		return nil, err
	}
	return &SealedText{keys[0].name(), sealed}, nil
}

// NewSpool begins the spool of an outstanding reservation's release.
func (l *book) NewSpool(id int64, release Hash) (*Spool, error) {
	if err := l.forServing(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	key, err := l.opt.Cache.Key, l.state.checkOutstanding(id)
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	f, forget, err := l.spools.create(id)
	if err != nil {
		return nil, fmt.Errorf("ledger: spool: %w", err)
	}
	return &Spool{file: f, key: key, release: release, reservation: id, sum: sha256.New(), room: l.spools.room, forget: forget}, nil
}

// keepSpool makes a release's spool durable, before the record that names it. Where nothing is stored, it has done when its answer has.
func (l *book) keepSpool(s *Spool, id int64, release Hash, ttl time.Duration) (*SpoolRef, error) {
	if s == nil {
		return nil, nil
	}
	if s.reservation != id || s.release != release || s.sum == nil {
		return nil, errors.New("ledger: the spool of another release")
	}
	s.named.Hash = Hash(s.sum.Sum(nil))
	s.sum = nil
	if ttl == 0 {
		return &s.named, nil
	}
	if err := l.spools.keep(id, s.file, s.named); err != nil {
		return nil, fmt.Errorf("ledger: spool: %w", err)
	}
	return &s.named, nil
}
