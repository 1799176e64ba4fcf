package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTrainNameHeld: while a model is trained nobody else trains one of its name, in another session or by another proxy, also not to replace it, nor renames one to it: they are refused, uncharged. The name is
// free when the training ends without a model. Where the one that holds a name is cut off from the ledger's database and another takes it, both models are kept, and the second is told where.
func TestTrainNameHeld(t *testing.T) {
	both := enginetest.Together(t)
	here, beside, there := enginetest.NewSession(both[0], t, "ann"), enginetest.NewSession(both[0], t, "ann"), enginetest.NewSession(both[1], t, "ann")
	train := func(name, column string) string {
		return "TRAIN DP MODEL " + name + " USING linear_regression TARGET medications WITH (epsilon = 0.5, delta = 1e-9) AS SELECT " + column + ", medications FROM encounters"
	}
	during := func(do func()) {
		both[0].Hooks.Collects = func(*mlext.Collector) {
			both[0].Hooks.Collects = nil
			do()
		}
	}
	enginetest.MustTry(t, there, train("other", "days"))
	refused := func(s *session.Session, sql string) {
		t.Helper()
		_, err := enginetest.Try(s, sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.ID != sqlerr.DuplicateObject.ID || !strings.Contains(e.Message, `"same" is being trained`) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	during(func() {
		for _, s := range []*session.Session{beside, there} {
			if n := enginetest.Charged(t, s.Engine, func() {
				refused(s, train("same", "cost"))
				refused(s, strings.Replace(train("same", "cost"), "TRAIN", "CREATE OR REPLACE", 1))
				refused(s, "ALTER DP MODEL other RENAME TO same")
			}); n != 0 {
				t.Errorf("%d charges", n)
			}
		}
		if rows := enginetest.MustTry(t, beside, "EXPLAIN "+train("same", "cost")); !strings.Contains(property(rows, "refused"), "being trained") {
			t.Errorf("EXPLAIN says %v", rows)
		}
	})
	enginetest.MustTry(t, here, train("same", "days"))
	if rows := enginetest.MustTry(t, there, "DESCRIBE DP MODEL same"); property(rows, "days") == "" {
		t.Errorf("%v", rows)
	}

	ctx, cancel := context.WithCancel(context.Background())
	during(cancel)
	p, err := enginetest.Prepare(here, train("ended", "days"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(ctx, nil); sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
		t.Errorf("canceled: %v", err)
	}
	enginetest.MustTry(t, there, train("ended", "days"))

	during(func() {
		c, err := pgx.Connect(context.Background(), both[0].Policy().Ledger.Postgres)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close(context.Background())
		if _, err := c.Exec(context.Background(), "SELECT pg_terminate_backend(pid, 60000) FROM pg_locks WHERE locktype = 'advisory'"); err != nil {
			t.Error(err)
		}
		if _, err := enginetest.Try(there, train("cut", "cost")); err != nil {
			t.Error(err)
		}
	})
	_, err = enginetest.Try(here, train("cut", "days"))
	var e *sqlerr.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message+e.Hint, `another model "cut" was stored`) || !strings.Contains(e.Hint, "this one as cut_2") {
		t.Errorf("%v", err)
	}
	for name, column := range map[string]string{"cut": "cost", "cut_2": "days"} {
		if rows := enginetest.MustTry(t, here, "DESCRIBE DP MODEL "+name); property(rows, column) == "" || property(rows, "model") != name {
			t.Errorf("%s: %v", name, rows)
		}
	}
}

// TestExplainTrainLeft: EXPLAIN TRAIN tells how many are left and the budget's refusal, TOGETHER beside those that were explained before; what it says is what happens, and its hint passes.
func TestExplainTrainLeft(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB) // half of its delta is room: 5e-7
	enginetest.Set(t, s, "dpsql.mechanism", "laplace")
	train := func(name, delta string) string {
		return "TRAIN DP MODEL " + name + " USING linear_regression TARGET medications WITH (epsilon = 0.1, delta = " + delta + ") AS SELECT days, medications FROM encounters"
	}
	explained := func(prefix, delta, left, refused string) {
		t.Helper()
		rows := enginetest.MustTry(t, s, prefix+train("free", delta))
		if property(rows, "left") != left+" trainings at this charge" || refused == "" && property(rows, "refused") != "" || !strings.Contains(property(rows, "refused"), refused) {
			t.Errorf("%s%s: left %q, refused %q", prefix, delta, property(rows, "left"), property(rows, "refused"))
		}
	}
	if said := property(enginetest.MustTry(t, s, "EXPLAIN "+train("free", "1e-9")), "time limit"); !strings.HasPrefix(said, s.World.Policy.Limits.StatementTime.String()) {
		t.Errorf("time limit %q", said)
	}
	explained("EXPLAIN ", "2e-7", "2", "")
	explained("EXPLAIN (TOGETHER) ", "1.92e-7", "1", "")
	explained("EXPLAIN (TOGETHER) ", "1.9e-7", "0", "does not hold this training")
	explained("EXPLAIN (TOGETHER off) ", "2e-7", "2", "")
	enginetest.MustTry(t, s, train("m1", "2e-7"))
	enginetest.MustTry(t, s, train("m2", "1.92e-7"))
	left := enginetest.MustTry(t, s, "SELECT 5e-7 - delta_spent < 1.08e-7, 5e-7 - delta_spent > 1.079e-7 FROM dpsql.budget WHERE scope = 'analyst'")
	if left[0][0] != true || left[0][1] != true {
		t.Fatalf("what is left is not a little less than three digits: %v", left)
	}
	explained("EXPLAIN ", "1.9e-7", "0", "WITH (delta = 1.07e-07) passes now.")
	var e *sqlerr.Error
	if _, err := enginetest.Try(s, train("m3", "1.9e-7")); !errors.As(err, &e) || e.Hint != "WITH (delta = 1.07e-07) passes now." {
		t.Errorf("%v", err)
	}
	enginetest.MustTry(t, s, train("m3", "1.07e-07"))
}

// TestExplainTrainWhy: EXPLAIN TRAIN says in a line why METHOD auto chose, by facts that are public, and nothing where the statement names the method.
func TestExplainTrainWhy(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for with, want := range map[string]string{
		"":                           "objective_perturbation needs no tuning up to 3 scores and 4 rows. It went by: logistic_regression, 1 score, 2 features, at most 3 rows a person, no declared population. Epsilon 1 did not matter",
		"METHOD output_perturbation": "",
	} {
		rows := enginetest.MustTry(t, s, "EXPLAIN TRAIN DP MODEL m USING logistic_regression "+with+" TARGET back WITH (epsilon = 1, delta = 1e-9, max_rows_per_unit = 3) AS SELECT days, cost, readmitted = '<30' AS back FROM encounters")
		if got := property(rows, "why this method"); got != want {
			t.Errorf("%q: %q", with, got)
		}
	}
}
