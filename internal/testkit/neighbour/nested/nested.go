package nested

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// Source gives numbers from 0 to n-1.
type Source func(n int) int

// Generator makes statements, the same ones from the same choices. Many of them are refused: types that no row takes, or patterns that are no constants.
type Generator struct {
	draw    Source
	columns map[sqltype.OID][]string
	rows    map[sqltype.OID][][]*funcs.Func // by result, those of one name together
	all     []*funcs.Func
	Params  []Param // of what was made, where WithParams is set
	with    bool
	safe    []*funcs.Func // of numbers, that may be printed as the backend's own
	only    []sqltype.OID // the types of all arguments; nil: any
}

// New makes a generator over a catalog's columns and the rows that a backend computes.
func New(c *neighbour.Catalog, d dialect.Dialect, draw Source) *Generator {
	g := &Generator{draw: draw, columns: map[sqltype.OID][]string{}, rows: map[sqltype.OID][][]*funcs.Func{}}
	for _, col := range c.Tables[0].Columns {
		g.columns[col.Type.OID] = append(g.columns[col.Type.OID], col.Name)
	}
	for _, f := range funcs.All() {
		if f.Refused[d] != "" {
			continue
		}
		g.all = append(g.all, f)
		if f.Safe != nil && slices.Contains(numbers, f.Result) && !slices.ContainsFunc(f.Args, func(t sqltype.OID) bool { return !slices.Contains(numbers, t) }) {
			g.safe = append(g.safe, f)
		}
		of := g.rows[f.Result]
		i := slices.IndexFunc(of, func(l []*funcs.Func) bool { return l[0].Name == f.Name })
		if i < 0 {
			i, of = len(of), append(of, nil)
		}
		of[i] = append(of[i], f)
		g.rows[f.Result] = of
	}
	return g
}

var (
	numbers = []sqltype.OID{sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDFloat4, sqltype.OIDFloat8, sqltype.OIDNumeric}
	keys    = []sqltype.OID{sqltype.OIDText, sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDBool, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDNumeric, sqltype.OIDFloat8, sqltype.OIDInterval, sqltype.OIDTime}
)

func one[T any](g *Generator, of []T) T { return of[g.draw(len(of))] }

// Expression is an expression of a type, with calls nested as deep as depth.
func (g *Generator) Expression(t sqltype.OID, depth int) string {
	of := g.rowsOf(t)
	if depth == 0 || len(of) == 0 || g.draw(12) == 0 {
		return g.leaf(t)
	}
	if g.draw(10) == 0 {
		x, y := g.Expression(t, depth-1), g.Expression(t, depth-1)
		if i := g.draw(5); i > 0 {
			return fmt.Sprintf("%s(%s, %s)", []string{"coalesce", "greatest", "least", "nullif"}[i-1], x, y)
		} else if t == sqltype.OIDBool {
			if t = one(g, keys); g.only != nil {
				t = one(g, g.only)
			}
			x, y = g.Expression(t, depth-1), g.Expression(t, depth-1)
			return fmt.Sprintf(one(g, []string{"(%s in (%s, %s))", "(%s between %s and %s)", "(%s is distinct from %s or %s is null)", "((%s > %s) is not true and not %s is null)", "(%s = any(array[%s, %s]))", "(%s < all(array[%s, %s]))"}), x, y, g.Expression(t, depth-1))
		}
		return fmt.Sprintf("(case when %s then %s else %s end)", g.Expression(sqltype.OIDBool, depth-1), x, y)
	}
	alike := one(g, of) // names alike, though some have 20 rows of other types
	if i := slices.IndexFunc(of, func(l []*funcs.Func) bool { return l[0].Kind == funcs.Cast }); i >= 0 && g.draw(4) == 0 {
		alike = of[i] // they are what forms of one type hand to those of another
	}
	f := one(g, alike)
	return g.call(f, g.args(f, func(t sqltype.OID) string { return g.Expression(t, depth-1) }))
}

// rowsOf are the rows of a result whose arguments may be made.
func (g *Generator) rowsOf(t sqltype.OID) [][]*funcs.Func {
	if g.only == nil {
		return g.rows[t]
	}
	var out [][]*funcs.Func
	for _, alike := range g.rows[t] {
		kept := slices.DeleteFunc(slices.Clone(alike), func(f *funcs.Func) bool {
			return slices.ContainsFunc(f.Args, func(a sqltype.OID) bool { return !slices.Contains(g.only, a) })
		})
		if len(kept) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

// args are a call's arguments: expressions, and constants where it wants them.
func (g *Generator) args(f *funcs.Func, expression func(sqltype.OID) string) []string {
	args := make([]string, len(f.Args))
	for i, a := range f.Args {
		words := constants[f.Name]
		switch {
		case !slices.Contains(f.Const, i) && (i != 1 || a != sqltype.OIDText || words == nil):
			args[i] = expression(a)
		case a == sqltype.OIDText && words != nil:
			args[i] = "'" + one(g, words) + "'"
		default:
			args[i] = g.literal(a)
		}
	}
	return args
}

func (g *Generator) leaf(t sqltype.OID) string {
	if cols := g.columns[t]; len(cols) > 0 && g.draw(5) > 0 {
		return one(g, cols)
	}
	return g.literal(t)
}

// literal is a constant of a type, of an extreme value at times.
func (g *Generator) literal(t sqltype.OID) string {
	name := sqltype.Type{OID: t, Typmod: -1}.String()
	list := literals[t]
	if all := edges[t]; all != nil && (list == nil || g.draw(4) == 0) {
		list = all
	}
	if list == nil || g.draw(16) == 15 {
		return "cast(null as " + name + ")"
	}
	value := one(g, list)
	if g.with && g.draw(8) == 7 {
		g.Params = append(g.Params, Param{t, value})
		return fmt.Sprintf("cast($%d as %s)", len(g.Params), name)
	}
	return fmt.Sprintf("cast('%s' as %s)", value, name)
}

// Param is the value of a parameter, as PostgreSQL reads it.
type Param struct {
	Type sqltype.OID
	Text string
}

// WithParams makes some constants parameters.
func (g *Generator) WithParams() *Generator { g.with = true; return g }

func (g *Generator) call(f *funcs.Func, args []string) string {
	list := strings.Join(args, ", ")
	switch {
	case f.Kind == funcs.Cast && f.Result == sqltype.OIDNumeric && g.draw(2) == 0:
		return fmt.Sprintf("cast(%s as %s)", list, one(g, []string{"numeric(5,2)", "numeric(20,0)", "numeric(38,20)"}))
	case f.Kind == funcs.Cast:
		return fmt.Sprintf("cast(%s as %s)", list, sqltype.Type{OID: f.Result, Typmod: -1})
	case f.Kind == funcs.Operator && len(args) == 1:
		return fmt.Sprintf("(%s %s)", f.Name, list)
	case f.Kind == funcs.Operator:
		return fmt.Sprintf("(%s %s %s)", args[0], f.Name, args[1])
	case f.Name == "extract":
		return fmt.Sprintf("extract(%s from %s)", strings.Trim(args[0], "'"), args[1])
	case f.Name == "position":
		return "strpos(" + list + ")"
	}
	return f.Name + "(" + list + ")"
}

// literals are ordinary values.
var literals = map[sqltype.OID][]string{
	sqltype.OIDInt2: {"3", "-1"}, sqltype.OIDInt4: {"1", "0", "2", "-3", "1000000"}, sqltype.OIDInt8: {"7", "4000000000"}, sqltype.OIDFloat4: {"1.5"}, sqltype.OIDFloat8: {"2.5", "1e10"},
	sqltype.OIDNumeric: {"0.5", "3.0", "100", "-7.25", "1e30"}, sqltype.OIDText: {"a", "%b", "", "1"}, sqltype.OIDDate: {"2019-05-05"}, sqltype.OIDTimestamp: {"2019-05-05 01:02:03"},
	sqltype.OIDTimestamptz: {"2019-05-05 01:02:03+00"}, sqltype.OIDTime: {"01:02:03"}, sqltype.OIDInterval: {"1 day", "1 month"}, sqltype.OIDJSONB: {`{"a": 1}`, "[]", "7"}, sqltype.OIDJSON: {`{"a": 1}`},
}

// constants are words that rows ask for.
var constants = map[string][]string{
	"extract":    {"year", "month", "day", "dow", "doy", "epoch", "hour", "week", "century", "isoyear", "second", "julian", "quarter"},
	"date_part":  {"year", "month", "day", "dow", "epoch", "hour", "second", "decade"},
	"date_trunc": {"day", "month", "year", "hour", "week", "century", "millennium"},
	"to_char":    {"YYYY-MM-DD", "999", "FM999.00"}, "to_date": {"YYYY-MM-DD"}, "~": {"a", "^a.b$"}, "~*": {"a"}, "regexp_like": {"a"}, "regexp_count": {"a"},
	"encode": {"hex", "base64"}, "decode": {"hex", "base64"}, "timezone": {"Europe/Berlin"},
}

// Found are statements that raised once, each for a reason of its own.
var Found = []string{
	"select cast(case when i1 = 0 then interval '-2562047788:00:54.775807' else iv1 end as time), count(*) from persons group by 1", // PostgreSQL 15 gives a time below 00:00
	`select count(*) from persons where cast((x1 ~ ' OR 1/0 = 1 OR ') as text) ~ '\{x}'`,                                            // a pattern was taken for a template, so that the other one's text was SQL
	"select count(*) from persons where to_char(ts1, '\"1/0 = 1\"') = to_char(d1::timestamp, '\"{x}\"')",                            // as was a format
	"select sum(case when b1 then cast('1e10' as double precision) else f2 end) from persons",                                       // a denormal divided by a grid above 1
	"select sum(cast(floor(sign(n6)) as bigint)) from events",                                                                       // NaN in an interval
	"select sum(-(-coalesce(f3, cast('-1.7976931348623157e308' as double precision)))) from persons",                                // the grid's last step is beyond the largest float
	"select avg(abs(coalesce(cast('-9e131071' as numeric), n5))) from events",                                                       // numerics hold no sum of two such constants
	"select sum(case when b1 then cast('9e131071' as numeric) else n5 end) from events",
	"select sum(x) from (select patient_id, sum(case when b1 then cast('9e131071' as numeric) else n7 end) as x from events group by 1) q",
	"select count(*) from persons where power(cast(case when b1 then -1 else 1 end as numeric), cast('1e-1000' as numeric)) > 0", // half of 1e-1000 is rounded to it, so it was taken for infinite
	"select count(*) from persons where log(cast('1' as numeric) + case when b1 then 0 else 1 end, cast('1e-1000' as numeric)) > 0",
	"select count(*) from persons where log(cast('0.9999999999' as numeric), 1 + case when b1 then cast('1e-1100' as numeric) else 1 end) > 0", // the base's logarithm was rounded to 0
}

// Rows is how many rows of the registry the generator calls.
func (g *Generator) Rows() int { return len(g.all) }
