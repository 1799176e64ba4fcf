package sensitivity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// ScaleText says what the released bound of joined rows is of: the formula, and of what leaves its frequencies are. Statements of one text have about the same bound at the same price, whatever they measure, group by, or ask of whole joined rows: a leaf's cap may keep other rows of a person, which
// no text tells. false: nothing is chosen. Parameters are written by their values. It is for guesses: equal texts prove nothing.
func (a *Analysis) ScaleText(args []sqltype.Value) (string, bool) {
	if !a.IsSmoothed() {
		return "", false
	}
	names := make([]string, len(a.Joined.Frequencies))
	for i, q := range a.Joined.Frequencies {
		names[i] = sideText(q, args)
	}
	return a.Joined.Formula.Text(names), true
}

// sideText is of which columns of which leaf a frequency is.
func sideText(q KeyFrequency, args []sqltype.Value) string {
	n, rel, capped := plan.NewNormal(args), q.Side, ""
	for {
		c, ok := rel.(*plan.Capped)
		if !ok {
			break
		}
		rel, capped = c.Input, fmt.Sprintf("%s, %d of each", capped, c.Most)
	}
	rows := n.Rows(rel)
	var lines, columns []string
	for _, c := range rows.Conds {
		lines = append(lines, c.Text)
	}
	for _, id := range q.Columns {
		columns = append(columns, n.Col(id))
	}
	slices.Sort(columns)
	return fmt.Sprintf("%s of %s%s where %s long %s", strings.Join(columns, " "), rows.Tables, capped, strings.Join(lines, " AND "), n.Long())
}
