package plan_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestStyled: what a setting would write or read otherwise is refused where it is not the default, and only that.
func TestStyled(t *testing.T) {
	sqlDMY := sqltype.Settings{DateStyle: sqltype.DateSQL, DateOrder: sqltype.OrderDMY}
	isoDMY := sqltype.Settings{DateOrder: sqltype.OrderDMY}
	iso, sqlSpan := sqltype.Settings{IntervalStyle: sqltype.IntervalISO}, sqltype.Settings{IntervalStyle: sqltype.IntervalSQL}
	round := sqltype.Settings{RoundFloats: true}
	dates := "(values (date '2020-01-02', timestamp '2020-01-02 10:00', interval '1 day', 0.1::float8, 0.1::real, 'x'::text, time '10:00', 1)) v(d, s, i, f, r, x, c, n)"
	for _, c := range []struct {
		set  sqltype.Settings
		expr string
		ok   bool
	}{
		{sqlDMY, "d::text", false}, {sqlDMY, "s::varchar", false}, {sqlDMY, "d || ''", false}, {sqlDMY, "'' || d", false}, {sqlDMY, "concat(d)", false}, {sqlDMY, "concat_ws('-', n, d)", false},
		{sqlDMY, "format('%s', d)", false}, {sqlDMY, "array_to_string(array[d], ',')", false}, {sqlDMY, "(x || '')::date", false}, {sqlDMY, "cast(x as timestamp)", false},
		{sqlDMY, "d", true}, {sqlDMY, "to_char(s, 'DD/MM')", true}, {sqlDMY, "date '31/12/2020'", true}, {sqlDMY, "i::text", true}, {sqlDMY, "concat(n, x, c)", true}, {sqlDMY, "d + 1 > '31/12/2020'", true},
		{isoDMY, "d::text", true}, {isoDMY, "x::date", false}, {isoDMY, "x::int", true},
		{iso, "i::text", false}, {iso, "i || ''", false}, {iso, "d::text", true}, {sqlSpan, "concat(i)", false},
		{round, "r::text", false}, {round, "f || x", false}, {round, "format('%s', f)", false}, {round, "array_to_string(array[f], ',')", false}, {round, "f::numeric", true}, {round, "n::text", true}, {round, "x::float8", true},
		{sqltype.Settings{}, "concat(d, s, i, n)", true},
	} {
		st, err := pgsyntax.Parse("select " + c.expr + " from " + dates)
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Bind(st[0].Node.(*pgsyntax.Select), wideCatalog(), plan.BindOptions{Values: c.set})
		if c.ok && err != nil || !c.ok && sqlerr.ID(err) != sqlerr.UnsupportedCast.ID {
			t.Errorf("%s under %+v: %v", c.expr, c.set, err)
		}
	}
}
