package engine

import (
	"fmt"

	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/sensitivity/elastic"
)

// otherLine says how the bound of joined rows is chosen and what that costs.
func (s *Session) otherLine(o measure.Other, share float64) string {
	cost := ""
	if loss, err := s.filter.Loss(o.Event); err == nil {
		cost = fmt.Sprintf("; it takes %s%% of the price, being epsilon %s and delta %s by itself", number(100*share), number(loss.Pure), number(loss.Delta))
	}
	ev, ok := o.Event.(dp.SmoothScale)
	if !ok {
		return o.Event.Name() + cost
	}
	how := ""
	if g, err := elastic.NewGrid(float64(ev.Steps)/ev.Scale.Float(), ev.Delta, []uint64{1}); err == nil {
		how = fmt.Sprintf(" (beta %s), with discrete Laplace noise on its logarithm and raised by a factor of %s", number(g.Beta), number(raised(ev, g)))
	}
	return fmt.Sprintf("the bound of the rows that one unit changes, among %d edges: the smooth bound of the formula at the measured frequencies%s; the errors below are known once it is released%s", o.Edges, how, cost)
}
