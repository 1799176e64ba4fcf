package session_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/sensitivity/reuse"
)

func listOf(elem sqltype.OID, values ...sqltype.Value) *sqltype.Array {
	a := &sqltype.Array{Elem: elem, Values: values}
	if len(values) > 0 {
		a.Dims, a.Lower = []int32{int32(len(values))}, []int32{1} //nolint:gosec // a test's few
	}
	return a
}

// TestArrayParameters: an array that is bound says what the statement says that lists it, on both backends, over private and public rows and over releases: the same question, answered once, at one price.
func TestArrayParameters(t *testing.T) {
	ctx := context.Background()
	ints, small := sqltype.Type{OID: 1007}, sqltype.Type{OID: 1005}
	two := listOf(sqltype.OIDInt4, int64(1), int64(2))
	sessions := map[dialect.Dialect]*session.Session{}
	for _, d := range enginetest.Dialects {
		sessions[d] = enginetest.ClinicSession(t, enginetest.Tame, d, enginetest.Roomy...)
	}
	for _, c := range []struct {
		sql, same string
		arg       sqltype.Value
		declared  sqltype.OID
	}{
		{"select count(*) from encounters where kind_id = any($1)", "select count(*) from encounters where kind_id in (1, 2)", two, 0},
		{"select readmitted, count(*) from encounters where kind_id <> all($1) group by 1", "select readmitted, count(*) from encounters where kind_id not in (1, 2) group by 1", two, 0},
		{"select count(*) from encounters where days >= any($1)", "select count(*) from encounters where days >= any('{3,7}')", listOf(sqltype.OIDInt4, int64(3), int64(7)), 0},
		{"select count(*) from encounters where readmitted = any($1)", "select count(*) from encounters where readmitted = any('{NO,NULL}')", listOf(sqltype.OIDText, "NO", nil), 0},
		{"select count(*) from encounters where kind_id = any($1)", "select count(*) from encounters where kind_id = any('{}')", listOf(sqltype.OIDInt4), 0},
		{"select count(*) from encounters where kind_id = any($1)", "select count(*) from encounters where kind_id = any(null::int[])", nil, 0},
		{"select count(*) from encounters where kind_id = any($1::int[])", "select count(*) from encounters where kind_id = any('{1,2}'::int[])", listOf(sqltype.OIDInt2, int64(1), int64(2)), small.OID},
		{"select count(*) from encounters where days > array_length($1::int[], 1)", "select count(*) from encounters where days > 2", listOf(sqltype.OIDInt2, int64(1), int64(2)), small.OID},
		{"select count(*) from patients p where exists (select 1 from encounters e where e.patient_id = p.patient_id and e.kind_id = any($1))",
			"select count(*) from patients p where exists (select 1 from encounters e where e.patient_id = p.patient_id and e.kind_id in (1, 2))", two, ints.OID},
		{"select r from (select readmitted r, count(*) n from encounters group by 1) q where n <> all($1) order by 1", "select r from (select readmitted r, count(*) n from encounters group by 1) q where n not in (1, 2) order by 1", two, 0},
		{"select id from kinds where id = any($1) order by 1", "select id from kinds where id in (1, 2) order by 1", two, 0},
		{"select array_length($1::int[], 1), 3 = any($1::int[])", "select 2, false", listOf(sqltype.OIDInt2, int64(1), int64(2)), small.OID},
	} {
		for _, d := range enginetest.Dialects {
			s := sessions[d]
			p, err := enginetest.Prepare(s, c.sql, c.declared)
			if err != nil {
				t.Errorf("%s: %s: %v", d, c.sql, err)
				continue
			}
			want, err := enginetest.Try(s, c.same)
			if err != nil {
				t.Fatal(c.same, err)
			}
			q, err := enginetest.Prepare(s, c.same)
			if err != nil {
				t.Fatal(c.same, err)
			}
			before := len(enginetest.Charges(t, s.Engine))
			a, err := p.Run(ctx, []sqltype.Value{c.arg})
			if err != nil {
				t.Errorf("%s: %s: %v", d, c.sql, err)
				continue
			}
			rows, err := a.All(ctx)
			if err != nil || fmt.Sprint(rows) != fmt.Sprint(want) || len(enginetest.Charges(t, s.Engine)) != before {
				t.Errorf("%s: %s: %v, %v, %d charges more\nthe listed one %v", d, c.sql, rows, err, len(enginetest.Charges(t, s.Engine))-before, want)
			}
			for i, st := range p.Staged().Stages {
				if got, want := reuse.Canonical(st.An), reuse.Canonical(q.Staged().Stages[i].An); got != want {
					t.Errorf("%s: %s is\n%s\nand listed\n%s", d, c.sql, got, want)
				}
			}
		}
	}
	s := sessions[funcs.DuckDB]
	before := len(enginetest.Charges(t, s.Engine))
	p, err := enginetest.Prepare(s, "select count(*) from encounters where kind_id = any($1::int2[])", ints.OID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(ctx, []sqltype.Value{listOf(sqltype.OIDInt4, int64(1), int64(40_000))}); sqlerr.ID(err) != sqlerr.NumericRange.ID || len(enginetest.Charges(t, s.Engine)) != before {
		t.Errorf("an element without room: %v, %d charges", err, len(enginetest.Charges(t, s.Engine))-before)
	}
}
