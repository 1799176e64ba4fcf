package budget

import (
	"errors"
	"fmt"
)

// Raised is the filter of a larger promise at the same order and by the same accountant: what this one admitted, it admits. So it may take its place within a window.
func (f *Filter) Raised(epsilon, delta float64) (*Filter, error) {
	g := *f
	g.Epsilon, g.Delta, g.PureRoom, g.DeltaRoom = epsilon, delta, epsilon, delta/2
	if err := g.checkParams(); err != nil {
		return nil, err
	}
	if g.Order != 0 && g.DeltaRoom > 0 {
		g.RenyiRoom = renyiRoom(g.Order, epsilon, g.DeltaRoom).lo
	}
	if err := errors.Join(g.Validate(), g.Above(f)); err != nil {
		return nil, err
	}
	return &g, nil
}

// Above says why a filter does not admit all that another one admits; nil if it does: the same order and accountant, and no smaller promise or room.
func (f *Filter) Above(g *Filter) error {
	switch {
	case f.Accountant != g.Accountant || f.Order != g.Order || f.QueryEpsilon != g.QueryEpsilon:
		return fmt.Errorf("budget: a promise that is raised keeps its accountant %s and order %g", g.Accountant, g.Order)
	case !(f.Epsilon >= g.Epsilon && f.Delta >= g.Delta && f.PureRoom >= g.PureRoom && f.RenyiRoom >= g.RenyiRoom && f.DeltaRoom >= g.DeltaRoom):
		return fmt.Errorf("budget: epsilon %g and delta %g are less than the promised %g and %g: a promise can be made larger only", f.Epsilon, f.Delta, g.Epsilon, g.Delta)
	}
	return nil
}
