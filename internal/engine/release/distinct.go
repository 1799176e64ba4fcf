package release

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// ReadDistinct reads measure i's numbers of distinct values, for the groups that Read released, and releases them with noise; once a measure.
//
// Proof: as Read's, on totals whose sensitivity is claims.Measurer.distinct's or distinctPair's claim at the bounds that Kept gives, which are released. Every group that Read released has a number, 0 where no row came for it;
// rows of other groups are dropped. Those were chosen before, by their units. A row that does not fit, or a second one for a group, is a failure that tells nothing. Of a top-up: what Releaser.topUp says, (1) to (3), of the
// same totals, whose bounds are the release's; which values of a unit are kept, the statement's key says, as it did then.
func (m *Releaser) ReadDistinct(ctx context.Context, i int, cols []sqlgen.Column, rows secret.Rows) error {
	if !m.read || i >= len(m.apart) || m.apart[i] == nil || m.a.Measures[i].Tree != nil {
		return errShape
	}
	groups := make([][]sqltype.Value, len(m.r.Groups))
	for g := range m.r.Groups {
		groups[g] = m.r.Groups[g].Keys
	}
	totals, err := totalsOf(groups, len(m.a.Measures), m.plain(cols, rows))
	if err != nil {
		return err
	}
	for g, t := range totals {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t[i] == nil || t[i].Sign() < 0 && !m.a.Measures[i].Distinct {
			return errShape
		}
		noisy, err := m.apart[i].Add(t[i])
		if err != nil {
			return err
		}
		if m.old != nil {
			noisy = mean(m.r.Groups[g].Values[i], noisy, m.r.Tops[len(m.r.Tops)-1].Weights[i])
		}
		m.r.Groups[g].Values[i] = noisy
	}
	m.apart[i] = nil
	return nil
}
