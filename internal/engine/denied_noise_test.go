package engine_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestDeniedGaussian: where auto takes Gaussian noise, which the Renyi side alone holds, and the pure side holds more, a refusal's hint and SHOW name the other noise, and the hint passes.
func TestDeniedGaussian(t *testing.T) {
	e := enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, funcs.DuckDB, "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 10, delta: 1e-6}", "query:  {price: 0.5}", "query:  {price: 0.1}",
		"budget: {epsilon: 0.2}}", "budget: {epsilon: 0.5}}"), enginetest.Tame.Open(t, funcs.DuckDB))
	s := enginetest.NewSession(e, t, "guest")
	enginetest.Set(t, s, "dpsql.price", "0.5")
	if line, _, err := s.Show("dpsql.budget"); err != nil || !strings.HasPrefix(line, "left: 1 statement at price 0.5 with Laplace noise, 0 with Gaussian; ") {
		t.Errorf("%s %v", line, err)
	}
	_, err := enginetest.Try(s, "select count(*) from encounters")
	if sqlerr.ID(err) != sqlerr.BudgetExhausted.ID {
		t.Fatalf("%v", err)
	}
	m := regexp.MustCompile(`^SET dpsql.mechanism = laplace; SET dpsql.price = ([0-9.]+) lets this statement pass now, and no larger price does. `).FindStringSubmatch(enginetest.Refusal(err).Hint)
	if m == nil {
		t.Fatal(enginetest.Refusal(err).Hint)
	}
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	enginetest.Set(t, s, "dpsql.price", "0.505")
	if _, err := enginetest.Try(s, "select count(*) from encounters"); sqlerr.ID(err) != sqlerr.BudgetExhausted.ID {
		t.Errorf("a larger one: %v", err)
	}
	enginetest.Set(t, s, "dpsql.price", m[1])
	enginetest.Ask(t, s, "select count(*) from encounters")
}
