package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

// TestDirectParameters: fractions and numbers that are parameters are those of constants, of each execution's own; what is not one is refused before anything is charged.
func TestDirectParameters(t *testing.T) {
	ctx := context.Background()
	nine, one := sqltype.Value(0.9), sqltype.Value(0.1)
	list := &sqltype.Array{Elem: sqltype.OIDFloat8, Dims: []int32{2}, Lower: []int32{1}, Values: []sqltype.Value{0.1, 0.9}}
	for _, c := range []struct {
		sql, same string
		args      []sqltype.Value
	}{
		{"select readmitted, percentile_cont($1) within group (order by days) from encounters where days >= $2 group by 1", "select readmitted, percentile_cont(0.9) within group (order by days) from encounters where days >= 2 group by 1", []sqltype.Value{nine, int64(2)}},
		{"select percentile_disc($1::float8[]) within group (order by cost desc) from encounters", "select percentile_disc(array[0.1, 0.9]) within group (order by cost desc) from encounters", []sqltype.Value{list}},
		{"select percentile_disc(1 - $1::float8) within group (order by days) from encounters", "select percentile_disc(0.9) within group (order by days) from encounters", []sqltype.Value{one}},
		{"select cardinality(dp_top_k(readmitted, $1)) from encounters", "select cardinality(dp_top_k(readmitted, 2)) from encounters", []sqltype.Value{int64(2)}},
		{"select percentile_cont($1) within group (order by n) from (select readmitted, count(*) n from encounters group by 1) t", "select percentile_cont(0.9) within group (order by n) from (select readmitted, count(*) n from encounters group by 1) t", []sqltype.Value{nine}},
		{"select percentile_cont($1) within group (order by days) is null from encounters", "select percentile_cont(null) within group (order by days) is null from encounters", []sqltype.Value{nil}},
	} {
		for _, d := range enginetest.Dialects {
			s := enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.Roomy...)
			p, err := enginetest.Prepare(s, c.sql)
			if err != nil {
				t.Errorf("%s: %s: %v", d, c.sql, err)
				continue
			}
			if err := p.Analyze(ctx, c.args); err != nil {
				t.Errorf("%s: %s: %v", d, c.sql, err)
				continue
			}
			q, err := enginetest.Prepare(s, c.same)
			if err != nil {
				t.Fatal(c.same, err)
			}
			for i, st := range p.Staged().Stages {
				if got, want := reuse.Canonical(st.An), reuse.Canonical(q.Staged().Stages[i].An); got != want && !strings.Contains(got, "$2") {
					t.Errorf("%s: %s is\n%s\nand with constants\n%s", d, c.sql, got, want)
				}
			}
			var types []sqltype.Type
			for _, o := range p.Columns() {
				types = append(types, o.Type)
			}
			before := len(enginetest.Charges(t, s.Engine))
			first, err := p.Run(ctx, c.args)
			if err != nil {
				t.Errorf("%s: %s: %v", d, c.sql, err)
				continue
			}
			if again, err := p.Run(ctx, c.args); err != nil || enginetest.SpelledRow(again.Rows[0], types) != enginetest.SpelledRow(first.Rows[0], types) || len(enginetest.Charges(t, s.Engine)) > before+1 {
				t.Errorf("%s: %s again: %v, %v, %d charges", d, c.sql, again, err, len(enginetest.Charges(t, s.Engine))-before)
			}
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	p, err := enginetest.Prepare(s, "select percentile_cont($1) within group (order by days) from encounters")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []sqltype.Value{0.1, 0.9, 0.1} {
		if _, err := p.Run(ctx, []sqltype.Value{v}); err != nil {
			t.Fatal(err)
		}
	}
	if all := enginetest.Charges(t, s.Engine); len(all) != 2 {
		t.Errorf("%+v", all)
	}
	for sql, arg := range map[string]sqltype.Value{
		"select percentile_cont($1) within group (order by days) from encounters": 1.5,
		"select dp_top_k(readmitted, $1) from encounters":                         int64(101),
	} {
		if _, err := enginetest.Try(s, sql, arg); sqlerr.ID(err) != sqlerr.NumericRange.ID && sqlerr.ID(err) != sqlerr.InvalidParam.ID || len(enginetest.Charges(t, s.Engine)) != 2 {
			t.Errorf("%s of %v: %v", sql, arg, err)
		}
	}
}
