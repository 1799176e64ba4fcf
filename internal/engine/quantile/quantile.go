package quantile

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/sensitivity"
)

// Children give the noisy counts of a node's children. Level 0 has the root alone; the nodes of a level are numbered from 0 on, node p having the children p*fan to
// p*fan + fan - 1. nil: they are not known.
type Children func(level int, node int64) ([]float64, error)

// Reader reads one group's tree.
type Reader struct {
	tree     *sensitivity.Tree
	children Children
	// Error is the 95% half width of a rank in rows, from public numbers alone.
	Error     float64
	deviation float64
	// Wide is how many times as many deviations away the interval's ends are as those of a 95% interval; 0: once. The answer itself goes by Error.
	Wide float64
	// Laplace says that noise may have heavier tails than a Gaussian's.
	Laplace bool
	// Cut is how many of the group's rows may be missing, since bounds cut them.
	Cut float64
}

// Answer is what is read for one quantile: the row below and the row above it, in steps of the tree's grid, and where between them it is. Least and Most are
// the ends of a 95% interval, which reach to the ends of their leaves. Unknown: too few rows are found for an answer.
type Answer struct {
	Below, Above int64
	Part         float64
	Least, Most  int64
	Unknown      bool
}

// NewReader reads a tree whose nodes have noise of a standard deviation.
func NewReader(t *sensitivity.Tree, deviation float64, children Children) (*Reader, error) {
	if t == nil || len(t.Fans) == 0 || !(deviation >= 0) || math.IsInf(deviation, 1) {
		return nil, errors.New("quantile: a tree has no shape, or no noise")
	}
	return &Reader{tree: t, children: children, Error: RankError(t, deviation), deviation: deviation}, nil
}

// EndError is how many rows are beyond the leaf that is read for the least or the greatest at most, but for a probability of miss.
//
// Proof: of the greatest; signs turned for the least. Let k be the result, and w the greatest value at or above which more than k rows are; if there is none, nothing is to be shown. More than k are above the leaf that is read only if that
// leaf is below w's. (1) Where the search leaves the way to w's leaf outward, what it reads is above that leaf. (2) It leaves it inward, or ends on it, at level l only if the noisy count from w's child there on outward, in which more than k
// rows are, is less than surely(t) deviations of it, or a half (outermost). (3) On this way, which the rows alone fix, that count's variance is at most that of all of the root's children, and in each level below (k + 1)/4 of a child's:
// varianceOf has its largest value in the middle, and what is further out has noises that are not positively correlated. (4) So at level l the noise is below -q deviations, of which the probability is miss/L for each of L levels: q is the larger of the normal quantile and
// that of one Laplace noise, whose tail is the heaviest of sums of the same variance. The union bound over levels is miss. Nothing but public numbers is read.
func EndError(t *sensitivity.Tree, deviation, miss float64) float64 {
	sum := float64(t.Fans[0]) // (3) the count's largest variance
	for _, k := range t.Fans[1:] {
		sum += float64(k+1) / 4
	}
	each := miss / float64(len(t.Fans)) // (4) a part for each level
	q := math.Max(math.Sqrt2*math.Erfcinv(2*each), math.Log(1/(2*each))/math.Sqrt2)
	deviation *= math.Sqrt(sum)
	return math.Floor(math.Max(0.5, presenceThreshold(t)*deviation) + q*deviation) // (2) left inward by at most so many rows
}

// RankError is the 95% half width of a rank, in rows: of a position within a node of k children, where sums of neighbours are adjusted to the node's own count, the variance is at
// most k/4 times a node's, in the middle; levels add up, and the root's own count is that of its children.
func RankError(t *sensitivity.Tree, deviation float64) float64 {
	sum := 0.0
	for _, k := range t.Fans {
		sum += float64(k) / 4
	}
	return 1.96 * deviation * math.Sqrt(sum)
}

// Find reads a quantile. The least and the greatest of all are what end says. Other ranks that are closer to an end of the rows than the noise tells are moved to where it does, Error from the end; among no more
// rows than that it is the median. It is Unknown of no rows. The least and the greatest are Unknown too
// where half of the people may be beyond what is shown: by their noisy number, which is many deviations then, so that it is no lucky noise that passes.
func (r *Reader) Find(q sensitivity.Quantile) (Answer, error) {
	root, err := r.look(0, 0)
	if err != nil {
		return Answer{}, err
	}
	n := math.Round(sum(root))
	if q.Fraction == 0 || q.Fraction == 1 {
		a, found, err := r.end(root, q.Fraction == 0 == q.Descending)
		a.Unknown = !found || n <= 2*EndError(r.tree, r.deviation, 0.05)
		return a, err
	}
	if n < 1 {
		return Answer{Unknown: true}, nil
	}
	edge := math.Min(math.Floor(r.Error), math.Floor((n-1)/2))
	inner := func(rank float64) float64 { return math.Min(math.Max(rank, edge), n-1-edge) }
	rank := math.Max(0, math.Ceil(q.Fraction*n)-1)
	if q.Continuous {
		rank = q.Fraction * (n - 1)
	}
	rank = inner(rank)
	below, above, part := math.Floor(rank), math.Ceil(rank), rank-math.Floor(rank)
	if q.Descending {
		below, above = n-1-below, n-1-above
	}
	out := Answer{Part: part}
	if out.Below, err = r.row(root, below+0.5); err != nil {
		return out, err
	}
	if out.Above, err = r.row(root, above+0.5); err != nil {
		return out, err
	}
	p := q.Fraction
	if q.Descending {
		p = 1 - p
	}
	low, high, err := r.ends(p)
	out.Least, out.Most = min(low, out.Below, out.Above), max(high, out.Below, out.Above)
	return out, err
}

// presenceThreshold is how many standard deviations a noisy count must reach to say that somebody is there. It is looked for at many values, so it is larger than the quantile of one normal
// number: fewer than 5% of draws find somebody where nobody is (TestEnds). An open tree reaches far beyond what anybody has, so there such an answer would be absurd, and it asks for more.
func presenceThreshold(t *sensitivity.Tree) float64 {
	if t.Open {
		return 5
	}
	return 3
}

// end reads the greatest of all values, or the least: the outermost one at which, or beyond which, surely somebody is. The interval reaches from there to the end of the range. found is false where there is none.
func (r *Reader) end(root []float64, top bool) (out Answer, found bool, err error) {
	at, found, err := r.outermost(root, top, presenceThreshold(r.tree))
	t := r.tree
	out = Answer{Below: at, Above: at, Least: t.Lo, Most: t.Hi}
	if r.Wide > 1 && found && err == nil {
		if at, found, err = r.outermost(root, top, presenceThreshold(r.tree)*r.Wide); err != nil || !found {
			return out, true, err // the whole range
		}
	}
	rounding := int64(0) // a value's distance from the step that it was rounded to
	if t.Rounded {
		rounding = 1
	}
	if top {
		out.Least = max(t.Lo, at-rounding)
	} else {
		out.Most = min(t.Hi, at+rounding)
	}
	return out, found, err
}

// outermost is the outermost value from which on outward the noisy count is at least so many standard deviations, and at least a half. It goes down the tree by the outermost child that makes it so: where no
// child does, the value is the node's inner end. found is false where not even the whole tree's count does.
func (r *Reader) outermost(children []float64, top bool, deviations float64) (value int64, found bool, err error) {
	t := r.tree
	node, leaves := int64(0), int64(1)
	for _, k := range t.Fans[1:] {
		leaves *= k
	}
	beyond, variance := 0.0, 0.0 // of what is further out than the node
	shared := false              // the children's counts were brought to their node's, which has less noise than their sum
	for level := 0; ; level++ {
		fan := float64(len(children))
		varianceOf := func(n float64) float64 { // of the sum of n children at one end
			if shared {
				return n*(1-n/fan) + n*n/fan/(fan+1)
			}
			return n
		}
		up, chosen, last := 0.0, -1, 0.0
		for i := range children {
			k := i
			if top {
				k = len(children) - 1 - i
			}
			last = up
			up += children[k]
			need := math.Max(0.5, deviations*r.deviation*math.Sqrt(variance+varianceOf(float64(i+1))))
			if beyond+up >= need {
				chosen = k
				beyond += last
				variance += varianceOf(float64(i))
				break
			}
		}
		if chosen < 0 {
			return r.inward(node, leaves*int64(len(children)), top), level > 0, nil
		}
		node = node*t.Fans[level] + int64(chosen)
		if level == len(t.Fans)-1 {
			return r.inward(node, 1, top), true, nil
		}
		below, err := r.look(level+1, node)
		if err != nil {
			return 0, false, err
		}
		if below == nil {
			return r.inward(node, leaves, top), true, nil
		}
		children = together(below, children[chosen])
		shared = true
		leaves /= t.Fans[level+1]
	}
}

// inward is the end of a node of so many leaves that is further from the range's end.
func (r *Reader) inward(node, leaves int64, top bool) int64 {
	part := 0.0
	if !top {
		part = 1
	}
	return r.within(node, leaves, part)
}

// together brings a node's children to the best estimate of their sum, from their own and from the node's count: one count against the sum of fan counts.
func together(children []float64, count float64) []float64 {
	fan, own := float64(len(children)), sum(children)
	total := (fan*count + own) / (fan + 1)
	out := make([]float64, len(children))
	for i, c := range children {
		out[i] = c + (total-own)/fan
	}
	return out
}

// look gives a node's children, as many as its level's fan; nil where they are not known.
func (r *Reader) look(level int, node int64) ([]float64, error) {
	c, err := r.children(level, node)
	if err == nil && c != nil && int64(len(c)) != r.tree.Fans[level] {
		err = errors.New("quantile: a node has other children")
	}
	return c, err
}

// row is the value of the row at a position from the left of the root, in steps.
func (r *Reader) row(children []float64, at float64) (int64, error) {
	t := r.tree
	node, leaves := int64(0), int64(1) // the node that it is in, and how many leaves one has
	for _, k := range t.Fans[1:] {
		leaves *= k
	}
	for level := 0; ; level++ {
		upTo := ascending(children)
		k := 0
		for k < len(upTo)-1 && upTo[k] <= at {
			k++
		}
		before := 0.0
		if k > 0 {
			before = upTo[k-1]
		}
		count := upTo[k] - before
		part := 0.5
		if count > 0 {
			part = math.Min(math.Max((at-before)/count, 0), 1)
		}
		node = node*t.Fans[level] + int64(k)
		if level == len(t.Fans)-1 {
			return r.within(node, 1, part), nil
		}
		below, err := r.look(level+1, node)
		if err != nil {
			return 0, err
		}
		if below == nil || count <= 0 {
			return r.within(node, leaves, part), nil
		}
		children = together(below, count)
		total := sum(children)
		if total < 1 {
			return r.within(node, leaves, part), nil
		}
		at = part * total
		leaves /= t.Fans[level+1]
	}
}

// within is a part of the way through a node of so many leaves, in steps: of one leaf of one step that step.
func (r *Reader) within(node, leaves int64, part float64) int64 {
	t := r.tree
	first := min(node*leaves, t.Count-1)
	last := min(first+leaves, t.Count) // no leaf of it
	lo, _ := t.Leaf(first)
	_, hi := t.Leaf(last - 1)
	switch { // an open tree has no other parts, and their distance may be no int64
	case part <= 0:
		return lo
	case part >= 1:
		return hi
	}
	return min(lo+int64(math.Floor(part*float64(hi-lo+1))), hi)
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// ascending are the sums up to each count, with the least change, in squares, that makes them ascend from 0 to the whole sum: isotonic regression by pooling neighbours (Barlow,
// Bartholomew, Bremner, Brunk 1972), which on exact counts changes nothing.
func ascending(counts []float64) []float64 {
	type pool struct{ mean, size float64 }
	whole := math.Max(0, sum(counts))
	var pools []pool
	up := 0.0
	for i, c := range counts {
		up += c
		v := up
		if i == len(counts)-1 {
			v = whole
		}
		pools = append(pools, pool{v, 1})
		for n := len(pools); n > 1 && pools[n-2].mean > pools[n-1].mean; n = len(pools) {
			a, b := pools[n-2], pools[n-1]
			pools = append(pools[:n-2], pool{(a.mean*a.size + b.mean*b.size) / (a.size + b.size), a.size + b.size})
		}
	}
	var out []float64
	for _, p := range pools {
		for range int(p.size) {
			out = append(out, math.Min(math.Max(p.mean, 0), whole))
		}
	}
	out[len(out)-1] = whole
	return out
}
