package descent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// The attacks of docs/threat-model.md on trainings, by their numbers. Each is played against a careless variant, where it must learn something, and against the product, where it must not.

func succeeds(t *testing.T, learned string) {
	t.Helper()
	if learned == "" {
		t.Error("the attack learns nothing from the careless variant, so it proves nothing")
	}
}

func fails(t *testing.T, learned string) {
	t.Helper()
	if learned != "" {
		t.Errorf("the attack learns from dpsql: %s", learned)
	}
}

// TestAttack31Number: the number of people, read off how long a step is. Of two databases, one of which has a person more whose gradient is 0, the same noise must give the same parameters. The careless training divides by the number of people, or of those drawn.
func TestAttack31Number(t *testing.T) {
	rows := random(rand.New(rand.NewPCG(3, 4)), 50, 1, 4, 2)
	more := append(append([]rowOf(nil), rows...), rowOf{unit: 50, x: make([]float64, 4), y: 1})
	attack := func(people func(n int) float64) string {
		run := func(rows []rowOf) []float64 {
			p := &Plan{Learner: NewLinear(loss.Logistic(), 4), Rows: 1, Clip: 0.7, Rate: 1, Steps: 5, Noise: 2, Population: people(len(rows)), LearningRate: 3, Average: 0.5}
			theta, err := p.Train(tableOf(t, 4, 1, rows), audit.Source(6), func(int) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			return theta
		}
		if a, b := run(rows), run(more); !floats.Equal(a, b) {
			return fmt.Sprintf("%v without the person, %v with them", a, b)
		}
		return ""
	}
	succeeds(t, attack(func(n int) float64 { return float64(n) }))
	fails(t, attack(func(int) float64 { return 60 }))
}

// TestAttack32Shuffled: batches of a shuffled list, accounted as Poisson samples: all are of one size, and who was in one is not in the next. The product's have neither, by 6.3 deviations (false alarms below 1e-9).
func TestAttack32Shuffled(t *testing.T) {
	const n, rate, draws = 2000, 0.125, 1000
	attack := func(sample func() []int32) string {
		last := make([]bool, n)
		sum, squares, both := 0.0, 0.0, 0.0
		for range draws {
			now, batch := make([]bool, n), sample()
			for _, u := range batch {
				if now[u] = true; last[u] {
					both++
				}
			}
			size := float64(len(batch))
			last, sum, squares = now, sum+size, squares+size*size
		}
		variance, pairs := n*rate*(1-rate), float64(n*(draws-1))
		mean := sum / draws
		switch v, p := squares/draws-mean*mean, both/pairs; {
		case math.Abs(mean-n*rate) > 6.3*math.Sqrt(variance/draws):
			return fmt.Sprintf("batches have %g, not %g", mean, n*rate)
		case math.Abs(v/variance-1) > 6.3*math.Sqrt(2.0/draws):
			return fmt.Sprintf("the sizes' variance is %g, not %g", v, variance)
		case math.Abs(p-rate*rate) > 6.3*math.Sqrt(rate*rate/pairs):
			return fmt.Sprintf("somebody is in two batches running with probability %g, not %g", p, rate*rate)
		}
		return ""
	}
	rng, deck := rand.New(rand.NewPCG(1, 2)), []int(nil)
	shuffled := func() (out []int32) {
		if len(deck) == 0 {
			deck = rng.Perm(n)
		}
		for _, u := range deck[:n*rate] {
			out = append(out, int32(u))
		}
		deck = deck[n*rate:]
		return out
	}
	varied := func() (out []int32) { // sizes as they should be, units without repeating
		size := 0
		for range n {
			if rng.Float64() < rate {
				size++
			}
		}
		for size > len(deck) {
			deck = append(deck, rng.Perm(n)...)
		}
		for _, u := range deck[:size] {
			out = append(out, int32(u))
		}
		deck = deck[size:]
		return out
	}
	succeeds(t, attack(shuffled))
	deck = nil
	succeeds(t, attack(varied))
	coins, err := noise.NewSource().Coins(rate)
	if err != nil {
		t.Fatal(err)
	}
	fails(t, attack(func() []int32 {
		batch, err := coins.Sample(nil, n)
		if err != nil {
			t.Fatal(err)
		}
		return batch
	}))
}
