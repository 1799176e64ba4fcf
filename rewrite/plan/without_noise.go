package plan

import (
	"slices"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// WithoutNoise gives dp_error, dp_low and dp_high of aggregates over public rows, which are exact, the values that they have: no error, and the value itself.
func WithoutNoise(q *Query, r Rel) Rel {
	var rel func(r Rel) (Rel, error)
	rel = func(r Rel) (Rel, error) {
		out, err := MapParts(r, rel, InQueries(rel))
		a, ok := out.(*Aggregate)
		if err != nil || !ok || len(a.Errors) == 0 {
			return out, err
		}
		exact := *a
		exact.Errors = nil
		p := &Project{Input: &exact}
		for _, id := range a.Cols() {
			i := slices.IndexFunc(a.Errors, func(e ErrorItem) bool { return e.ID == id })
			if i < 0 {
				p.Items = append(p.Items, Item{ID: id, Expr: &Col{ID: id, T: q.Columns[id].Type}})
				continue
			}
			of := a.Errors[i]
			if !q.Columns[of.Of].Type.IsNumber() {
				p.Items = append(p.Items, Item{ID: id, Expr: &Const{T: sqltype.Float8}})
				continue
			}
			v := castTo(&Col{ID: of.Of, T: q.Columns[of.Of].Type}, sqltype.Float8)
			if of.Kind != ErrorLow && of.Kind != ErrorHigh {
				v = op("*", v, double(0)) // NULL where the value is
			}
			p.Items = append(p.Items, Item{ID: id, Expr: v})
		}
		return p, nil
	}
	out, err := rel(r)
	if err != nil { // rel returns none
		return r
	}
	return out
}
