package engine_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"

	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// baseTypes are PostgreSQL's types without arrays, pseudo-types and the catalogs' own.
func baseTypes() (out []*pgcat.Type) {
	for oid := range sqltype.OID(6000) {
		t := pgcat.TypeOf(oid)
		if t == nil || t.TrueArray || t.Kind == 'p' || strings.HasPrefix(t.Name, "pg_") || strings.HasPrefix(t.Name, "_") {
			continue
		}
		out = append(out, t)
	}
	return out
}

var typeText = TypeText

// short is a type as the tables of functions write it.
func short(o sqltype.OID) string {
	switch o {
	case sqltype.OIDTimestamp:
		return "timestamp"
	case sqltype.OIDTimestamptz:
		return "timestamptz"
	case sqltype.OIDTime:
		return "time"
	case sqltype.OIDTimetz:
		return "timetz"
	case sqltype.OIDFloat8:
		return "double"
	case sqltype.OIDBPChar:
		return "char"
	case sqltype.OIDVarchar:
		return "varchar"
	}
	return typeText(o)
}

func writeTypes(page *bytes.Buffer) {
	page.WriteString("\n## Types\n\nText and binary forms, in results and parameters, are PostgreSQL's. A domain is the type below it. Enums are known by the columns that have\nthem.\n\n" +
		"| type | literals, parameters, results | columns of tables | arrays of constants |\n|---|---|---|---|\n")
	yes := map[bool]string{true: "yes", false: "no"}
	var refused []string
	for _, p := range baseTypes() {
		t := sqltype.Type{OID: p.OID, Typmod: -1}
		if !t.IsKnown() || t.IsCatalogType() {
			refused = append(refused, p.Name)
			continue
		}
		if t.OID == sqltype.OIDUnknown {
			continue
		}
		_, array := sqltype.ArrayOf(t)
		fmt.Fprintf(page, "| %s | yes | %s | %s |\n", t, yes[t.IsReadable()], yes[array])
	}
	slices.Sort(refused)
	fmt.Fprintf(page, "\nA policy can list a column of a type that is not read, but nobody can ask about it. PostgreSQL's other types are refused\n([unsupported_type](errors.md#unsupported_type)):\n`%s`.\n",
		strings.Join(refused, ", "))
}

// sampled is a row for sample constants, where it asks for some.
func sampled(t *testing.T, f *funcs.Func) *funcs.Func {
	if f.With == nil || f.TotalForm != nil {
		return f
	}
	for _, w := range Words {
		c := funcs.Constants{Zone: "UTC"}
		for _, k := range f.Const {
			v, err := sqltype.ParseText(Constant(f, k, w), sqltype.Type{OID: f.Args[k], Typmod: -1})
			if err != nil {
				t.Fatalf("%s %s%v: %v", f.Kind, f.Name, f.Args, err)
			}
			c.Values = append(c.Values, v)
		}
		if out, err := f.With(c); err == nil {
			return out
		}
	}
	t.Errorf("%s %s%v: no sample of its constants is taken", f.Kind, f.Name, f.Args)
	return f
}

// line is one line of the tables of functions: overloads that are alike.
type line struct {
	name, flags string
	forms       []string
}

func writeFunctions(t *testing.T, page *bytes.Buffer) {
	var reasons []string
	state := func(f *funcs.Func, d dialect.Dialect) string {
		why := f.Refused[d]
		if why == "" {
			return "yes"
		}
		i := slices.Index(reasons, why)
		if i < 0 {
			i = len(reasons)
			reasons = append(reasons, why)
		}
		return fmt.Sprintf("no (%d)", i+1)
	}
	mark := map[bool]string{true: "yes"}
	tables := map[funcs.Kind][]*line{}
	for _, row := range funcs.All() {
		if err := reached(row); err != nil && !relabelled(row) {
			t.Errorf("%s %s%v: %v", row.Kind, row.Name, row.Args, err)
		}
		f := sampled(t, row)
		evaluated := f.Eval != nil
		flags := fmt.Sprintf("| %s | %s | %s | %s | %s |", mark[f.Range != nil], mark[f.MayBeNull], state(f, funcs.Postgres), state(f, funcs.DuckDB), mark[evaluated])
		name := row.Name
		if row.Kind == funcs.Cast {
			name = "to " + short(row.Result)
		}
		i := slices.IndexFunc(tables[row.Kind], func(l *line) bool { return l.name == name && l.flags == flags })
		if i < 0 {
			i = len(tables[row.Kind])
			tables[row.Kind] = append(tables[row.Kind], &line{name: name, flags: flags})
		}
		l := tables[row.Kind][i]
		l.forms = append(l.forms, form(row))
	}
	fmt.Fprintf(page, `
## Operators, functions, casts

The registry (rewrite/funcs) has %d rows. dpsql resolves names and overloads over the whole of PostgreSQL 15's catalog, by its
rules. Then it looks up the row of the chosen overload here. What the columns say:

- **range**: an interval for the result follows from those of the arguments, so sums and averages of it need no other bound.
- **NULL for errors**: over private rows the result is NULL where PostgreSQL raises an error. Everywhere else it is PostgreSQL's
  own result, except for what [becomes NULL](#what-becomes-null) with a warning. Over constants, released values and public
  tables the error is PostgreSQL's.
- **PostgreSQL**, **DuckDB**: it can be computed over private rows in such a database. Else it is refused
  ([private_function](errors.md#private_function)), for the reason of the number.
- **released**: dpsql computes it over constants, group keys and aggregates that are released. Where it is blank, PostgreSQL
  computes it for an answer from a PostgreSQL database, as said below.
- An argument after `+"`const`"+` must be a constant.

For a blank in the column "released" dpsql sends the released rows to PostgreSQL as parameters of a statement that reads no table.
PostgreSQL then computes the whole of the finishing. DuckDB's functions are others, so it is refused there. A release that another
release reads has no such functions.

Patterns of LIKE have at most 1000 bytes, and so has what strpos, position, replace, translate, split_part and trim look for. dpsql
refuses a longer constant or parameter. For a longer one in a row the result is NULL.

`, len(funcs.All()))
	for _, k := range []struct {
		kind  funcs.Kind
		title string
	}{{funcs.Operator, "Operators"}, {funcs.Function, "Functions"}, {funcs.Cast, "Casts"}} {
		list := tables[k.kind]
		slices.SortStableFunc(list, func(a, b *line) int { return strings.Compare(a.name, b.name) })
		fmt.Fprintf(page, "### %s\n\n| %s | overloads | range | NULL for errors | PostgreSQL | DuckDB | released |\n|---|---|---|---|---|---|---|\n", k.title, strings.TrimSuffix(strings.ToLower(k.title), "s"))
		for _, l := range list {
			fmt.Fprintf(page, "| `%s` | %s %s\n", escaped(l.name), strings.Join(spans(brief(l.forms)), ", "), l.flags)
		}
		page.WriteString("\n")
	}
	page.WriteString("`LIKE` is `~~`, `ILIKE` is `~~*`, `x AT TIME ZONE z` is `timezone(z, x)`, and `SIMILAR TO` is a regular expression. The clauses' tables have\n`COALESCE`, `NULLIF`, `GREATEST`, `LEAST`, `CASE`, `IN`, `BETWEEN` and the aggregates.\n\n")
	for i, why := range reasons {
		fmt.Fprintf(page, "%d. %s.\n", i+1, strings.ToUpper(why[:1])+strings.ReplaceAll(why[1:], "; ", ". You can "))
	}
	writeGaps(page)
}

// writeGaps lists what total forms leave out, in the order of the registry.
func writeGaps(page *bytes.Buffer) {
	page.WriteString("\n### What becomes NULL\n\nOver private rows these values become NULL, although PostgreSQL may give a result. Such a row can then drop out of a condition or an aggregate.\n" +
		"PostgreSQL raises an error for those marked \"error\". A condition that leaves them out ends that warning, as `WHERE y > 0`, `NULLIF(y, 0)` and `CASE` do.\n" +
		"A statement that could meet one says so: in EXPLAIN, and as a WARNING with its answer. The warning follows from the statement's text alone, whether or not such a row exists.\n" +
		"Rare values are the ends of a type, NaN, infinities and very long texts. The warning for them comes once a session. Only\nEXPLAIN (VERBOSE) tells of the ends of a type (\"end\").\n\n" +
		"| values | kind | functions, operators, casts | backends |\n|---|---|---|---|\n")
	type gap struct {
		funcs.Gap
		names []string
		on    []string
	}
	var list []*gap
	for _, f := range funcs.All() {
		types := make([]sqltype.Type, len(f.Args))
		for i, o := range f.Args {
			types[i] = sqltype.Type{OID: o, Typmod: -1}
		}
		name := escaped(f.Name)
		if f.Kind == funcs.Cast {
			name = short(f.Args[0]) + " to " + short(f.Result)
		}
		for d, title := range map[dialect.Dialect]string{funcs.Postgres: "PostgreSQL", funcs.DuckDB: "DuckDB"} {
			if f.Refused[d] != "" {
				continue
			}
			gaps := f.Gaps(d, types, make([]funcs.Known, len(f.Args)))
			if r := f.Raising(sqltype.Type{OID: f.Result, Typmod: -1}); r != nil {
				gaps = append(gaps, r.Gap)
			}
			for _, g := range gaps {
				i := slices.IndexFunc(list, func(l *gap) bool { return l.Gap == g })
				if i < 0 {
					i = len(list)
					list = append(list, &gap{Gap: g})
				}
				if l := list[i]; !slices.Contains(l.names, name) {
					l.names = append(l.names, name)
				}
				if l := list[i]; !slices.Contains(l.on, title) {
					l.on = append(l.on, title)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b *gap) int {
		if a.Rare != b.Rare {
			return map[bool]int{true: 1, false: -1}[a.Rare]
		}
		return strings.Compare(a.Words, b.Words)
	})
	for _, l := range list {
		slices.Sort(l.names)
		slices.Sort(l.on)
		slices.Reverse(l.on)
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", dates.ReplaceAllString(l.Words, "`$0`"), map[bool]string{true: "end"}[l.AtEnd]+map[bool]string{true: "rare"}[l.Rare && !l.AtEnd]+map[bool]string{true: "error"}[l.Raises], "`"+strings.Join(l.names, ", ")+"`", strings.Join(l.on, ", "))
	}
}

// dates are examples of dates and times.
var dates = regexp.MustCompile(`\d+([:/.-]\d+)+( PM)?`)

// families are types that operators mostly take in any combination.
var families = [][]string{{"smallint", "integer", "bigint"}, {"real", "double"}}

// brief puts overloads of all pairs of a family's types into one: their result is the wider of the two, or the same of all.
func brief(forms []string) []string {
	for _, f := range families {
		for _, result := range []string{"boolean", ""} {
			var all []string
			for i, a := range f {
				for j, b := range f {
					to := result
					if to == "" {
						to = f[max(i, j)]
					}
					all = append(all, a+", "+b+" → "+to)
				}
			}
			if slices.ContainsFunc(all, func(x string) bool { return !slices.Contains(forms, x) }) {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(forms), func(x string) bool { return slices.Contains(all, x) })
			to := result
			if to == "" {
				to = "the wider"
			}
			forms = append([]string{fmt.Sprintf("any two of `%s` → %s", strings.Join(f, ", "), to)}, rest...)
		}
	}
	return forms
}

// spans makes code of overloads, but for the sentences that brief makes.
func spans(forms []string) (out []string) {
	for _, f := range forms {
		if !strings.HasPrefix(f, "any two") {
			f = "`" + f + "`"
		}
		out = append(out, f)
	}
	return out
}

// form is an overload's types.
func form(f *funcs.Func) string {
	args := make([]string, len(f.Args))
	for i, a := range f.Args {
		if args[i] = short(a); f.TotalForm == nil && slices.Contains(f.Const, i) {
			args[i] = "const " + args[i]
		}
	}
	switch {
	case f.Kind == funcs.Cast:
		return args[0]
	case f.Kind == funcs.Operator && len(args) == 2:
		return args[0] + ", " + args[1] + " → " + short(f.Result)
	}
	return "(" + strings.Join(args, ", ") + ") → " + short(f.Result)
}

// every is a public table with a column of each type.
type every struct{}

func (every) Table(_, name string) (*plan.Table, bool) {
	t := &plan.Table{OID: 20000, Schema: "public", Name: name, Public: true, UnitCol: -1}
	add := func(o sqltype.OID) {
		t.Columns = append(t.Columns, plan.TableColumn{Name: fmt.Sprint("c", o), Type: sqltype.Type{OID: o, Typmod: -1}, Visible: true})
	}
	for _, p := range baseTypes() {
		if Readable(p.OID) {
			add(p.OID)
			if p.Array != 0 {
				add(p.Array)
			}
		}
	}
	t.Columns = append(t.Columns, plan.TableColumn{Name: "c3500", Type: sqltype.EnumType(sqltype.Enum{OID: 20001, Schema: "public", Name: "mood", Labels: []string{"sad", "ok"}}), Visible: true})
	return t, name == "every"
}

func (e every) VisibleTables() []*plan.Table {
	t, _ := e.Table("", "every")
	return []*plan.Table{t}
}

// stand are types that stand for the pseudo-types of a row as PostgreSQL declares it.
var stand = map[sqltype.OID]sqltype.OID{2276: 25, 2277: 1007, 2283: 23, 5077: 23, 5078: 1007}

// relabelled: the binder calls a text a varchar or a char(n) and then cuts it by that type's own row.
func relabelled(f *funcs.Func) bool {
	from, to := sqltype.Type{OID: f.Args[0]}, sqltype.Type{OID: f.Result}
	return f.Kind == funcs.Cast && from.OID != to.OID && from.IsString() && to.IsString()
}

// reached binds a call of a row, over columns and the constants that it asks for, and fails if the binder does not take the row.
func reached(f *funcs.Func) (err error) {
	for _, literals := range []bool{false, true} { // a pattern is a literal, though its row asks for none
		for _, w := range Words {
			args := make([]string, len(f.Args))
			for i, o := range f.Args {
				if s, ok := stand[o]; ok {
					o = s
				}
				if args[i] = fmt.Sprint("c", o); slices.Contains(f.Const, i) && f.TotalForm == nil || literals && i > 0 {
					args[i] = fmt.Sprintf("CAST('%s' AS %s)", Constant(f, i, w), typeText(o))
				}
			}
			if err = bound(f, args); err == nil {
				return nil
			}
		}
	}
	return err
}

// bound binds a call of a row and looks for the row in its plan.
func bound(f *funcs.Func, args []string) error {
	sql := CallText(f, args)
	st, err := pgsyntax.Parse("SELECT " + sql + " FROM every")
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), every{}, plan.BindOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	for _, item := range q.Root.(*plan.Project).Items {
		if calls(item.Expr, f) {
			return nil
		}
	}
	return fmt.Errorf("%s does not lead to it", sql)
}

func calls(x plan.Scalar, f *funcs.Func) bool {
	if c, ok := x.(*plan.Call); ok && c.Fn.Kind == f.Kind && c.Fn.Name == f.Name && c.Fn.Result == f.Result && slices.Equal(c.Fn.Args, f.Args) {
		return true
	}
	return slices.ContainsFunc(plan.Children(x), func(y plan.Scalar) bool { return calls(y, f) })
}
