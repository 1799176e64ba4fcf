package audit

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/noise"
)

// P bounds the probability that of canaries, each in the data by a fair coin of its own, at least right of guesses are guessed right, if what is guessed from is (epsilon, delta)-DP for each of them.
//
// Proof: Theorem 5.2 and Corollary 5.4 there: the number of right guesses is dominated by a binomial of success e^epsilon/(1 + e^epsilon) and a random number beside it, of mean at most 2 canaries delta, whose worst law adds that
// mean times the steepest chord of the binomial's tail below what was seen. It holds for any way of guessing, also one that guesses of few.
func P(canaries, guesses, right int, epsilon, delta float64) float64 {
	if right == 0 {
		return 1
	}
	n, v, q := float64(guesses), float64(right), 1/(1+math.Exp(-epsilon))
	slope, below := 0.0, 0.0
	chance := distuv.Binomial{N: n, P: q}.Prob(v - 1)
	for i := 1; i <= right && (chance > 1e-18*below || below == 0); i++ {
		below += chance
		slope = math.Max(slope, below/float64(i))
		k := v - float64(i) // chance was of k, now of k-1
		chance *= k / (n - k + 1) * (1 - q) / q
	}
	return math.Min(1, mathext.RegIncBeta(v, n-v+1, q)+2*float64(canaries)*delta*slope)
}

// Epsilon is above the true one with a probability of at most p.
func Epsilon(canaries, guesses, right int, delta, p float64) float64 {
	lo, hi := 0.0, 40.0
	for range 30 {
		if mid := (lo + hi) / 2; P(canaries, guesses, right, mid, delta) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// Game is an audit: Runs trainings of Canaries canaries each. A canary is in one training at most, so all of them together are as private as one.
type Game struct {
	Runs, Canaries int
	Share          float64 // of the canaries it is guessed: half of them at either end of their order by score
	Delta, P       float64
	Seed           uint64
}

// Play runs the trainings, each with the canaries that fair coins choose and noise that follows from Seed, and bounds epsilon from the scores that they give: the higher, the more it looks as if a canary had been in.
func (g Game) Play(train func(in []bool, src *noise.Source) (scores []float64, err error)) (float64, error) {
	coins, src := reader(g.Seed, 1), Source(g.Seed)
	type canary struct {
		score float64
		in    bool
		tie   uint64
	}
	all := make([]canary, 0, g.Runs*g.Canaries)
	var word [8]byte
	for range g.Runs {
		in, ties := make([]bool, g.Canaries), make([]uint64, g.Canaries)
		for i := range in {
			if _, err := io.ReadFull(coins, word[:]); err != nil {
				return 0, err
			}
			ties[i] = binary.LittleEndian.Uint64(word[:])
			in[i] = ties[i]&1 == 1
		}
		scores, err := train(in, src)
		if err != nil {
			return 0, err
		}
		if len(scores) != len(in) {
			return 0, fmt.Errorf("audit: %d scores of %d canaries", len(scores), len(in))
		}
		for i, s := range scores {
			all = append(all, canary{s, in[i], ties[i] >> 1})
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].score == all[j].score { // in no order that tells of them
			return all[i].tie < all[j].tie
		}
		return all[i].score > all[j].score
	})
	m, right := len(all), 0
	k := int(g.Share * float64(m) / 2)
	for i := range k {
		if all[i].in {
			right++
		}
		if !all[m-1-i].in {
			right++
		}
	}
	return Epsilon(m, 2*k, right, g.Delta, g.P), nil
}

// Source is noise that follows from a seed, so that a test is the same in each run: package noise itself has no such thing. It is not for tests that run beside others.
func Source(seed uint64) *noise.Source {
	was := rand.Reader
	defer func() { rand.Reader = was }()
	rand.Reader = reader(seed, 0)
	return noise.NewSource()
}

// reader is a stream of bytes that follows from a seed.
func reader(seed uint64, stream byte) io.Reader {
	key := make([]byte, 16)
	binary.LittleEndian.PutUint64(key, seed)
	key[8] = stream
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key's length is right
	}
	return cipher.StreamReader{S: cipher.NewCTR(block, make([]byte, block.BlockSize())), R: zeros{}} //nolint:gosec // G407: it follows from the seed, and keeps no secret
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Table has the canaries that are in: each a unit of some rows of norm 1 in a direction of its own, with target 1. With most = 1 each row is a unit of its own.
func Table(in []bool, most, rows int) (*data.Table, error) {
	b, err := data.NewBuilder(len(in), most)
	if err != nil {
		return nil, err
	}
	x := make([]float64, len(in))
	for i, is := range in {
		if !is {
			continue
		}
		x[i] = 1
		for range rows {
			if err := b.Add(int64(i), x, 1); err != nil {
				return nil, err
			}
		}
		x[i] = 0
	}
	return b.Table(), nil
}
