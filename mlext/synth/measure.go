package synth

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/budget/account"
	"github.com/dpsql/dpsql/noise"
)

// Part is one of the releases: Gaussian noise of Multiplier times what one unit changes.
type Part struct {
	Name       string
	Multiplier float64
}

// Design is what will be measured, from public numbers alone.
type Design struct {
	sizes []int
	rows  int // of a unit, at most
	pairs []Pair
	mu    float64
}

// shares of the squared mu: of the columns' counts, the pairs' scores and the chosen pairs' counts.
const (
	oneShare   = 0.15
	scoreShare = 0.05
)

// NewDesign plans the releases of columns of these sizes, of units of at most rows rows, which are mu-GDP together.
func NewDesign(sizes []int, rows int, mu float64) (*Design, error) {
	if len(sizes) == 0 || rows < 1 || rows > 1<<20 || !(mu > 0) || math.IsInf(mu, 1) {
		return nil, fmt.Errorf("synth: %d columns, %d rows of a unit and mu %g are out of range", len(sizes), rows, mu)
	}
	if why := TooLarge(sizes); why != "" {
		return nil, fmt.Errorf("synth: %s", why)
	}
	d := &Design{sizes: sizes, rows: rows, mu: mu}
	most, least := 1.0, math.Inf(1) // of a pair's cells^(2/3), which weights follow
	for a, n := range sizes {
		if n < 1 {
			return nil, fmt.Errorf("synth: a column without values")
		}
		for b := a + 1; b < len(sizes); b++ {
			d.pairs = append(d.pairs, Pair{a, b})
			weight := math.Pow(float64(n*sizes[b]), 2.0/3)
			most, least = math.Max(most, weight), math.Min(least, weight)
		}
	}
	for _, p := range d.Parts() { // with the widest noise that a pair can have: a later failure would be a charged one
		if wide := p.Multiplier * float64(rows) * math.Sqrt(float64(max(len(sizes), len(d.pairs)))*most/math.Min(most, least)); !(wide*fine*1.01 < noise.MaxNormalSigma) {
			return nil, fmt.Errorf("synth: noise of %g rows is out of range", wide)
		}
	}
	return d, nil
}

// Parts are all releases that are made. One column is measured alone.
func (d *Design) Parts() []Part {
	if len(d.pairs) == 0 {
		return []Part{{"counts of one column", 1 / d.mu}}
	}
	of := func(share float64) float64 { return 1 / (d.mu * math.Sqrt(share)) }
	return []Part{{"counts of each column", of(oneShare)}, {"scores of pairs of columns", of(scoreShare)}, {"counts of chosen pairs", of(1 - oneShare - scoreShare)}}
}

// fine is how many steps of the noise's lattice one row is.
const fine = 1 << 12

// sigma is the standard deviation of noise on numbers that one unit changes by a vector of L2 norm at most norm rows, in steps, rounded up.
func (p Part) sigma(norm float64) uint64 {
	return uint64(math.Ceil(p.Multiplier * norm * fine * (1 + 1e-9)))
}

// noisy adds noise to whole numbers of rows.
func noisy(src *noise.Source, sigma uint64, lists ...[]int64) ([][]float64, error) {
	n, err := src.Normal(sigma)
	if err != nil {
		return nil, err
	}
	var out [][]float64
	for _, list := range lists {
		steps := make([]int64, len(list))
		for i, v := range list {
			steps[i] = v * fine
		}
		if err := n.Add(steps); err != nil { // (6) the rounded continuous mechanism
			return nil, err
		}
		released := make([]float64, len(list))
		for i, v := range steps {
			released[i] = float64(v) / fine
		}
		out = append(out, released)
	}
	return out, nil
}

// Measured are the releases. Whatever is computed from them is free.
type Measured struct {
	Total  float64   // rows, about
	Scores []float64 // of pairs
	sizes  []int
	pairs  []Pair
	ones   []marginal
	chosen []marginal
}

// marginal is a noisy one, of one column or two.
type marginal struct {
	columns []int
	counts  []float64
	sigma   float64 // of each count, in rows
}

// Measure makes the releases.
//
// Proof: claim: Measured is mu-GDP, mu that of the Design, for databases that differ in all rows of one unit. (1) A unit has at most m rows (Counts.Add). (2) Each row adds 1 to one cell of each marginal, so one unit changes a marginal by a vector of L1 norm, hence of L2 norm, at most m. (3) The d counts of columns change by at most
// sqrt(d) m together; their noise has a deviation of Multiplier times that. (4) A score is the sum over a pair's cells of |count - expected|, whole numbers, where what is expected is computed from the first release alone: so it changes by at most m, and all k of them by sqrt(k) m. (5) Which pairs are chosen and
// how they are weighted are functions of the first two releases. The chosen marginals times weights w of sum w^2 <= 1 change by at most m together; noise of Multiplier m on those is noise of Multiplier m/w on each. (6) noise.Normal rounds the continuous Gaussian mechanism, so each release is 1/Multiplier-GDP given those
// before, and all three are GDP with the root of the sum of squares (Dong, Roth, Su 2022, Corollary 3.3), which is mu (Parts). (7) Deviations are rounded up. Nothing else of the counts leaves.
func (c *Counts) Measure(src *noise.Source) (*Measured, error) {
	d, m := c.design, float64(c.design.rows)
	out := &Measured{sizes: d.sizes, pairs: d.pairs}
	parts := d.Parts()
	sigma := parts[0].sigma(math.Sqrt(float64(len(d.sizes))) * m) // (3) d vectors of norm m
	ones, err := noisy(src, sigma, c.ones...)
	if err != nil {
		return nil, err
	}
	weight, sum := 0.0, 0.0
	for i, counts := range ones {
		out.ones = append(out.ones, marginal{[]int{i}, counts, float64(sigma) / fine})
		total := 0.0
		for _, v := range counts {
			total += v
		}
		w := 1 / float64(len(counts))
		weight, sum = weight+w, sum+w*total
	}
	out.Total = math.Max(1, sum/weight)
	if len(d.pairs) == 0 {
		return out, nil
	}
	shares := make([][]float64, len(ones))
	for i, counts := range ones {
		shares[i] = onSimplex(counts, out.Total)
	}
	scores := make([]int64, len(d.pairs))
	for k, p := range d.pairs {
		scores[k] = score(c.pairs[k], shares[p.A], shares[p.B], out.Total) // (4) expected from the first release alone
	}
	sigma = parts[1].sigma(math.Sqrt(float64(len(d.pairs))) * m) // (4) k numbers that change by m
	released, err := noisy(src, sigma, scores)
	clear(scores)
	if err != nil {
		return nil, err
	}
	out.Scores = released[0]
	for _, ch := range out.choose(parts[2].Multiplier * m) { // (5) a function of what is released
		p := d.pairs[ch.pair]
		sigma := parts[2].sigma(m / ch.weight) // (5) noise of Multiplier m on the weighted counts; (7) rounded up
		counts, err := noisy(src, sigma, c.pairs[ch.pair])
		if err != nil {
			return nil, err
		}
		out.chosen = append(out.chosen, marginal{[]int{p.A, p.B}, counts[0], float64(sigma) / fine})
	}
	return out, nil
}

// score is how far a pair's counts are from those of independent columns: the sum of absolute differences, in whole rows.
func score(counts []int64, a, b []float64, total float64) (sum int64) {
	for i, x := range a {
		for j, y := range b {
			expected := int64(math.Round(x * y / total)) // released numbers alone
			diff := counts[i*len(b)+j] - expected
			sum += max(diff, -diff)
		}
	}
	return sum
}

// MuOf is the largest mu whose releases are (epsilon, delta)-DP together.
func MuOf(epsilon, delta float64) float64 {
	return 1 / account.GaussianSigma(epsilon, delta) * (1 - 1e-9)
}

// Epsilon is that of all releases together at a delta.
func (d *Design) Epsilon(delta float64) float64 {
	return account.GaussianEpsilon(d.mu, delta) * (1 + 1e-9)
}

// CountError is half the width of the 95 % interval of one count: of a column's value, and of a pair's if as many pairs are chosen as there are columns.
func (d *Design) CountError() (one, pair float64) {
	parts, m, n := d.Parts(), float64(d.rows), float64(len(d.sizes))
	one = 1.96 * parts[0].Multiplier * math.Sqrt(n) * m
	if len(parts) > 1 {
		pair = 1.96 * parts[2].Multiplier * math.Sqrt(n) * m
	}
	return one, pair
}

// Pairs is how many pairs of columns there are.
func (d *Design) Pairs() int { return len(d.pairs) }

// Pairs is how many pairs of columns were measured.
func (m *Measured) Pairs() int { return len(m.chosen) }
