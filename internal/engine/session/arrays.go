package session

import (
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// ElementSteps is into how many steps the range of elements that are no integers is cut.
const ElementSteps = 1 << 20

// Array says what a column of numbers of a declared shape is; it is asked for by whether it is NULL, which has the analysis find its table, unit and rows.
func (s *Session) Array(q *plan.Query, o plan.Output, f mlext.Feature, name string) (mlext.Feature, string, error) {
	info := q.Columns[o.Col]
	if info.Table == nil || info.Table.Columns[info.Attr].Elements == nil {
		return f, "", sqlerr.New(sqlerr.NoRange, "feature %s of type %s has no shape in the policy", o.Name, o.Type).
			WithHint("Ask the owner for shape: [28, 28] and range: [0, 255] of the column, or name its elements one by one, each clamped by least and greatest.")
	}
	e := info.Table.Columns[info.Attr].Elements
	f.Length, f.Lo, f.Hi = e.Length, e.Range.Lo.InexactFloat64(), e.Range.Hi.InexactFloat64()
	f.Shape = e.Shape
	r := ReadingOf(&f)
	f.From, f.To = r.Lo, r.Hi
	return f, fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN 1 ELSE 0 END", name), nil
}

// ReadingOf is how an array's elements become whole numbers of steps.
func ReadingOf(f *mlext.Feature) *sqlgen.Reading {
	for _, whole := range []string{"smallint", "integer", "bytea"} {
		if strings.HasPrefix(f.Type, whole) {
			return &sqlgen.Reading{Grid: 1, Lo: int64(f.Lo), Hi: int64(f.Hi), Length: f.Length}
		}
	}
	return &sqlgen.Reading{Float: true, From: f.Lo, Grid: (f.Hi - f.Lo) / ElementSteps, Hi: ElementSteps, Length: f.Length}
}
