package mlext

import (
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// way is a method of the registry, with a delta or without.
type way struct {
	name   string
	method *method
	pure   bool
}

// trained are all of them.
func trained() (out []way) {
	for i := range methods {
		m := &methods[i]
		out = append(out, way{m.name, m, false})
		if m.pure != nil {
			out = append(out, way{m.name + ", delta 0", m, true})
		}
	}
	return out
}

func (w way) delta(otherwise float64) float64 {
	if w.pure {
		return 0
	}
	return otherwise
}

// planOf is a training of a method over width encoded features, by a model that it takes: of losses whose gradients are as long as the proof allows where there is one.
func planOf(t *testing.T, m *method, width, rows int, epsilon, delta float64, with ...string) *Training {
	t.Helper()
	kind := ""
	for _, k := range []string{"svm", "linear_regression", "logistic_regression", "softmax_regression", "poisson_regression"} {
		if kind == "" && m.refuses(familyOf(k)) == "" {
			kind = k
		}
	}
	with = append([]string{fmt.Sprintf("epsilon = %g, delta = %g", epsilon, delta)}, with...)
	sts, err := pgsyntax.Parse(fmt.Sprintf("TRAIN DP MODEL m USING %s METHOD %s TARGET y WITH (%s) AS SELECT f, y FROM rows", kind, m.name, strings.Join(with, ", ")))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Read(sts[0].Node.(*pgsyntax.Train))
	if err != nil {
		t.Fatal(err)
	}
	f, target := Feature{Name: "f"}, Feature{Name: "y", Boolean: true, Levels: []string{"false", "true"}}
	for i := range width - 1 { // one is the intercept's
		f.Levels = append(f.Levels, fmt.Sprint(i))
	}
	if kind == "linear_regression" {
		target = Feature{Name: "y", Lo: -1, Hi: 1, From: -1, To: 1}
	}
	plan, err := Plan(spec, []Feature{f}, target, rows, 1e6)
	if err != nil {
		t.Fatal(err)
	}
	if plan.width != width {
		t.Fatalf("%d encoded features, want %d", plan.width, width)
	}
	return plan
}

func never(int, int) error { return nil }

// TestAudit: of each method in the registry, what one can learn of canaries from the parameters is under its claim; and at least half of it for dp_sgd whose samples are of all units. Noise and canaries follow from seeds: a bound would be wrong for 1% of seeds at most.
func TestAudit(t *testing.T) {
	const epsilon = 2.25
	runs := 50
	if os.Getenv("DPSQL_LONG") != "" {
		runs = 500
	}
	for _, c := range trained() {
		m := c.method
		t.Run(c.name, func(t *testing.T) {
			game, least, with := audit.Game{Runs: runs, Canaries: 40, Share: 0.1, P: 0.01, Seed: uint64(crc32.ChecksumIEEE([]byte(c.name)))}, 0.0, []string{}
			if slices.Contains(m.options, "steps") {
				with = append(with, "steps = 5")
			}
			if m.name == "dp_sgd" {
				game.Runs, game.Canaries, game.Share, with, least = 1000, 100, 0.01, []string{"steps = 2", "sampling_rate = 1"}, epsilon/2
			}
			plan := planOf(t, m, game.Canaries, 1, epsilon, c.delta(1e-6), with...)
			game.Delta = plan.Delta
			got, err := game.Play(func(in []bool, src *noise.Source) ([]float64, error) {
				table, err := audit.Table(in, 1, 1)
				if err != nil {
					return nil, err
				}
				theta, _, err := plan.run(table, src, never)
				return theta, err
			})
			if err != nil {
				t.Fatal(err)
			}
			if got > plan.Epsilon || got < least {
				t.Errorf("epsilon is at least %.3f, the claim is %g", got, plan.Epsilon)
			}
			t.Logf("epsilon is at least %.3f, the claim is %g", got, plan.Epsilon)
		})
	}
}

// TestZeroUnit: of each method with the same noise, a unit without gradient changes no bit of the parameters: nothing is divided by a number of rows or units, or stops by one. (Samples draw a coin more for it: package descent's test of this name is of them.)
func TestZeroUnit(t *testing.T) {
	for _, c := range trained() {
		m := c.method
		for _, rows := range []int{1, 3} {
			with := []string{}
			for option, value := range map[string]string{"steps": "7", "sampling_rate": "1", "momentum": "0.5"} {
				if slices.Contains(m.options, option) {
					with = append(with, option+" = "+value)
				}
			}
			if rows > 1 && (m.name == "kifer_2012" || m.name == "amp") || m.name == "posterior_sample" {
				continue // of one row a person; and a draw from the posterior pays for a noisy number of rows, which says how wide it is (package convex)
			}
			const width = 5
			plan := planOf(t, m, width, rows, 1, c.delta(1e-6), with...)
			run := func(zero bool) []float64 {
				b, err := data.NewBuilder(width, rows)
				if err != nil {
					t.Fatal(err)
				}
				x := make([]float64, width)
				for u := range 301 {
					for r := range rows {
						for j := range x {
							x[j] = float64((u*7+r*3+j*j)%11)/11 - 0.4
						}
						if u == 300 {
							clear(x)
						}
						if u == 300 && !zero {
							continue
						}
						if err := b.Add(int64(u), x, float64((u+r)%2)); err != nil {
							t.Fatal(err)
						}
					}
				}
				theta, _, err := plan.run(b.Table(), audit.Source(5), never)
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				return theta
			}
			if a, b := run(false), run(true); !slices.Equal(a, b) {
				t.Errorf("%s, %d rows: %v without the unit, %v with it", c.name, rows, a, b)
			}
		}
	}
}
