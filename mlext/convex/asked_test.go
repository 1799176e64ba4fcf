package convex

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
)

// TestAsked: each pass over the rows asks whether to go on between few of them, whatever their number and width, and a no ends it: counted in rows, not in time. A search asks within each of its passes.
func TestAsked(t *testing.T) {
	for _, c := range []struct{ rows, width, classes int }{{5000, 40, 25}, {20000, 30, 2}, {3000, 1200, 2}} {
		table, l := some(t, rand.New(rand.NewPCG(3, 4)), c.rows, c.width, c.classes), loss.Logistic()
		if c.classes > 2 {
			l = loss.Softmax(c.classes)
		}
		size := c.width * l.Outputs
		var asked, no atomic.Int64
		p := &problem{table: table, loss: l, lambda: 1, linear: make([]float64, size)}
		for name, pass := range map[string]func(){
			"gradient": func() { p.gradient(make([]float64, size), make([]float64, size)) },
			"inverse":  func() { p.inverse(make([]float64, size)) },
		} {
			ask := func() error {
				if n := no.Load(); asked.Add(1) > n && n > 0 {
					return errors.New("no")
				}
				return nil
			}
			most := max(productRows, data.Between(2*size)+blockRows)
			asked.Store(0)
			no.Store(0)
			p.continueCheck = data.Ask(ask)
			if pass(); int(asked.Load())*most < c.rows {
				t.Errorf("%s of %v: %d questions", name, c, asked.Load())
			}
			asked.Store(0)
			no.Store(2)
			p.continueCheck = data.Ask(ask)
			if pass(); asked.Load() != 3 || p.continueCheck.Err() == nil {
				t.Errorf("%s of %v: %d questions, %v", name, c, asked.Load(), p.continueCheck.Err())
			}
		}
		for last := int64(1); last < 60; last = last*5 + 1 { // wherever it is asked, a no ends the search
			asked.Store(0)
			stopped := errors.New("stopped")
			_, err := p.solve(1e-9, func() error {
				if asked.Add(1) >= last {
					return stopped
				}
				return nil
			})
			if !errors.Is(err, stopped) || asked.Load() != last {
				t.Errorf("%v: %v after %d questions, not %d", c, err, asked.Load(), last)
			}
		}
	}
}
