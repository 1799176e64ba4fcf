package engine_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/sqltype"
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

func typeText(o sqltype.OID) string {
	t := sqltype.Type{OID: o, Typmod: -1}
	if t.Known() {
		return t.String()
	}
	if p := pgcat.TypeOf(o); p != nil {
		return p.Name
	}
	return fmt.Sprint(o)
}

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
	page.WriteString("\n## Types\n\nText and binary forms, in results and parameters, are PostgreSQL's. A domain is the type below it; enums are known by the columns that have them.\n\n" +
		"| type | literals, parameters, results | columns of tables | arrays of constants |\n|---|---|---|---|\n")
	yes := map[bool]string{true: "yes", false: "no"}
	var refused []string
	for _, p := range baseTypes() {
		t := sqltype.Type{OID: p.OID, Typmod: -1}
		if !t.Known() {
			refused = append(refused, p.Name)
			continue
		}
		if t.OID == sqltype.OIDUnknown {
			continue
		}
		_, array := sqltype.ArrayOf(t)
		fmt.Fprintf(page, "| %s | yes | %s | %s |\n", t, yes[t.Readable()], yes[array])
	}
	slices.Sort(refused)
	fmt.Fprintf(page, "\nA column of a type that is not read can be listed in a policy, and not be asked about. PostgreSQL's other types are refused ([unsupported_type](errors.md#unsupported_type)): %s.\n",
		strings.Join(refused, ", "))
}

// sampled is a row for sample constants, where it asks for some.
func sampled(t *testing.T, f *funcs.Func) *funcs.Func {
	if f.With == nil || f.Spell != nil {
		return f
	}
	for _, w := range words {
		c := funcs.Constants{Zone: "UTC"}
		for _, k := range f.Const {
			v, err := sqltype.ParseText(constant(f, k, w), sqltype.Type{OID: f.Args[k], Typmod: -1})
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

// words are texts of which each row that asks for constants takes one.
var words = []string{"day", "hour", "Europe/Berlin", "UTC", "a", "i", "YYYY-MM-DD", "999", "sha256", "hex", "{a}"}

// constant is the text of a constant for a row's k-th argument.
func constant(f *funcs.Func, k int, word string) string {
	switch f.Args[k] {
	case sqltype.OIDInt2, sqltype.OIDInt4, sqltype.OIDInt8, sqltype.OIDNumeric, sqltype.OIDFloat4, sqltype.OIDFloat8:
		return "1"
	case sqltype.OIDInterval:
		return "1 day"
	case sqltype.OIDDate, sqltype.OIDTimestamp, sqltype.OIDTimestamptz:
		return "2020-01-01"
	case sqltype.OIDTime, sqltype.OIDTimetz:
		return "12:30"
	case sqltype.OIDText:
	default:
		return "{}"
	}
	switch {
	case f.Name == "date_trunc" && k == 2:
		return "UTC"
	case strings.HasPrefix(f.Name, "regexp_") && k > 1:
		return "i"
	}
	return word
}

// line is one line of the tables of functions: overloads that are alike.
type line struct {
	name, flags string
	forms       []string
}

func writeFunctions(t *testing.T, page *bytes.Buffer) {
	var reasons []string
	state := func(f *funcs.Func, d funcs.Dialect) string {
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

The registry (rewrite/funcs): %d rows. Names and overloads are resolved over the whole of PostgreSQL 15's catalog, by its rules; then the row of the chosen overload is
looked up here. What the columns say:

- **range**: an interval for the result follows from those of the arguments: sums and averages of it need no other bound.
- **NULL for errors**: over private rows it is NULL for arguments where PostgreSQL raises an error. Everywhere else it is PostgreSQL's own result, and over constants,
  released values and public tables the error is PostgreSQL's.
- **PostgreSQL**, **DuckDB**: it can be computed over private rows in such a database; else [private_function](errors.md#private_function), for the reason of the number.
- **released**: it can be computed over constants, group keys and aggregates that are released.
- Arguments in *italics* must be constants.

`, len(funcs.All()))
	for _, k := range []struct {
		kind  funcs.Kind
		title string
	}{{funcs.Operator, "Operators"}, {funcs.Function, "Functions"}, {funcs.Cast, "Casts"}} {
		list := tables[k.kind]
		slices.SortStableFunc(list, func(a, b *line) int { return strings.Compare(a.name, b.name) })
		fmt.Fprintf(page, "### %s\n\n| %s | overloads | range | NULL for errors | PostgreSQL | DuckDB | released |\n|---|---|---|---|---|---|---|\n", k.title, strings.TrimSuffix(strings.ToLower(k.title), "s"))
		for _, l := range list {
			fmt.Fprintf(page, "| `%s` | %s %s\n", escaped(l.name), strings.Join(brief(l.forms), "; "), l.flags)
		}
		page.WriteString("\n")
	}
	page.WriteString("`LIKE` is `~~`, `ILIKE` `~~*`, `x AT TIME ZONE z` `timezone(z, x)`, `SIMILAR TO` a regular expression; `COALESCE`, `NULLIF`, `GREATEST`, `LEAST`, `CASE`, `IN`, `BETWEEN` and the aggregates are in the tables of clauses.\n\n")
	for i, why := range reasons {
		fmt.Fprintf(page, "%d. %s.\n", i+1, why)
	}
}

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
			forms = append([]string{fmt.Sprintf("any two of %s → %s", strings.Join(f, ", "), to)}, rest...)
		}
	}
	return forms
}

// form is an overload's types.
func form(f *funcs.Func) string {
	args := make([]string, len(f.Args))
	for i, a := range f.Args {
		if args[i] = short(a); f.Spell == nil && slices.Contains(f.Const, i) {
			args[i] = "*" + args[i] + "*"
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
		if (sqltype.Type{OID: p.OID, Typmod: -1}).Known() {
			add(p.OID)
			if p.Array != 0 {
				add(p.Array)
			}
		}
	}
	return t, name == "every"
}

func (every) TableNames() []string { return []string{"every"} }

// stand are types that stand for the pseudo-types of a row as PostgreSQL declares it.
var stand = map[sqltype.OID]sqltype.OID{2276: 25, 2277: 1007, 2283: 23, 5077: 23, 5078: 1007}

// relabelled: the binder calls a text a varchar or a char(n) and then cuts it by that type's own row.
func relabelled(f *funcs.Func) bool {
	from, to := sqltype.Type{OID: f.Args[0]}, sqltype.Type{OID: f.Result}
	return f.Kind == funcs.Cast && from.OID != to.OID && from.IsString() && to.IsString()
}

// modifiers bring a cast to a type's own row.
var modifiers = map[sqltype.OID]string{sqltype.OIDNumeric: "(9,2)", sqltype.OIDVarchar: "(3)", sqltype.OIDBPChar: "(3)", sqltype.OIDInterval: "(3)"}

// reached binds a call of a row, over columns and the constants that it asks for, and fails if the binder does not take the row.
func reached(f *funcs.Func) (err error) {
	for _, literals := range []bool{false, true} { // a pattern is a literal, though its row asks for none
		for _, w := range words {
			args := make([]string, len(f.Args))
			for i, o := range f.Args {
				if s, ok := stand[o]; ok {
					o = s
				}
				if args[i] = fmt.Sprint("c", o); slices.Contains(f.Const, i) && f.Spell == nil || literals && i > 0 {
					args[i] = fmt.Sprintf("CAST('%s' AS %s)", constant(f, i, w), typeText(o))
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
	var sql string
	switch {
	case f.Kind == funcs.Cast:
		sql = fmt.Sprintf("CAST(%s AS %s)", args[0], typeText(f.Result))
		if f.Args[0] == f.Result {
			sql = fmt.Sprintf("CAST(%s AS %s%s)", args[0], typeText(f.Result), modifiers[f.Result])
		}
	case f.Kind == funcs.Operator && len(args) == 2:
		sql = fmt.Sprintf("%s OPERATOR(pg_catalog.%s) %s", args[0], f.Name, args[1])
	case f.Kind == funcs.Operator:
		sql = fmt.Sprintf("OPERATOR(pg_catalog.%s) %s", f.Name, args[0])
	default:
		sql = fmt.Sprintf("pg_catalog.%q(%s)", f.Name, strings.Join(args, ", "))
	}
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

// writeMissing groups what PostgreSQL has and the registry does not.
func writeMissing(t *testing.T, page *bytes.Buffer) {
	behind := behindOperators(t)
	groups := map[string][]string{}
	supported := map[string]bool{}
	names := pgcat.ProcNames()
	slices.Sort(names)
	for _, name := range names {
		for _, p := range pgcat.Procs(name) {
			if computed(p) {
				supported[name] = true
				continue
			}
			why := missing(p, behind)
			if !slices.Contains(groups[why], name) {
				groups[why] = append(groups[why], name)
			}
		}
	}
	page.WriteString("\n## What PostgreSQL has and dpsql refuses\n\nAll of PostgreSQL 15's functions that are not above, by reason. They are known by name and refused as " +
		"[unsupported_function](errors.md#unsupported_function), never taken for another one. A name with * has overloads that are supported.\n\n")
	for _, g := range reasonsMissing {
		list := groups[g.why]
		delete(groups, g.why)
		fmt.Fprintf(page, "- **%s** (%d names)", g.why, len(list))
		if g.say != "" {
			fmt.Fprintf(page, ": %s.", g.say)
		} else {
			for i, n := range list {
				if supported[n] {
					n += "*"
				}
				sep := ", "
				if i == 0 {
					sep = ": "
				}
				page.WriteString(sep + n)
			}
			page.WriteString(".")
		}
		page.WriteString("\n")
	}
	for why := range groups {
		t.Errorf("no reason is called %q", why)
	}
}

// computed: some row, or the binder itself, has it.
func computed(p *pgcat.Proc) bool {
	if p.Kind == 'a' {
		for _, a := range aggregates {
			if a == p.Name {
				return true
			}
		}
		return false
	}
	if slices.Contains(bySession, p.Name) {
		return true
	}
	args := slices.Clone(p.Args)
	if funcs.Lookup(funcs.Function, p.Name, args...) != nil {
		return true
	}
	if len(args) == 1 {
		if c := pgcat.FindCast(args[0], p.Result); c != nil && c.Func == p.OID && funcs.LookupCast(args[0], p.Result) != nil {
			return true
		}
	}
	if !slices.ContainsFunc(args, func(o sqltype.OID) bool { return pgcat.TypeOf(o) != nil && pgcat.TypeOf(o).Kind == 'p' }) {
		return false
	}
	return slices.ContainsFunc(funcs.All(), func(f *funcs.Func) bool {
		return f.Kind == funcs.Function && f.Name == p.Name && len(f.Args) == len(args)
	})
}

// aggregates are bound by the binder; TestAggregates holds them against it. bySession are constants of the session.
var (
	aggregates = []string{"count", "sum", "avg", "min", "max"}
	bySession  = []string{"version", "current_database", "current_schema", "current_user", "session_user"}
)

// reasonsMissing are the groups, in the order of the page. One with words is counted only.
var reasonsMissing = []struct{ why, say string }{
	{"aggregates that are not there yet", ""},
	{"window functions", ""},
	{"functions that return sets", ""},
	{"what PostgreSQL calls by itself", "input and output of types, support of indexes, selectivity, triggers, handlers"},
	{"about the server", "its catalogs, settings, sessions, locks, files, replication, statistics, large objects, sequences: nothing of the data set's database is shown"},
	{"another value each time, or the day's", ""},
	{"of types that are not there", "geometry, network addresses, text search, ranges, bit strings, money, XML"},
	{"behind operators and casts", "write the operator or the cast"},
	{"of arrays", ""},
	{"of json", ""},
	{"not there yet", ""},
}

var (
	internalName = regexp.MustCompile(`^(hash|bt\w*(cmp|image)$|in_range|\w+_(in|out|sortsupport|support|larger|smaller|accum|accum_inv|combine|serialize|deserialize|transfn|finalfn|hash|` +
		`hash_extended|cmp|subdiff|statefunc|validator)$|\w*(send|recv|typmodin|typmodout|larger|smaller)$|ri_|brin|gin|gist|spg|\w+(sel|joinsel|cmp)$|RI_|enum_|record_|unique_key|suppress_redundant|` +
		`(int|numeric|interval|float)\w*_(avg|sum|corr|covar|regr|var|stddev)|int[0-9](inc|dec)|numeric_(exp|ln|log|sqrt|inc|div_trunc)$|d(exp|log1|log10|round|trunc)$|textlen$|like$|notlike$|nameconcat|` +
		`oidvectortypes$|xml_is|(date|time\w*)_cmp)`)
	serverName   = regexp.MustCompile(`^(pg_|lo_|has_|txid_|inet_|binary_upgrade|current_setting|set_config|nextval|currval|setval|lastval|cursor_to|query_to|table_to|schema_to|database_to|obj_|col_|shobj_|row_security|to_reg|amvalidate|icu_|current_query|current_schemas|getdatabaseencoding|getpgusername|ts_|satisfies|format_type|float4?_?typ|make_acl|acl|mx|index_am|fmgr|lowrite|loread|be_|xid|currtid|trigger|event_trigger|plpgsql|loread|mxid|tid|heap)`)
	volatileName = regexp.MustCompile(`^(random|setseed|clock_timestamp|timeofday|gen_random_uuid|now|statement_timestamp|transaction_timestamp|age)$`)
)

func missing(p *pgcat.Proc, behind map[sqltype.OID]bool) string {
	types := append(slices.Clone(p.Args), p.Result)
	has := func(f func(o sqltype.OID, t *pgcat.Type) bool) bool {
		return slices.ContainsFunc(types, func(o sqltype.OID) bool { t := pgcat.TypeOf(o); return t != nil && f(o, t) })
	}
	element := func(o sqltype.OID, t *pgcat.Type) sqltype.OID {
		if t.TrueArray {
			return t.Elem
		}
		return o
	}
	switch {
	case p.Kind == 'a':
		return "aggregates that are not there yet"
	case p.Kind == 'w':
		return "window functions"
	case p.Kind == 'p' || serverName.MatchString(p.Name):
		return "about the server"
	case internalName.MatchString(p.Name), has(func(o sqltype.OID, t *pgcat.Type) bool {
		return t.Kind == 'p' && (o == 2275 || o == 2281 || o == 2278 || o == 2279 || o == 3838 || o == 325 || o == 269 || o == 3310 || o == 3115 || o == 2280)
	}):
		return "what PostgreSQL calls by itself"
	case p.RetSet:
		return "functions that return sets"
	case volatileName.MatchString(p.Name):
		return "another value each time, or the day's"
	case has(func(o sqltype.OID, t *pgcat.Type) bool {
		e := element(o, t)
		x := pgcat.TypeOf(e)
		return x != nil && x.Kind != 'p' && !(sqltype.Type{OID: e, Typmod: -1}).Known() || e == 3831 || e == 4537 || e == 5080 || e == 4538
	}), has(func(o sqltype.OID, _ *pgcat.Type) bool {
		return o == sqltype.OIDOid || o == sqltype.OIDChar || o == sqltype.OIDName
	}) && behind[p.OID]:
		return "of types that are not there"
	case behind[p.OID]:
		return "behind operators and casts"
	case has(func(_ sqltype.OID, t *pgcat.Type) bool { return t.OID == sqltype.OIDJSON || t.OID == sqltype.OIDJSONB }):
		return "of json"
	case has(func(o sqltype.OID, t *pgcat.Type) bool { return t.TrueArray || o == 2277 || o == 5078 }):
		return "of arrays"
	}
	return "not there yet"
}

// behindOperators are the functions of operators and casts, from the catalog's own tables.
func behindOperators(t *testing.T) map[sqltype.OID]bool {
	out := map[sqltype.OID]bool{}
	for file, column := range map[string]int{"operators.tsv": 5, "casts.tsv": 2} {
		text, err := os.ReadFile("../../rewrite/pgcat/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(string(text)) {
			n, err := strconv.ParseUint(strings.Split(strings.TrimSpace(l), "\t")[column], 10, 32)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out[sqltype.OID(n)] = true
		}
	}
	return out
}

// TestAggregates: the aggregates of the page are those that the binder takes, over some type.
func TestAggregates(t *testing.T) {
	table, _ := every{}.Table("", "every")
	for _, name := range pgcat.ProcNames() {
		procs := pgcat.Procs(name)
		if procs[0].Kind != 'a' {
			continue
		}
		taken := false
		for _, c := range table.Columns {
			for _, args := range []string{c.Name, c.Name + ", " + c.Name} {
				st, err := pgsyntax.Parse(fmt.Sprintf("SELECT pg_catalog.%q(%s) FROM every", name, args))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := plan.Bind(st[0].Node.(*pgsyntax.Select), every{}, plan.BindOptions{}); err == nil {
					taken = true
				}
			}
		}
		if taken != slices.Contains(aggregates, name) {
			t.Errorf("%s: taken %v", name, taken)
		}
	}
}

const sqlHead = `<!-- Made by go test ./internal/engine -run TestSQLDoc -update, from the registries and internal/engine/testdata/sql/clauses.yaml. -->
# SQL

An analyst writes PostgreSQL 15's SQL. Every statement of its SELECT grammar is read as PostgreSQL reads it, or refused by name and position; none is misread. Names,
types, overloads, casts, parameters and output columns are found by PostgreSQL's rules over PostgreSQL's own catalog. This page is made from the
registries and from what happened to its examples; a test fails when it is stale. [errors.md](errors.md) explains each refusal.

Rows are of three sorts. **Private rows** belong to persons: they can be counted, summed and averaged, with noise. **Public tables** belong to nobody: the policy says
` + "`public: true`" + `, and answers over them alone are exact and free. **Released values** are what is left of private rows after the noise: aggregates and group keys.
On them HAVING, ORDER BY, LIMIT, DISTINCT and every expression that is marked "released" work exactly and cost nothing.
`

const sqlRanges = `
## Ranges and public groups

A sum needs to know how much one person can change it, and groups are free of noise of their own where everybody knows which there are. Both are derived from the
policy and the statement, never from rows; ` + "`EXPLAIN`" + ` tells what was derived.

- **Ranges** come from the policy (` + "`range: [lo, hi]`" + `), and go through arithmetic, CASE, casts and every row below that is marked "range". A declared range is enforced by a clamp.
- **WHERE and ON narrow.** ` + "`WHERE age BETWEEN 20 AND 60`" + ` makes the range [20, 60], or gives one to a column that has none; so do ` + "`=`, `<`, `IN`, `AND`, `OR`" + ` of such conditions, and the ON
  of a join on its own side. Fewer rows do not cost more noise, a narrower range costs less.
- **Public groups** are values that the policy lists, columns of public tables, booleans and CASE over constants; and keys computed from *one* column with few public values: whole
  numbers and days in a range, listed values, what WHERE ... IN lists. ` + "`floor(x / 10) * 10`, `width_bucket(x, 0, 100, 10)`, `date_trunc('month', d)`, `extract(year FROM d)`, `x % 7`, casts" + ` of
  such a column need no selection: all groups are answered, also those that nobody is in.
- **Rows outside** a declared range or list are in no public group: the data breaks its declaration there.
- All other groups are **unknown**: which ones are shown is chosen with noise, and rare ones never are. That needs a policy with delta above 0 ([unknown_groups](errors.md#unknown_groups)).
`
