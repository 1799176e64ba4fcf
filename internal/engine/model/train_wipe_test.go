package model_test

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
)

// TestTrainWipes: whether a training succeeds, is cancelled in the middle or fails, its rows were there and are gone.
func TestTrainWipes(t *testing.T) {
	s := manySession(t)
	limits := &s.Engine.World.Load().Policy.Limits
	limits.StatementTime = 0 // which would hide the context
	var rows *mlext.Collector
	s.Engine.Hooks.Collects = func(c *mlext.Collector) { rows = c }
	for _, end := range []struct {
		name, id string
		asked    int32
		disk     int64
	}{{"success", "", 1 << 30, 1 << 30}, {"cancel", sqlerr.QueryCanceled.ID, 100, 1 << 30}, {"failure", sqlerr.ResourceFailure.ID, 1 << 30, 1 << 20}} {
		limits.TrainingMemory, limits.TrainingDisk = 1<<20, end.disk
		p, err := enginetest.Prepare(s, "CREATE OR REPLACE DP MODEL m USING logistic_regression METHOD dp_gd TARGET y WITH (epsilon = 1, steps = 200) AS SELECT a, b, y FROM people")
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		inner, cancel := context.WithCancel(context.Background())
		ctx := &askedContext{Context: inner, at: end.asked, cancel: func() { held = rows.Held(); cancel() }}
		rows = nil
		if _, err = p.Run(ctx, nil); sqlerr.ID(err) != end.id {
			t.Errorf("%s: %v", end.name, err)
		}
		cancel()
		switch {
		case rows == nil:
			t.Errorf("%s: no rows are collected", end.name)
		case end.name == "cancel" && held < 1<<20:
			t.Errorf("cancelled when %d bytes are held", held)
		case rows.Held() != 0:
			t.Errorf("%s: %d bytes are held", end.name, rows.Held())
		}
	}
}
