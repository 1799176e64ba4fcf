package finish

import (
	"math"
	"math/big"
	"slices"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/sensitivity"
)

// lostMass is how much bounds may have taken from a measure in all groups together, in its steps.
type lostMass struct {
	above, below lostSide
	base, most   float64 // the sum of the groups' values, and the largest of them
	least        float64 // what a group counts for at least when it is spread among them
	groups       float64
}

// lostSide is what may be lost on one side: as likely more than middle as less, and more than middle and span together as often as an interval may miss. With rare in place of span it is half as often, for all sides of all measures of a release together. Nothing is lost where all are 0.
type lostSide struct{ middle, span, rare float64 }

func (s lostSide) none() bool { return s == lostSide{} }

// The constants of lost mass: found on the made-up data of docs/accuracy.md, and held by bench-honesty on others.
const (
	lostHeavy    = 1.6  // the weight of a tail of shape xi is (1 - xi) to this power
	lostLong     = 0.05 // and of one whose scale is beyond the bound so much of that
	lostPeople   = 1.1  // the part of a choice's threshold that people beyond a bound are expected to be, each losing one unit
	lostOneGroup = 1.4  // by how much more may be lost where there is one group,
	lostSpread   = 2.3  // where a group's part of it may be larger than its part of the values,
	lostCapped   = 3.4  // most of all where people count in one of their groups, so that those in the group may have most of their rows elsewhere; and where a clip may cut a large part of all
	lostFewMiss  = 3e-4 // how often noise alone may tell of a few people far beyond a bound in a class: the interval is useless then
)

// tail is how what people have beyond a bound may be distributed: of what they have up to one sensitivity.LostUnit more, in is the part that counts in each class of sensitivity.LostSteps, and total all that they have.
type tail struct {
	in            []float64
	total, weight float64
}

// tails are generalised Pareto distributions (Pickands 1975) of shapes from about 0, the exponential one, to 0.8, and of scales up to the bound, which is about two units, and seldom up to five times that. heaviest is the largest part that one of the former has in each class and the next.
var tails, heaviest = func() (out []tail, most []float64) {
	most = make([]float64, sensitivity.LostClasses)
	for _, xi := range []float64{0.001, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8} {
		for _, scale := range []float64{0.1, 0.2, 0.4, 0.7, 1, 1.5, 2, 5, 10} {
			all := scale / (1 - xi)
			upTo := func(y float64) float64 { return all * (1 - math.Pow(1+xi*y/scale, 1-1/xi)) }
			t := tail{make([]float64, sensitivity.LostClasses), all / upTo(1), math.Pow(1-xi, lostHeavy)}
			t.in[0] = 1
			for k, step := range sensitivity.LostSteps {
				from, to := float64(step.From), float64(step.To)
				t.in[k+1] = (upTo(to) - upTo(from)) / (to - from) / upTo(1)
				t.in[k] -= t.in[k+1]
			}
			out = append(out, t)
			if scale > 2 {
				out[len(out)-1].weight *= lostLong
				continue
			}
			for k, x := range withNext(t.in) {
				most[k] = math.Max(most[k], x)
			}
		}
	}
	return out, most
}()

// lostOn is what may be lost on a side of which the classes were released. People are expected to lose about expected (+Inf: nothing is known of it) up to one unit each. The law of the rest is Bayes' on
// tails, with normal noise. The tail is an assumption: where the classes tell of more than it gives, as a few people with far more than all others have, what was released is taken as it is.
func lostOn(released []float64, noise lostNoise, expected, miss, rarely float64) lostSide {
	n := noise.deviation
	released = slices.Clone(released)
	for k := range released {
		released[k] = math.Max(released[k], -10*n) // what is lost is not negative, so what is less is noise too
	}
	type part struct{ weight, mean, deviation, total, above float64 } // above: ln P(it is above 0)
	parts, most, sum := make([]part, len(tails)), math.Inf(-1), 0.0
	for i, t := range tails { // given the tail, what is lost up to one unit is normal, cut at 0
		square, product, off := 0.0, 0.0, 0.0
		for k, x := range t.in {
			square, product = square+x*x, product+x*released[k]
		}
		mean, sd := (product-n*n/expected)/square, n/math.Sqrt(square)
		for k, x := range t.in {
			d := (released[k] - x*mean) / n
			off += d * d
		}
		above := lnNormal(mean / sd)
		w := math.Log(t.weight) - off/2 - mean/expected + math.Log(sd) + above
		parts[i], most = part{w, mean, sd, t.total, above}, math.Max(most, w)
	}
	for i := range parts {
		parts[i].weight = math.Exp(parts[i].weight - most)
		sum += parts[i].weight
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.weight < miss*1e-6 })
	quantile := func(p float64) float64 {
		over := func(x float64) float64 { // ln(P(more than x is lost) / p), which falls
			q := 0.0
			for _, t := range parts {
				q += t.weight / sum * math.Exp(lnNormal((t.mean-x/t.total)/t.deviation)-t.above)
			}
			return math.Max(math.Log(q/p), -100)
		}
		return root(over, n)
	}
	s := lostSide{middle: quantile(0.5)}
	s.span, s.rare = quantile(miss)-s.middle, quantile(rarely)-s.middle
	if few := lostOfFew(released, noise, miss, rarely); few.middle+few.span > s.middle+s.span {
		return few
	}
	return s
}

// root is where a function falls to 0: it is above 0 at 0. It looks up to first, and further where the function is above 0 there. It ends where the function is within 1e-9 of 0 (Ridders 1979).
func root(f func(float64) float64, first float64) float64 {
	low, high := 0.0, first
	below, above := f(low), f(high)
	for above > 0 {
		low, high, below = high, 2*high, above
		above = f(high)
	}
	for range 100 { // it halves the interval at least
		middle := (low + high) / 2
		y := f(middle)
		x := middle + (middle-low)*y/math.Sqrt(y*y-below*above)
		z := f(x)
		if math.Abs(z) < 1e-9 || high-low <= 1e-12*high {
			return x
		}
		if (y > 0) != (z > 0) { // it lies between the two
			low, high, below, above = min(middle, x), max(middle, x), max(y, z), min(y, z)
		} else if z > 0 {
			low, below = x, z
		} else {
			high, above = x, z
		}
	}
	return high
}

// withNext are the sums of each class and the next one: a person between two of them counts in both, in part.
func withNext(released []float64) []float64 {
	out := slices.Clone(released)
	for k := range out[1:] {
		out[k] += released[k+1]
	}
	return out
}

// farthest is the last class in which, alone or with the next one, there is more than heaviest has there, by more of the noise's deviations than it surely has; 0: there is none.
func farthest(released []float64, noise lostNoise) (at int) {
	all := 0.0
	for _, x := range released {
		all += x
	}
	isMore := func(x, heavy, classes float64) bool {
		off := heavy * math.Sqrt(float64(len(released)))
		return x-heavy*math.Max(0, all) > noise.sure*noise.deviation*math.Hypot(math.Sqrt(classes), off)
	}
	pairs := withNext(released)
	for k := 1; k < len(released); k++ {
		if isMore(released[k], heaviest[k], 1) || k+1 < len(released) && isMore(pairs[k], heaviest[k], 2) {
			at = k
		}
	}
	return at
}

// lostOfFew is what a few people with far more than all others lose at most: in each class below the farthest, what is at its upper end, and at the end of the step from the farthest what was released there and in the next, or there alone if that is more. The last class has no end: its beginning is taken, or nothing is said (IsFarBeyondBound). None where no class tells of such people.
func lostOfFew(released []float64, noise lostNoise, miss, rarely float64) (s lostSide) {
	at := farthest(released, noise)
	if at == 0 {
		return s
	}
	last := len(sensitivity.LostSteps) - 1
	x := float64(sensitivity.LostSteps[min(at, last)].To)
	s.middle = x * math.Max(released[at], withNext(released)[at])
	square := 2 * x * x
	for k, step := range sensitivity.LostSteps[:at] {
		x := float64(step.From)
		s.middle, square = s.middle+x*math.Max(0, released[k]), square+x*x
	}
	wide := noise.deviation * math.Sqrt(square)
	s.span, s.rare = wide*gaussianDeviations(miss), wide*gaussianDeviations(rarely)
	return s
}

// lnNormal is the logarithm of the normal distribution function.
func lnNormal(x float64) float64 {
	if x < -30 {
		return -x*x/2 - math.Log(-x) - math.Log(2*math.Pi)/2
	}
	return math.Log(math.Erfc(-x/math.Sqrt2) / 2)
}

// IsFarBeyondBound reports that people have so much beyond a clip, or a bound that was chosen, that nothing limits it: the last class of sensitivity.LostSteps, which has no end, tells surely of people that no tail explains (farthest); or of a sum of one sign, that is no average's,
// that they lose more than a third as much up to half a bound as is kept in all groups: if all have far more it is a half. Not so where the cap of groups is the largest that may be, as everybody may have more groups then. The choice ended too early then, and nothing can be said of the measure. It follows from released numbers.
func IsFarBeyondBound(a *sensitivity.Analysis, r *release.Release, i int) (bool, error) {
	if i >= len(r.Lost) || r.Lost[i] == nil || i >= len(r.Run.Lost) || r.Run.Lost[i] == nil || a.Measures[i].Bound == nil && a.Limit.Cap == nil && !a.Clipped {
		return false, nil
	}
	l, m := r.Lost[i], &a.Measures[i]
	if a.Limit.Cap == nil && m.Bound != nil && r.Plan != nil && r.Plan.HoldsAll(m.Bound, r.Chosen) {
		return false, nil // nothing is lost but noise
	}
	n, err := lostNoiseOf(r.Run.Lost[i].Event)
	if err != nil {
		return false, err
	}
	capped := a.Limit.Cap != nil && r.Plan.IsAtLastEdge(a.Limit.Cap, r.Chosen)
	for _, side := range l.Sides {
		released, near := sideClasses(side)
		if !capped && m.Bound != nil && m.Kind == sensitivity.SumValues && len(l.Sides) == 1 && 3*near > float(l.Base)*partsOf(m, l.Unit) {
			return true, nil
		}
		if farthest(released, n) == len(released)-1 {
			return true, nil
		}
	}
	return false, nil
}

// sideClasses are the classes of a side, and what they add up to: what is lost up to one unit each.
func sideClasses(side []*big.Int) (released []float64, near float64) {
	for _, x := range side {
		released = append(released, float(x))
		near += float(x)
	}
	return released, near
}

// partsOf is how many parts of the classes a step is.
func partsOf(m *sensitivity.Measure, unit uint64) float64 {
	return float64(m.Subdivision) * float64(sensitivity.LostParts(unit))
}

// lostNoise is the noise of a class: its deviation, and how many of them it is above as rarely as lostFewMiss says.
type lostNoise struct{ deviation, sure float64 }

// lostNoiseOf is that of an event. Of sums of Laplace noises the tails are lighter than of one.
func lostNoiseOf(ev dp.Event) (lostNoise, error) {
	d, err := noise.DistributionOf(ev)
	if err != nil {
		return lostNoise{}, err
	}
	law, err := dp.LawOf(ev)
	if err != nil {
		return lostNoise{}, err
	}
	return lostNoise{math.Max(d.StdDev(), 0.5), laws[law.Noise].deviations(lostFewMiss)}, nil
}

// lostMasses are those of all measures; lost is what was released of them, nil before.
func lostMasses(a *sensitivity.Analysis, run *price.Run, lost []*release.Lost) ([]lostMass, error) {
	out := make([]lostMass, len(a.Measures))
	losing := 0 // sides
	for i, l := range run.Lost {
		if l != nil {
			losing += a.Measures[i].LostSides()
		}
	}
	for i := range out {
		if i >= len(run.Lost) || run.Lost[i] == nil {
			continue
		}
		n, err := lostNoiseOf(run.Lost[i].Event)
		if err != nil {
			return nil, err
		}
		law, err := dp.LawOf(run.Lost[i].Event)
		if err != nil {
			return nil, err
		}
		variance, err := run.Variance(i)
		if err != nil {
			return nil, err
		}
		fine := float64(a.Measures[i].Subdivision)
		m := lostMass{least: math.Sqrt(variance) / fine / 2, groups: likelyGroups(a)}
		expected, parts := math.Inf(1), partsOf(&a.Measures[i], run.Lost[i].Unit)
		if run.Lost[i].Beyond > 0 {
			expected = run.Lost[i].Beyond * float64(law.Sensitivity.PerGroup)
		}
		sides := make([]lostSide, 2)
		for k := range a.Measures[i].LostSides() {
			released := make([]float64, sensitivity.LostClasses) // before it is told
			if !math.IsInf(expected, 1) && !price.IsLifted(a) {  // beyond a lifted bound hardly anybody is
				released[0], released[1] = expected*7/32, expected/32
			}
			if i < len(lost) && lost[i] != nil && k < len(lost[i].Sides) {
				released, _ = sideClasses(lost[i].Sides[k])
				m.base, m.most = float(lost[i].Base), float(lost[i].Most)
				m.groups = float64(max(1, lost[i].Count))
			}
			s, more := lostOn(released, n, lostPeople*expected, usualMiss, usualMiss/2/float64(losing)), lostOneGroup
			switch ev, err := run.Event(i); {
			case err != nil:
				return nil, err
			case m.groups > 1 && (a.Limit.Cap != nil && isOneGroup(ev) || a.Clipped):
				more = lostCapped
			case m.groups > 1:
				more = lostSpread
			}
			sides[k] = lostSide{s.middle * more / parts, s.span * more / parts, s.rare * more / parts}
		}
		m.above, m.below = sides[0], sides[1]
		out[i] = m
	}
	return out, nil
}

// surelyNoise is how many deviations of the noise that is gone are taken off each class of a lost mass: what most classes tell beyond the bound is noise alone.
const surelyNoise = 3

// expectedLost is what is expected to be told again of a lost mass that was told with noise of one event, with noise of another: each class is nearer to 0 by surelyNoise times what its noise has less deviation.
func expectedLost(l *release.Lost, was, is dp.Event) (*release.Lost, error) {
	before, err := lostNoiseOf(was)
	if err != nil {
		return nil, err
	}
	after, err := lostNoiseOf(is)
	if err != nil {
		return nil, err
	}
	less, _ := big.NewFloat(surelyNoise * math.Max(0, before.deviation-after.deviation)).Int(nil)
	out := *l
	out.Sides = nil
	for _, side := range l.Sides {
		classes := make([]*big.Int, len(side))
		for k, x := range side {
			classes[k] = new(big.Int)
			switch {
			case x.CmpAbs(less) <= 0:
			case x.Sign() < 0:
				classes[k].Add(x, less)
			default:
				classes[k].Sub(x, less)
			}
		}
		out.Sides = append(out.Sides, classes)
	}
	return &out, nil
}

// likelyGroups is how many groups of like size there may be, before they are released.
func likelyGroups(a *sensitivity.Analysis) float64 {
	if !a.Groups.Public {
		return price.UnknownGroups
	}
	return float64(max(1, a.Groups.Count))
}

// isOneGroup: one unit changes one group, by an event's noise.
func isOneGroup(ev dp.Event) bool {
	law, err := dp.LawOf(ev)
	return err == nil && law.Sensitivity.Groups == 1
}

// part is the part of it that a group of this value has, made of so many cells.
func (l lostMass) part(value float64, cells int) float64 {
	return math.Min(1, (l.of(value)+float64(cells)*l.least)/math.Max(l.base+l.groups*l.least, 1e-300))
}

// moves is by how much a part of it moves the upper and the lower end of an interval to which noise alone has given this half width. What was released of it has noise of its own; where several intervals hold together it is not added by squares.
func (l lostMass) moves(part, width float64, together bool) (above, below float64) {
	side := func(s lostSide) float64 {
		switch {
		case s.none():
			return 0
		case together:
			return part * (s.middle + s.rare)
		}
		return part*s.middle + math.Hypot(width, part*s.span) - width
	}
	return side(l.above), side(l.below)
}

// of is what a value counts for: of measures of one sign what noise puts below 0 counts for nothing.
func (l lostMass) of(value float64) float64 {
	if !l.below.none() {
		return math.Abs(value)
	}
	return math.Max(0, value)
}
