package synthetic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// card are the facts of a table that follow from the statement and the policy.
func (c *Creation) card() [][]sqltype.Value {
	d, src := c.charge.design, c.source
	one, pair := d.CountError()
	rows := [][]sqltype.Value{
		{"synthetic table", c.Node.Name.Text}, {"price", server.Number(c.charge.price)}, {"epsilon", server.Number(d.Epsilon(c.options.delta))}, {"delta", server.Number(c.options.delta)},
		{"unit", string(src.analysis.Unit)}, {"rows of a unit", src.rowsOfUnit()},
		{"measured", c.measured()},
		{"error of a value's count", fmt.Sprintf("about ± %s rows", server.Number(server.RoundUp3(one)))},
	}
	if pair > 0 {
		rows = append(rows, []sqltype.Value{"error of a pair's count", fmt.Sprintf("about ± %s rows where the pair is measured; for other pairs, what the model implies", server.Number(server.RoundUp3(pair)))})
	}
	var columns []string
	for i := range src.columns {
		col := &src.columns[i]
		text := fmt.Sprintf("%s in %d bins", col.Name, col.bins())
		if col.nullable {
			text += " (one for NULL)"
		}
		columns = append(columns, text)
	}
	return append(rows, []sqltype.Value{"columns", strings.Join(columns, ", ")}, []sqltype.Value{"charge", c.chargedAs()}, []sqltype.Value{"query", pgsyntax.Print(c.Node.Query)})
}

// rowsOfUnit says how many rows of a unit count, and what becomes of others: by the bound alone, whoever has more.
func (s *source) rowsOfUnit() string {
	if s.rows == 1 && !s.analysis.CanAnyBeClipped() {
		return "at most 1"
	}
	return fmt.Sprintf("at most %d. Rows of a unit beyond these are missing from the table and from every count", s.rows)
}

// measured says what is released.
func (c *Creation) measured() string {
	n, pairs := len(c.source.columns), c.charge.design.Pairs()
	if pairs == 0 {
		return "the counts of one column"
	}
	return fmt.Sprintf("the counts of %d columns, a score of each of %d pairs, and the counts of the pairs that the scores choose", n, pairs)
}

// explained is the card with what is left, and what would refuse the table.
func (c *Creation) explained(ctx context.Context) (*answer.Answer, error) {
	s := c.Session
	balance, err := s.Balance()
	if err != nil {
		return nil, err
	}
	rows := c.card()
	if c.charge.other != "" {
		rows = append(rows, []sqltype.Value{"charge otherwise", c.charge.other})
	}
	usual, _ := stage.WithoutEnds(c.source.gaps)
	for _, w := range slices.Concat(stage.Omitted(c.source.analysis), stage.WarningsOf(usual), c.source.unlisted()) {
		rows = append(rows, []sqltype.Value{"warning", w})
	}
	rows = append(rows, []sqltype.Value{"left", server.Statements(balance.StatementsLeft(c.charge.loss)) + " tables at this charge"})
	free := s.Engine.Models.Tables().Free(ctx, c.Node.Name.Text, s.Analyst.Name, c.Node.Replace)
	denied := balance.Denies(c.charge.loss)
	if denied != nil {
		denied = c.denied(denied)
	}
	for _, err := range []error{free, denied} {
		var e *sqlerr.Error
		switch {
		case err == nil:
		case errors.As(err, &e) && (e.ID == sqlerr.DuplicateObject.ID || e.ID == sqlerr.BudgetExhausted.ID || e.ID == sqlerr.LifetimeEnded.ID):
			rows = append(rows, []sqltype.Value{"refused", strings.TrimSpace(e.Message + ". " + e.Hint)})
		default:
			return nil, s.ModelsFailed(ctx, err)
		}
	}
	if !c.verbose {
		rows = brief(rows)
	}
	return answer.Properties(rows, s.Intervals), nil
}

// briefProperties are what EXPLAIN shows without VERBOSE.
var briefProperties = []string{"price", "left", "refused", "warning", "epsilon", "delta", "measured", "error of a value's count", "error of a pair's count", "rows of a unit"}

func brief(rows [][]sqltype.Value) (out [][]sqltype.Value) {
	for _, name := range briefProperties {
		for _, row := range rows {
			if row[0] == name {
				out = append(out, row)
			}
		}
	}
	return append(out, answer.VerboseProperty)
}
