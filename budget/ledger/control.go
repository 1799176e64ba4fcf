package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/dpsql/dpsql/budget"
)

// Freeze stops an analyst, or everybody, durably. A statement that was reserved before still ends.
func (l *book) Freeze(ctx context.Context, analyst, by string) error {
	return l.do(&entry{ctx: ctx, decide: func(time.Time) ([]*Record, error) {
		if _, frozen := l.state.frozen[analyst]; frozen {
			return nil, nil
		}
		return []*Record{{Freeze: &Freeze{Analyst: analyst, On: true, By: by}}}, nil
	}})
}

// Balance tells what was spent and what is left in the window of now, under the promise that is served (ErrPromise). What is being written counts.
func (l *book) Balance(p Payer) (Balance, error) {
	if err := l.fresh(); err != nil {
		return Balance{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.service.dataset == nil {
		return Balance{}, ErrOwner
	}
	if err := l.service.promised(); err != nil {
		return Balance{}, err
	}
	at := l.time()
	d := l.service.present(at)
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
	if l.service.dataset == nil {
		return l.state.accounts(l.time(), "", nil)
	}
	return l.state.accounts(l.time(), l.service.dataset.head.Dataset, l.service.fits())
}

// IsStopped reports whether the analyst had too many resource failures, as far as this process has heard.
func (l *book) IsStopped(analyst string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.checkStopped(analyst) != nil
}

// Unfreeze lifts the freeze of just this analyst, or just the one of everybody, and pardons the analyst's resource failures, or everybody's.
func (l *book) Unfreeze(ctx context.Context, analyst, by string) error {
	return l.do(&entry{ctx: ctx, decide: func(at time.Time) (out []*Record, err error) {
		if _, frozen := l.state.frozen[analyst]; frozen {
			out = append(out, &Record{Freeze: &Freeze{Analyst: analyst, By: by}})
		}
		if l.state.canPardon(analyst, at) {
			out = append(out, &Record{Pardon: &Pardon{Analyst: analyst, By: by}})
		}
		return out, nil
	}})
}

// AccountsOf is Accounts, in which a data set has an account of each of these payers and their roles too, by the quotas that are given: what one who was not
// charged in this window, or whose quota changed since, has spent and has left now. fits is the filter that their policy asks for a window which begins. Payers of a data set that the ledger does not have are left out.
func (l *book) AccountsOf(dataset string, fits *budget.Filter, payers []Payer) (Accounts, error) {
	if err := l.fresh(); err != nil {
		return Accounts{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.time()
	out, err := l.state.accounts(at, dataset, fits)
	d := l.state.find(dataset)
	if err != nil || d == nil {
		return out, err
	}
	d = d.fitted(fits, at)
	for i := range out.Datasets {
		if out.Datasets[i].Dataset != dataset {
			continue
		}
		for _, p := range payers {
			b, err := l.state.balance(d, p.within(d.head.Filter.Epsilon), at)
			if err != nil {
				return out, err
			}
			out.Datasets[i].Analysts[p.Analyst] = b.Analyst
			for _, r := range b.Roles {
				out.Datasets[i].Roles[r.Name] = r.Account
			}
		}
	}
	return out, nil
}
