package mlext

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// binsOption is into how many bins the range of each number is cut. A linear model then has a coefficient for each bin beside the slope: its score is a sum of step functions, one of each feature, as that of an explainable boosting machine (Nori, Caruana, Bu, Shen, Kulkarni 2021) is.
const binsOption = "bins"

// hasBins says that some number is cut into bins.
func (t *Training) hasBins() bool {
	return slices.ContainsFunc(t.parts, func(p []partition) bool { return p != nil })
}

// partition cuts a range of steps: the first steps, counted from the range's beginning, of all bins but the first.
type partition []int64

// bin is the bin that a step is in.
func (p partition) bin(n int64) int {
	return sort.Search(len(p), func(i int) bool { return p[i] > n })
}

// partitions are a number's, from public facts alone: bins of one width and, where the range begins at 0 as that of amounts and counts does, of one width of the logarithm.
func (f *Feature) partitions(bins int) (out []partition) {
	most := f.To - f.From
	if bins < 2 || f.Levels != nil || f.Length > 0 || most < 2 {
		return nil
	}
	cut := func(at func(part float64) float64) (p partition) {
		for j := range bins - 1 {
			if n := int64(math.Ceil(at(float64(j+1) / float64(bins)))); n > 0 && n <= most && (len(p) == 0 || n > p[len(p)-1]) {
				p = append(p, n)
			}
		}
		return p
	}
	out = append(out, cut(func(part float64) float64 { return part * float64(most+1) }))
	if f.Lo == 0 {
		if p := cut(func(part float64) float64 { return math.Expm1(part * math.Log1p(float64(most))) }); !slices.Equal(p, out[0]) {
			out = append(out, p)
		}
	}
	return out
}

// bins appends 1 for the bin of each partition that a step is in and 0 for the others, times scale.
func (f *Feature) bins(list []partition, n int64, scale float64, into []float64) []float64 {
	for _, p := range list {
		at := len(into)
		into = append(into, make([]float64, len(p)+1)...)
		into[at+p.bin(n-f.From)] = scale
	}
	return into
}

// binWidth is how many numbers partitions are encoded as.
func binWidth(list []partition) (n int) {
	for _, p := range list {
		n += len(p) + 1
	}
	return n
}

// withBins joins partitions to one, and their coefficients to one of each of its bins but the last, whose own is given apart: who adds it to the intercept makes that of the last one 0.
func (f *Feature) withBins(list []partition, next func() float64) (out Feature, each []float64, last float64) {
	var all partition
	values := make([][]float64, len(list))
	for i, p := range list {
		all = append(all, p...)
		for range len(p) + 1 {
			values[i] = append(values[i], next())
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	of := func(n int64) (sum float64) {
		for i, p := range list {
			sum += values[i][p.bin(n)]
		}
		return sum
	}
	out = *f
	last = of(f.To - f.From)
	from := int64(0)
	for _, n := range all {
		each, from = append(each, of(from)-last), n
		out.Bins = append(out.Bins, f.Lo+(float64(n)-0.5)/float64(f.To-f.From)*(f.Hi-f.Lo)) // between two steps
	}
	return out, each, last
}

// step writes the coefficient of the bin that a number is in; a NULL is in the one of missing, or NULL where that is NaN.
func (f *Feature) step(x string, of []float64, missing float64) string {
	var b strings.Builder
	b.WriteString("(CASE")
	for j, end := range f.Bins {
		fmt.Fprintf(&b, " WHEN CAST(%s AS double precision) < %s THEN %s", f.since(x), number(end), number(of[j]))
	}
	fmt.Fprintf(&b, " WHEN %s IS NOT NULL THEN %s", x, number(0))
	if !math.IsNaN(missing) {
		at := sort.SearchFloat64s(f.Bins, missing)
		v := 0.0
		if at < len(of) {
			v = of[at]
		}
		b.WriteString(" ELSE " + number(v))
	}
	return b.String() + " END)"
}

// binName names a bin.
func (f *Feature) binName(j int) string {
	from := f.Lo
	if j > 0 {
		from = f.Bins[j-1]
	}
	return fmt.Sprintf("%s from %v to %v", f.Name, from, f.Bins[j])
}
