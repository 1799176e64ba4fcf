package sqlgen

import (
	"fmt"
	"math"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Reading is how the proxy makes whole numbers of steps of a column that comes as it is stored: the database then computes nothing of it, and sends what COPY would.
type Reading struct {
	Float  bool    // cells are floats by their bits
	From   float64 // step 0
	Grid   float64
	Lo, Hi int64
	Length int  // of an array, of whose elements all this is; 0: no array
	Fill   bool // NULL is the middle of the range; else its row is left out
}

// Steps is a cell as a whole number of steps; false where its row is left out.
//
// Proof: claim: a number in [Lo, Hi], whatever the cell, which follows from the cell alone. NaN fails the first comparison and is Hi, as in the databases; infinities are an end; what is left is between Lo and Hi as floats, so its rounding is within int64, and is clamped once more where Lo or Hi is no float64.
func (r *Reading) Steps(cell int64, null bool) (int64, bool) {
	switch {
	case null:
		return r.Lo + (r.Hi-r.Lo)/2, r.Fill
	case !r.Float:
		return min(max(cell, r.Lo), r.Hi), true
	}
	x := (math.Float64frombits(uint64(cell)) - r.From) / r.Grid //nolint:gosec // bits
	if !(x < float64(r.Hi)) {
		return r.Hi, true
	}
	if x <= float64(r.Lo) {
		return r.Lo, true
	}
	return min(max(int64(math.RoundToEven(x)), r.Lo), r.Hi), true
}

// reading tells how a feature is read as it is stored: a column that is read through its range, of a type whose values are numbers.
func (w *private) reading(f Feature) (*Reading, sqltype.Type, bool) {
	m := w.a.Measures[f.Measure]
	col, ok := m.Arg.(*plan.Col)
	if !ok || !w.clampedColumn(m.Arg, w.f) {
		return nil, sqltype.Type{}, false
	}
	t, ok := w.f.typeOf(col.ID)
	if !ok || t.OID != m.Arg.Type().OID {
		return nil, sqltype.Type{}, false
	}
	r := &Reading{Grid: m.Tree.Grid.InexactFloat64(), Lo: m.Tree.Lo, Hi: m.Tree.Hi, Fill: f.Fill}
	switch {
	case t.IsFloat(), t.OID == sqltype.OIDNumeric:
		r.Float = true
		return r, t, r.Grid > 0
	case t.IsInteger(), t.OID == sqltype.OIDDate, t.OID == sqltype.OIDTimestamp, t.OID == sqltype.OIDTimestamptz:
		return r, t, r.Grid == 1 && !m.Tree.Rounded
	}
	return nil, t, false
}

// arrayOf is the array of which a measure asks whether it is NULL: CASE WHEN array IS NOT NULL THEN 1 END.
func arrayOf(m sensitivity.Measure) plan.Scalar {
	if c, ok := m.Arg.(*plan.Case); ok && len(c.Whens) > 0 {
		if is, ok := c.Whens[0].Cond.(*plan.Is); ok {
			return is.X
		}
	}
	return nil
}

// storedRows prints the rows of units that have one each.
func (w *private) storedRows(features []Feature) *Statement {
	st := &Statement{}
	list := make([]string, len(features))
	for i, f := range features {
		m, column := w.a.Measures[f.Measure], Column{Role: RoleMeasure, Index: i, Type: sqltype.Int8}
		if array := arrayOf(m); f.Array != nil {
			if array == nil {
				w.fail(internalError("feature %d of a training is no array", i))
				return st
			}
			column.Type = array.Type()
			st.Readings = append(st.Readings, f.Array)
			list[i] = w.listOf(array, w.f)
		} else if r, t, ok := w.reading(f); ok {
			column.Type = t
			st.Readings = append(st.Readings, r)
			list[i] = w.scalar(m.Arg, w.f, stored)
		} else {
			st.Readings = append(st.Readings, nil)
			list[i] = w.big(w.filled(w.steps(m), m, f.Fill))
		}
		st.Columns = append(st.Columns, column)
	}
	st.SQL = "SELECT " + strings.Join(list, ", ") + w.f.clause()
	st.Args = w.args
	return st
}

func (w *private) filled(text string, m sensitivity.Measure, fill bool) string {
	if !fill {
		return text
	}
	return fmt.Sprintf("COALESCE(%s, %d)", text, m.Tree.Lo+(m.Tree.Hi-m.Tree.Lo)/2)
}
