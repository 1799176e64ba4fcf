package ledger

import (
	"context"
	"fmt"
	"time"
)

// Healthy tells a ledger that takes charges from one that has stopped, or whose promise this process does not know any more. On one that is shared it asks the server.
func (l *book) Healthy() error {
	if err := l.fresh(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(); err != nil || l.serving == nil {
		return err
	}
	return l.promised()
}

// fresh reads what other processes wrote; where there are none it does nothing.
func (l *book) fresh() error {
	if !l.store.shared() {
		return nil
	}
	return l.do(&entry{ctx: context.Background(), read: true, decide: func(time.Time) ([]*Record, error) { return nil, nil }})
}

// Freeze stops an analyst, or everybody, durably. A statement that was reserved before still ends.
func (l *book) Freeze(ctx context.Context, analyst, by string) error {
	return l.do(&entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) {
		if _, frozen := l.state.frozen[analyst]; frozen {
			return nil, nil
		}
		return []*Record{{Freeze: &Freeze{Analyst: analyst, On: true, By: by}}}, nil
	}})
}

// IsUnmarked reports whether no mark lay beside the ledger when it was opened: whether it is the newest is then its owner's word alone, which the record of the opening keeps.
func (l *book) IsUnmarked() bool { return l.unmarked }

// IsNew reports whether this opening wrote the first record.
func (l *book) IsNew() bool { return l.began }

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
		head := l.serving.head
		if head.Dataset != wanted.Dataset {
			return nil, fmt.Errorf("%w: it is data set %q's that is served, not %q's", ErrMismatch, head.Dataset, wanted.Dataset)
		}
		if err := head.accepts(wanted); err != nil || l.epoch == wanted.Epoch {
			return nil, err
		}
		return []*Record{{Epoch: &Epoch{Epoch: wanted.Epoch, Dataset: wanted.Dataset}}}, nil
	}})
	if err == nil {
		l.mu.Lock()
		l.epoch, l.served = wanted.Epoch, wanted
		l.mu.Unlock()
	}
	return err
}

// promised refuses what would be charged, or shown, under another promise than that of the policy which is served: one that another process made larger since it was read. Under mu.
func (l *book) promised() error {
	if err := l.serving.head.accepts(l.served); err != nil && (l.raising == nil || l.serving.head.accepts(*l.raising) != nil) {
		return fmt.Errorf("%w: run dpsql reload with the policy that says it (%w)", ErrPromise, err)
	}
	return nil
}

// SetCache changes how long and to whom stored releases answer; it holds for those that are stored too, but none answers
// for longer than it was made for.
func (l *book) SetCache(c Cache) error {
	if err := c.validate(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cache = c
	return nil
}

func (c Cache) validate() error {
	if c.TTL < 0 || c.TTL > 0 && c.Scope != ScopeDataset && c.Scope != ScopeAnalyst {
		return fmt.Errorf("ledger: stored releases with ttl %v, scope %q", c.TTL, c.Scope)
	}
	return nil
}

// Balance tells what was spent and what is left in the window of now, under the promise that is served (ErrPromise). What is being written counts.
func (l *book) Balance(p Payer) (Balance, error) {
	if err := l.fresh(); err != nil {
		return Balance{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving == nil {
		return Balance{}, ErrOwner
	}
	if err := l.promised(); err != nil {
		return Balance{}, err
	}
	at := l.time()
	d := l.present(at)
	if err := p.check(version, d.head.Filter); err != nil {
		return Balance{}, fmt.Errorf("ledger: %w", err)
	}
	return l.state.balance(d, p, at)
}

// Accounts is the owner's view. It does not show what a ledger that stopped may have on disk beyond it.
func (l *book) Accounts() (Accounts, error) {
	if err := l.fresh(); err != nil {
		return Accounts{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving == nil {
		return l.state.accounts(l.time(), "", nil)
	}
	return l.state.accounts(l.time(), l.serving.head.Dataset, l.fits())
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
