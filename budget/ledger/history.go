package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Spent is how far a data set's budget was used after a charge: shares of what was promised for the charge's window, as Account.Used counts them. A window begins with nothing.
type Spent struct {
	At      time.Time `json:"at"`
	Window  time.Time `json:"window,omitzero"` // its start; zero in a budget without windows
	Ends    time.Time `json:"ends,omitzero"`   // the window's end
	Analyst string    `json:"analyst"`         // who was charged
	Roles   []string  `json:"roles,omitempty"` // and which of the analyst's roles
	Own     float64   `json:"own"`             // of that analyst
	All     float64   `json:"all"`             // of everybody together

	seq int64 // of its record
}

// historyPoints is about how many charges a history tells of. The others are passed over evenly. These are always told: each analyst's first, and of the last window everybody's, each role's and each analyst's first and last.
const historyPoints = 4000

// History reads a data set's charges from the first record. The ledger is held while it is read.
func (l *book) History(ctx context.Context, dataset string) ([]Spent, error) {
	l.mu.Lock()
	every := l.state.seq/historyPoints + 1
	known := l.state.find(dataset) != nil
	l.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("ledger: it has no data set %q", dataset)
	}
	return l.history(ctx, dataset, every)
}

// history tells each analyst's first charge, of the others one of every so many, and the firsts and lasts of the last window.
func (l *book) history(ctx context.Context, dataset string, every int64) ([]Spent, error) {
	unlock, err := l.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	total := int64(0)
	out, known := []Spent{}, map[string]bool{}
	first, last := map[payee]Spent{}, map[payee]Spent{} // of the window
	var window time.Time
	st := newState()
	for r, err := range readChain(l.store.chain(0), st) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if r.Reserve == nil {
			continue
		}
		d := st.outstanding[r.Seq].of
		if d.head.Dataset != dataset {
			continue
		}
		rooms, err := d.head.Filter.Rooms(1)
		if err != nil {
			return nil, err
		}
		used := func(a *account) float64 {
			return Account{Rooms: rooms, Left: rooms.Left(a.spent)}.Used()
		}
		s := Spent{At: r.Time, Window: d.start, Ends: windowAt(d.head.Window, r.Time).Renews, Analyst: r.Reserve.Analyst, Own: used(d.accounts[payee{name: r.Reserve.Analyst}]), All: used(&d.all), seq: r.Seq}
		for _, role := range r.Reserve.Roles {
			s.Roles = append(s.Roles, role.Name)
		}
		if !s.Window.Equal(window) {
			clear(first)
			clear(last)
			window = s.Window
		}
		for who := range r.Reserve.payees() {
			if _, ok := first[who]; !ok {
				first[who] = s
			}
			last[who] = s
		}
		if total++; total%every == 1%every || !known[s.Analyst] {
			out = append(out, s)
		}
		known[s.Analyst] = true
	}
	out = slices.AppendSeq(out, maps.Values(first))
	out = slices.AppendSeq(out, maps.Values(last))
	slices.SortFunc(out, func(a, b Spent) int { return int(a.seq - b.seq) })
	return slices.CompactFunc(out, func(a, b Spent) bool { return a.seq == b.seq }), nil
}
