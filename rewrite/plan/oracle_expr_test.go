package plan_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// pairs are constructs of two operands.
var pairs = []string{"case when b then %s else %s end", "case when b then %s when not b then %s end", "case %s when %s then 1 end", "coalesce(%s, %s)", "coalesce(null, %s, %s)",
	"greatest(%s, %s)", "least(%s, %s, null)", "nullif(%s, %s)", "%s in (%s, i4)", "%s in (%s)", "%s in (%s, null, '1')", "%s not in (%s, 1)", "%s between %s and 5", "%s not between %s and null",
	"%s between symmetric %s and 5", "%s is distinct from %s", "%s is not distinct from %s", "array[%s, %s]", "array[array[%s], array[%s]]", "array[%s, %s]::text[]",
	"%s = any(array[%s, 1])", "%s <> all(array[%s])", "%s < any(%s)", "%s = all(%s)", "(%s, 1) = (%s, 2)", "(%s, b) < (%s, true)", "(%s, 1) is distinct from (%s, 2)", "(%s, 1) in ((%s, 1), (1, 2))",
	"%s like %s", "%s not ilike %s", "%s similar to %s", "%s like %s escape '!'", "%s at time zone %s", "%s and %s", "%s || %s", "(%s)[%s]",
	"position(%s in %s)", "substring(%s from %s)", "substring(%s for %s)", "trim(%s from %s)", "trim(leading %s from %s)", "overlay(t placing %s from %s)", "round(%s, %s)", "concat(%s, %s)", "format(%s, %s)",
	"(d, %s) overlaps (d, %s)", "date_trunc(%s, %s)", "make_interval(days => %s, hours => %s)", "make_interval(%s, %s)", "case when b then %s end || %s", "array_agg(%s || %s)", "max(coalesce(%s, %s))"}

// singles are constructs of one.
var singles = []string{"-%s", "+%s", "not %s", "%s is null", "%s is not true", "%s is unknown", "(%s, 1) is null", "array[%s]", "case when %s then 1 end", "case when b then %s end", "coalesce(%s)",
	"%s collate \"C\"", "extract(year from %s)", "extract(epoch from %s)", "date_part('day', %s)", "count(%s)", "count(distinct %s)", "sum(%s)", "avg(%s)", "min(%s)", "max(%s)", "bool_and(%s)",
	"array_length(%s, 1)", "unnest(%s)", "to_char(%s, 'YYYY')", "lower(%s)", "length(%s)", "text(%s)", "date(%s)", "int4(%s)", "%s = any('{1,2}')", "%s = any('{}')", "%s in ('1', '2')",
	"normalize(%s)", "%s is normalized", "upper(%s collate \"C\")", "current_date - %s", "now() - %s", "pg_typeof(%s)", "jsonb_build_object('a', %s)", "num_nulls(%s, 1)", "json_extract_path_text(%s, 'a')",
	"abs(%s)", "floor(%s)", "sqrt(%s)", "%s::text::int", "string_agg(%s, ',')", "array_agg(%s)"}

// castTypes are the targets of casts.
var castTypes = []string{"int2", "int", "bigint", "numeric", "numeric(5,1)", "numeric(3,-2)", "real", "float8", "float(3)", "text", "varchar", "varchar(3)", "char", "char(4)", "bpchar", "\"char\"", "name", "bool",
	"date", "time", "time(2)", "timetz", "timestamp", "timestamp(3)", "timestamptz", "timestamptz(0)", "interval", "interval day to second(2)", "interval year", "uuid", "bytea", "json", "jsonb", "oid", "mood",
	"int[]", "text[]", "varchar(2)[]", "numeric(4,1)[]", "mood[]", "date[]", "bit(3)", "bit", "varbit", "money", "inet", "point", "regclass", "nosuch", "int(3)", "varchar(0)", "numeric(0)", "numeric(1,2,3)", "float(60)"}

// readable are the operands whose types dpsql has literals of.
func readable(more ...string) []string {
	return append(slices.DeleteFunc(operands(), func(s string) bool { return slices.Contains([]string{"mo", "ip", "pt", "rg", "bt", "vb"}, s) }), more...)
}

func expressions(rng *rand.Rand, share float64) []string {
	var out []string
	add := func(format string, args ...any) {
		if rng.Float64() < share {
			out = append(out, "select "+fmt.Sprintf(format, args...)+" from kinds")
		}
	}
	for _, a := range readable("'1'", "'a'") {
		for _, s := range singles {
			add(s, a)
		}
		for _, c := range castTypes {
			if strings.HasPrefix(a, "'") && slices.Contains([]string{"bit(3)", "bit", "varbit", "money", "inet", "point", "regclass"}, c) {
				continue // dpsql has no values of them
			}
			add("%s::%s", a, c)
			add("array[%s]::%s", a, c)
		}
		for _, p := range pairs {
			for _, b := range readable("'1'", "'2020-01-01'") {
				add(p, a, b)
			}
		}
		out = append(out, "select 1 from kinds where "+a, "select i4, count(*) from kinds group by i4, "+a, "select i4 from kinds order by "+a, "select i4 from kinds limit "+a,
			"select distinct "+a+" from kinds", "select t from kinds where t = "+a)
	}
	return out
}

// TestExpressions: constructs over all pairs of types, of which each run takes a share.
func TestExpressions(t *testing.T) {
	o := newOracle(t)
	share := 0.03
	if os.Getenv("DPSQL_LONG") != "" {
		share = 1
	}
	list := expressions(rand.New(rand.NewPCG(5, 6)), share)
	t.Logf("%d statements, all of PostgreSQL: %v", len(list), o.compare(t, list, plan.Describe))
	t.Logf("with the registry: %v", o.compare(t, list, plan.Bind))
}

// TestLiterals: literals of every type, good and bad, as PostgreSQL's input functions read them when a statement is parsed.
func TestLiterals(t *testing.T) {
	o := newOracle(t)
	var list []string
	for _, c := range castTypes {
		for _, text := range []string{"1", "", "x", "1.5", "12345678901234567890", "true", "2020-02-30", "2020-02-28 10:11:12", "10:20", "1 day", "{1,2}", "{a", "[1]", "{}", "sad", "\\x00", "101", "NaN", "infinity", "-1"} {
			list = append(list, fmt.Sprintf("select '%s'::%s", text, c), fmt.Sprintf("select cast('%s' as %s) as x", text, c))
			if !strings.ContainsAny(c, "[") {
				list = append(list, fmt.Sprintf("select %s '%s'", c, text))
			}
		}
	}
	t.Logf("%d statements: %v", len(list), o.compare(t, list, plan.Bind))
}
