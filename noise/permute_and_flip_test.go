package noise

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsql/dpsql/internal/base/dp"
)

// pickLaw is permute-and-flip's law, from all orders of the candidates: each is taken at its turn with probability exp(-(m - q)/b), if none was before.
func pickLaw(rows []int64, b float64) []float64 {
	out := make([]float64, len(rows))
	most := rows[0]
	for _, n := range rows {
		most = max(most, n)
	}
	orders := 0
	var walk func(left []int, alive float64)
	var sum func(n int) int
	sum = func(n int) int {
		if n <= 1 {
			return 1
		}
		return n * sum(n-1)
	}
	orders = sum(len(rows))
	walk = func(left []int, alive float64) {
		for i, r := range left {
			p := math.Exp(-float64(most-rows[r]) / b)
			rest := append(append([]int{}, left[:i]...), left[i+1:]...)
			out[r] += alive * p * float64(sum(len(rest)))
			walk(rest, alive*(1-p))
		}
	}
	all := make([]int, len(rows))
	for i := range all {
		all[i] = i
	}
	walk(all, 1/float64(orders))
	return out
}

// checkPicks tells how first picks differ from a law, or nil: Pearson's test, at a false-alarm rate of 1e-12.
func checkPicks(s *Source, rows []int64, scale dp.Scale, law []float64) error {
	const n = 40_000
	p, err := s.PermuteAndFlip(dp.Picks{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: scale}, len(rows))
	if err != nil {
		return err
	}
	counts := make([]float64, len(rows))
	for range n {
		out, err := p.Most(rows, 1)
		if err != nil {
			return err
		}
		counts[out[0]]++
	}
	chi := 0.0
	for i, want := range law {
		if want*n < 200 {
			return errors.New("a candidate is too rare for the test")
		}
		chi += (counts[i] - want*n) * (counts[i] - want*n) / (want * n)
	}
	if limit := (distuv.ChiSquared{K: float64(len(rows) - 1)}).Quantile(1 - 1e-12); chi > 1.15*limit {
		return fmt.Errorf("chi-square %.1f, limit %.1f", chi, limit)
	}
	return nil
}

// TestPickFollowsItsLaw: against the law as it is stated; the law of a scale a tenth smaller, of the exponential mechanism, and of a bias to the first of equals fail.
func TestPickFollowsItsLaw(t *testing.T) {
	rows := []int64{7, 10, 3, 10, 5}
	scale := dp.Scale{Num: 9, Den: 2}
	law := pickLaw(rows, 4.5)
	total := 0.0
	for _, p := range law {
		total += p
	}
	if math.Abs(total-1) > 1e-12 || math.Abs(law[1]-law[3]) > 1e-12 {
		t.Fatalf("%v", law)
	}
	if err := checkPicks(fixed(t), rows, scale, law); err != nil {
		t.Error(err)
	}
	exponential, sum := make([]float64, len(rows)), 0.0
	for i, n := range rows {
		exponential[i] = math.Exp(float64(n-10) / 4.5)
		sum += exponential[i]
	}
	for i := range exponential {
		exponential[i] /= sum
	}
	first := append([]float64{}, law...)
	first[1], first[3] = law[1]*1.1, law[3]-law[1]*0.1
	for name, wrong := range map[string][]float64{"a smaller scale": pickLaw(rows, 4.05), "the exponential mechanism": exponential, "a bias to the first": first} {
		if err := checkPicks(fixed(t), rows, scale, wrong); err == nil {
			t.Errorf("the law of %s passes", name)
		}
	}
}

// TestPickLoss: by the law, exactly: with up to d rows more of any candidates none of the probabilities changes by more than exp(d/b), and for some it does by nearly that; with rows that may fall beside others that rise it would
// be more. It holds for the first pick, and pick by pick for the next ones.
func TestPickLoss(t *testing.T) {
	const b, d = 3.0, 2
	worst := 0.0
	loss := func(rows, more []int64) float64 {
		p, q := pickLaw(rows, b), pickLaw(more, b)
		most := 0.0
		for i := range p {
			most = math.Max(most, math.Abs(math.Log(p[i]/q[i])))
		}
		return most
	}
	for n := range 3 * 3 * 3 * 3 {
		for base := range 5 * 5 * 5 {
			rows := []int64{int64(base % 5), int64(base / 5 % 5), int64(base / 25), 4}
			more := []int64{rows[0] + int64(n%3), rows[1] + int64(n/3%3), rows[2] + int64(n/9%3), rows[3] + int64(n/27)}
			l := loss(rows, more)
			if worst = math.Max(worst, l); l > d/b+1e-12 {
				t.Fatalf("%v and %v: loss %g", rows, more, l)
			}
		}
	}
	if worst < 0.9*d/b {
		t.Errorf("the largest loss is %g of %g: the test is too tame", worst, d/b)
	}
	if l := loss([]int64{6, 8, 0, 0}, []int64{8, 6, 0, 0}); l <= d/b {
		t.Errorf("rows that rise and fall lose %g, as monotone ones may", l)
	}
}

// TestPickOneByOne: k picks are of different candidates, the largest first where noise is nothing; equal ones come in any order; what does not fit is an error.
func TestPickOneByOne(t *testing.T) {
	ev := dp.Picks{Sensitivity: dp.Sensitivity{PerGroup: 1, Groups: 1}, Scale: dp.Scale{Num: 1, Den: 1 << 10}}
	p, err := fixed(t).PermuteAndFlip(ev, 4)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		out, err := p.Most([]int64{5, 9, 0, 7}, 4)
		if err != nil || fmt.Sprint(out) != "[1 3 0 2]" {
			t.Fatalf("%v, %v", out, err)
		}
	}
	seen := map[int]bool{}
	for range 400 { // one of four is missing with a probability below 4 (3/4)^400 < 1e-49
		out, err := p.Most(make([]int64, 4), 1)
		if err != nil {
			t.Fatal(err)
		}
		seen[out[0]] = true
	}
	if len(seen) != 4 {
		t.Errorf("of equal ones only %v are picked", seen)
	}
	for name, f := range map[string]func() error{
		"fewer candidates": func() error { _, err := p.Most([]int64{1, 2, 3}, 1); return err },
		"too many picks":   func() error { _, err := p.Most(make([]int64, 4), 5); return err },
		"no pick":          func() error { _, err := p.Most(make([]int64, 4), 0); return err },
		"rows below 0":     func() error { _, err := p.Most([]int64{0, -1, 0, 0}, 1); return err },
		"no candidates":    func() error { _, err := fixed(t).PermuteAndFlip(ev, 0); return err },
		"no scale":         func() error { _, err := fixed(t).PermuteAndFlip(dp.Picks{Sensitivity: ev.Sensitivity}, 4); return err },
		"zero value":       func() error { _, err := (&PermuteAndFlip{}).Most(nil, 1); return err },
		"no randomness":    func() error { _, err := (&Source{}).PermuteAndFlip(ev, 4); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
