package ledger

import (
	"fmt"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// Reservation is the charge of a statement's stage, fixed from its plan.
type Reservation struct {
	Payer
	Statement Hash    `json:"statement"` // of the canonical plan
	Price     float64 `json:"price"`     // the price tag, epsilon
	Events    Events  `json:"events"`    // what will be run
	Loss      dp.Loss `json:"loss"`      // the events' loss by the ledger's filter, or more

	Once  bool  `json:"-"` // it is not to be charged while the same statement is asked, nor if that was released: a release answers both
	Known int64 `json:"-"` // but for this one's, by its reservation, which the caller knows and which does not do

	Filter *budget.Filter `json:"-"` // that Loss was taken by; nil: the caller does not say

	Text string `json:"-"` // of the statement, for its analyst and the owner; kept encrypted, or not at all

	Enough float64 `json:"-"` // the least price of a release that would answer: what is asked or released at less is no reason to wait
}

// Charge is a reservation in its unit of account: the price tag and the order at which the loss was taken; and whose it is.
type Charge struct {
	Reservation
	Order   float64 `json:"order"`
	Dataset string  `json:"dataset,omitempty"` // "" before version 3: the last opening's
	Epoch   string  `json:"epoch,omitempty"`   // "" before version 3: the data set's

	Sealed *SealedText `json:"asked,omitempty"` // the statement's text; nil: none
}

// validate refuses a charge that is none of this filter's.
func (c *Charge) validate(version int, f *budget.Filter) error {
	switch {
	case (version < 3) != (c.Epoch == ""):
		return fmt.Errorf("a charge of version %d with epoch %q", version, c.Epoch)
	case len(c.Events) == 0:
		return fmt.Errorf("a charge without events")
	case c.Sealed != nil && c.Sealed.Key == "":
		return fmt.Errorf("a text that is not encrypted")
	case !(c.Price > 0):
		return fmt.Errorf("a charge with price %g", c.Price)
	case c.Order != f.Order: // (1) of addFit: all charges of a window have its one order
		return fmt.Errorf("a charge at order %g, not %g", c.Order, f.Order)
	}
	if err := c.check(version, f); err != nil {
		return err
	}
	return c.Loss.Validate()
}
