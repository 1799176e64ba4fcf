package mlext

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestPredictable: a training whose model could not be predicted by or evaluated is refused before it is charged: by its classes, by the words and by the length of what it would stand for. What is not refused is written, whatever its coefficients.
func TestPredictable(t *testing.T) {
	levels := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("it's %d", i))
		}
		return out
	}
	number := Feature{Name: "x", Hi: 1, To: 1 << 20, Type: "double precision"}
	for _, c := range []struct {
		classes  int
		features []Feature
		refused  bool
	}{
		{3, []Feature{number}, false},
		{100, []Feature{number}, false},
		{plan.MostScores, []Feature{number}, true}, // words
		{plan.MostScores, []Feature{{Name: "x", Hi: 255, To: 255, Type: "bytea", Length: 16}}, false},
		{plan.MostScores + 1, []Feature{number}, true},
		{2000, []Feature{number}, true},
		{10, []Feature{{Name: "x", Hi: 255, To: 255, Type: "bytea", Length: 784}}, false},
		{10, []Feature{{Name: "x", Hi: 255, To: 255, Type: "bytea", Length: 6400}}, true}, // length
		{3, []Feature{{Name: "x", Levels: levels(300), Type: "text"}}, false},
		{3, []Feature{{Name: "x", Levels: levels(2000), Type: "text"}}, true},
	} {
		spec := &Spec{Model: "softmax_regression", Method: "auto", Epsilon: 1, Delta: 1e-6, at: map[string]pgsyntax.Pos{}}
		p, err := Plan(spec, c.features, Feature{Name: "y", Levels: levels(c.classes), Type: "text"}, 1, 1000)
		if err == nil {
			err = p.Predictable(1<<20, 0)
		}
		if (err != nil) != c.refused || err != nil && sqlerr.ID(err) != sqlerr.TooComplex.ID {
			t.Errorf("%d classes of %d: %v", c.classes, c.features[0].width(), err)
		}
		if err != nil {
			continue
		}
		theta := make([]float64, p.width*c.classes)
		for j := range theta {
			theta[j] = float64(j%7)*1e-290/3 - 1e17/7
		}
		m := p.model(theta, 0)
		for _, probability := range []bool{false, true} {
			text, err := m.Predict([]string{"(q.days)"}, probability)
			if err != nil || len(text) > 1<<20 {
				t.Errorf("%d classes of %d: %d bytes, %v", c.classes, p.width, len(text), err)
			} else if _, err := pgsyntax.Parse("SELECT " + text); err != nil {
				t.Errorf("%d classes of %d: %v", c.classes, p.width, err)
			}
		}
		scoring, err := m.Scoring([]string{"c1"}, "c2", false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pgsyntax.Parse("SELECT " + strings.Join(scoring.Columns, ", ")); err != nil {
			t.Errorf("%d classes of %d: %v", c.classes, p.width, err)
		}
	}
}

// TestNetworkProducts: a network that multiplies more numbers for a row than the database takes is refused, with a hint of one that passes.
func TestNetworkProducts(t *testing.T) {
	features := []Feature{{Name: "x", Hi: 255, To: 255, Type: "bytea", Length: 60}, {Name: "z", Hi: 1, To: 1 << 20, Type: "double precision"}}
	network := func(hidden string) *Training {
		sts, err := pgsyntax.Parse("TRAIN DP MODEL m USING mlp TARGET y WITH (epsilon = 1, delta = 1e-6, hidden = " + hidden + ") AS SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		spec, err := Read(sts[0].Node.(*pgsyntax.Train))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Plan(spec, features, Feature{Name: "y", Levels: []string{"n", "y"}, To: 1, Type: "text"}, 1, 4000)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for hidden, want := range map[string]int{"(100, 50)": 62*100 + 100*50 + 50, "40": 62*40 + 40, "(3, 2)": 62*3 + 6 + 2} {
		for _, room := range []int{0, -1} {
			p := network(hidden)
			if err := p.Predictable(1<<20, want+room); (err != nil) != (room < 0) || err != nil && sqlerr.ID(err) != sqlerr.TooComplex.ID {
				t.Errorf("%s: %v", hidden, err)
			}
		}
	}
	err := network("256").Predictable(1<<20, 8192)
	var refused *sqlerr.Error
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`hidden = \((\d+)\)`).FindStringSubmatch(refused.Hint)
	if m == nil {
		t.Fatal(refused.Hint)
	}
	if err := network(m[1]).Predictable(1<<20, 8192); err != nil {
		t.Errorf("%s units: %v", m[1], err)
	}
}
