package ledger

import (
	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
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

// Used is the share of the rooms that is spent: of epsilon, or of delta, if that is more. At 1 no further charge fits of those that need the part that is spent.
func (a Account) Used() float64 { return max(a.Parts()) }

// Parts are the shares that are spent of epsilon and of delta: of epsilon on the side that has more left. Where epsilon is spent, no charge fits. Where only delta is, those without a delta do.
func (a Account) Parts() (epsilon, delta float64) {
	if a.Ended {
		return 1, 1
	}
	share := func(left, room float64) float64 { return max(0, min(1, left/room)) }
	left := 0.0
	if a.Rooms.Pure > 0 {
		left = share(a.Left.Pure, a.Rooms.Pure)
	}
	if a.Rooms.Renyi > 0 {
		left = max(left, share(a.Left.Renyi, a.Rooms.Renyi))
	}
	epsilon = 1 - left
	if a.Rooms.Delta > 0 {
		delta = 1 - share(a.Left.Delta, a.Rooms.Delta)
	}
	return epsilon, delta
}

// canAdmit says whether one more charge fits.
func (a Account) canAdmit(charge dp.Loss) bool { return !a.Ended && a.Rooms.CanAdmit(a.Spent, charge) }

type account struct {
	spent                dp.Loss
	statements, failures int64
	quota                quota // a payee's, at the last charge
}

func (a *account) add(loss dp.Loss) {
	a.spent = a.spent.Plus(loss)
	a.statements++
}

// show is the account of one with this quota, and what was granted beside it.
func (a *account) show(h *Head, q quota, more float64, ended bool) (Account, error) {
	rooms, err := h.rooms(q, more)
	if err != nil {
		return Account{}, err
	}
	out := Account{Spent: a.spent, Rooms: rooms, Left: rooms.Left(a.spent), Statements: a.statements, Failures: a.failures, Ended: ended, Granted: more}
	if ended {
		out.Left = budget.Rooms{}
	}
	return out, nil
}
