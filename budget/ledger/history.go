package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// Spent is how far a data set's budget was used after a charge: shares of what was promised for the charge's window. A window begins with nothing.
type Spent struct {
	At      time.Time `json:"at"`
	Window  time.Time `json:"window,omitzero"` // its start; zero in a budget without windows
	Analyst string    `json:"analyst"`         // who was charged
	Own     float64   `json:"own"`             // of that analyst
	All     float64   `json:"all"`             // of everybody together
}

// historyPoints is about how many charges a history tells of: the others are passed over evenly, but an analyst's first.
const historyPoints = 4000

// History reads a data set's charges from the first record. The ledger is held while it is read.
func (l *book) History(ctx context.Context, dataset string) ([]Spent, error) {
	l.mu.Lock()
	total := 0
	if d := l.state.find(dataset); d == nil {
		l.mu.Unlock()
		return nil, fmt.Errorf("ledger: it has no data set %q", dataset)
	}
	every := l.state.seq/historyPoints + 1
	l.mu.Unlock()
	unlock, err := l.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var out []Spent
	known := map[string]bool{}
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
		if total++; int64(total)%every != 1%every && known[r.Reserve.Analyst] {
			continue
		}
		known[r.Reserve.Analyst] = true
		rooms, err := d.head.Filter.Rooms(1)
		if err != nil {
			return nil, err
		}
		out = append(out, Spent{At: r.Time, Window: d.start, Analyst: r.Reserve.Analyst,
			Own: used(d.accounts[payee{name: r.Reserve.Analyst}].spent, rooms), All: used(d.all.spent, rooms)})
	}
	return out, nil
}

// used is the smaller share of the two sides: a statement passes while either has room.
func used(spent dp.Loss, rooms budget.Rooms) float64 {
	share := spent.Pure / rooms.Pure
	if rooms.Renyi > 0 {
		share = min(share, spent.Renyi/rooms.Renyi)
	}
	return share
}
