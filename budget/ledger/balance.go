package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/dp"
)

// Account is one balance in one window.
type Account struct {
	Spent      dp.Loss      `json:"spent"`
	Rooms      budget.Rooms `json:"rooms"` // in all
	Left       budget.Rooms `json:"left"`
	Statements int64        `json:"statements"` // reserved
	Failures   int64        `json:"failures"`   // of them, ended by Fail
	Ended      bool         `json:"ended"`      // the lifetime does not hold this window: nothing is left, whatever the rooms
	Granted    float64      `json:"granted"`    // epsilon, in this window: part of the rooms
}

// StatementsLeft is how many more charges like this one fit.
func (a Account) StatementsLeft(charge dp.Loss) int64 {
	if a.Ended {
		return 0
	}
	return a.Rooms.StatementsLeft(a.Spent, charge)
}

// admits says whether one more charge fits.
func (a Account) admits(charge dp.Loss) bool { return !a.Ended && a.Rooms.Admits(a.Spent, charge) }

// Balance is what an analyst may see: the own account and the data set's in the window of now, and the lifetime.
type Balance struct {
	Dataset  Account
	Analyst  Account
	Window   Window
	Lifetime LifetimeBalance
}

// StatementsLeft is the least of both accounts; 0 where the lifetime does not hold the window.
func (b Balance) StatementsLeft(charge dp.Loss) int64 {
	return min(b.Dataset.StatementsLeft(charge), b.Analyst.StatementsLeft(charge))
}

// Denied says that a budget does not hold a charge, and what it still holds. Nothing was written.
type Denied struct {
	Scope   string // whose budget ended: ScopeLifetime, ScopeDataset or ScopeAnalyst
	Charge  dp.Loss
	Balance Balance
}

// Error gives the remainders.
func (d *Denied) Error() string {
	return fmt.Sprintf("ledger: the budget (%s) does not hold a charge of %+v: left %+v of the data set, %+v of the analyst, %g of the lifetime %g",
		d.Scope, d.Charge, d.Balance.Dataset.Left, d.Balance.Analyst.Left, d.Balance.Lifetime.Left, d.Balance.Lifetime.Epsilon)
}

// Accounts is the owner's view of a ledger.
type Accounts struct {
	People   string            `json:"people"`
	Lifetime LifetimeBalance   `json:"lifetime"`
	Frozen   []FrozenAnalyst   `json:"frozen"`    // by name, everybody first
	Datasets []DatasetAccounts `json:"data_sets"` // in the order of their first openings
}

// FrozenAnalyst is a freeze that holds.
type FrozenAnalyst struct {
	Analyst string    `json:"analyst"` // "": everybody
	By      string    `json:"by"`
	Since   time.Time `json:"since"`
}

// DatasetAccounts are a data set's accounts in the window of now. Analysts are those who were charged in it; the rooms are
// of the quota that their last charge was held against.
type DatasetAccounts struct {
	Dataset  string             `json:"data_set"`
	Filter   *budget.Filter     `json:"filter"`
	Per      string             `json:"per,omitempty"` // the window's name
	Window   Window             `json:"window"`
	Windows  int                `json:"windows"` // charged so far, this one with them if it was
	Epoch    string             `json:"epoch"`
	Account  Account            `json:"account"`
	Analysts map[string]Account `json:"analysts"`
}

// balance is a data set's and an analyst's at a moment that is not before the last record's.
func (s *state) balance(d *dataset, analyst string, quota float64, at time.Time) (Balance, error) {
	b := Balance{Lifetime: s.lifetime()}
	all, analysts, window := d.at(at)
	b.Window = window
	ended := !window.Charged && !b.Lifetime.holds(d.head.Filter)
	var err error
	if b.Dataset, err = all.show(d.head.Filter, 1, ended); err != nil {
		return Balance{}, err
	}
	own := analysts[analyst]
	if own == nil { // one who was not charged in this window
		own = &account{}
	}
	more := d.granted(analyst, at)
	b.Analyst, err = own.show(d.head.Filter, d.head.share(quota, more), ended)
	b.Analyst.Granted = more
	return b, err
}

// show is the account of one with this share of the filter.
func (a *account) show(f *budget.Filter, share float64, ended bool) (Account, error) {
	rooms, err := f.Rooms(share)
	if err != nil {
		return Account{}, err
	}
	out := Account{Spent: a.spent, Rooms: rooms, Left: rooms.Left(a.spent), Statements: a.statements, Failures: a.failures, Ended: ended}
	if ended {
		out.Left = budget.Rooms{}
	}
	return out, nil
}

// admit says which budget does not hold charges of one analyst, each beside those before it: the lifetime, then the data set's filter,
// then the analyst's quota. nil if all hold them. The sums are those that addCharge makes.
//
// Proof: claim: what is admitted keeps the filter's promise (budget.NewFilter). The balance counts every reservation of the window that was ever written, whatever became of it, so none runs uncounted; each charge is admitted
// beside those and the statement's own before it, in the ledger's one order of writes (queue, store), and is written in the same transaction, so that two that fit only alone are never both admitted.
func (s *state) admit(d *dataset, stages []Reservation, at time.Time) (*Denied, error) {
	b, err := s.balance(d, stages[0].Analyst, stages[0].Quota, at)
	if err != nil {
		return nil, err
	}
	denied := &Denied{Charge: stages[0].Loss, Balance: b}
	for _, r := range stages[1:] {
		denied.Charge = denied.Charge.Plus(r.Loss)
	}
	for _, r := range stages {
		switch {
		case b.Dataset.Ended:
			denied.Scope = ScopeLifetime
		case !b.Dataset.admits(r.Loss):
			denied.Scope = ScopeDataset
		case !b.Analyst.admits(r.Loss):
			denied.Scope = ScopeAnalyst
		default:
			b.Dataset.Spent, b.Analyst.Spent = b.Dataset.Spent.Plus(r.Loss), b.Analyst.Spent.Plus(r.Loss)
			continue
		}
		return denied, nil
	}
	return nil, nil
}

// accounts is the owner's view at a moment that is not before the last record's.
func (s *state) accounts(at time.Time) (Accounts, error) {
	out := Accounts{Lifetime: s.lifetime()}
	for _, d := range s.datasets {
		out.People = d.head.People
		all, analysts, window := d.at(at)
		filter, ended := *d.head.Filter, !window.Charged && !out.Lifetime.holds(d.head.Filter)
		da := DatasetAccounts{Dataset: d.head.Dataset, Filter: &filter, Per: d.head.Window, Window: window, Windows: d.windows,
			Epoch: d.epoch, Analysts: map[string]Account{}}
		var err error
		if da.Account, err = all.show(&filter, 1, ended); err != nil {
			return Accounts{}, err
		}
		for name, a := range analysts {
			more := d.granted(name, at)
			one, err := a.show(&filter, d.head.share(a.quota, more), ended)
			if err != nil {
				return Accounts{}, err
			}
			one.Granted = more
			da.Analysts[name] = one
		}
		out.Datasets = append(out.Datasets, da)
	}
	for _, f := range s.frozen {
		out.Frozen = append(out.Frozen, f)
	}
	slices.SortFunc(out.Frozen, func(a, b FrozenAnalyst) int { return strings.Compare(a.Analyst, b.Analyst) })
	return out, nil
}
