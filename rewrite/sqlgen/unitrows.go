package sqlgen

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Feature is a value that a training reads of each row: a measure of order statistics' form, as a whole number of its tree's steps.
type Feature struct {
	Measure int
	Fill    bool     // NULL is read as the middle of the range; else the row is left out
	Array   *Reading // of the elements of an array, which Measure asks whether it is NULL; nil: no array
}

// UnitRows prints the rows that a training reads: RoleUnit, a number that is the same in all rows of a unit and in no other's (left out where each unit has one row), and a RoleMeasure a feature, by its place in the list. A unit's rows stand together,
// by ascending number.
//
// Proof: claim: of each unit at most most rows come, which depend on that unit's rows alone; each value is a whole number within its tree's [Lo, Hi]. (1) Rows whose unit is NULL are dropped. (2) Values are clamped to the tree's ends (steps). (3) Rows with NULL are dropped one by one, by their own values. (4) A unit's rows are numbered
// by the hash of unit, values and seed, then by the values: rows that are equal in all of these are alike, so which of them are kept does not matter. (4') Where keys say that a unit has one row it is that one; its values are read as they are stored and bounded in the proxy, where they can be (Reading.Steps, which is
// (2) and (3) there), and rows with NULL are dropped there. (6) Of an array the elements are bounded in the proxy (Reading.Steps), and a row whose array has another length or NULL in it is dropped there, after its number was given: by its own values, so what is left are still at most most rows of the unit, which depend on its rows alone. (5) dense_rank gives equal units one number and different ones different numbers: units are compared in their canonical form. The numbers themselves depend on all
// units, and leave the proxy's memory nowhere.
func UnitRows(a *sensitivity.Analysis, d dialect.Dialect, features []Feature, most uint64, seed int64) (*Statement, error) {
	if most == 0 || len(features) == 0 || len(a.Keys) > 0 || a.Limit.Norm > 0 {
		return nil, internalError("the rows of a training are not known")
	}
	for _, f := range features {
		if f.Measure < 0 || f.Measure >= len(a.Measures) || a.Measures[f.Measure].Tree == nil {
			return nil, internalError("feature %d of a training has no range", f.Measure)
		}
	}
	return printed(a, d, seed, func(w *private) *Statement { return w.unitRows(features, most) })
}

func (w *private) unitRows(features []Feature, most uint64) *Statement {
	if w.single() {
		return w.storedRows(features) // (4') keys say that a unit has one row
	}
	st := &Statement{Columns: []Column{{Role: RoleUnit, Type: sqltype.Int8}}}
	var list, names, where []string
	var types []sqltype.Type
	for i, f := range features {
		m := w.a.Measures[f.Measure]
		name := fmt.Sprintf("b%d", i+1)
		if f.Array != nil {
			array := arrayOf(m)
			if array == nil {
				w.fail(internalError("feature %d of a training is no array", i))
				return st
			}
			where, names, types = append(where, `"g".`+quote(name)+" IS NOT NULL"), append(names, `"g".`+quote(name)), append(types, array.Type())
			list = append(list, w.listOf(array, w.f)+" AS "+quote(name))
			st.Columns, st.Readings = append(st.Columns, Column{Role: RoleMeasure, Index: i, Type: array.Type()}), append(st.Readings, f.Array)
			continue
		}
		if !f.Fill {
			where = append(where, `"g".`+quote(name)+" IS NOT NULL") // (3) rows with NULL are dropped
		}
		list = append(list, w.big(w.filled(w.steps(m), m, f.Fill))+" AS "+quote(name)) // (2) clamped to the tree's ends
		names, types = append(names, `"g".`+quote(name)), append(types, sqltype.Int8)
		st.Columns, st.Readings = append(st.Columns, Column{Role: RoleMeasure, Index: i, Type: sqltype.Int8}), append(st.Readings, nil)
	}
	keep := ""
	if len(where) > 0 {
		keep = " WHERE " + strings.Join(where, " AND ")
	}
	ut := w.a.Query.Columns[w.a.Body.UnitCol].Type
	order := strings.Join(append([]string{w.hash(`"g"."u"`, ut, names, types, w.seed)}, names...), ", ")
	rows := fmt.Sprintf(`(SELECT %s AS "u", %s%s) AS "g"%s`, w.unit, strings.Join(list, ", "), w.f.clause(), keep)
	rows = fmt.Sprintf(`(SELECT "g".*, %s() OVER (PARTITION BY "g"."u" ORDER BY %s) AS "rn" FROM %s) AS "g" WHERE "g"."rn" <= %d`, w.fn("row_number"), order, rows, most) // (4) numbered by the unit's own values
	st.SQL = fmt.Sprintf(`SELECT %s() OVER (ORDER BY "g"."u") AS "n", %s FROM %s ORDER BY 1`, w.fn("dense_rank"), strings.Join(names, ", "), rows)                        // (5) equal units have one number
	st.Args = w.args.list
	return st
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
	st.Args = w.args.list
	return st
}

func (w *private) filled(text string, m sensitivity.Measure, fill bool) string {
	if !fill {
		return text
	}
	return fmt.Sprintf("COALESCE(%s, %d)", text, m.Tree.Lo+(m.Tree.Hi-m.Tree.Lo)/2)
}
