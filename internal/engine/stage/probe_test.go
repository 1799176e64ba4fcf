package stage_test

import (
	"fmt"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// freeProbes are counted queries that need nothing private: asked themselves they are free, or their numbers alone are not.
var freeProbes = []struct{ rows, counted string }{
	{"select distinct readmitted from encounters", ""},
	{"select distinct readmitted from encounters where readmitted <> 'NO'", ""},
	{"select distinct ward, active from patients order by 1 desc", ""},
	{"select distinct kind_id from encounters", ""},
	{"select readmitted from encounters group by 1", ""},
	{"select distinct gender, days / 7 as week from patients join encounters using (patient_id) limit 5", ""},
	{"select * from (select distinct days from encounters) q where days > 10 order by days offset 1", ""},
	{"select upper(readmitted) from (select distinct readmitted, active from patients join encounters using (patient_id)) q", ""},
	{"select distinct readmitted from encounters", "select count(readmitted) filter (where readmitted <> 'NO') + 1 from (%s) q"},
	{"select distinct ward from patients", "with q as (%s) select count(*) from q"},
	{"select distinct ward from patients", "select (select count(*) from (%s) q), 1"},
	{"select distinct ward from patients", "select count(ward) + 1 from (%s) q"}, // one is NULL
	{"select * from encounters limit 0", ""},
}

// TestFreeProbes: pages are counted free where they follow from the policy, public tables and the statement, and as many rows are counted as come.
func TestFreeProbes(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d)
		for _, p := range freeProbes {
			_, a := enginetest.Ask(t, s, p.rows)
			counted := p.counted
			if counted == "" {
				counted = "select count(*) from (%s) q"
			}
			want := int64(len(a.Rows))
			_, n := enginetest.Ask(t, s, fmt.Sprintf(counted, p.rows))
			if n.Rows[0][0] != want {
				t.Errorf("%s: %s: %v counted, %d come", d, fmt.Sprintf(counted, p.rows), n.Rows[0][0], want)
			}
			if paid := enginetest.PaidFor(t, s); paid != 0 {
				t.Fatalf("%s: %s: charged", d, p.rows)
			}
		}
	}
}

// TestProbesOfGroups: how many public groups there are says no aggregate, so that their number is free before and after they are asked for. What depends on people is charged.
func TestProbesOfGroups(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	for _, rows := range []string{"select readmitted, count(*), avg(days) from encounters group by 1 order by 2 desc limit 2", "select ward, active, sum(weight) from patients group by 1, 2",
		"select count(*) from encounters"} {
		probe := "select count(*) from (" + rows + ") q"
		_, before := enginetest.Ask(t, s, probe)
		if paid := enginetest.PaidFor(t, s); paid != 0 {
			t.Fatalf("%s: charged", probe)
		}
		o := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
		_, a := enginetest.Ask(t, o, rows)
		_, after := enginetest.Ask(t, o, probe)
		if n := int64(len(a.Rows)); before.Rows[0][0] != n || after.Rows[0][0] != n || enginetest.PaidFor(t, o) != 1 {
			t.Errorf("%s: %v before, %v after, %d come, %d charges", probe, before.Rows[0][0], after.Rows[0][0], n, enginetest.PaidFor(t, o))
		}
	}
	paid := enginetest.PaidFor(t, s)
	for _, probe := range []string{"select count(*) from (select distinct diag from encounters) q", // chosen with noise
		"select count(*) from (select readmitted from encounters group by 1 having count(*) > 20) q", "select count(distinct readmitted) from encounters",
		"select count(*) from (select distinct readmitted from encounters where days > (select avg(days) from encounters)) q",
		"select readmitted, count(*) from (select distinct readmitted, days from encounters) q group by 1",
		"select count(*) from (select distinct patient_id, readmitted from encounters) q",
		"select sum(days) from (select distinct days from encounters) q"} {
		if enginetest.Ask(t, s, probe); enginetest.PaidFor(t, s) == paid {
			t.Errorf("%s: free", probe)
		}
		paid = enginetest.PaidFor(t, s)
	}
	small := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "query:  {price: 0.5}", "query:  {price: 0.5, min_people: 5}")
	for sql, s := range map[string]*session.Session{"select count(*) from (select distinct diag from encounters) q": s, "select count(*) from (select diag from encounters group by 1) q": s,
		"select count(*) from (select distinct readmitted from encounters) q": small, "select count(*) from (select readmitted from encounters group by 1) q": small} {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range p.Staged().Stages {
			if len(st.An.Keys) > 0 {
				t.Errorf("%s: counts the groups of a release, of which some are hidden", sql)
			}
		}
	}
	if enginetest.Ask(t, small, "select count(*) from (select distinct readmitted from encounters) q"); enginetest.PaidFor(t, small) != 1 {
		t.Error("where groups are hidden by their people, their number is free")
	}
}
