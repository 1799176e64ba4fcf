package ledger

import (
	"context"
	"fmt"
)

// Healthy tells a ledger that takes charges from one that has stopped.
func (l *SQLite) Healthy() error {
	unlock, err := l.begin(context.Background())
	if err == nil {
		unlock()
	}
	return err
}

// Freeze stops an analyst, or everybody, durably. A statement that was reserved before still ends.
func (l *SQLite) Freeze(ctx context.Context, analyst, by string) error {
	return l.freeze(ctx, Freeze{Analyst: analyst, On: true, By: by})
}

// Unfreeze lifts the freeze of just this analyst, or just the one of everybody.
func (l *SQLite) Unfreeze(ctx context.Context, analyst, by string) error {
	return l.freeze(ctx, Freeze{Analyst: analyst, By: by})
}

func (l *SQLite) freeze(ctx context.Context, f Freeze) error {
	unlock, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, frozen := l.state.frozen[f.Analyst]; frozen == f.On {
		return nil
	}
	return l.append([]*Record{{Freeze: &f}}, nil)
}

// Frozen reports whether the analyst, or everybody, is frozen.
func (l *SQLite) Frozen(analyst string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.checkFrozen(analyst) != nil
}

// SetEpoch goes on under another policy text.
func (l *SQLite) SetEpoch(ctx context.Context, epoch string) error {
	unlock, err := l.beginServing(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if l.serving.epoch == epoch {
		return nil
	}
	return l.append([]*Record{{Epoch: &Epoch{Epoch: epoch}}}, nil)
}

// SetCache changes how long and to whom stored releases answer; it holds for those that are stored too, but none answers
// for longer than it was made for.
func (l *SQLite) SetCache(c Cache) error {
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

// Balance tells what was spent and what is left in the window of now.
func (l *SQLite) Balance(analyst string, quota float64) (Balance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving == nil {
		return Balance{}, ErrOwner
	}
	return l.state.balance(l.serving, analyst, quota, l.time())
}

// Accounts is the owner's view. It does not show what a ledger that stopped may have on disk beyond it.
func (l *SQLite) Accounts() (Accounts, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.accounts(l.time())
}

// beginServing is begin for what only the process that serves a data set may do.
func (l *SQLite) beginServing(ctx context.Context) (unlock func(), err error) {
	unlock, err = l.begin(ctx)
	if err == nil && l.serving == nil {
		unlock()
		err = ErrOwner
	}
	return unlock, err
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
