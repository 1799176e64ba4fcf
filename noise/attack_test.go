package noise

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// The attacks of docs/threat-model.md on the samplers, by their numbers: each is played against a careless sampler, where it must learn
// something, and against the product's.

// TestAttack01Floats: Mironov 2012. A release is 0 or 1 plus noise; the attacker knows the sampler and asks which of the two totals could have
// given exactly this number. The careless sampler is the textbook's: b ln(u) in float64 with a random sign, u on the grid of 2^-53; a
// sum with it has low bits that only one of the totals leaves. The product's integers are all possible under both: each noise of at most 20
// has a probability above 0.006, so that 20,000 draws miss one with probability below 1e-50.
func TestAttack01Floats(t *testing.T) {
	const scale = 10
	attack := func(release func(total float64) float64, possible func(total, y float64) bool) string {
		for range 200 {
			for _, total := range []float64{0, 1} {
				if y := release(total); possible(total, y) && !possible(1-total, y) {
					return fmt.Sprintf("%v comes from %g for sure", y, total)
				}
			}
		}
		return ""
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	laplace := func(u float64) float64 { return scale * math.Log(u) }
	float := func(total float64) float64 {
		n := laplace((float64(rnd.Uint64N(1<<53)) + 1) * 0x1p-53)
		if rnd.IntN(2) == 1 {
			n = -n
		}
		return total + n
	}
	reachable := func(total, y float64) bool { // does any u of the grid give y?
		n := -math.Abs(y - total)
		k := math.Round(math.Exp(n/scale) * 0x1p53)
		for d := -64.0; d <= 64; d++ {
			if u := (k + d) * 0x1p-53; u > 0 && u <= 1 && (total+laplace(u) == y || total-laplace(u) == y) {
				return true
			}
		}
		return false
	}
	if attack(float, reachable) == "" {
		t.Error("the attack learns nothing from noise in floats, so it proves nothing")
	}

	m := mechanism(t, fixed(t), dp.Laplace{Sensitivity: one, Scale: dp.Scale{Num: scale, Den: 1}})
	draw := func(total float64) float64 {
		x, err := m.Add(big.NewInt(int64(total)))
		if err != nil {
			t.Fatal(err)
		}
		y, _ := new(big.Float).SetInt(x).Float64()
		return y
	}
	noises := map[float64]bool{}
	for range 20_000 {
		noises[draw(0)] = true
	}
	if learned := attack(draw, func(total, y float64) bool { return math.Abs(y-total) > 20 || noises[y-total] }); learned != "" {
		t.Error(learned)
	}
}

// TestAttack08Time: Jin et al. 2022. The work between question and answer, counted in random words, follows the size of that answer's noise if
// it is drawn then, as the careless mechanism does; dpsql drew it before it saw the total. Every 32nd answer is left out: it
// draws the next batch, its own noise among 32.
func TestAttack08Time(t *testing.T) {
	attack := func(answer func() (noise, words float64)) string {
		var sizes, works []float64
		for i := range 32_000 {
			x, work := answer()
			if i%batchSize != 0 {
				sizes, works = append(sizes, math.Abs(x)), append(works, work)
			}
		}
		if c := stat.Correlation(sizes, works, nil); c > 0.05 { // NaN where all work is the same
			return fmt.Sprintf("the noise's size and the work correlate by %.2f", c)
		}
		return ""
	}
	scale := dp.Scale{Num: 60, Den: 1}
	for _, ev := range []dp.Event{dp.Laplace{Sensitivity: one, Scale: scale}, dp.Gaussian{Sensitivity: one, Scale: scale}} {
		reader := &counting{Reader: rand.NewChaCha8([32]byte{8})}
		src := newSource(reader)
		m := mechanism(t, src, ev)
		used := func() int { return reader.blocks*streamBytes + src.idle[0].next }
		timed := func(draw func() (int64, error)) func() (float64, float64) {
			return func() (float64, float64) {
				before := used()
				x, err := draw()
				if err != nil {
					t.Fatal(err)
				}
				return float64(x), float64(used()-before) / 8
			}
		}
		if attack(timed(func() (int64, error) {
			var x [1]int64
			err := src.fill(m.law, x[:])
			return x[0], err
		})) == "" {
			t.Errorf("%s: the attack learns nothing from noise drawn on demand, so it proves nothing", ev.Name())
		}
		m = mechanism(t, src, ev)
		if learned := attack(timed(func() (int64, error) {
			x, err := m.Add(new(big.Int))
			if err != nil {
				return 0, err
			}
			return x.Int64(), nil
		})); learned != "" {
			t.Errorf("%s: %s", ev.Name(), learned)
		}
	}
}

// counting counts the blocks that a stream reads.
type counting struct {
	io.Reader
	blocks int
}

func (c *counting) Read(b []byte) (int, error) {
	c.blocks++
	return c.Reader.Read(b)
}
