package account

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"syscall"
	"testing"
)

// named is a mechanism as the reference file has it.
type named struct {
	Type         string
	Scale, Sigma float64
	A, Q         float64
	Eps, Delta   float64
	Sens         *float64
	Count        int
}

func (n named) step() (Step, error) {
	s := Step{Rate: 1, Count: n.Count}
	sens := 1.0
	if n.Sens != nil {
		sens = *n.Sens
	}
	switch n.Type {
	case "laplace":
		s.Mechanism = Laplace{n.Scale / sens}
	case "gaussian":
		s.Mechanism = Gaussian{n.Sigma / sens}
	case "discrete_laplace":
		s.Mechanism = DiscreteLaplace{1 / n.A, int(sens)}
	case "discrete_gaussian":
		s.Mechanism = DiscreteGaussian{n.Sigma, int(sens)}
	case "poisson_gaussian":
		s.Mechanism, s.Rate = Gaussian{n.Sigma}, n.Q
	case "poisson_laplace":
		s.Mechanism, s.Rate = Laplace{n.Scale}, n.Q
	case "pure":
		s.Mechanism = Approximate{n.Eps, 0}
	case "approx":
		s.Mechanism = Approximate{n.Eps, n.Delta}
	default:
		return s, fmt.Errorf("the reference has a mechanism %q", n.Type)
	}
	return s, nil
}

// number is one that may be infinite.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	if string(text) == `"inf"` || string(text) == "Infinity" {
		*n = number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// reference is a file of numbers from other tools; DPSQL_REFERENCE names another of the same form.
func reference(t testing.TB, section string, into any) {
	path := os.Getenv("DPSQL_REFERENCE")
	if path == "" {
		path = "testdata/accounting.json"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(all[section], into); err != nil {
		t.Fatalf("%s: %v", section, err)
	}
}

// long: every row, not a part of them.
func long() bool { return os.Getenv("DPSQL_LONG") != "" || os.Getenv("DPSQL_REFERENCE") != "" }

// TestPLD: never below the optimistic bound, at most half a percent above the pessimistic one.
func TestPLD(t *testing.T) {
	var ref struct {
		Rows []struct {
			Mechanisms []named
			AtDelta    [][3]number `json:"eps_at_delta"`
			AtEpsilon  [][3]number `json:"delta_at_eps"`
		}
	}
	reference(t, "pld", &ref)
	if len(ref.Rows) == 0 {
		t.Fatal("the reference has no rows")
	}
	for i, r := range ref.Rows {
		mixed := slices.ContainsFunc(r.Mechanisms, func(m named) bool { return m.Type == "mixture_gaussian" }) // which no statement has
		if i%4 != 0 && !long() || mixed {
			continue
		}
		var steps []Step
		for _, m := range r.Mechanisms {
			s, err := m.step()
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, s)
		}
		c, err := Compose(steps...)
		if err != nil {
			t.Errorf("%+v: %v", r.Mechanisms, err)
			continue
		}
		for _, e := range r.AtDelta {
			got := number(c.Epsilon(float64(e[0])))
			if got < e[1]*(1-1e-6) || got > e[2]*1.005+1e-9 {
				t.Errorf("%+v at delta %g: epsilon %.10g, want %.10g to %.10g", r.Mechanisms, e[0], got, e[1], e[2])
			}
		}
		for _, e := range r.AtEpsilon {
			got := number(c.Delta(float64(e[0])))
			if got < e[1]*(1-1e-6)-3e-15 || got > e[2]*1.005+1e-9 {
				t.Errorf("%+v at epsilon %g: delta %.10g, want %.10g to %.10g", r.Mechanisms, e[0], got, e[1], e[2])
			}
		}
	}
}

// TestTrainings: steps of DP-SGD between the two bounds of privacy loss accounting, at most half a percent above the pessimistic one.
func TestTrainings(t *testing.T) {
	var ref struct {
		Columns []string
		Rows    [][]float64
	}
	reference(t, "dpsgd", &ref)
	for i, r := range ref.Rows {
		if i%4 != 0 && !long() {
			continue
		}
		q, sigma, steps, delta, lo, hi := r[0], r[1], int(r[2]), r[3], math.Max(r[9], r[12]), r[13]
		c, err := Compose(Step{Gaussian{sigma}, q, steps})
		if err != nil {
			t.Errorf("%v: %v", r[:4], err)
			continue
		}
		if got := c.Epsilon(delta); got < lo*(1-1e-6) || got > hi*1.005 {
			t.Errorf("rate %g, sigma %g, %d steps at %g: epsilon %.9g, want %.9g to %.9g", q, sigma, steps, delta, got, lo, hi)
		}
	}
}

// TestCalibration: the least noise by privacy loss accounting is between the reference's, found on a grid of its own, and half a percent above it.
func TestCalibration(t *testing.T) {
	var ref table
	reference(t, "dpsgd_calibration", &ref)
	for i, r := range ref.Rows {
		if i%5 != 0 && !long() {
			continue
		}
		got, err := SampledGaussianSigma(float64(r[0]), int(r[1]), float64(r[2]), float64(r[3]))
		if err != nil || got < float64(r[4])*0.997 || got > float64(r[4])*1.005 {
			t.Errorf("%v: sigma %.8g, %v", r, got, err)
		}
	}
}

// processor reports the process's own time too, which other work on the machine does not lengthen.
func processor(b *testing.B) func() {
	used := func() (ns int64) {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N)/1e6, "cpu-ms/op") }
}

func BenchmarkTraining(b *testing.B) {
	defer processor(b)()
	for range b.N {
		c, err := Compose(Step{Gaussian{1.5}, 0.01, 10000})
		if err != nil {
			b.Fatal(err)
		}
		c.Epsilon(1e-5)
	}
}

func BenchmarkThousandEvents(b *testing.B) {
	var steps []Step
	for i := range 500 {
		steps = append(steps, Step{Laplace{50 + float64(i)/7}, 1, 1}, Step{Gaussian{90 + float64(i)/3}, 1, 1})
	}
	defer processor(b)()
	for range b.N {
		c, err := Compose(steps...)
		if err != nil {
			b.Fatal(err)
		}
		c.Epsilon(1e-5)
	}
}
