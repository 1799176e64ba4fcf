package explain

import (
	"fmt"

	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/sensitivity"
)

// scaleLine says how the bound of joined rows is chosen and what that costs.
func scaleLine(s *session.Session, c *sensitivity.Choice, mp *price.Quote) (string, error) {
	g, err := mp.Grid(c)
	if err != nil {
		return "", err
	}
	ev := mp.Scale.Event
	loss, err := s.Filter.Loss(ev)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the bound of the rows that one unit changes, among %d edges. It is the smooth bound of the formula at the measured frequencies (beta %s). Its logarithm has discrete Laplace noise, and it is raised by a factor of %s. The errors below are known once it is released. It takes %s%% of the price, being epsilon %s and delta %s by itself",
		mp.Scale.Edges, server.Number(g.Beta), server.Number(g.Factor(float64(ev.Margin))), server.Number(100*mp.Shares[c.Index]), server.Number(loss.Pure), server.Number(loss.Delta)), nil
}
