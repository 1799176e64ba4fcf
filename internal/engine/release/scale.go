package release

import (
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// smooth draws the noise of a scale of joined rows.
func (m *Releaser) smooth() (err error) {
	if m.a.Joined == nil || !m.a.Groups.Public {
		return errShape
	}
	m.smoother, err = m.src.Smoother(m.r.Plan.Scale.Event)
	return err
}

// Scale reads the first scan of a statement whose rows are joined off the unit: how often values of its keys occur. It releases a bound of the rows that one unit changes, an edge, by whose noise the second scan's totals are released. Then Read takes that one.
//
// Proof: claim: the scale and the totals together lose what the plan's events say, the smooth scale's and, at whatever edge, the clipped noise's. (1) The row has the frequencies of the leaves in the snapshot in which the totals are read next, under the same caps (sqlgen.Frequencies, the engine's read); S, the formula's smooth bound at them, is at
// least the rows that one unit changes there (joins.JoinedBody, elastic.Smooth), and its place on the grid moves by at most Moves with one unit. Nothing but that place, raised and with noise, leaves (noise.Smoother.Raise). (2) The edge is at least S wherever the released place is at least that of S, or it is the last one
// (elastic.Grid.Edge). (3) At another edge than the last, one unit changes the vector of a measure's totals by at most Factor S <= Factor edge, in L1 norm and so in L2 norm (claims.Measurer.boundRow): what the clipped noise is for. (4) At the last edge S may be larger: there the totals are not read, each is 0 (beyond), which no unit changes. So
// Raise's proof has its condition at every edge. (5) A row that does not fit is a failure that tells nothing.
func (m *Releaser) Scale(cols []sqlgen.Column, rows secret.Rows) error {
	if m.smoother == nil || m.r.Chosen != nil {
		return errShape
	}
	values, err := frequencies(cols, rows, len(m.a.Joined.Frequencies))
	if err != nil {
		return err
	}
	c := m.a.Choices[0]
	grid, err := m.r.Plan.Grid(c)
	if err != nil {
		return err
	}
	smooth, err := m.a.Joined.Formula.Smooth(values, grid.Beta, m.end)
	if err != nil {
		return err
	}
	place, err := m.smoother.Raise(grid.Step(smooth))
	if err != nil {
		return err
	}
	chosen := price.Chosen{grid.Edge(place)}
	if m.r.Run, err = m.r.Plan.Resolve(m.a, chosen); err != nil {
		return err
	}
	m.r.Chosen = chosen
	return m.mechanisms()
}

// isAtLastEdge: the scale that was released is the last edge, which bounds nothing.
func (m *Releaser) isAtLastEdge() bool {
	return uint64(m.r.Chosen[0])+1 >= m.r.Plan.Scale.Edges
}

// frequencies opens the one row of them.
func frequencies(cols []sqlgen.Column, rows secret.Rows, n int) ([]uint64, error) {
	out, seen := make([]uint64, n), 0
	if len(cols) != n || !rows.Next() {
		return nil, first(rows.Err(), errShape)
	}
	row := rows.Row()
	if len(row) != n {
		return nil, errShape
	}
	for i, c := range cols {
		v, err := integer(secret.Open(row[i]))
		if err != nil || c.Role != sqlgen.RoleFrequency || c.Index < 0 || c.Index >= n || !v.IsUint64() {
			return nil, errShape
		}
		out[c.Index] = v.Uint64()
		seen++
	}
	if seen != n || rows.Next() {
		return nil, errShape
	}
	return out, rows.Err()
}

func first(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
