package main

import (
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/mlext/synth"
	"github.com/dpsql/dpsql/noise"
)

// synthetic prints how far synthetic rows of Adult are from the real ones, by the mean total variation of all binned pairs of columns, and what a logistic regression learns of them, beside TRAIN at the same epsilon.
func synthetic(folder string, runs int) error {
	s, err := adult(folder)
	if err != nil {
		return err
	}
	columns := append(slices.Clone(s.features), s.target)
	cuts, sizes := make([][]int64, len(columns)), make([]int, len(columns))
	for i := range columns {
		if sizes[i] = len(columns[i].Levels); columns[i].Levels == nil {
			cuts[i] = columns[i].Cut(16)
			sizes[i] = len(cuts[i]) - 1
		}
	}
	auto := row{data: "adult", model: logistic, method: "auto", delta: 1e-6}
	fmt.Print("| epsilon | total variation of pairs, mean | largest | accuracy of a model of the rows | accuracy of TRAIN | seconds |\n|---|---|---|---|---|---|\n")
	for _, epsilon := range []float64{0.5, 1, 2} {
		trained, err := auto.train(s, epsilon, runs)
		if err != nil {
			return err
		}
		var means, worsts, accuracies, seconds []float64
		for range runs {
			started := time.Now()
			drawn, err := s.synthesize(columns, cuts, sizes, epsilon, auto.delta)
			if err != nil {
				return err
			}
			seconds = append(seconds, time.Since(started).Seconds())
			mean, worst := variation(s.binned(s.train, cuts), s.binned(drawn, cuts), sizes)
			other := *s
			other.train = drawn
			m, err := auto.withoutPrivacy(&other)
			if err != nil {
				return err
			}
			means, worsts, accuracies = append(means, mean), append(worsts, worst), append(accuracies, m.accuracies[0])
		}
		for _, list := range [][]float64{means, worsts, accuracies, seconds} {
			slices.Sort(list)
		}
		fmt.Printf("| %g | %.4f | %.3f | %.2f | %.2f | %.1f |\n", epsilon, middle(means), middle(worsts), middle(accuracies), middle(trained.accuracies), middle(seconds))
	}
	return nil
}

// binned are rows by the bins of their values.
func (s *set) binned(rows [][]int64, cuts [][]int64) [][]int {
	out := make([][]int, len(rows))
	for r, row := range rows {
		out[r] = make([]int, len(row))
		for i, v := range row {
			if out[r][i] = int(v); cuts[i] != nil {
				out[r][i] = sort.Search(len(cuts[i]), func(k int) bool { return cuts[i][k] > v }) - 1
			}
		}
	}
	return out
}

// synthesize makes synthetic rows of the training's.
func (s *set) synthesize(columns []mlext.Feature, cuts [][]int64, sizes []int, epsilon, delta float64) ([][]int64, error) {
	d, err := synth.NewDesign(sizes, 1, synth.MuOf(epsilon, delta))
	if err != nil {
		return nil, err
	}
	counts := d.Counts()
	for _, row := range s.binned(s.train, cuts) {
		if err := counts.Add(0, row); err != nil {
			return nil, err
		}
	}
	measured, err := counts.Measure(noise.NewSource())
	if err != nil {
		return nil, err
	}
	model, err := measured.Fit(func(int, int) error { return nil })
	if err != nil {
		return nil, err
	}
	draw := synth.NewDraw(rand.Reader)
	out := make([][]int64, int(measured.Total))
	for r := range out {
		out[r] = make([]int64, len(columns))
	}
	for i, bins := range model.Sample(len(out), draw) {
		for r, b := range bins {
			if out[r][i] = int64(b); cuts[i] != nil {
				out[r][i] = cuts[i][b] + draw.Below(cuts[i][b+1]-cuts[i][b])
			}
		}
	}
	return out, nil
}

// variation is the total variation between the distributions of each pair of columns: its mean, and the largest.
func variation(a, b [][]int, sizes []int) (mean, worst float64) {
	pairs := 0
	for i := range sizes {
		for j := range i {
			shares := make([]float64, sizes[i]*sizes[j])
			for _, r := range a {
				shares[r[i]*sizes[j]+r[j]] += 1 / float64(len(a))
			}
			for _, r := range b {
				shares[r[i]*sizes[j]+r[j]] -= 1 / float64(len(b))
			}
			sum := 0.0
			for _, v := range shares {
				sum += math.Abs(v) / 2
			}
			mean, worst, pairs = mean+sum, math.Max(worst, sum), pairs+1
		}
	}
	return mean / float64(pairs), worst
}
