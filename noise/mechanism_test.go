package noise

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/dp"
)

var errBroken = errors.New("broken")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

var one = dp.Sensitivity{PerGroup: 1, Groups: 1}

func mechanism(t *testing.T, src *Source, ev dp.Event) *Mechanism {
	t.Helper()
	m, err := src.Mechanism(ev)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAddIsTotalPlusFreshNoise(t *testing.T) {
	wide, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	for _, ev := range []dp.Event{
		dp.Laplace{Sensitivity: one, Scale: dp.Scale{Num: 60, Den: 1}},
		dp.Gaussian{Sensitivity: one, Scale: dp.Scale{Num: 60, Den: 1}},
	} {
		m := mechanism(t, fixed(t), ev)
		e := exactLaplace(m.Scale())
		if _, ok := ev.(dp.Gaussian); ok {
			e = exactGaussian(m.Scale())
		}
		for _, total := range []*big.Int{new(big.Int), big.NewInt(-7), wide} {
			before, out := new(big.Int).Set(total), make([]int64, 60_000)
			for i := range out {
				x, err := m.Add(total)
				if err != nil {
					t.Fatal(err)
				}
				if x.Sub(x, total); !x.IsInt64() {
					t.Fatal("noise beyond 64 bits")
				}
				out[i] = x.Int64()
			}
			if total.Cmp(before) != 0 {
				t.Fatal("the total was changed")
			}
			if err := checkLaw(out, e); err != nil {
				t.Errorf("%T on %s: %v", ev, total, err)
			}
		}
	}
}

// The product source: two of them never agree (64 samples among 2^51 values: by chance once in 10^11 runs), nor does one with
// itself.
func TestProductSourceIsFresh(t *testing.T) {
	seen := map[int64]bool{}
	for range 2 {
		m := mechanism(t, NewSource(), dp.Laplace{Sensitivity: one, Scale: dp.Scale{Num: 1<<50 - 1, Den: 1}})
		for range 64 {
			x, err := m.Add(new(big.Int))
			if err != nil {
				t.Fatal(err)
			}
			if seen[x.Int64()] {
				t.Fatalf("%s came twice", x)
			}
			seen[x.Int64()] = true
		}
	}
}

func TestSourceServesManyGoroutines(t *testing.T) {
	src := NewSource()
	out := make([][]int64, 8)
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() {
			out[i] = make([]int64, 20_000)
			for at := 0; at < len(out[i]); at += 100 {
				if err := src.fill(newLaplace(dp.Scale{Num: 60, Den: 1}), out[i][at:at+100]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var all []int64
	for _, o := range out {
		all = append(all, o...)
	}
	// No fixed stream here: which goroutine gets what depends on the schedule. Eight checks at 1e-12 each.
	if err := checkLaw(all, exactLaplace(dp.Scale{Num: 60, Den: 1})); err != nil {
		t.Fatal(err)
	}
}

func TestFailingRandomnessIsAnError(t *testing.T) {
	ev := dp.Gaussian{Sensitivity: one, Scale: dp.Scale{Num: 5, Den: 2}}
	if _, err := newSource(failing{}).Mechanism(ev); !errors.Is(err, errBroken) {
		t.Fatalf("made from a failing source: %v", err)
	}
	// Zeros alone would make a rejection loop run for ever if the error were not looked at; a short read is a failure.
	for _, r := range []io.Reader{
		iotest.ErrReader(errBroken), iotest.TimeoutReader(strings.NewReader(strings.Repeat("\x00", streamBytes+5))),
		strings.NewReader("short"),
	} {
		if _, err := newSource(r).Mechanism(ev); err == nil {
			t.Fatal("no error")
		}
	}
	for _, reads := range []int{1, 2, 5} {
		r := &failsLater{left: reads, next: fixed(t).reader}
		src := newSource(r)
		m, err := src.Mechanism(ev)
		for n := 0; err == nil; n++ {
			var x *big.Int
			if x, err = m.Add(new(big.Int)); err != nil && x != nil {
				t.Fatal("a number beside an error")
			}
			if n > 1e5 {
				t.Fatal("never fails")
			}
		}
		if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		if m != nil {
			if x, err := m.Add(new(big.Int)); err == nil || x != nil {
				t.Fatal("works again after a failure")
			}
		}
	}
}

// failsLater reads from another reader a number of times.
type failsLater struct {
	left int
	next io.Reader
}

func (f *failsLater) Read(b []byte) (int, error) {
	if f.left == 0 {
		return 0, errBroken
	}
	f.left--
	return f.next.Read(b)
}

func TestSampleBeyond64BitsIsAnError(t *testing.T) {
	huge := laplaceLaw{num: math.MaxUint64, den: 1} // no valid scale
	if err := fixed(t).fill(huge, make([]int64, 1000)); !errors.Is(err, errRange) {
		t.Fatal(err)
	}
}

func TestZeroValuesAndWrongEventsAreErrors(t *testing.T) {
	good := dp.Scale{Num: 1, Den: 1}
	for _, ev := range []dp.Event{
		nil, dp.Laplace{}, dp.Gaussian{}, dp.Laplace{Scale: good}, dp.Laplace{Sensitivity: one}, dp.Gaussian{Sensitivity: one},
		dp.Gaussian{Sensitivity: one, Scale: dp.Scale{Num: 1}}, dp.Laplace{Sensitivity: one, Scale: dp.Scale{Num: dp.MaxScale + 1, Den: 1}},
		dp.Selection{Groups: 1, Scale: good, Threshold: 20, Delta: 1e-6}, &dp.Laplace{Sensitivity: one, Scale: good}, other{},
	} {
		if m, err := fixed(t).Mechanism(ev); err == nil || m != nil && m.law != nil {
			t.Errorf("%#v: %v", ev, err)
		}
	}
	for _, ev := range []dp.Event{nil, dp.Laplace{}, dp.Gaussian{}, dp.Selection{}, other{}} {
		if _, err := DistributionOf(ev); err == nil {
			t.Errorf("%#v has a law", ev)
		}
	}
	for _, src := range []*Source{nil, {}} {
		if _, err := src.Mechanism(dp.Laplace{Sensitivity: one, Scale: good}); !errors.Is(err, errNoSource) {
			t.Errorf("zero source: %v", err)
		}
	}
	if _, err := new(Mechanism).Add(new(big.Int)); err == nil {
		t.Error("a zero mechanism adds")
	}
	if _, _, err := new(Selector).Keep(5); err == nil {
		t.Error("a zero selector keeps")
	}
	if d := (Distribution{}); !math.IsNaN(d.Variance()) || !math.IsNaN(d.StdDev()) || d.Quantile975() != math.MaxInt64 {
		t.Error("a zero distribution has numbers")
	}
}

type other struct{}

func (other) Name() string    { return "other" }
func (other) Validate() error { return nil }

func TestSamplesAreWiped(t *testing.T) {
	st := fixed(t).take()
	for range 10 {
		st.word()
	}
	for _, b := range st.buf[:st.next] {
		if b != 0 {
			t.Fatal("a used word is still there")
		}
	}
	m := mechanism(t, fixed(t), dp.Laplace{Sensitivity: one, Scale: dp.Scale{Num: 1 << 40, Den: 1}})
	if _, err := m.Add(new(big.Int)); err != nil {
		t.Fatal(err)
	}
	if m.ahead.batch[m.ahead.left] != 0 {
		t.Fatal("a used sample is still there")
	}
}

// What a mechanism says it ran is what it was made from, and comes back from the ledger's JSON.
func TestEventRoundTrip(t *testing.T) {
	src := fixed(t)
	rapid.Check(t, func(t *rapid.T) {
		s := dp.Sensitivity{
			PerGroup: rapid.Uint64Range(1, dp.MaxSensitivity).Draw(t, "per group"),
			Groups:   rapid.Uint64Range(1, dp.MaxSensitivity).Draw(t, "groups"),
		}
		scale := drawScale(t)
		m, err := src.Mechanism(dp.Laplace{Sensitivity: s, Scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, m.Event(), dp.Laplace{Sensitivity: s, Scale: scale}, new(dp.Laplace))
		if m, err = src.Mechanism(dp.Gaussian{Sensitivity: s, Scale: scale}); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, m.Event(), dp.Gaussian{Sensitivity: s, Scale: scale}, new(dp.Gaussian))
		if m.Scale() != scale {
			t.Fatalf("scale %v", m.Scale())
		}
	})
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface{ Fatalf(string, ...any) }

func roundTrip[E comparable](t fataler, got dp.Event, want E, back *E) {
	if any(got) != any(want) {
		t.Fatalf("event %v, made from %v", got, want)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := json.Unmarshal(text, back); err != nil || *back != want {
		t.Fatalf("%s came back as %v: %v", text, *back, err)
	}
}
