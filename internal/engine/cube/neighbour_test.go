package cube_test

import (
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/cube"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// cubeQueries are what cubes are made of.
var cubeQueries = []string{
	"SELECT gender, ward, count(*), sum(weight) FROM patients GROUP BY CUBE (gender, ward)",
	"SELECT readmitted, kind_id, count(*), count(days), sum(days) FROM encounters GROUP BY CUBE (readmitted, kind_id)",
	"SELECT gender, readmitted, avg(days) FROM encounters JOIN patients USING (patient_id) WHERE days > 2 GROUP BY ROLLUP (gender, readmitted)",
	"SELECT change, count(*), sum(dose) FROM prescriptions GROUP BY CUBE (change)",
}

// cubeLevels compares the totals of a cube's levels in the wild clinic with its neighbours'. It counts the levels, and those that use their whole claim. mangle plants a bug in each print that has the place for it.
func cubeLevels(t *testing.T, c *cube.Creation, mangle func(string) string) (levels, full int, failed error) {
	t.Helper()
	d := c.Session.Engine.Dialect
	changed, same := map[string]backend.Backend{}, map[string]backend.Backend{enginetest.Owned.Name: enginetest.Owned.Open(t, d), enginetest.Mixed.Name: enginetest.Mixed.Open(t, d)}
	for _, c := range enginetest.Without {
		changed[c.Name] = c.Open(t, d)
	}
	for _, st := range c.Query.Stages {
		printed, err := sqlgen.Private(st.An, d, 42)
		if err != nil {
			t.Fatal(err)
		}
		if mangle != nil && mangle(printed.SQL) != printed.SQL {
			printed = enginetest.Mangled(t, printed, mangle)
		}
		share, err := enginetest.Holds(st.An, printed, enginetest.Wild.Open(t, d), changed, same)
		if err != nil {
			failed = err
		}
		levels++
		if share == 1 {
			full++
		}
	}
	return levels, full, failed
}

// TestCubeNeighbours: without one unit each level of a cube changes by at most what its noise is for, and not at all without the rows that nobody owns or in another order; on both backends, over data that breaks the policy's declarations. Many levels use their whole claim. A print without the clamp is found.
func TestCubeNeighbours(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Wild, d)
		made := func(sql string) *cube.Creation {
			p, err := enginetest.Prepare(s, "CREATE DP CUBE c AS "+sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			return p.Kind().(*cube.Creation)
		}
		levels, full := 0, 0
		for _, sql := range cubeQueries {
			n, all, err := cubeLevels(t, made(sql), nil)
			if err != nil {
				t.Errorf("%v: %s: %v", d, sql, err)
			}
			levels, full = levels+n, full+all
		}
		if levels != 13 || full < levels/2 {
			t.Errorf("%v: %d of %d levels use their claim: the data is too tame", d, full, levels)
		}
		if _, _, err := cubeLevels(t, made(cubeQueries[1]), enginetest.Rewritten(`> 4 THEN 4`, "> 9 THEN 9")); err == nil || strings.Contains(err.Error(), "SQL") {
			t.Errorf("%v: a clamp of 9 rows is not found: %v", d, err)
		}
	}
}
