package prooftest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestAttack40Cubes: a cube as a way around the charge. (1) One that is dropped and made again is charged again, and has fresh noise. (2) What it answers reads no private row. (3) One whose rows cannot be read is charged, has one fixed error and answers nothing. (4) Without a person all that is said beside the numbers is the same.
func TestAttack40Cubes(t *testing.T) {
	const made, count = "CREATE DP CUBE c AS SELECT readmitted, kind_id, count(*) FROM encounters WHERE 1 / (days - 3) > -9 GROUP BY CUBE (readmitted, kind_id) WITH (price = 0.4)", "SELECT count(*) FROM encounters WHERE 1 / (days - 3) > -9"
	said := map[string]string{}
	for _, c := range []enginetest.Clinic{enginetest.Wild, enginetest.WithoutOne} {
		b := &enginetest.Failing{Backend: c.Open(t, funcs.DuckDB)}
		s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB), b), t, "ann")
		var told []string
		counts := map[string]bool{}
		for i := range 6 { // (1)
			if i > 0 {
				enginetest.MustTry(t, s, "DROP DP CUBE c")
			}
			if n := enginetest.Charged(t, s.Engine, func() { enginetest.MustTry(t, s, made) }); n != 4 {
				t.Errorf("cube %d was charged %d times", i+1, n)
			}
			read := b.Private   // (2)
			if read < 4*(i+1) { // a level whose norm is chosen is read twice
				t.Errorf("%d private reads for %d cubes", read, i+1)
			}
			counts[fmt.Sprint(enginetest.MustTry(t, s, count))] = true
			told = append(told, strings.Split(enginetest.Explained(t, s, count), " UTC")[1], fmt.Sprint(enginetest.MustTry(t, s, "SELECT cube, statement, price, levels, groups, state FROM dpsql.cubes")))
			if b.Private != read {
				t.Errorf("%d private reads for a question that the cube answers", b.Private-read)
			}
		}
		if len(counts) < 2 { // all six agree with a probability below 1e-4
			t.Errorf("the noise is the same: %v", counts)
		}
		enginetest.MustTry(t, s, "DROP DP CUBE c") // (3)
		b.Query = enginetest.ErrBackend
		if n := enginetest.Charged(t, s.Engine, func() {
			_, err := enginetest.Try(s, made)
			if told = append(told, fmt.Sprint(err)); sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
				t.Errorf("rows that cannot be read: %v", err)
			}
		}); n != 4 {
			t.Errorf("a failure is charged %d times", n)
		}
		if rows := enginetest.MustTry(t, s, "SELECT * FROM dpsql.cubes"); len(rows) != 0 {
			t.Errorf("a cube without numbers: %v", rows)
		}
		if said[fmt.Sprint(told)] = c.Name; len(said) > 1 { // (4)
			t.Errorf("what is said differs: %v", said)
		}
	}
}
