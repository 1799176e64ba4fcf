package elastic

import (
	"math/rand/v2"
	"testing"
)

// selfJoin is the formula of two tables joined by a key; swapped, the other one comes first.
func selfJoin(t testing.TB, m, n uint64, swapped bool) *Formula {
	t.Helper()
	a, b := &Side{Name: "a", Rows: m}, &Side{Name: "b", Rows: n}
	if swapped {
		a, b = &Side{Name: "q", Rows: n}, &Side{Name: "p", Rows: m}
	}
	f, err := Rows(&Node{Left: &Node{Side: a}, Right: &Node{Side: b}, On: []Pair{{Left: Column{Side: a, Name: "x"}, Right: Column{Side: b, Name: "x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestText: the order in which tables are joined and what they are called says nothing; what their frequencies are of, and how many rows a unit has, does.
func TestText(t *testing.T) {
	named := func(f *Formula, a, b string) string {
		names := make([]string, 2)
		for i, q := range f.Frequencies {
			names[i] = map[string]string{"a": a, "b": b, "p": a, "q": b}[q.Side.Name]
		}
		return f.Text(names)
	}
	of := named(selfJoin(t, 3, 5, false), "visits", "stays")
	if swapped := named(selfJoin(t, 3, 5, true), "visits", "stays"); swapped != of {
		t.Errorf("%s and %s", of, swapped)
	}
	for _, other := range []string{named(selfJoin(t, 3, 5, false), "stays", "visits"), named(selfJoin(t, 3, 4, false), "visits", "stays"), named(selfJoin(t, 3, 5, false), "visits", "visits")} {
		if other == of {
			t.Errorf("another formula has the text %s", of)
		}
	}
}

func smoothed(t testing.TB, f *Formula, often uint64, beta float64) float64 {
	t.Helper()
	at, err := f.Smooth([]uint64{often, often}, beta, nil)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func toldBy(t testing.TB, f *Formula, smooth, beta float64) uint64 {
	t.Helper()
	often, err := f.FrequencyBounds(smooth, beta, nil)
	if err != nil {
		t.Fatal(err)
	}
	return often
}

// TestOften: a smooth bound of equal frequencies tells them, a little too large at most; one that is reached without any tells 0.
func TestOften(t *testing.T) {
	f := selfJoin(t, 3, 5, false)
	rng := rand.New(rand.NewPCG(3, 5))
	for range 200 {
		beta := []float64{0.9, 0.05, 0.003}[rng.IntN(3)]
		often := rng.Uint64N(1 << rng.IntN(40))
		smooth := smoothed(t, f, often, beta)
		got := toldBy(t, f, smooth, beta)
		if again := smoothed(t, f, got, beta); again < smooth || got > often+often/16+1 {
			t.Errorf("beta %g: %d of each give %g, which tells %d", beta, often, smooth, got)
		}
	}
	if got := toldBy(t, f, 1, 0.05); got != 0 {
		t.Errorf("1 tells %d", got)
	}
	if got := toldBy(t, f, 1e300, 0.9); got < 1<<60 {
		t.Errorf("1e300 tells %d", got)
	}
}
