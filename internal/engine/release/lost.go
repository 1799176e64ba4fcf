package release

import (
	"math/big"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// LostBounds are the bounds at which sqlgen.Lost is printed; false: nothing is lost, or it was told when the release was made.
func (m *Releaser) LostBounds() (b sqlgen.LostBounds, ok bool) {
	if m.old != nil || m.r.Run == nil {
		return b, false
	}
	b.Units = m.r.Plan.LostUnits(m.a, m.r.Chosen)
	for _, u := range b.Units {
		ok = ok || u > 0
	}
	if len(m.a.Choices) > 0 {
		b.Edges = m.r.Edges(m.a)
	}
	return b, ok
}

// ReadLost reads what sqlgen.Lost returned and releases it; once, after Read.
//
// Proof: claim: the result is the outcome of the run's Lost events. (1) The statement returns one row, in which one unit changes the vector of each sign by at most Unit in L1 norm, in LostParts (sensitivity.CanBeClipped, sqlgen.Lost). (2) Each number gets fresh noise of the measure's event, which is for LostMoves
// such vectors: one for each sign. (3) A row that does not fit, or a second one, is a failure that tells nothing.
func (m *Releaser) ReadLost(cols []sqlgen.Column, rows secret.Rows) error {
	b, ok := m.LostBounds()
	if !ok || m.r.Lost != nil {
		return errShape
	}
	var totals []*big.Int
	for rows.Next() {
		row := rows.Row()
		if totals != nil || len(row) != len(cols) { // (1) one row, (3) else it is a failure
			return errShape
		}
		totals = make([]*big.Int, len(cols))
		for i, c := range cols {
			if c.Role != sqlgen.RoleLost || c.Index != i {
				return errShape
			}
			var err error
			if totals[i], err = integer(secret.Open(row[i])); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	lost, next := make([]*Lost, len(m.a.Measures)), 0
	for i, unit := range b.Units {
		if unit == 0 {
			continue
		}
		l := &Lost{Unit: unit, Base: new(big.Int), Most: new(big.Int)}
		mech, err := m.src.Mechanism(m.r.Run.Lost[i].Event)
		if err != nil {
			return err
		}
		for range m.a.Measures[i].LostSides() {
			side := make([]*big.Int, sensitivity.LostClasses)
			for k := range side {
				if next == len(totals) {
					return errShape
				}
				if side[k], err = mech.Add(totals[next]); err != nil { // (2) noise of its own for each number
					return err
				}
				next++
			}
			l.Sides = append(l.Sides, side)
		}
		lost[i] = l
	}
	if next != len(totals) { // (3) a row that does not fit
		return errShape
	}
	m.r.Lost = lost
	return m.r.spreadLost(m.a)
}

// spreadLost notes among what the lost mass is spread: released values, so it is post-processing.
func (r *Release) spreadLost(a *sensitivity.Analysis) error {
	return r.Each(func(g *Group) error {
		for i, l := range r.Lost {
			if l == nil {
				continue
			}
			l.Count++
			if v := g.Values[i]; v != nil && (v.Sign() > 0 || len(l.Sides) > 1) {
				size := new(big.Int).Abs(v)
				l.Base.Add(l.Base, size)
				if size.Cmp(l.Most) > 0 {
					l.Most = size
				}
			}
		}
		return nil
	})
}
