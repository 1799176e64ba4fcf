package engine

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/sqltype"
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

func weighted(t testing.TB, s *Session, sql string) (*sensitivity.Analysis, *sqlgen.Statement) {
	t.Helper()
	set(t, s, "dpsql.bounding", "weighted")
	p, err := prepare(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if p.an.Joined == nil || p.an.Joined.Weighted == nil || p.an.Joined.Formula != nil || p.Columns()[0].Name != "weighted_count" {
		t.Fatalf("%s is not weighted: %v", sql, p.Columns())
	}
	st, err := sqlgen.Private(p.an, s.engine.dialect, 42)
	if err != nil {
		t.Fatal(err)
	}
	return p.an, st
}

// TestWeighted: joins counted by weights keep their claim on data that breaks every declaration, are the sum of weights where nobody has more rows than the policy says, and the answer and its NOTICE say what they are.
func TestWeighted(t *testing.T) {
	for _, d := range dialects {
		s := clinicSession(t, wild, d, anyJoins...)
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
		for from, to := range map[string]string{`"t\d+"\."rn" <= 4\b`: "TRUE", `"t\d+"\."patient_id" IS NOT NULL`: "TRUE", `\("s1"."n" \+ "s2"."n"\)|, "s1"."n" \+ "s2"."n"`: ""} {
			a, st := weighted(t, s, weightedStatements[2].sql)
			careless := mangled(t, st, func(sql string) string {
				if to == "" { // rows are counted, not weighed
					return regexp.MustCompile(from).ReplaceAllStringFunc(sql, func(x string) string { return map[bool]string{true: "(1)", false: ", 1"}[x[0] == '('] })
				}
				return regexp.MustCompile(from).ReplaceAllString(sql, to)
			})
			if _, err := truncatedHolds(t, d, a, careless); err == nil {
				t.Errorf("%s: without %s: not found", d, from)
			}
		}
		s = clinicSession(t, tame, d, generous...)
		for _, c := range weightedStatements {
			a, st := weighted(t, s, c.sql)
			rows := printedRows(t, tame.open(t, backend.Postgres), &sqlgen.Statement{SQL: c.plain, Columns: []sqlgen.Column{{Role: sqlgen.RoleOutput, Type: sqltype.Numeric}}})
			truth, _ := new(big.Int).SetString(fmt.Sprint(rows[0][0]), 10)
			total := joinedTotals(t, tame.open(t, d), st)[" 0"]
			if truth == nil || total.Cmp(truth) != 0 {
				t.Errorf("%s: %s: %v, PostgreSQL has %v", d, c.sql, total, rows)
			}
			set(t, s, "dpsql.notices", "full")
			p, err := prepare(s, c.sql)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := p.Run(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			all, err := answer.All(context.Background())
			if err != nil || !regexp.MustCompile(`weighted: of a value`).MatchString(answer.Notice) {
				t.Errorf("%v: %s", err, answer.Notice)
			}
			want, _ := new(big.Float).SetInt(truth).Float64() // at epsilon 900 noise of more than 1 has a probability below 1e-9
			if got := asNumber(t, all[0][0]); math.Abs(got-want/1024) > 1.5 {
				t.Errorf("%s: %s: %v, want %v; %d", d, c.sql, got, want/1024, a.Measures[0].PerGroup)
			}
		}
	}
}
