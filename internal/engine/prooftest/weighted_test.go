package prooftest

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// weightedStatements are joins whose rows are counted by weights, and the sum that PostgreSQL computes of keys.
var weightedStatements = []struct{ sql, plain string }{
	{"select count(*) from encounters a join encounters b on a.days = b.days where a.kind_id < 3",
		`select sum(floor(1024 * a.n * b.n / (a.n + b.n))) from (select days, count(*)::numeric n from public.encounters where patient_id is not null and kind_id < 3 group by 1) a join (select days, count(*)::numeric n from public.encounters where patient_id is not null group by 1) b using (days)`},
	{"select count(*) from encounters a join patients p on p.city_id = a.kind_id and a.free = p.city_id",
		`select sum(floor(1024 * a.n * b.n / (a.n + b.n))) from (select kind_id, free, count(*)::numeric n from public.encounters where patient_id is not null group by 1, 2) a join (select city_id, count(*)::numeric n from public.patients group by 1) b on a.kind_id = b.city_id and a.free = b.city_id`},
	{"select count(*) from encounters a join encounters b on a.ratio = b.ratio",
		`select sum(floor(1024 * n * n / (n + n))) from (select ratio, count(*)::numeric n from public.encounters where patient_id is not null and ratio is not null group by 1) a`},
}

func weighted(t testing.TB, s *session.Session, sql string) (*sensitivity.Analysis, *sqlgen.Statement) {
	t.Helper()
	enginetest.Set(t, s, "dpsql.bounding", "weighted")
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if p.Analysis().Joined == nil || p.Analysis().Joined.Weighted == nil || p.Analysis().Joined.Formula != nil || p.Columns()[0].Name != "weighted_count" {
		t.Fatalf("%s is not weighted: %v", sql, p.Columns())
	}
	st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	return p.Analysis(), st
}

// TestWeighted: joins counted by weights keep their claim on data that breaks every declaration, are the sum of weights where nobody has more rows than the policy says, and the answer and its NOTICE say what they are.
func TestWeighted(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d, enginetest.AnyJoins...)
		best := 0.0
		for _, c := range weightedStatements {
			a, st := weighted(t, s, c.sql)
			share, err := truncatedHolds(t, d, a, st)
			if err != nil {
				t.Errorf("%s: %s: %v", d, c.sql, err)
			}
			best = max(best, share)
		}
		if best < 0.2 {
			t.Errorf("%s: no statement uses more than %.2f of its claim: the data is too tame", d, best)
		}
		for from, to := range map[string]string{`"t\d+"\."rn" <= 4\b`: "TRUE", `"t\d+"\."(?:c_)?patient_id" IS NOT NULL`: "TRUE", `\("s1"."n" \+ "s1"."n"\)|, "s1"."n" \+ "s1"."n"`: ""} {
			a, st := weighted(t, s, weightedStatements[2].sql)
			careless := enginetest.Mangled(t, st, func(sql string) string {
				if to == "" { // rows are counted, not weighed
					return regexp.MustCompile(from).ReplaceAllStringFunc(sql, func(x string) string { return map[bool]string{true: "(1)", false: ", 1"}[x[0] == '('] })
				}
				return regexp.MustCompile(from).ReplaceAllString(sql, to)
			})
			if _, err := truncatedHolds(t, d, a, careless); err == nil {
				t.Errorf("%s: without %s: not found", d, from)
			}
		}
		s = enginetest.ClinicSession(t, enginetest.Tame, d, generous...)
		for _, c := range weightedStatements {
			a, st := weighted(t, s, c.sql)
			rows := enginetest.PrintedRows(t, enginetest.Tame.Open(t, funcs.Postgres), &sqlgen.Statement{SQL: c.plain, Columns: []sqlgen.Column{{Role: sqlgen.RoleOutput, Type: sqltype.Numeric}}})
			truth, _ := new(big.Int).SetString(fmt.Sprint(rows[0][0]), 10)
			total := joinedTotals(t, enginetest.Tame.Open(t, d), st)[" 0"]
			if truth == nil || total.Cmp(truth) != 0 {
				t.Errorf("%s: %s: %v, PostgreSQL has %v", d, c.sql, total, rows)
			}
			enginetest.Set(t, s, "dpsql.notices", "full")
			p, err := enginetest.Prepare(s, c.sql)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := p.Run(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			all, err := answer.All(context.Background())
			if err != nil || answer.Mark != private.NoticeWeighted {
				t.Errorf("%v: %s", err, answer.Mark)
			}
			want, _ := new(big.Float).SetInt(truth).Float64() // at epsilon 900 noise of more than 1 has a probability below 1e-9
			if got := asNumber(t, all[0][0]); math.Abs(got-want/1024) > 1.5 {
				t.Errorf("%s: %s: %v, want %v; %d", d, c.sql, got, want/1024, a.Measures[0].PerGroup)
			}
		}
	}
}

// TestWeightedLabels: a count by weights is never shown as the count that the statement says: wherever in the statement it is made its column is weighted_count, unless the statement names it, and a mark tells it whatever dpsql.notices says, also of stored answers and of counts that only a condition reads.
func TestWeightedLabels(t *testing.T) {
	const joined = "SELECT count(*) FROM encounters a JOIN encounters b ON a.days = b.days"
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append([]string{"budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 1000, delta: 1e-6}"}, enginetest.AnyJoins...)...)
	enginetest.Set(t, s, "dpsql.bounding", "weighted")
	for _, notices := range []string{"off", "brief", "full"} {
		enginetest.Set(t, s, "dpsql.notices", notices)
		for sql, names := range map[string]string{
			joined: "weighted_count",
			"SELECT count(*) AS n FROM encounters a JOIN encounters b ON a.days = b.days":                        "n",
			"SELECT count(*), dp_error(count(*)), count(*) + 1 FROM encounters a JOIN encounters b USING (days)": "weighted_count dp_error ?column?",
			"SELECT * FROM (" + joined + ") t":                                                   "weighted_count",
			"SELECT u.count FROM (SELECT * FROM (" + joined + ") t ORDER BY 1 LIMIT 1) u":        "weighted_count",
			"WITH t AS (" + joined + ") SELECT count, count AS c FROM t":                         "weighted_count c",
			"SELECT (" + joined + ")":                                                            "weighted_count",
			"SELECT count(*)::int FROM encounters a JOIN encounters b ON a.days = b.days":        "weighted_count",
			"SELECT count(*) FROM patients UNION ALL " + joined:                                  "weighted_count",
			"SELECT x.count, y.count FROM (SELECT count(*) FROM patients) x, (" + joined + ") y": "count weighted_count",
			"SELECT count(*) FROM patients HAVING count(*) > (" + joined + ") - 1000":            "count",
			"SELECT count(*) FROM patients WHERE weight > (" + joined + ") - 1000":               "count",
		} {
			p, answer := enginetest.Ask(t, s, sql)
			var got []string
			for _, c := range p.Columns() {
				got = append(got, c.Name)
			}
			if strings.Join(got, " ") != names || !strings.Contains(answer.Mark, private.NoticeWeighted) || (answer.Notice == "") != (notices == "off") {
				t.Errorf("%s: %s: %v, %q, %q", notices, sql, got, answer.Mark, answer.Notice)
			}
		}
		for _, sql := range []string{"SELECT count(*) FROM patients", "SELECT count(*) FROM encounters a JOIN encounters b ON a.patient_id = b.patient_id", "SELECT DISTINCT a.kind_id FROM encounters a JOIN encounters b ON a.days = b.days", "SELECT count(*) FROM (" + joined + ") t"} { // the last is of one row, which is known
			if p, answer := enginetest.Ask(t, s, sql); p.Columns()[0].Name == "weighted_count" || answer.Mark != "" {
				t.Errorf("%s: %v, %q", sql, p.Columns(), answer.Mark)
			}
		}
	}
}
