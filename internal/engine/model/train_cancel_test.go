// The race detector runs this file.

package model_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// askedContext is a context that its client cancels when it was asked so often whether it ended.
type askedContext struct {
	context.Context
	cancel func()
	asked  atomic.Int32
	at     int32
}

func (c *askedContext) Err() error {
	if c.asked.Add(1) == c.at {
		c.cancel()
	}
	return c.Context.Err()
}

// TestTrainPlanCanceled: a search for noise that takes a second or more ends when its client cancels, and gives its turn back.
func TestTrainPlanCanceled(t *testing.T) {
	s := oddSession(t, funcs.DuckDB, 1)
	s.World.Policy.Limits.StatementsAtOnce, s.World.Policy.Limits.StatementTime = 1, 0
	for _, with := range []string{"epsilon = 1", "noise_multiplier = 0.5"} {
		inner, cancel := context.WithCancel(context.Background())
		ctx := &askedContext{Context: inner, cancel: cancel, at: 3}
		sts, err := pgsyntax.Parse("EXPLAIN TRAIN DP MODEL m USING logistic_regression METHOD dp_sgd TARGET y WITH (sampling_rate = 1e-6, steps = 100000, " + with + ") AS SELECT odd, y FROM people")
		if err != nil {
			t.Fatal(err)
		}
		_, err = engine.Prepare(ctx, s, sts[0], nil)
		cancel()
		if sqlerr.ID(err) != sqlerr.QueryCanceled.ID {
			t.Errorf("%s: %v", with, err)
		}
		done, err := s.Turn(context.Background()) // of one that there is: the search has ended
		if err != nil {
			t.Fatal(err)
		}
		done()
		if n := ctx.asked.Load(); n < 3 || n > 12 {
			t.Errorf("%s: asked %d times", with, n)
		}
		if _, err := enginetest.Try(s, "SELECT count(*) FROM people"); err != nil {
			t.Error(err)
		}
	}
}
