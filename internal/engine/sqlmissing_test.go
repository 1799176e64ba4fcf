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

	"github.com/dpsql/dpsql/internal/base/sqltype"

	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgcat"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

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
	page.WriteString("\n## What PostgreSQL has and dpsql refuses\n\nThese are all of PostgreSQL 15's functions that are not above, by reason. dpsql knows them by name and refuses them\n([unsupported_function](errors.md#unsupported_function)). It never takes one for another. " +
		"A name with * has overloads that are supported.\n\n")
	for _, g := range reasonsMissing {
		list := groups[g.why]
		delete(groups, g.why)
		fmt.Fprintf(page, "- **%s** (%d names)", g.why, len(list))
		if g.say != "" {
			fmt.Fprintf(page, ": %s.", g.say)
		} else {
			for i, n := range list {
				if supported[n] {
					list[i] = n + "*"
				}
			}
			page.WriteString(":\n  `" + strings.Join(list, ", ") + "`.")
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
	if slices.Contains(bySession, p.Name) || slices.Contains(byBinder, p.Name) {
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

// aggregates are answered over private rows, evaluated also over released values; TestAggregates holds them against analysis and evaluation. bySession are constants of the session.
var (
	aggregates = []string{"count", "sum", "avg", "bool_and", "bool_or", "every", "max", "min", "mode", "percentile_cont", "percentile_disc", "corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2",
		"regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance"}
	evaluated = []string{"array_agg", "bit_and", "bit_or", "bit_xor", "string_agg"}
	byBinder  = []string{"concat", "concat_ws", "format", "overlaps", "age"} // made of other rows
	bySession = []string{"version", "current_database", "current_schema", "current_user", "session_user", "now", "statement_timestamp", "transaction_timestamp", "clock_timestamp"}
)

// reasonsMissing are the groups, in the order of the page. One with words is counted only.
var reasonsMissing = []struct{ why, say string }{
	{"aggregates over released values and public tables, not over private rows", ""},
	{"other aggregates, over public tables and, on PostgreSQL, over released rows", ""},
	{"window functions, over released values, public tables and within each person's rows", ""},
	{"functions that return sets", ""},
	{"what PostgreSQL calls by itself", "input and output of types, support of indexes, selectivity, triggers, handlers"},
	{"about the server", "its catalogs, settings, sessions, locks, files, replication, statistics, large objects, sequences. Nothing of the data set's database is shown"},
	{"another value each time, or the day's", ""},
	{"of types that are not there", "geometry, network addresses, text search, ranges, bit strings, money, XML"},
	{"behind operators and casts", "write the operator or the cast"},
	{"where a regular expression matches, because PostgreSQL goes back over the text to find it", ""},
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
	case p.Kind == 'a' && slices.Contains(evaluated, p.Name):
		return "aggregates over released values and public tables, not over private rows"
	case p.Kind == 'a':
		return "other aggregates, over public tables and, on PostgreSQL, over released rows"
	case p.Kind == 'w':
		return "window functions, over released values, public tables and within each person's rows"
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
		return x != nil && x.Kind != 'p' && !Readable(e) || e == 3831 || e == 4537 || e == 5080 || e == 4538
	}), has(func(o sqltype.OID, _ *pgcat.Type) bool {
		return o == sqltype.OIDOid || o == sqltype.OIDChar || o == sqltype.OIDName
	}) && behind[p.OID]:
		return "of types that are not there"
	case strings.HasPrefix(p.Name, "regexp_") || p.Name == "substring" && len(p.Args) > 1 && p.Args[1] == sqltype.OIDText:
		return "where a regular expression matches, because PostgreSQL goes back over the text to find it"
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

// TestAggregates: the aggregates of the page are those that are answered over private rows; over public tables the binder takes all of PostgreSQL's.
func TestAggregates(t *testing.T) {
	catalog := neighbour.ClinicCatalog()
	for _, name := range pgcat.ProcNames() {
		if pgcat.Procs(name)[0].Kind != 'a' {
			continue
		}
		bound, answered, computes := false, false, false
		for _, args := range []string{"(cost)", "(cost, cost)", "(diag)", "(diag, diag)", "(days)", "(days, days)", "(cost::float8, cost::float8)", "(cost > 1)", "(0.5) WITHIN GROUP (ORDER BY cost)", "() WITHIN GROUP (ORDER BY cost)", "() WITHIN GROUP (ORDER BY days)",
			"(1.5) WITHIN GROUP (ORDER BY cost)", "('{1}'::jsonb)", "('{1}'::json)"} {
			st, err := pgsyntax.Parse(fmt.Sprintf("SELECT pg_catalog.%q%s FROM encounters", name, args))
			if err != nil {
				t.Fatal(err)
			}
			q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), catalog, plan.BindOptions{})
			if err != nil {
				continue
			}
			bound = true
			if _, err := neighbour.AnalyzeQuery(t.Context(), q, sensitivity.Options{MaxGroups: 1}); err == nil {
				answered = true
			}
			computes = computes || eval.Check(q.Root, func(n plan.Rel) bool { _, ok := n.(*plan.Scan); return ok }, q) == nil
		}
		if computes != (slices.Contains(evaluated, name) || slices.Contains(aggregates, name)) {
			t.Errorf("%s: evaluated %v", name, computes)
		}
		if answered != slices.Contains(aggregates, name) {
			t.Errorf("%s: answered %v", name, answered)
		}
		if !bound && !slices.Contains(unboundAggregates, name) {
			t.Errorf("%s is not bound", name)
		}
	}
}

// unboundAggregates are of types that are not there.
var unboundAggregates = []string{"range_agg", "range_intersect_agg", "xmlagg"}
