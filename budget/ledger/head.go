package ledger

import (
	"fmt"

	"github.com/dpsql/dpsql/budget"
)

// Head is what a data set's budget is. Everything but Epoch and the filter's order is fixed by its first opening, but for larger promises (Raise). People
// and Lifetime are the same in all heads of a ledger; with more than one, Lifetime is set.
type Head struct {
	Dataset  string         `json:"dataset"`
	People   string         `json:"people"` // data sets over the same people name the same
	Filter   *budget.Filter `json:"filter"`
	Window   string         `json:"window"`             // WindowDay ...; "": one window for ever
	Lifetime *Lifetime      `json:"lifetime,omitempty"` // nil: none, on purpose
	Epoch    string         `json:"epoch"`              // names the policy's text: stored releases answer within one epoch only
}

func (h *Head) validate() error {
	switch {
	case h.Dataset == "" || h.People == "" || h.Epoch == "":
		return fmt.Errorf("the head names no data set, people or policy epoch")
	case !knownWindow(h.Window):
		return fmt.Errorf("the window %q is not one that this version keeps", h.Window)
	case h.Lifetime != nil && !(h.Lifetime.Epsilon > 0 && h.Lifetime.Epsilon <= maxLifetime):
		return fmt.Errorf("a lifetime of epsilon %g is not in (0, %g]", h.Lifetime.Epsilon, float64(maxLifetime))
	case h.Filter == nil:
		return fmt.Errorf("the head has no filter")
	}
	return h.Filter.Validate()
}

// own makes a head that the caller cannot change any more.
func (h Head) own() (Head, error) {
	if err := h.validate(); err != nil {
		return h, fmt.Errorf("ledger: %w", err)
	}
	filter := *h.Filter
	h.Filter = &filter
	if h.Lifetime != nil {
		lifetime := *h.Lifetime
		h.Lifetime = &lifetime
	}
	return h, nil
}

// Accepts compares what the data set's head says with what the policy says.
func (h *Head) Accepts(wanted Head) error {
	switch {
	case h.People != wanted.People:
		return fmt.Errorf("%w: its people are %q, not %q. A promise that was made stays: restore the policy's people", ErrMismatch, h.People, wanted.People)
	case h.Window != wanted.Window:
		return fmt.Errorf("%w: its window is %s, not %s. A promise that was made stays: restore the policy's budget.per", ErrMismatch, windowText(h.Window), windowText(wanted.Window))
	case !sameLifetime(h.Lifetime, wanted.Lifetime):
		return fmt.Errorf("%w: its lifetime is %s, not %s. A promise that was made stays: restore the policy's budget.lifetime: %s (a longer one is made with dpsql budget raise)",
			ErrMismatch, h.Lifetime, wanted.Lifetime, h.Lifetime)
	case !h.Filter.IsSamePromise(wanted.Filter):
		return fmt.Errorf("%w: it promises epsilon %g, delta %g by accountant %s; the policy says %g, %g, %s. A promise that was made stays: "+
			"restore the policy's budget (a larger one is made with dpsql budget raise)", ErrMismatch, h.Filter.Epsilon, h.Filter.Delta, h.Filter.Accountant,
			wanted.Filter.Epsilon, wanted.Filter.Delta, wanted.Filter.Accountant)
	}
	return nil
}

// Lifetime limits what all windows, of all data sets over the same people, may cost together.
type Lifetime struct {
	Epsilon float64 `json:"epsilon"`
}

// maxLifetime refuses slips; it is the policy's limit too.
const maxLifetime = 1e9

func sameLifetime(a, b *Lifetime) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Epsilon == b.Epsilon
}

// String is as a policy writes it.
func (l *Lifetime) String() string {
	if l == nil {
		return "none"
	}
	return fmt.Sprint(l.Epsilon)
}
