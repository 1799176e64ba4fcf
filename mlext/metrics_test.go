package mlext

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestMetricErrors: the errors that are told of metrics are those that they have: of values with normal noise of a known deviation, 1.96 deviations of each metric, within 8% (seven deviations of what 4,000 draws estimate).
func TestMetricErrors(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // a fixed seed
	scoring := func(model string) *Scoring {
		p := over(t, model)
		m := p.model(make([]float64, p.width*p.Loss.Outputs), 0)
		var names []string
		for _, f := range m.Features {
			names = append(names, f.Name)
		}
		s, err := m.Scoring(names, "y", false)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	check := func(model string, told []Fact, again func() []Fact, metrics ...string) {
		t.Helper()
		value := func(list []Fact, name string) float64 {
			for _, f := range list {
				if f.Name == name {
					v, err := strconv.ParseFloat(f.Value, 64)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
			}
			t.Fatalf("%s: no %s in %v", model, name, list)
			return 0
		}
		const n = 4000
		sums, squares := map[string]float64{}, map[string]float64{}
		for range n {
			list := again()
			for _, m := range metrics {
				v := value(list, m)
				sums[m] += v / n
				squares[m] += v * v / n
			}
		}
		errs := Errs(told)
		for _, m := range metrics {
			half := 1.96 * math.Sqrt(squares[m]-sums[m]*sums[m])
			if got := value(errs, m); !(math.Abs(got/half-1) < 0.08) {
				t.Errorf("%s: the error of %s is told as %g, and is %g", model, m, got, half)
			}
		}
	}
	const deviation, lossDeviation = 20, 35
	for _, list := range [][]string{{"softmax_regression", "accuracy", "log-loss"}} {
		model, metrics := list[0], list[1:]
		s := scoring(model)
		var cells []Cell
		for y := range max(2, len(s.model.Target.Levels)) {
			for says := range 3 {
				for b := s.bins / 3; b < s.bins; b++ {
					n := 400.0
					if y == says {
						n = 1300
					}
					cells = append(cells, Cell{Keys: []int{y, says*s.bins + b}, Count: n, Loss: 0.9 * n})
				}
			}
		}
		check(model, s.Classes(cells, []float64{1.96 * deviation, 1.96 * lossDeviation}), func() []Fact {
			noisy := append([]Cell(nil), cells...)
			for i := range noisy {
				noisy[i].Count += deviation * draw.NormFloat64()
				noisy[i].Loss += lossDeviation * draw.NormFloat64()
			}
			return s.Classes(noisy, nil)
		}, metrics...)
	}
	values, deviations := []float64{5000, 12, 1.5, 31, 7}, []float64{20, 0.3, 0.1, 0.8, 0.2}
	var halves []float64
	for _, d := range deviations {
		halves = append(halves, 1.96*d)
	}
	s := scoring("poisson_regression")
	check("poisson_regression", s.Numbers(values, halves), func() []Fact {
		noisy := append([]float64(nil), values...)
		for i := range noisy {
			noisy[i] += deviations[i] * draw.NormFloat64()
		}
		return s.Numbers(noisy, nil)
	}, "MSE", "RMSE", "R2", "deviance")
	if errs := Errs(s.Numbers(values, nil)); errs != nil {
		t.Errorf("exact values have errors: %v", errs)
	}
}

// TestSureness: however many classes there are, an evaluation has a bounded number of groups more than they make by themselves.
func TestSureness(t *testing.T) {
	for k := 2; k < 60; k++ {
		if n := sureness(k); n > 0 && (k*k*(n-n/k) > mostCells || bins%n != 0) || n == 0 && 2*k*k <= mostCells {
			t.Errorf("%d classes: %d intervals", k, n)
		}
	}
}
