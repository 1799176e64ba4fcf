package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/noise"
)

// fixed draws the same numbers each time.
func fixed(seed byte) *Draw { return NewDraw(rand.NewChaCha8([32]byte{seed})) }

func never(int, int) error { return nil }

// someCounts are counts of random rows in which each second column follows the one before it.
func someCounts(t testing.TB, d *Design, rows int) *Counts {
	t.Helper()
	c, draw := d.Counts(), rand.New(rand.NewPCG(1, 2))
	bins := make([]int, len(d.sizes))
	for range rows {
		for i, n := range d.sizes {
			bins[i] = draw.IntN(n)
		}
		for i := 1; i < len(bins); i += 2 {
			if draw.IntN(3) > 0 {
				bins[i] = bins[i-1] % d.sizes[i]
			}
		}
		if err := c.Add(0, bins); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// spread adds up squared differences of released numbers from exact ones.
type spread struct{ sum, n float64 }

func (s *spread) add(released []float64, exact []int64) {
	for i, v := range released {
		x := v - float64(exact[i])
		s.sum, s.n = s.sum+x*x, s.n+1
	}
}

func (s *spread) variance() float64 { return s.sum / s.n }

// measuredLoss is the squared mu of what Measure releases, by the noise that is seen in it: of the columns' counts, the scores and the chosen pairs.
func measuredLoss(t *testing.T, c *Counts, units float64, forget func(m *Measured, scores []int64)) (parts [3]float64) {
	t.Helper()
	d, k := c.design, float64(len(c.design.pairs))
	var ones, scored, told spread // told: of chosen pairs, by the deviation that is told
	chosen := 0.0
	const runs = 400
	for range runs {
		m, err := c.Measure(noise.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		exact, shares := make([]int64, len(d.pairs)), make([][]float64, len(d.sizes))
		for i, x := range m.ones {
			shares[i] = onSimplex(x.counts, m.Total)
		}
		for i, p := range d.pairs {
			exact[i] = score(c.pairs[i], shares[p.A], shares[p.B], m.Total)
		}
		if forget != nil {
			forget(m, exact)
		}
		for i, x := range m.ones {
			ones.add(x.counts, c.ones[i])
		}
		scored.add(m.Scores, exact)
		sum := 0.0
		for _, x := range m.chosen {
			var s spread
			s.add(x.counts, c.pairs[slices.Index(d.pairs, Pair{x.columns[0], x.columns[1]})])
			told.sum, told.n = told.sum+s.sum/(x.sigma*x.sigma), told.n+s.n
			sum += units * units / (x.sigma * x.sigma)
		}
		chosen += sum / runs
	}
	return [3]float64{units * units * float64(len(d.sizes)) / ones.variance(), units * units * k / scored.variance(), chosen / told.variance()}
}

// overspent says which release costs more than its part. The noise of at least 2,400 numbers is looked at: its variance is off by 19 % with a probability below 1e-10.
func overspent(parts []Part, seen [3]float64) error {
	for i, s := range seen {
		most := 0.0
		if i < len(parts) {
			most = 1 / (parts[i].Multiplier * parts[i].Multiplier)
		}
		if !(s <= 1.19*most) {
			return fmt.Errorf("release %d costs %g, and %g is charged", i, s, most)
		}
	}
	return nil
}

// TestReleasesCostTheirParts: the noise that is seen in each release is what its part charges, for units of one row and of several; and the parts are together the mu that was asked for. What is planted is found.
func TestReleasesCostTheirParts(t *testing.T) {
	for _, rows := range []int{1, 3} {
		d, err := NewDesign([]int{4, 5, 3, 16}, rows, 0.8)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, p := range d.Parts() {
			sum += 1 / (p.Multiplier * p.Multiplier)
		}
		if math.Abs(sum-0.64) > 1e-12 {
			t.Errorf("the parts are %g-GDP", math.Sqrt(sum))
		}
		c := someCounts(t, d, 3000)
		seen := measuredLoss(t, c, float64(rows), nil)
		if err := overspent(d.Parts(), seen); err != nil {
			t.Error(err)
		}
		for i, p := range d.Parts() {
			if seen[i]*p.Multiplier*p.Multiplier < 0.8 {
				t.Errorf("release %d has more noise than its part pays for", i)
			}
		}
		for name, bad := range map[string]error{
			"a marginal uncharged":       overspent(d.Parts()[:2], seen),
			"scores uncharged":           overspent([]Part{d.Parts()[0], {"", math.Inf(1)}, d.Parts()[2]}, seen),
			"units of more rows":         overspent(d.Parts(), measuredLoss(t, c, float64(rows)+1, nil)),
			"selection on exact scores":  overspent(d.Parts(), measuredLoss(t, c, float64(rows), exactScores)),
			"pairs' noise not weighted":  overspent(d.Parts(), measuredLoss(t, c, float64(rows), func(m *Measured, _ []int64) { unweighted(m, c) })),
			"columns counted one by one": overspent(d.Parts(), [3]float64{seen[0] * float64(len(d.sizes)), seen[1], seen[2]}),
		} {
			if bad == nil {
				t.Errorf("%s: not found", name)
			}
		}
	}
}

func exactScores(m *Measured, scores []int64) {
	for i, s := range scores {
		m.Scores[i] = float64(s)
	}
}

// unweighted makes the noise that of one chosen pair alone.
func unweighted(m *Measured, c *Counts) {
	for _, x := range m.chosen {
		less := c.design.Parts()[2].Multiplier * float64(c.design.rows) / x.sigma
		exact := c.pairs[slices.Index(c.design.pairs, Pair{x.columns[0], x.columns[1]})]
		for i, v := range x.counts {
			x.counts[i] = float64(exact[i]) + less*(v-float64(exact[i]))
		}
	}
}

// TestScoreChangesByTheRows: a unit of m rows changes each score by at most m, whatever is expected.
func TestScoreChangesByTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(1, 6).Draw(t, "a"), rapid.IntRange(1, 6).Draw(t, "b")
		list := func(n int, name string) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(0, 500), n, n).Draw(t, name)
		}
		x, y, total := list(a, "x"), list(b, "y"), rapid.Float64Range(1, 1000).Draw(t, "total")
		counts := make([]int64, a*b)
		for i := range counts {
			counts[i] = rapid.Int64Range(0, 300).Draw(t, "count")
		}
		before := score(counts, x, y, total)
		m := rapid.IntRange(1, 9).Draw(t, "m")
		for range m {
			counts[rapid.IntRange(0, a*b-1).Draw(t, "cell")]++
		}
		if d := score(counts, x, y, total) - before; d > int64(m) || d < -int64(m) {
			t.Fatalf("%d rows change a score by %d", m, d)
		}
	})
}

// TestCountsRefuse: rows that are not as was declared are refused: more of a unit than count, units that come back, bins that there are not.
func TestCountsRefuse(t *testing.T) {
	d, err := NewDesign([]int{2, 3}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string][][3]int{
		"three rows of a unit": {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}, "a unit that comes back": {{1, 0, 0}, {2, 0, 0}, {1, 0, 0}}, "no such bin": {{1, 2, 0}}, "a bin below 0": {{1, 0, -1}},
	} {
		c := d.Counts()
		for _, r := range rows {
			err = c.Add(int64(r[0]), r[1:])
		}
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	c := d.Counts()
	for _, u := range []int64{1, 1, 2, 2, 7} {
		if err := c.Add(u, []int{1, 2}); err != nil {
			t.Errorf("unit %d: %v", u, err)
		}
	}
	if c.ones[0][1] != 5 || c.pairs[0][5] != 5 {
		t.Error("rows are missing")
	}
	if c.Wipe(); c.ones[0][1] != 0 || c.pairs[0][5] != 0 {
		t.Error("counts are left")
	}
	if c.Add(3, []int{1}) == nil {
		t.Error("a row of one column is taken")
	}
}

// TestWeightsAreWithinTheNorm: whatever the scores, the squared weights of the chosen pairs add up to at most 1, and no clique is too large.
func TestWeightsAreWithinTheNorm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 40), 2, 9).Draw(t, "sizes")
		d, err := NewDesign(sizes, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		m := &Measured{sizes: sizes, Total: 1000, pairs: d.pairs}
		for _, n := range sizes {
			m.ones = append(m.ones, marginal{counts: rapid.SliceOfN(rapid.Float64Range(-50, 900), n, n).Draw(t, "counts"), sigma: 5})
		}
		m.Scores = rapid.SliceOfN(rapid.Float64Range(-100, 3000), len(d.pairs), len(d.pairs)).Draw(t, "scores")
		sum := 0.0
		var edges []Pair
		for _, c := range m.choose(rapid.Float64Range(0.1, 50).Draw(t, "deviation")) {
			sum, edges = sum+c.weight*c.weight, append(edges, d.pairs[c.pair])
		}
		if sum > 1 {
			t.Fatalf("squared weights of %g", sum)
		}
		if n := largest(sizes, edges); n > mostClique {
			t.Fatalf("a clique of %d cells", n)
		}
	})
}

// TestInference: the shares of cliques are those of the whole table, added up.
func TestInference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 5).Draw(t, "sizes")
		var edges []Pair
		for a := range sizes {
			for b := range a {
				if rapid.Bool().Draw(t, "edge") {
					edges = append(edges, Pair{b, a})
				}
			}
		}
		m := &Model{sizes: sizes, Total: 1, nodes: junction(sizes, edges)}
		f := newFitter(m, nil)
		all := make([]int, len(sizes))
		for i := range all {
			all[i] = i
		}
		whole, to, sum := make([]float64, cellsOf(sizes, all)), make([][]int32, len(m.nodes)), 0.0
		for i, n := range m.nodes {
			to[i] = project(sizes, all, n.columns)
			for c := range f.theta[i] {
				f.theta[i][c] = rapid.Float64Range(-3, 3).Draw(t, "theta")
			}
		}
		for c := range whole {
			log := 0.0
			for i := range m.nodes {
				log += f.theta[i][to[i][c]]
			}
			whole[c] = math.Exp(log)
			sum += whole[c]
		}
		f.infer()
		for i := range m.nodes {
			want := make([]float64, len(f.shares[i]))
			for c, v := range whole {
				want[to[i][c]] += v / sum
			}
			for c, v := range want {
				if math.Abs(v-f.shares[i][c]) > 1e-9 {
					t.Fatalf("clique %v of %v, %v: share %g, want %g", m.nodes[i].columns, sizes, edges, f.shares[i][c], v)
				}
			}
		}
		for _, e := range edges {
			in := false
			for _, n := range m.nodes {
				in = in || contains(n.columns, []int{e.A, e.B})
			}
			if !in {
				t.Fatalf("pair %v is in no clique", e)
			}
		}
	})
}

// TestNearlyWithoutNoise: with hardly any noise the rows have the pairs of the source, and as many rows.
func TestNearlyWithoutNoise(t *testing.T) {
	d, err := NewDesign([]int{4, 5, 3, 1, 2}, 1, 200)
	if err != nil {
		t.Fatal(err)
	}
	c := someCounts(t, d, 5000)
	m, err := c.Measure(noise.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(m.Total-5000) > 5 {
		t.Errorf("%g rows", m.Total)
	}
	model, err := m.Fit(never)
	if err != nil {
		t.Fatal(err)
	}
	columns, drawn, bins := model.Sample(5000, fixed(4)), d.Counts(), make([]int, len(d.sizes))
	for r := range 5000 {
		for i := range bins {
			bins[i] = int(columns[i][r])
		}
		if err := drawn.Add(0, bins); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range d.pairs {
		sum := int64(0)
		for k, n := range c.pairs[i] {
			sum += max(n-drawn.pairs[i][k], drawn.pairs[i][k]-n)
		}
		if float64(sum)/2/5000 > 0.04 {
			t.Errorf("pair %v differs by %d rows of 5000", p, sum/2)
		}
	}
}

// TestWideNoise: noise that cannot be drawn is refused when it is planned, and what is planned can be drawn.
func TestWideNoise(t *testing.T) {
	refused := 0
	for mu := 1.0; mu > 1e-14; mu /= 10 {
		d, err := NewDesign([]int{2, 300, 2, 40}, 50, mu)
		if err != nil {
			refused++
			continue
		}
		if refused > 0 {
			t.Errorf("mu %g is planned, and larger ones are not", mu)
		}
		if _, err := d.Counts().Measure(noise.NewSource()); err != nil {
			t.Errorf("mu %g: %v", mu, err)
		}
	}
	if refused == 0 {
		t.Error("all noise is planned")
	}
}

// TestNoRows: of no rows, of one column and of columns of one value there is a table too.
func TestNoRows(t *testing.T) {
	for _, sizes := range [][]int{{1}, {3}, {1, 1}, {2, 16, 3}} {
		d, err := NewDesign(sizes, 2, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Counts().Measure(noise.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		model, err := m.Fit(never)
		if err != nil {
			t.Fatal(err)
		}
		for i, column := range model.Sample(10, fixed(1)) {
			for _, b := range column {
				if int(b) >= sizes[i] {
					t.Fatalf("bin %d of %d", b, sizes[i])
				}
			}
		}
	}
}

// TestApportion: all rows are given, each bin has its share but for one row, and on average its share.
func TestApportion(t *testing.T) {
	draw, shares := fixed(6), []float64{0.1, 0, 2.35, 1.2, 0.05}
	const n, times = 7, 20_000
	sum, mean := 3.7, make([]float64, len(shares))
	for range times {
		given := 0
		for b, k := range apportion(shares, n, draw) {
			if given += k; math.Abs(float64(k)-shares[b]/sum*n) >= 1 {
				t.Fatalf("bin %d has %d rows", b, k)
			}
			mean[b] += float64(k) / times
		}
		if given != n {
			t.Fatalf("%d rows of %d", given, n)
		}
	}
	for b, m := range mean { // a deviation of at most 1/2: 6.6 of the mean's are one false alarm in 4e-11
		if math.Abs(m-shares[b]/sum*n) > 6.6*0.5/math.Sqrt(times) {
			t.Errorf("bin %d has %g rows on average, %g are its share", b, m, shares[b]/sum*n)
		}
	}
}
