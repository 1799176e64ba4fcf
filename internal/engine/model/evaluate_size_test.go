package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
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

// evaluationPlan is the plan of an evaluation.
func evaluationPlan(t *testing.T, s *session.Session, name, columns string) *plan.Query {
	t.Helper()
	sts, err := pgsyntax.Parse("EVALUATE DP MODEL " + name + " ON SELECT " + columns + " FROM people")
	if err != nil {
		t.Fatal(err)
	}
	e := &model.Evaluation{Session: s, Node: sts[0].Node.(*pgsyntax.Evaluate), Ask: engine.PrepareInner}
	k, _, _, err := e.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return k.(*engine.Prepared).Query
}

// TestEvaluationPlanIsSmall: what planning an evaluation visits is a number of nodes for each level of a feature, not one for each level and each interval of the odds: the scores stand in the plan once for each of the three levels of intervals.
func TestEvaluationPlanIsSmall(t *testing.T) {
	const few, many = 20, 40
	for _, c := range []struct{ using, target string }{
		{"logistic_regression", "yes"}, {"svm", "yes"}, {"softmax_regression", "class"}, {"linear_regression", "n"}, {"poisson_regression", "n"}, {"mlp", "yes"}, {"mlp", "class"}, {"mlp", "n"},
	} {
		var nodes []int
		for _, kinds := range []int{few, many} {
			s := enginetest.WideSession(t, kinds)
			train := fmt.Sprintf("TRAIN DP MODEL m USING %s TARGET %s WITH (epsilon = 1) AS SELECT kind, %s FROM people", c.using, c.target, c.target)
			if _, err := enginetest.Try(s, train); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, plan.Walked(evaluationPlan(t, s, "m", "kind, "+c.target)))
		}
		// A level is WHEN kind = 'k1' THEN 0.3, of five nodes, or two of them as a network's input. Ten classes have ten scores, twice. Of numbers the prediction stands in each metric several times.
		if perKind := (nodes[1] - nodes[0]) / (many - few); perKind > 300 || nodes[0] > 300*few {
			t.Errorf("%s of %s: %d nodes of %d kinds, %d of %d: %d a kind", c.using, c.target, nodes[0], few, nodes[1], many, perKind)
		}
	}
}

// TestPredictedClassIsSmall: a prediction of one of several classes has its scores in the plan once, and not once for each class.
func TestPredictedClassIsSmall(t *testing.T) {
	s := enginetest.WideSession(t, 20)
	enginetest.MustTry(t, s, "TRAIN DP MODEL m USING softmax_regression TARGET class WITH (epsilon = 1) AS SELECT kind, class FROM people")
	for _, sql := range []string{"SELECT dp_predict('m', kind), count(*) FROM people GROUP BY 1", "SELECT count(*) FROM people WHERE dp_predict('m', kind) = class"} {
		p, err := enginetest.Prepare(s, sql)
		if err != nil {
			t.Fatal(err)
		}
		if n := plan.Walked(p.Query); n > 10*20*10 { // scores, kinds, and the nodes of a kind in a score
			t.Errorf("%s: %d nodes", sql, n)
		}
		if !p.Analysis().Groups.Public || len(p.Analysis().Keys) > 0 && p.Analysis().Groups.Count != 11 { // NULL too
			t.Errorf("%s: %+v", sql, p.Analysis().Groups)
		}
	}
}
