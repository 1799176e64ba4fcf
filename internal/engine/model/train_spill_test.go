package model_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// manySession is ann's over a table of so many rows that a training's are several chunks (data.Table).
func manySession(t *testing.T) *session.Session {
	t.Helper()
	p, err := policy.Parse("many.yaml", []byte("dataset: many\nbackend: {duckdb: many.duckdb}\nunit: people.id\npopulation: 200000\ntables:\n  people:\n    columns: {id: {}, a: {range: [0, 100]}, b: {range: [-1, 1]}, y: {}}\n"+
		"budget: {epsilon: 1000, delta: 1e-7}\nquery: {price: 1}\nanalysts: {ann: {password: "+enginetest.Verifier+", may: [people], budget: {epsilon: 1000}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.SessionOver(t, funcs.DuckDB, "many", []string{"CREATE TABLE people AS SELECT i::int AS id, (i % 101)::smallint AS a, sin(i) AS b, i % 101 > 50 AS y FROM range(200000) AS t(i)",
		"ALTER TABLE people ADD PRIMARY KEY (id)"}, p)
}

// TestTrainSpilled: beyond limits.training_memory a training's rows are on disk and it learns the same; beyond limits.training_disk it fails with the fixed error and keeps its charge; no file is left by either.
func TestTrainSpilled(t *testing.T) {
	s := manySession(t)
	const train = "TRAIN DP MODEL %s USING logistic_regression METHOD dp_gd TARGET y WITH (epsilon = 1, steps = 20) AS SELECT a, b, y FROM people"
	limits := &s.Engine.World.Load().Policy.Limits
	limits.TrainingMemory = 1 << 20
	if n := enginetest.Charged(t, s.Engine, func() {
		if _, err := enginetest.Try(s, fmt.Sprintf(train, "spilled")); err != nil {
			t.Fatal(err)
		}
	}); n != 1 {
		t.Errorf("%d charges", n)
	}
	rows, err := enginetest.Try(s, "SELECT dp_predict('spilled', 90, 0), dp_predict('spilled', 10, 0)")
	if err != nil || rows[0][0] != true || rows[0][1] != false {
		t.Errorf("predicts %v, %v", rows, err)
	}
	left := func() {
		t.Helper()
		files, err := os.ReadDir(s.Engine.Ledger.Scratch())
		if err != nil || len(files) != 0 {
			t.Errorf("left are %v, %v", files, err)
		}
	}
	left()
	limits.TrainingDisk = 1 << 20
	if n := enginetest.Charged(t, s.Engine, func() {
		if _, err := enginetest.Try(s, fmt.Sprintf(train, "large")); sqlerr.ID(err) != sqlerr.ResourceFailure.ID {
			t.Errorf("over the limit of disk: %v", err)
		}
	}); n != 1 {
		t.Errorf("%d charges", n)
	}
	left()
}
