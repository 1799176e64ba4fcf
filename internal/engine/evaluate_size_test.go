package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// TestScoresAreWrittenOnce: a model's scores stand in EVALUATE's statement once for its class or interval, and once for the loss of several, and in a query as often as it uses them: what a row costs does not grow with the classes, the bins or the metrics.
func TestScoresAreWrittenOnce(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres, "epsilon: 20,", "epsilon: 1000,")
	for _, sql := range []string{
		"TRAIN DP MODEL soft USING softmax TARGET readmitted WITH (epsilon = 1, delta = 1e-9) AS SELECT days, cost, readmitted FROM encounters",
		"TRAIN DP MODEL log USING logistic TARGET back WITH (epsilon = 1, delta = 1e-9) AS SELECT days, cost, readmitted = '<30' AS back FROM encounters",
	} {
		if _, err := enginetest.Try(s, sql); err != nil {
			t.Fatal(err)
		}
	}
	written := func(p *enginetest.Prepared, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		st, err := sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(fmt.Sprint(st.SQL), " AS b1")
	}
	for modelName, most := range map[string]int{"log": 1, "soft": 2} {
		sts, err := pgsyntax.Parse("EVALUATE DP MODEL " + modelName + " ON SELECT days, cost, readmitted, readmitted = '<30' AS back FROM encounters")
		if err != nil {
			t.Fatal(err)
		}
		e := &model.Evaluation{Session: s, Node: sts[0].Node.(*pgsyntax.Evaluate), Ask: engine.PrepareInner}
		k, _, _, err := e.Prepare(t.Context())
		p, _ := k.(*engine.Prepared)
		if n := written(&enginetest.Prepared{Prepared: p}, err); n != most {
			t.Errorf("%s is evaluated by scores that are written %d times, want %d", modelName, n, most)
		}
	}
	if n := written(enginetest.Prepare(s, "SELECT dp_predict('soft', days, cost), avg(dp_predict_proba('soft', days, cost)) FROM encounters GROUP BY 1")); n == 0 || n > 5 {
		t.Errorf("a class and its probability are predicted by scores that are written %d times", n)
	}
}
