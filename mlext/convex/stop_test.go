package convex

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/dpsql/dpsql/noise"
)

// TestMomentsStop: a training by moments asks between the blocks of its rows, and before and after it solves, whether to go on, and ends with the first no.
func TestMomentsStop(t *testing.T) {
	table := some(t, rand.New(rand.NewPCG(15, 16)), 12000, 5, 2)
	m, err := NewMoments(5, 1, 1, 1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	for last := 1; ; last++ {
		var asked atomic.Int64
		_, err := m.Train(table, noise.NewSource(), func(y float64) float64 { return y }, func() error {
			if asked.Add(1) >= int64(last) {
				return no
			}
			return nil
		})
		if err == nil {
			if last < 12000/productRows+2 {
				t.Errorf("asked %d times", last-1)
			}
			return
		}
		if !errors.Is(err, no) || asked.Load() > int64(last) {
			t.Fatalf("stopped at %d: %v, asked %d times", last, err, asked.Load())
		}
	}
}

// TestPosteriorStop: a draw asks while its noise is drawn, too.
func TestPosteriorStop(t *testing.T) {
	table, _, _ := regression(t, rand.New(rand.NewPCG(17, 18)), 5000, 2)
	p, err := NewPosterior(2, 1, 1e-6, 0)
	if err != nil {
		t.Fatal(err)
	}
	no, asked := errors.New("no"), 0
	if _, err := p.Train(table, noise.NewSource(), func() error {
		if asked++; asked == 5 {
			return no
		}
		return nil
	}); !errors.Is(err, no) || asked != 5 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
