package ledger

import (
	"slices"
	"strings"
	"time"

	"github.com/dpsql/dpsql/budget"
)

// Accounts is the owner's view of a ledger.
type Accounts struct {
	People   string            `json:"people"`
	Lifetime LifetimeBalance   `json:"lifetime"`
	Frozen   []FrozenAnalyst   `json:"frozen"`            // by name, everybody first
	Stopped  []StoppedAnalyst  `json:"stopped,omitempty"` // by name
	Datasets []DatasetAccounts `json:"data_sets"`         // in the order of their first openings
}

// DatasetAccounts are a data set's accounts in the window of now. Analysts and roles are those that were charged in it; the rooms are
// of the quota that their last charge was held against.
type DatasetAccounts struct {
	Dataset  string             `json:"data_set"`
	Filter   *budget.Filter     `json:"filter"`
	Per      string             `json:"per,omitempty"` // the window's name
	Began    *budget.Filter     `json:"began"`         // of the promise at the window's first charge: for Odometer
	Window   Window             `json:"window"`
	Windows  int                `json:"windows"` // charged so far, this one with them if it was
	Epoch    string             `json:"epoch"`
	Account  Account            `json:"account"`
	Analysts map[string]Account `json:"analysts"`
	Roles    map[string]Account `json:"roles"`
}

// accounts is the owner's view at a moment that is not before the last record's. A window of the named data set that is not charged yet is shown under the filter that its first charge would find.
func (s *state) accounts(at time.Time, dataset string, fits *budget.Filter) (Accounts, error) {
	out := Accounts{Lifetime: s.lifetime(), Stopped: s.stops()}
	for _, d := range s.datasets {
		if d.head.Dataset == dataset {
			d = d.fitted(fits, at)
		}
		out.People = d.head.People
		all, accounts, window := d.at(at)
		filter, ended := *d.head.Filter, !window.Charged && !out.Lifetime.holds(d.head.Filter)
		window.Last = out.Lifetime.endsWith(window, d.head.Filter)
		da := DatasetAccounts{Dataset: d.head.Dataset, Filter: &filter, Began: d.beginning(window), Per: d.head.Window, Window: window, Windows: d.windows,
			Epoch: d.epoch, Analysts: map[string]Account{}, Roles: map[string]Account{}}
		var err error
		if da.Account, err = all.show(d.head, quota{epsilon: filter.Epsilon}, 0, ended); err != nil {
			return Accounts{}, err
		}
		for who, a := range accounts {
			one, err := a.show(d.head, a.quota, d.granted(who, at), ended)
			if err != nil {
				return Accounts{}, err
			}
			if who.role {
				da.Roles[who.name] = one
			} else {
				da.Analysts[who.name] = one
			}
		}
		out.Datasets = append(out.Datasets, da)
	}
	for _, f := range s.frozen {
		out.Frozen = append(out.Frozen, f)
	}
	slices.SortFunc(out.Frozen, func(a, b FrozenAnalyst) int { return strings.Compare(a.Analyst, b.Analyst) })
	return out, nil
}
