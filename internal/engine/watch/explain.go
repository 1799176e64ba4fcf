package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
	"github.com/dpsql/dpsql/noise"
)

// explain says what the watch would cost, and how near to the threshold its looks are right. It reads no row.
func (c *Creation) explain(ctx context.Context) ([][]sqltype.Value, error) {
	s, w := c.Session, &c.Watch
	balance, err := s.Balance()
	if err != nil {
		return nil, err
	}
	charged := "once, for all looks"
	if s.World.Policy.Budget.Per != "" {
		charged = fmt.Sprintf("once, for all looks, and again in each %s that it goes on in; it ends where the budget does not hold that", s.World.Policy.Budget.Per)
	}
	distance := noise.WatchWithin(w.Event)
	rows := [][]sqltype.Value{
		{"watch", w.Name}, {"price", server.Number(w.Price)}, {"charged", charged},
		{"right in 95 % of looks", fmt.Sprintf("%.0f rows or more away from the threshold %d", distance, w.Threshold)},
		{"looks", fmt.Sprintf("every %s, until %s", watches.IntervalText(w.Every), alerts(w.Times))},
		{"unit", string(c.Analysis.Unit)}, {"rows of a unit", fmt.Sprintf("at most %d", w.Event.PerUnit)},
		{"epsilon", fmt.Sprintf("%s, %s for each alert", server.Number(c.Loss.Pure), server.Number(c.Loss.Pure/float64(w.Times)))},
		{"noise scale", fmt.Sprintf("%.4g rows, of each look and of the threshold", w.Event.Scale.Float())},
		{"left", server.Statements(balance.StatementsLeft(c.Loss)) + " watches at this charge"},
	}
	if s.Filter.Order != 0 {
		rows = append(rows, []sqltype.Value{"renyi", fmt.Sprintf("%s at order %s", server.Number(c.Loss.Renyi), server.Number(s.Filter.Order))})
	}
	refused := c.free(ctx)
	if refused == nil && !balance.CanAdmit(c.Loss) {
		var d *ledger.Denied
		if refused = balance.Denies(c.Loss); errors.As(refused, &d) {
			refused = c.denied(d)
		}
	}
	var e *sqlerr.Error
	switch {
	case errors.As(refused, &e):
		rows = append(rows, []sqltype.Value{"refused", strings.Join(strings.Fields(e.Message+". "+e.Detail+" "+e.Hint), " ")})
	case refused != nil:
		return nil, refused
	}
	return rows, nil
}

func alerts(times uint64) string {
	if times == 1 {
		return "the first alert"
	}
	return fmt.Sprintf("%d alerts", times)
}
