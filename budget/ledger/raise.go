package ledger

import (
	"context"
	"fmt"
	"time"
)

// Grant gives an analyst more of a data set's total in the window of now, durably.
func (l *book) Grant(ctx context.Context, g Grant) error {
	return l.do(&entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) { return []*Record{{Grant: &g}}, nil }})
}

// Raise makes a larger promise of what a policy says now: its budget, its lifetime or both. A process that serves the data set knows of it from then on.
func (l *book) Raise(ctx context.Context, wanted Head, by, reason string) error {
	wanted, err := wanted.own()
	if err != nil {
		return err
	}
	l.mu.Lock()
	serves := l.service.dataset != nil && l.service.dataset.head.Dataset == wanted.Dataset
	if serves {
		l.service.raising = &wanted
	}
	l.mu.Unlock()
	err = l.raise(ctx, wanted, by, reason)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.service.raising = nil; err == nil && serves {
		l.service.promise = wanted
	}
	return err
}

func (l *book) raise(ctx context.Context, wanted Head, by, reason string) error {
	return l.do(&entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) {
		d := l.state.find(wanted.Dataset)
		if d == nil {
			return nil, fmt.Errorf("%w: data set %q was never served from it", ErrMismatch, wanted.Dataset)
		}
		filter, err := d.head.Filter.Raised(wanted.Filter.Epsilon, wanted.Filter.Delta)
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		p := &Promise{Dataset: wanted.Dataset, Filter: filter, By: by, Reason: reason}
		if d.head.Lifetime != nil && wanted.Lifetime != nil && wanted.Lifetime.Epsilon != d.head.Lifetime.Epsilon {
			p.Lifetime = wanted.Lifetime
		}
		// What cannot be raised must be as it was.
		then := *d.head
		if then.Filter = filter; p.Lifetime != nil {
			then.Lifetime = p.Lifetime
		}
		if err := then.Accepts(wanted); err != nil {
			return nil, err
		}
		return []*Record{{Promise: p}}, nil
	}})
}
