package engine

import (
	"fmt"

	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/internal/engine/measure"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/sensitivity"
)

// scaleLine says how the bound of joined rows is chosen and what that costs.
func (s *Session) scaleLine(c *sensitivity.Choice, mp *measure.Plan) (string, error) {
	o := mp.Others[c.Index]
	ev, ok := o.Event.(dp.SmoothScale)
	if !ok {
		return "", sqlerr.New(sqlerr.Internal, "a scale's event is %s", o.Event.Name())
	}
	loss, err := s.filter.Loss(ev)
	if err != nil {
		return "", err
	}
	g, err := mp.Grid(c)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the bound of the rows that one unit changes, among %d edges: the smooth bound of the formula at the measured frequencies (beta %s), with discrete Laplace noise on its logarithm and raised by a factor of %s; the errors below are known once it is released; it takes %s%% of the price, being epsilon %s and delta %s by itself",
		o.Edges, number(g.Beta), number(g.Factor(float64(ev.Margin))), number(100*mp.Shares[c.Index]), number(loss.Pure), number(loss.Delta)), nil
}
