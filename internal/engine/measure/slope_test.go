package measure

import (
	"math"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/dp"
	"github.com/dpsql/dpsql/noise"
)

// TestSlope: what a larger bound must save follows from public facts: more where the choice is noisier or more groups share the bound, never so much that the
// least bound could be the most probable one, and never so little that bounds far too large are as good as any.
func TestSlope(t *testing.T) {
	of := func(s shape, epsilon float64, population int64) dp.Choice {
		p, err := New(s.analysis(), Ask{Filter: filter(t, 20, 1e-6, 0.5, budget.AccountantRDP), Epsilon: epsilon, QueryDelta: 1e-9, Mechanism: Laplace, Population: population})
		if err != nil {
			t.Fatal(err)
		}
		return p.Choices[0]
	}
	scales := func(c dp.Choice) float64 { return c.Slope.Float() / c.Scale.Float() }
	one, many := shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenCount}}, shape{public: true, groups: 90, perUnit: 1, parts: []measured{chosenCount}}
	c := of(one, 1, 1000)
	if got := scales(c); got < slopeOfNoise || got > slopeOfNoise+0.1 {
		t.Errorf("of one group the slope is %g scales", got)
	}
	if finer := of(one, 2, 1000); finer.Slope.Float() >= c.Slope.Float() {
		t.Errorf("at a larger epsilon the slope is %g, not less than %g", finer.Slope.Float(), c.Slope.Float())
	}
	for population, most := range map[int64]float64{3000: 60, 1 << 40: 89 * slopeOfGroups * 2} {
		g := of(many, 1, population)
		if more := g.Slope.Float() - slopeOfNoise*g.Scale.Float(); more > most+0.1 || more < min(most, 89*slopeOfGroups)-0.1 {
			t.Errorf("of a population of %d the groups' part of the slope is %g", population, more)
		}
	}
	sum := shape{public: true, groups: 90, perUnit: 1, parts: []measured{chosenSum}}
	if g := of(sum, 1, 3000); g.Slope.Float()-slopeOfNoise*g.Scale.Float() > 31 {
		t.Errorf("of sums in a population of 3000 the slope is %g", g.Slope.Float())
	}
	for _, population := range []int64{1, 30, 1000, 4000, 1 << 40} {
		for _, epsilon := range []float64{0.01, 0.1, 1, 10} {
			for _, s := range []shape{one, many, sum} {
				c, folds := of(s, epsilon, population), 10.0
				if s.parts[0] == chosenSum {
					folds = 20
				}
				least := leastOfNoise * c.Scale.Float()
				if got, most := c.Slope.Float(), float64(population)/2/folds; got < least || got > max(most, least)+0.1 {
					t.Errorf("population %d, epsilon %g, %+v: the slope is %g, not from %g to %g", population, epsilon, s, got, least, most)
				}
			}
		}
	}
}

// TestEqualUnits: where all people have the same, a bound near that is chosen, be it ever so many steps: the price of larger bounds does not outgrow the people. The
// median of 51 choices is wrong only where 26 are; each is with a probability that is worked out from the choice's law and held below a tenth: 25 C(51, 26) 0.1^26 < 1e-10 for all cases.
func TestEqualUnits(t *testing.T) {
	const draws, most = 51, 0.1
	ofSum, ofCount := shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenSum}}, shape{public: true, groups: 1, perUnit: 1, parts: []measured{chosenCount}}
	unknown := shape{perUnit: 4, parts: []measured{people, chosenCount}}
	for _, k := range []struct {
		s          shape
		mech       Mechanism
		epsilon    float64
		n          int64
		population int64
		steps      []int
	}{
		{ofSum, Laplace, 0.1, 1000, 1000, []int{4, 20, 30, 40}}, // a median of 2^20 steps and more was cut to 2^4
		{ofSum, Laplace, 0.1, 3000, 1000, []int{4, 20, 30, 40}},
		{ofSum, Laplace, 1, 300, 300, []int{4, 30, 40}},
		{ofSum, Gaussian, 0.1, 1000, 1000, []int{4, 20, 40}},
		{ofCount, Laplace, 0.1, 1000, 1000, []int{4, 12, 18, 24}}, // 2^18 rows were a toss-up
		{ofCount, Laplace, 0.1, 500, 1000, []int{4, 10, 12}},      // half of the population: 2^10 rows were cut to 1
		{unknown, Gaussian, 1, 3000, 1000, []int{4, 12}},          // nobody declared a population: all were cut to 1
		{unknown, Gaussian, 0.1, 3000, 3000, []int{4, 12}},
	} {
		src := noise.NewSource()
		for _, bits := range k.steps {
			a := k.s.analysis()
			p, err := New(a, Ask{Filter: filter(t, 10, 1e-6, 0.1, budget.AccountantRDP), Epsilon: k.epsilon, QueryDelta: 1e-9, Mechanism: k.mech, Population: k.population})
			if err != nil {
				t.Fatal(err)
			}
			c, truth := p.Choices[0], uint64(1)<<bits
			edges := a.Choices[0].Edges[:c.Edges]
			units := make([]int64, len(edges))
			wrong := func(e uint64) bool { return e < truth || e > 16*truth }
			all, off := 0.0, 0.0
			for i, e := range edges {
				if e < truth {
					units[i] = k.n
				}
				score := float64(units[i]) + c.Slope.Float()*math.Log(float64(e)/float64(truth)) // of the least edge that cuts nobody about 0
				weight := math.Exp(-score / c.Scale.Float())
				if all += weight; wrong(e) {
					off += weight
				}
			}
			if off/all > most {
				t.Errorf("%+v, 2^%d steps: one choice is wrong with probability %.3g", k, bits, off/all)
			}
			var chosen []uint64
			for range draws {
				ch, err := src.Chooser(c, edges)
				if err != nil {
					t.Fatal(err)
				}
				at, err := ch.Choose(units)
				if err != nil {
					t.Fatal(err)
				}
				chosen = append(chosen, edges[at])
			}
			if slices.Sort(chosen); wrong(chosen[draws/2]) {
				t.Errorf("%+v, 2^%d steps: the bound is %d", k, bits, chosen[draws/2])
			}
		}
	}
}
