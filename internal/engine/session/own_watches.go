package session

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/watch/watches"
)

// watchesTable has the analyst's own watches. What a watch compares with is in none of its columns.
var watchesTable = ownTable(16388, "watches", sqltype.Text, "watch", "statement", sqltype.Int8, "threshold", sqltype.Type{OID: sqltype.OIDInterval, Typmod: -1}, "every", sqltype.Int8, "times", "looks", "alerts",
	sqltype.Timestamp, "last_alert", "next_look", sqltype.Text, "state", sqltype.Float8, "price")

func (s *Session) watchesRows(ctx context.Context) ([][]sqltype.Value, error) {
	list, err := s.Engine.Watches.List(ctx, s.Analyst.Name)
	if err != nil {
		return nil, s.WatchesFailed(ctx, err)
	}
	rows := make([][]sqltype.Value, len(list))
	for i, w := range list {
		if rows[i] = []sqltype.Value{w.Name, nil, nil, nil, nil, nil, nil, nil, nil, w.State, nil}; w.Every == 0 { // no key here opens it
			continue
		}
		var last, next sqltype.Value
		if !w.LastAlert.IsZero() {
			last = sqltype.InstantOf(w.LastAlert)
		}
		if w.IsLooking() {
			next = sqltype.InstantOf(w.Next)
		}
		rows[i] = []sqltype.Value{w.Name, textOrNull(w.Statement), int64(w.Threshold), watches.Interval(w.Every), int64(w.Times), w.Looks, w.Alerts, last, next, w.State, w.Price} //nolint:gosec // at most dp.MaxChoiceUnits
	}
	return rows, nil
}
