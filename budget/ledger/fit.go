package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/dpsql/dpsql/budget"
)

// fitted is a data set as the first charge of a window finds it, if the window of that moment is not charged yet: under this filter, of the same promise. In a charged window it is what it is.
func (d *dataset) fitted(f *budget.Filter, at time.Time) *dataset {
	if _, _, w := d.at(at); w.Charged || f == nil || !f.IsSamePromise(d.head.Filter) || *f == *d.head.Filter {
		return d
	}
	as, head := *d, *d.head
	head.Filter = f
	as.head = &head
	return &as
}

func (s *state) checkFit(r *Record) error {
	d := s.of(r.Version, r.Fit.Dataset)
	switch {
	case d == nil:
		return fmt.Errorf("a filter of data set %q, which was not opened", r.Fit.Dataset)
	case r.Fit.Filter == nil:
		return errors.New("a window without a filter")
	case !r.Fit.Filter.IsSamePromise(d.head.Filter):
		return fmt.Errorf("a window's filter of another promise, epsilon %g and delta %g", r.Fit.Filter.Epsilon, r.Fit.Filter.Delta)
	}
	if _, _, w := d.at(r.Time); w.Charged {
		return fmt.Errorf("the order changes to %g within a window that is charged already", r.Fit.Filter.Order)
	}
	return r.Fit.Filter.Validate()
}

// addFit puts a window's filter in force.
//
// Proof: claim: each charged window w is (e_w, d_w)-DP under fully adaptive composition, e_w and d_w those of its promise, whatever orders other windows have.
//   - (1) The filter in force changes by a Fit, which checkFit refuses in a charged window, or by a promise, which keeps the order (state.addPromise). So all charges of a window are counted and admitted
//     under one order, and their losses are taken at it: a charge that names another is refused (Charge.validate), and one that is below its events' loss at it is so by ReserveAll, and by Verify.
//   - (2) The Fit is written before the window's first charge, in the same transaction, and that is durable before its data is read. It is a function of the policy that the server has read, and of what was public
//     by then: answers of earlier windows among it, on which an owner who chose query.price, or an analyst who chose when and at which server to ask first, may have looked. So the order is fixed before the
//     window's first loss, given everything before it, which is condition (iii) of budget.NewFilter: the filter theorem for one fixed order (Feldman, Zrnic 2021, Theorem 3.1; Lecuyer 2021) holds within the window,
//     conditionally on what came before.
//   - (3) A window begins with empty accounts (state.addCharge), so no sum holds losses of two orders.
//   - (4) Order and Renyi room are not part of the promise: Validate asks that the room is at most what the order gives for (e_w, d_w), so each window counts against the lifetime as it ever did
//     (state.lifetime); how windows compose, and what a raise within one does, is state.addPromise's.
//   - (5) What is measured again of an older window's release is charged in the window that pays, at its order: sequential composition of that window's own events. The older events were charged in theirs.
func (s *state) addFit(f *Fit) {
	d := s.find(f.Dataset)
	head := *d.head
	head.Filter = f.Filter
	d.head = &head
}
