package mlext

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestNetworkOptions: what a network is asked for is in its plan; what cannot be is refused with what to write in its place.
func TestNetworkOptions(t *testing.T) {
	p, err := planned("mlp", "auto", "epsilon = 1, delta = 1e-6, hidden = (5, 4), activation = elu, steps = 10")
	if err != nil {
		t.Fatal(err)
	}
	if p.Method != "dp_adam" || p.size() != 2*5+6*4+5*3 || !slices.Contains(p.Facts, Fact{"hidden layers", "5, 4"}) || !slices.Contains(p.Facts, Fact{"activation", "elu"}) {
		t.Errorf("%s of %d parameters: %v", p.Method, p.size(), p.Facts)
	}
	for with, hint := range map[string]string{
		"hidden = 0": "from 1 to 256", "hidden = (5, 257)": "from 1 to 256", "hidden = 'a'": "from 1 to 256", "hidden = 2.5": "from 1 to 256", "hidden = (1, 1, 1, 1)": "", "hidden = 3, hidden = 4": "",
		"activation = 'sin'": "", "lambda = 1": "Leave it out", "class_weights = (1, 2)": "one for each value", "delta = 0": "Give a delta",
	} {
		_, err := planned("mlp", "auto", "epsilon = 1, "+with)
		var e *sqlerr.Error
		if e, _ = err.(*sqlerr.Error); e == nil || !strings.Contains(e.Hint, hint) { //nolint:errorlint // as it is returned
			t.Errorf("%s: %v", with, err)
		}
	}
	if _, err := planned("mlp", "objective_perturbation", "epsilon = 1"); err == nil || !strings.Contains(err.Error(), "not convex") {
		t.Errorf("a method of convex losses: %v", err)
	}
	if _, err := planned("logistic_regression", "auto", "epsilon = 1, hidden = 3"); err == nil {
		t.Error("a linear model has hidden layers")
	}
}

// TestNetworkLearns: a network tells apart what no linear model can, two classes of which one is in two opposite corners, and predicts a number that is no line.
func TestNetworkLearns(t *testing.T) {
	x := []Feature{{Name: "a", Hi: 1, To: 1 << 10, Type: "double precision"}, {Name: "b", Lo: -1, Hi: 1, To: 1 << 10, Type: "double precision"}}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed seed
	for name, target := range map[string]Feature{"classes": {Name: "y", Levels: []string{"n", "y"}, To: 1, Type: "text"}, "a number": {Name: "y", Hi: 1, To: 1, Type: "integer"}} {
		if name == "a number" {
			target.To, target.Hi = 10, 10
		}
		sts, err := pgsyntax.Parse("TRAIN DP MODEL m USING mlp TARGET y WITH (epsilon = 20, delta = 1e-6, hidden = (16, 8), steps = 200) AS SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		spec, err := Read(sts[0].Node.(*pgsyntax.Train))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Plan(spec, x, target, 1, 4000)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Collect()
		if err != nil {
			t.Fatal(err)
		}
		label := func(a, b int64) int64 {
			if (a > 512) == (b > 512) {
				return target.To
			}
			return 0
		}
		for u := range int64(4000) {
			a, b := rng.Int64N(1025), rng.Int64N(1025)
			if err := c.Add(u, []int64{a, b, label(a, b)}); err != nil {
				t.Fatal(err)
			}
		}
		m, err := p.Train(c, audit.Source(7), never)
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for range 1000 {
			a, b := rng.Int64N(1025), rng.Int64N(1025)
			var z []float64
			for _, s := range m.Scores {
				z = append(z, s.Intercept+s.Coefficients[0][0]*float64(a)/1024+s.Coefficients[1][0]*(float64(b)/512-1))
			}
			if says := m.Through(z)[0] > 0; says == (label(a, b) > 0) {
				right++
			}
		}
		if right < 900 {
			t.Errorf("%s: %d of 1000 are right", name, right)
		}
		for i := range m.Layers {
			for _, list := range m.Layers[i].Coefficients {
				if slices.ContainsFunc(list, math.IsNaN) {
					t.Error("a coefficient is no number")
				}
			}
		}
	}
}

// TestRepeats: how long a prediction is for long arguments is known before it is written.
func TestRepeats(t *testing.T) {
	for _, kind := range []string{"mlp", "softmax_regression"} {
		p := over(t, kind)
		m := p.model(make([]float64, p.size()), 0)
		for i, f := range m.Features {
			if f.Length > 0 {
				continue
			}
			args := slices.Repeat([]string{"x"}, len(m.Features))
			short, err := m.Predict(args, false)
			if err != nil {
				t.Fatal(err)
			}
			args[i] = strings.Repeat("x", 1001)
			long, err := m.Predict(args, false)
			if n := (len(long) - len(short)) / 1000; err != nil || n < m.Repeats(i)/2 || n > 2*m.Repeats(i) {
				t.Errorf("%s: the argument of %s stands %d times, said to be %d (%v)", kind, f.Name, n, m.Repeats(i), err)
			}
		}
	}
}
