package attacker

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
)

// Seen is everything that an analyst sees of one statement.
type Seen struct {
	Rows  [][]string // NULL is "NULL"
	Keys  int        // how many of the first columns name the row
	Notes []string   // errors, notices, warnings, columns, prices
}

// features are the numbers of a draw, by name. What is not there is not in the map, and that it is there is a feature too.
func features(all []Seen) map[string]float64 {
	out := map[string]float64{}
	for i, s := range all {
		name := func(format string, args ...any) string { return fmt.Sprintf("%d ", i) + fmt.Sprintf(format, args...) }
		nulls := 0
		for r, row := range s.Rows {
			key := fmt.Sprint(row[:min(s.Keys, len(row))])
			out[name("row %s", key)] = 1
			for c, v := range row[min(s.Keys, len(row)):] {
				if v == "NULL" {
					nulls++
				}
				addText(out, name("cell %s %d", key, c), v)
				if s.Keys > 0 { // also by where it stands
					addText(out, name("place %d %d", r, c), v)
				}
			}
		}
		out[name("rows")], out[name("nulls")] = float64(len(s.Rows)), float64(nulls)
		for n, note := range s.Notes {
			addText(out, name("note %d", n), note)
		}
	}
	return out
}

var numeral = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?`)

// addText adds a text's numbers, and the text without them as a word.
func addText(out map[string]float64, name, text string) {
	out[name+" "+numeral.ReplaceAllString(text, "#")] = 1
	for i, n := range numeral.FindAllString(text, 12) {
		if f, err := strconv.ParseFloat(n, 64); err == nil {
			out[fmt.Sprintf("%s #%d", name, i)] = f
		}
	}
}

// classifier is a logistic regression over the features that tell most, each in units of its spread and cut at far values.
type classifier struct {
	names        []string
	centre, unit []float64
	weights      []float64 // the last is the intercept
}

const mostFeatures = 64

// train fits a classifier to draws with the target and without.
func train(draws []map[string]float64, in []bool) (*classifier, error) {
	names := map[string]bool{}
	for _, d := range draws {
		for n := range d {
			names[n] = true
		}
	}
	type scored struct {
		name              string
		centre, unit, gap float64
	}
	var list []scored
	for n := range names {
		var have []float64
		for _, d := range draws {
			if v, ok := d[n]; ok {
				have = append(have, v)
			}
		}
		s := scored{name: n, unit: 1}
		if len(have) == len(draws) { // always there: by its quartiles
			sorted := slices.Sorted(slices.Values(have))
			s.centre = stat.Quantile(0.5, stat.Empirical, sorted, nil)
			s.unit = stat.Quantile(0.75, stat.Empirical, sorted, nil) - stat.Quantile(0.25, stat.Empirical, sorted, nil)
			if s.unit == 0 {
				s.unit = math.Max(sorted[len(sorted)-1]-s.centre, s.centre-sorted[0])
			}
			if s.unit == 0 {
				continue
			}
		}
		x := make([]float64, len(draws))
		y := make([]float64, len(draws))
		for i, d := range draws {
			v, ok := d[n]
			x[i], y[i] = scaled(v, ok, s.centre, s.unit), signed(1, in[i])
		}
		if s.gap = math.Abs(stat.Correlation(x, y, nil)); s.gap > 0 { // NaN where nothing varies
			list = append(list, s)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].gap == list[j].gap {
			return list[i].name < list[j].name
		}
		return list[i].gap > list[j].gap
	})
	list = list[:min(len(list), mostFeatures)]
	c := &classifier{}
	for _, s := range list {
		c.names, c.centre, c.unit = append(c.names, s.name), append(c.centre, s.centre), append(c.unit, s.unit)
	}
	x := make([][]float64, len(draws))
	for i, d := range draws {
		x[i] = c.vector(d)
	}
	c.weights = make([]float64, len(c.names)+1)
	loss := optimize.Problem{
		Func: func(w []float64) float64 {
			sum := floats.Dot(w, w) / 2
			for i := range x {
				sum += softplus(-signed(floats.Dot(w, x[i]), in[i]))
			}
			return sum
		},
		Grad: func(g, w []float64) {
			copy(g, w)
			for i := range x {
				p := 1 / (1 + math.Exp(signed(floats.Dot(w, x[i]), in[i])))
				floats.AddScaled(g, -signed(p, in[i]), x[i])
			}
		},
	}
	best, err := optimize.Minimize(loss, c.weights, &optimize.Settings{MajorIterations: 100}, &optimize.LBFGS{})
	if best == nil {
		return nil, err
	}
	c.weights = best.X // also where the search ended at its limit
	return c, nil
}

func signed(x float64, in bool) float64 {
	if in {
		return x
	}
	return -x
}

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// scaled is a feature's value in units of its spread: 0 where it is not there, so that a word is 1 or 0.
func scaled(v float64, there bool, centre, unit float64) float64 {
	if !there {
		return 0
	}
	return math.Max(-5, math.Min(5, (v-centre)/unit))
}

func (c *classifier) vector(d map[string]float64) []float64 {
	out := make([]float64, len(c.names)+1)
	for i, n := range c.names {
		v, ok := d[n]
		out[i] = scaled(v, ok, c.centre[i], c.unit[i])
	}
	out[len(c.names)] = 1
	return out
}

// guess says whether the target was in.
func (c *classifier) guess(d map[string]float64) bool { return floats.Dot(c.weights, c.vector(d)) > 0 }
