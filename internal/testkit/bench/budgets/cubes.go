package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/engine/price"
)

// The cube of the table: its columns' numbers of values, and its price. The other ways have its charge.
var cubeValues = []int{10, 5, 4}

const cubePrice = 2

// level is a set of columns, as bits.
type level uint

func (l level) has(i int) bool { return l>>i&1 == 1 }

func (l level) isIn(m level) bool { return l&^m == 0 }

// product is that of f over some columns.
func product(of level, f func(n float64) float64) float64 {
	p := 1.0
	for i, n := range cubeValues {
		if of.has(i) {
			p *= f(float64(n))
		}
	}
	return p
}

// cubeErrors are the mean squares of a count's noise at each level, where one with a variance of 1 is charged 1/2 (zero-concentrated), and all of them together 1/2.
//
// Columns span orthogonal residual spaces (Xiao, He, Kifer 2023): a level's noisy table tells the residual of each of its parts, with its own variance times the cells that are added up, independent of the others. Least squares weigh what several levels tell of one residual by their variances. A cell has of a residual its variance times that of the projection, over the squares of the cells it is spread over.
type cubeErrors struct {
	separate float64           // each level by a statement of its own
	finest   map[level]float64 // the finest level alone, whose cells are added up
	cube     map[level]float64 // all levels alike, adjusted
	planner  map[level]float64 // the least sum of variances of any noise that is added to linear measurements
	levels   []level
}

func errorsOfCube() cubeErrors {
	e := cubeErrors{finest: map[level]float64{}, cube: map[level]float64{}, planner: map[level]float64{}}
	all := level(1)<<len(cubeValues) - 1
	for l := range all + 1 {
		e.levels = append(e.levels, l)
	}
	e.separate = float64(len(e.levels))
	size := func(n float64) float64 { return n }
	residual := func(n float64) float64 { return 1 - 1/n }
	spread := func(n float64) float64 { return 1 / (n * n) }
	known, least := map[level]float64{}, map[level]float64{} // of a residual, its variance
	total := 0.0
	cost := map[level]float64{}
	for _, r := range e.levels {
		precision := 0.0
		for _, l := range e.levels {
			if r.isIn(l) {
				precision += 1 / (e.separate * product(l&^r, size))
				cost[r] += product(r, residual) * product(l&^r, spread)
			}
		}
		known[r] = 1 / precision
		total += math.Sqrt(product(r, residual) * cost[r])
	}
	for _, r := range e.levels {
		least[r] = total * math.Sqrt(product(r, residual)/cost[r])
	}
	for _, l := range e.levels {
		e.finest[l] = product(all&^l, size)
		for _, r := range e.levels {
			if r.isIn(l) {
				part := product(r, residual) * product(l&^r, spread)
				e.cube[l] += known[r] * part
				e.planner[l] += least[r] * part
			}
		}
	}
	return e
}

// mean is the root of the mean of variances over levels.
func (e cubeErrors) mean(of map[level]float64) float64 {
	sum := 0.0
	for _, l := range e.levels {
		sum += of[l]
	}
	return math.Sqrt(sum / float64(len(e.levels)))
}

// cubesTable compares a cube with other ways at the same charge, on counts with one row a person.
func cubesTable() (string, error) {
	f, err := filterOf(epsilon, delta, queryPrice, budget.AccountantRDP)
	if err != nil {
		return "", err
	}
	e := errorsOfCube()
	one, err := ask(f, cubePrice/e.separate, price.Gaussian)
	if err != nil {
		return "", err
	}
	own := math.Sqrt(one.variance / e.separate) // of a variance of 1
	var b strings.Builder
	b.WriteString("| grouped by | groups | 8 statements | one GROUP BY a, b, c | cube | least possible |\n|---|---|---|---|---|---|\n")
	names := []string{"a", "b", "c"}
	for _, l := range e.levels {
		var of []string
		for i, name := range names {
			if l.has(i) {
				of = append(of, name)
			}
		}
		groups := product(l, func(n float64) float64 { return n })
		fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.2f | %.2f | %.2f |\n", strings.Join(of, ", "), groups, own*math.Sqrt(e.separate), own*math.Sqrt(e.finest[l]), own*math.Sqrt(e.cube[l]), own*math.Sqrt(e.planner[l]))
	}
	fmt.Fprintf(&b, "| all levels | | %.2f | %.2f | %.2f | %.2f |\n", own*math.Sqrt(e.separate), own*e.mean(e.finest), own*e.mean(e.cube), own*e.mean(e.planner))
	return b.String(), nil
}
