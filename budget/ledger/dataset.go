package ledger

import (
	"time"

	"github.com/dpsql/dpsql/budget"
)

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

// at gives the accounts of the window that a moment is in. They are empty until it is charged.
func (d *dataset) at(at time.Time) (all account, accounts map[payee]*account, w Window) {
	w = windowAt(d.head.Window, at)
	if w.Charged = d.windows > 0 && d.start.Equal(w.Start); w.Charged {
		return d.all, d.accounts, w
	}
	return account{}, nil, w
}

// before is how many windows were charged under earlier promises alone.
func (d *dataset) before() (n int) {
	for _, e := range d.past {
		n += e.windows
	}
	return n
}

// granted is what was given to one in the window of a moment.
func (d *dataset) granted(who payee, at time.Time) float64 {
	if g := d.grants[who]; g.start.Equal(windowAt(d.head.Window, at).Start) {
		return g.epsilon
	}
	return 0
}

// beginning is the filter that a window began with: the present one's, where it was not raised since its first charge.
func (d *dataset) beginning(w Window) *budget.Filter {
	f := *d.head.Filter
	if w.Charged && d.began != nil {
		f = *d.began
	}
	return &f
}

// era is what charged windows cost under an earlier promise.
type era struct {
	epsilon, delta float64
	windows        int
}

// granted is what one was given in one window.
type granted struct {
	start   time.Time
	epsilon float64
}

// failed counts an analyst's resource failures in a window since the last pardon.
type failed struct {
	start time.Time
	n     int64
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
