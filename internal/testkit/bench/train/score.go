package main

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"

	"github.com/dpsql/dpsql/mlext"
)

// z is a model's score of a row.
func (s *set) z(m *mlext.Model, score *mlext.Score, row []int64) float64 {
	z := score.Intercept
	for i := range m.Features {
		f := &m.Features[i]
		if f.Levels == nil {
			x := f.Lo + float64(row[i]-f.From)/float64(f.To-f.From)*(f.Hi-f.Lo)
			z += score.Coefficients[i][0] * x
			if at := sort.SearchFloat64s(f.Bins, x); at < len(f.Bins) {
				z += score.Coefficients[i][1+at]
			}
		} else {
			z += score.Coefficients[i][row[i]]
		}
	}
	return z
}

// scores are a model's scores of a row.
func (s *set) scores(m *mlext.Model) func(row []int64) []float64 {
	if !m.IsOfImages() {
		return func(row []int64) []float64 {
			var zs []float64
			for k := range m.Scores {
				zs = append(zs, s.z(m, &m.Scores[k], row))
			}
			return m.Through(zs)
		}
	}
	of, elements := m.ScoresOfImages(), make([]float32, m.Features[0].Length)
	return func(row []int64) []float64 {
		for i := range elements {
			elements[i] = float32(row[i]) / float32(m.Features[0].To)
		}
		return of(elements)
	}
}

// score is the share of the test rows that a model is right about and, of one score, the area under its curve and the mean loss of its
// probabilities, ln(1 / the probability of what is so).
func (s *set) score(m *mlext.Model) (accuracy, auc, loss float64) {
	right := 0
	type scored struct {
		z   float64
		yes bool
	}
	var all []scored
	scores := s.scores(m)
	for _, row := range s.test {
		zs := scores(row)
		y, best, most := row[len(row)-1], 0, 0.0
		for k, z := range zs {
			if k == 0 || z > most {
				best, most = k, z
			}
		}
		if len(zs) == 1 {
			best = int(bit(most > 0))
			all = append(all, scored{most, y == 1})
		}
		if int64(best) == y {
			right++
		}
	}
	if all != nil {
		slices.SortFunc(all, func(a, b scored) int {
			if a.z < b.z {
				return -1
			}
			return int(bit(a.z > b.z))
		})
		for _, v := range all {
			z := v.z
			if v.yes {
				z = -z
			}
			loss += math.Log1p(math.Exp(-math.Abs(z))) + max(0, z)
		}
		loss /= float64(len(all))
		zs, classes := make([]float64, len(all)), make([]bool, len(all))
		for i, v := range all {
			zs[i], classes[i] = v.z, v.yes
		}
		tpr, fpr, _ := stat.ROC(nil, zs, classes, nil)
		auc = integrate.Trapezoidal(fpr, tpr)
	}
	return float64(right) / float64(len(s.test)), auc, loss
}
