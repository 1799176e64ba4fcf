package eval

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// index finds the rows that an equality of a column with something that is known before may keep, so that not all of them are looked at. It leaves out rows for which the condition
// is not true, and no others; the condition is still asked of the rest.
type index struct {
	place  int    // of the column, in the rows
	probe  scalar // over the row that asks
	padded bool
}

// indexOf finds an equality among conjuncts of a column of some rows with an expression that reads none of them, over a row of another scope or rows around; nil without one.
func (c *compiler) indexOf(cond plan.Scalar, cols []plan.ColID, asking scope) *index {
	own := scopeOf(cols)
	for _, x := range plan.Conjuncts(cond) {
		call, ok := x.(*plan.Call)
		if !ok || call.Fn.Name != "=" || len(call.Args) != 2 {
			continue
		}
		for i, a := range call.Args {
			col, ok := a.(*plan.Col)
			if !ok {
				continue
			}
			place, ok := own[col.ID]
			other := call.Args[1-i]
			if !ok || plan.FirstQuery(other) != nil || !sameKey(col.T, other.Type()) {
				continue
			}
			reads := false
			plan.VisitCols(other, func(o *plan.Col) {
				_, is := own[o.ID]
				reads = reads || is
			})
			if reads {
				continue
			}
			if probe, err := c.scalar(other, asking); err == nil {
				return &index{place: place, probe: probe, padded: col.T.OID == sqltype.OIDBPChar}
			}
		}
	}
	return nil
}

// sameKey: values of the types are equal exactly where their keys are.
func sameKey(a, b sqltype.Type) bool { return a.OID == b.OID || a.IsInteger() && b.IsInteger() }

func (x *index) of(rows [][]sqltype.Value) *indexed {
	out := &indexed{rows: rows, at: make(map[string][]int, len(rows))}
	var key []byte
	for i, row := range rows {
		if v := row[x.place]; v != nil {
			key = appendKey(key[:0], v, x.padded)
			out.at[string(key)] = append(out.at[string(key)], i)
		}
	}
	return out
}

// find gives the places of the rows that may satisfy the condition; all where the value cannot be known.
func (x *index) find(m *machine, in *indexed, asking []sqltype.Value) []int {
	v, err := x.probe(m, asking)
	switch {
	case err != nil: // the condition raises it, where it is asked
		return places(len(in.rows))
	case v == nil:
		return nil
	}
	return in.at[string(appendKey(nil, v, x.padded))]
}

func places(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// lookUp is a filter within a row around, whose input is the same for all of those: it is read once, and found by an equality. nil where it is none.
func (c *compiler) lookUp(n *plan.Filter, in step, cond scalar) *step {
	if len(c.around) == 0 || len(plan.Free(n.Input)) > 0 || readsWorking(n.Input) {
		return nil
	}
	x := c.indexOf(n.Cond, in.cols, nil)
	if x == nil {
		return nil
	}
	place := c.indexes
	c.indexes++
	return &step{cols: in.cols, rows: func(m *machine) ([][]sqltype.Value, error) {
		if m.indexes[place] == nil {
			rows, err := in.rows(m)
			m.indexes[place] = x.of(rows)
			m.indexes[place].err = err
		}
		have := m.indexes[place]
		if have.err != nil {
			return nil, have.err
		}
		var out [][]sqltype.Value
		for _, i := range x.find(m, have, nil) {
			if err := m.tick(); err != nil {
				return nil, err
			}
			v, err := cond(m, have.rows[i])
			if err != nil {
				return nil, err
			}
			if v == true {
				out = append(out, have.rows[i])
			}
		}
		return slices.Clip(out), nil
	}}
}
