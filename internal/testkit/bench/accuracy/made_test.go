package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/noise"
)

func verifier(t testing.TB) string {
	t.Helper()
	v, err := policy.MakeVerifier("bench", policy.DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// read is what the print gives of the tables, each row as text, in order.
func read(t *testing.T, s *scan, p *printed) (text []string) {
	t.Helper()
	rows, err := s.world.read(context.Background(), p.st)
	if err != nil {
		t.Fatal(err)
	}
	return texts(rows)
}

func texts(rows [][]secret.Value) (text []string) {
	for _, row := range rows {
		line := ""
		for _, v := range row {
			line += fmt.Sprint(secret.Open(v), " ")
		}
		text = append(text, line)
	}
	slices.Sort(text)
	return text
}

// TestMadeSkew: what the figures of skew tell the release in place of scans is what the scans give of such tables, measured and cut.
func TestMadeSkew(t *testing.T) {
	often := []uint64{9, 4, 4, 1}
	var values []string
	for key, n := range often {
		for range n {
			values = append(values, fmt.Sprintf("(%d, %d)", len(values)/skewRows, key))
		}
	}
	for _, most := range []uint64{0, 3, 5, 50} {
		m := skewJoin(most)
		m.tables = append(m.tables, "INSERT INTO visits VALUES "+strings.Join(values, ", "), "INSERT INTO people SELECT DISTINCT person FROM visits")
		s, err := m.open(context.Background(), verifier(t))
		if err != nil {
			t.Fatal(err)
		}
		cut := most
		if most == 0 {
			cut = math.MaxUint64
		}
		if _, err := (skewed{often: often}).error(context.Background(), s, cut); err != nil {
			t.Fatal(err)
		}
		if (s.often != nil) != (most == 0) {
			t.Errorf("cap %d: frequencies are measured: %t", most, s.often != nil)
		} else if s.often != nil {
			if got, want := texts(s.often.rows), read(t, s, s.often); !slices.Equal(got, want) {
				t.Errorf("told frequencies %v, the scan gives %v", got, want)
			}
		}
		if got, want := texts(s.first.rows), read(t, s, &s.first); !slices.Equal(got, want) {
			t.Errorf("cap %d: told %v, the scan gives %v", most, got, want)
		}
		if err := s.world.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMadeKinds: flows are drawn of the pairs that the scan gives, and Draw's answers and caps have the law of Read's: 400 and 400 do not differ by more than chance does with a probability of 1e-9 (Hoeffding's inequality at each threshold of both), while those at a thirty-second of the price do.
func TestMadeKinds(t *testing.T) {
	const draws = 400
	ctx := context.Background()
	table := traded{suppliers: 6, customers: 20, each: 3, exponent: 1}
	pairs := table.rows(baseline.NewRandom())
	var customers, suppliers, values []string
	for i := range table.customers {
		customers = append(customers, fmt.Sprintf("(%d)", i))
	}
	for i := range table.suppliers {
		suppliers = append(suppliers, fmt.Sprintf("(%d)", i))
	}
	for _, p := range pairs {
		values = append(values, fmt.Sprintf("(%d, %d)", p[0], p[1]))
	}
	fill := []string{"INSERT INTO customers VALUES " + strings.Join(customers, ", "), "INSERT INTO suppliers VALUES " + strings.Join(suppliers, ", "), "INSERT INTO trades VALUES " + strings.Join(values, ", ")}
	var drawn [2][2][]float64 // by price: answers and caps of Draw
	var whole [2][]float64    // and of Read, at the first
	for i, epsilon := range []float64{8, 0.25} {
		m := table.count(epsilon)
		m.tables = append(m.tables, fill...)
		s, err := m.open(ctx, verifier(t))
		if err != nil {
			t.Fatal(err)
		}
		src := noise.NewSource()
		if i == 0 {
			rows, err := s.world.read(ctx, s.first.st)
			if err != nil {
				t.Fatal(err)
			}
			for range draws {
				maker, err := release.New(s.Analysis, s.Plan, src, 10)
				if err != nil {
					t.Fatal(err)
				}
				r, err := maker.Read(s.first.st.Columns, enginetest.NewReplay(rows))
				if err != nil {
					t.Fatal(err)
				}
				add(&whole, r)
			}
		}
		if _, err := s.ask(ctx, pairs, 1); err != nil {
			t.Fatal(err)
		}
		for range draws {
			r, err := s.release(ctx, src)
			if err != nil {
				t.Fatal(err)
			}
			add(&drawn[i], r)
		}
		if err := s.world.close(); err != nil {
			t.Error(err)
		}
	}
	limit := 2 * math.Sqrt(math.Log(16*draws/1e-9)/(2*draws)) // 2 figures, 2 draws thresholds of 2 samples, 2 sides
	for k, what := range []string{"answers", "caps"} {
		if d := apart(drawn[0][k], whole[k]); d > limit {
			t.Errorf("%s of Draw and Read are %.3f apart, chance makes %.3f", what, d, limit)
		}
	}
	if d := max(apart(drawn[1][0], whole[0]), apart(drawn[1][1], whole[1])); d < limit {
		t.Errorf("those at a thirty-second of the price are %.3f apart, chance makes %.3f", d, limit)
	}
}

func add(to *[2][]float64, r *release.Release) {
	answer, _ := r.Groups[0].Values[0].Float64()
	to[0], to[1] = append(to[0], answer), append(to[1], float64(r.Chosen[0]))
}

// apart is the largest difference of two samples' distribution functions.
func apart(a, b []float64) (d float64) {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	for _, x := range slices.Concat(a, b) {
		upTo := func(s []float64) float64 {
			return float64(sort.Search(len(s), func(i int) bool { return s[i] > x })) / float64(len(s))
		}
		d = max(d, math.Abs(upTo(a)-upTo(b)))
	}
	return d
}
