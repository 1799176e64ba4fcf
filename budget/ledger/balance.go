package ledger

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// Balance is what an analyst may see: the own account, those of the own roles and the data set's in the window of now, and the lifetime.
type Balance struct {
	Dataset  Account
	Roles    []RoleAccount // by name
	Analyst  Account
	Filter   *budget.Filter // of the window: the rooms and the Renyi losses are at its order
	Began    *budget.Filter // of the promise at the window's first charge: for Odometer
	Window   Window
	Lifetime LifetimeBalance
}

// RoleAccount is what all analysts of a role spent together.
type RoleAccount struct {
	Name string
	Account
}

// scoped is one of a balance's accounts; role names a role's.
type scoped struct {
	scope, role string
	*Account
}

// accounts are all that a charge counts against, the widest first.
func (b *Balance) accounts() []scoped {
	list := []scoped{{ScopeDataset, "", &b.Dataset}}
	for i := range b.Roles {
		list = append(list, scoped{ScopeRole, b.Roles[i].Name, &b.Roles[i].Account})
	}
	return append(list, scoped{ScopeAnalyst, "", &b.Analyst})
}

// StatementsLeft is the least of all accounts; 0 where the lifetime does not hold the window.
func (b Balance) StatementsLeft(charge dp.Loss) int64 {
	least := int64(math.MaxInt64)
	for _, a := range b.accounts() {
		least = min(least, a.StatementsLeft(charge))
	}
	return least
}

// PureEnded says whether the plain sum of epsilons has ended in some account, and in all of them: a charge without a pure epsilon, as of Gaussian noise, made it infinite.
func (b Balance) PureEnded() (some, all bool) {
	all = true
	for _, a := range b.accounts() {
		ended := math.IsInf(a.Spent.Pure, 1)
		some, all = some || ended, all && ended
	}
	return some, all
}

// CanAdmit says whether one more charge fits in all accounts.
func (b Balance) CanAdmit(charge dp.Loss) bool {
	return !slices.ContainsFunc(b.accounts(), func(a scoped) bool { return !a.canAdmit(charge) })
}

// Denied says that a budget does not hold a charge, and what it still holds. Nothing was written.
type Denied struct {
	Scope   string // whose budget ended: ScopeLifetime, or of ScopeDataset, ScopeRole and ScopeAnalyst that of those with the least room
	Role    string // its name, of ScopeRole
	Left    budget.Rooms
	Charge  dp.Loss
	Balance Balance
}

// Error gives the remainders.
func (d *Denied) Error() string {
	return fmt.Sprintf("ledger: the budget (%s) does not hold a charge of %+v: left %+v, %+v of the data set, %g of the lifetime %g",
		d.whose(), d.Charge, d.Left, d.Balance.Dataset.Left, d.Balance.Lifetime.Left, d.Balance.Lifetime.Epsilon)
}

func (d *Denied) whose() string {
	if d.Role != "" {
		return d.Scope + " " + d.Role
	}
	return d.Scope
}

// balance is of a data set and of whom its charges count against, at a moment that is not before the last record's.
func (s *state) balance(d *dataset, p Payer, at time.Time) (Balance, error) {
	b := Balance{Lifetime: s.lifetime()}
	all, accounts, window := d.at(at)
	window.Last = b.Lifetime.endsWith(window, d.head.Filter)
	b.Window, b.Filter, b.Began = window, d.head.Filter, d.beginning(window)
	ended := !window.Charged && !b.Lifetime.holds(d.head.Filter)
	var err error
	if b.Dataset, err = all.show(d.head, quota{epsilon: d.head.Filter.Epsilon}, 0, ended); err != nil {
		return Balance{}, err
	}
	for who, q := range p.payees() {
		a := accounts[who]
		if a == nil { // one who was not charged in this window
			a = &account{}
		}
		one, err := a.show(d.head, q, d.granted(who, at), ended)
		if err != nil {
			return Balance{}, err
		}
		if who.role {
			b.Roles = append(b.Roles, RoleAccount{who.name, one})
		} else {
			b.Analyst = one
		}
	}
	return b, nil
}

// admit says which budget does not hold charges of one payer, each beside those before it: the lifetime, or of the data set's filter and the quotas of roles and analyst, of those that
// do not, the one with the least room. nil if all hold them. The sums are those that addCharge makes.
//
// Proof: claim: what is admitted keeps the filter's promise (budget.NewFilter), and no account that it names goes beyond its quota's share of that promise. The balance counts every reservation of the window that was ever
// written, whatever became of it, so none runs uncounted; each charge is admitted beside those and the statement's own before it, in the ledger's one order of writes (queue, store), and is written in the same transaction, so
// that two that fit only alone are never both admitted. A quota is divided by the promise of this very state, in the same place, so that one that was raised by another server since the policy was read gives nobody a
// larger epsilon than the quota's. Quotas are no promise: the data set's filter is asked beside them, always.
func (s *state) admit(d *dataset, stages []Reservation, at time.Time) (*Denied, error) {
	b, err := s.balance(d, stages[0].Payer, at)
	if err != nil {
		return nil, err
	}
	denied := &Denied{Charge: stages[0].Loss, Balance: b}
	denied.Balance.Roles = slices.Clone(b.Roles) // as they were before
	for _, r := range stages[1:] {
		denied.Charge = denied.Charge.Plus(r.Loss)
	}
	if b.Dataset.Ended {
		denied.Scope = ScopeLifetime
		return denied, nil
	}
	for _, r := range stages {
		if a := b.short(r.Loss); a != nil {
			denied.Scope, denied.Role, denied.Left = a.scope, a.role, a.Left
			return denied, nil
		}
		b.charge(r.Loss)
	}
	return nil, nil
}

// short is the account with the least room of those that do not hold a charge; nil where all do.
func (b *Balance) short(charge dp.Loss) (short *scoped) {
	least := math.Inf(1)
	for _, a := range b.accounts() {
		if room := part(a.Rooms.Left(a.Spent), b.Filter); !a.canAdmit(charge) && room < least {
			least, short = room, &a
		}
	}
	return short
}

func (b *Balance) charge(loss dp.Loss) {
	for _, a := range b.accounts() {
		a.Spent = a.Spent.Plus(loss)
	}
}

// After is the balance with one more charge.
func (b Balance) After(loss dp.Loss) Balance {
	b.Roles = slices.Clone(b.Roles)
	b.charge(loss)
	for _, a := range b.accounts() {
		if a.Left = a.Rooms.Left(a.Spent); a.Ended {
			a.Left = budget.Rooms{}
		}
	}
	return b
}

// Denies is the refusal that a charge would meet; nil if none.
func (b Balance) Denies(charge dp.Loss) error {
	d := &Denied{Charge: charge, Balance: b}
	if a := b.short(charge); b.Dataset.Ended {
		d.Scope = ScopeLifetime
	} else if a != nil {
		d.Scope, d.Role, d.Left = a.scope, a.role, a.Left
	} else {
		return nil
	}
	return d
}

// part is how much of a filter rooms are, to compare them: of the side that has more, or of the deltas, if that is less.
func part(r budget.Rooms, f *budget.Filter) float64 {
	out := r.Pure / f.PureRoom
	if f.RenyiRoom > 0 {
		out = max(out, r.Renyi/f.RenyiRoom)
	}
	if f.DeltaRoom > 0 {
		out = min(out, r.Delta/f.DeltaRoom)
	}
	return out
}
