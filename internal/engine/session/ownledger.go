package session

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// ledgerTable is what an analyst was charged for, statement by statement: the own rows alone, with numbers of their own.
var ledgerTable = ownTable(16387, "ledger", sqltype.Int8, "charge", sqltype.Timestamp, "made_at", sqltype.Text, "data_set", "statement", "state", "mechanism",
	sqltype.Float8, "price", "pure", "renyi", "delta", "order", "pure_spent", "renyi_spent", "delta_spent", sqltype.Text, "query")

// ledgerRows are the charges with what this analyst had spent after each in its window; the budget table has the same sums for the window of now.
//
// Proof: claim: they tell nothing of others' statements but what balances tell. ledger.Charges is a function of the analyst's own, and of the order of their windows, which the policy gave that was served when the window was first charged; all else here is the policy's. So no row has another analyst's text.
func (s *Session) ledgerRows(ctx context.Context) ([][]sqltype.Value, error) {
	list, err := s.Engine.Ledger.Charges(ctx, s.Analyst.Name)
	if err != nil {
		return nil, s.LedgerFailed(err)
	}
	rows := make([][]sqltype.Value, len(list))
	for i, c := range list {
		var renyi, order, spent sqltype.Value
		if c.Order != 0 {
			renyi, order, spent = c.Loss.Renyi, c.Order, c.Total.Renyi
		}
		rows[i] = []sqltype.Value{c.Number, sqltype.InstantOf(c.At), s.World.Policy.Dataset, hex.EncodeToString(c.Statement[:]), c.State, strings.Join(c.Mechanisms, ", "),
			c.Price, c.Loss.Pure, renyi, c.Loss.Delta, order, c.Total.Pure, spent, c.Total.Delta, textOrNull(c.Text)}
	}
	return rows, nil
}

// textOrNull is NULL where a charge's text is not known.
func textOrNull(text string) sqltype.Value {
	if text == "" {
		return nil
	}
	return text
}

// ownByRecord are the own charges, by the ledger's numbers, which count everybody's.
func (s *Session) ownByRecord(ctx context.Context) (map[int64]ledger.OwnCharge, error) {
	list, err := s.Engine.Ledger.Charges(ctx, s.Analyst.Name)
	if err != nil {
		return nil, s.LedgerFailed(err)
	}
	out := make(map[int64]ledger.OwnCharge, len(list))
	for _, c := range list {
		out[c.Reservation] = c
	}
	return out, nil
}
