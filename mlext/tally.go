package mlext

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext/convex"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// tallyUnit is what a row adds to a count, in steps of the lattice.
const tallyUnit = 1 << 20

// lossPart is how much of a row's count the largest log-loss is: small, so that it adds little to the noise of counts.
const lossPart = 0.25

// tallied is the method of an evaluation that counts rows as they are read.
const tallied = "evaluate"

// Tally counts what a network over images predicts of private rows, which no SQL computes, and releases the counts.
type Tally struct {
	plan     *Training
	scoring  *Scoring
	scores   func(elements []float32) []float64
	totals   []int64
	elements []float32
	last     int64 // unit
	rows     int   // of it
	wiped    bool
}

// Evaluating plans the evaluation of a network over images on private rows, of which a unit has so many.
func (m *Model) Evaluating(s *Spec, features []Feature, target Feature, rows int) (*Training, error) {
	of, err := m.family()
	if err != nil {
		return nil, err
	}
	t := &Training{Spec: s, Features: features, Of: target, Rows: rows, Epsilon: s.Epsilon, Delta: s.Delta, Method: tallied, family: of}
	z := convex.Multiplier(s.Epsilon, s.Delta) * (1 + 1e-9)
	if !(t.tallyNoise(z) < noise.MaxNormalSigma) || !(z > 0) {
		return nil, sqlerr.New(sqlerr.InvalidParam, "the noise of an evaluation at epsilon %g is beyond what is computed", s.Epsilon).WithHint("Take a larger price, or fewer rows of a person: SET dpsql.clip = 1.")
	}
	t.composed(dp.Composed{Multiplier: z, Rate: 1, Steps: 1})
	return t, nil
}

// Fits refuses a query whose columns are not what the model was trained on.
func (m *Model) Fits(features []Feature, target Feature) error {
	same := func(a, b *Feature) bool {
		if a.Name != b.Name || a.Length != b.Length || a.Lo != b.Lo || a.Hi != b.Hi || len(a.Levels) != len(b.Levels) || len(a.Shape) != len(b.Shape) {
			return false
		}
		for i := range a.Levels {
			if a.Levels[i] != b.Levels[i] {
				return false
			}
		}
		for i := range a.Shape {
			if a.Shape[i] != b.Shape[i] {
				return false
			}
		}
		return true
	}
	if len(features) == len(m.Features) && same(&target, &m.Target) && same(&features[0], &m.Features[0]) {
		return nil
	}
	return sqlerr.New(sqlerr.InvalidParam, "the query's columns are not those that model %s was trained on", m.Name).
		WithHint("SELECT %s and %s alone, as in training. If the policy has changed their shape, range or values since, train the model anew.", plan.QuoteIdent(m.Features[0].Name), plan.QuoteIdent(m.Target.Name))
}

// longestRow is the norm of what a row adds, in counts.
//
// Proof: of several classes a row adds 1 to one count and at most lossPart to the sum of the log-loss; of two 1 to one count of each level; of a number four entries of at most 1 (Tally.Add).
func (t *Training) longestRow() float64 {
	switch t.family.target {
	case oneOfSeveral:
		return math.Hypot(1, lossPart)
	case oneOfTwo:
		return math.Sqrt(oddsLevels)
	}
	return 2
}

// tallyNoise is the noise's deviation in steps at a multiplier.
func (t *Training) tallyNoise(multiplier float64) float64 {
	return math.Ceil(multiplier * float64(t.Rows) * t.longestRow() * tallyUnit * (1 + 0x1p-40))
}

// Tally begins the counting.
func (t *Training) Tally(m *Model) (*Tally, error) {
	y := &Tally{plan: t, scoring: &Scoring{model: m, of: t.family}, scores: m.ScoresOfImages(), elements: make([]float32, m.Features[0].Length)}
	switch k := m.outputs(); t.family.target {
	case oneOfSeveral:
		y.scoring.bins = sureness(k)
		y.totals = make([]int64, k*k*max(1, y.scoring.bins)+1)
	case oneOfTwo:
		y.scoring.Levels = oddsLevels
		n := 0
		for _, b := range oddsKeys {
			n += 2 * b
		}
		y.totals = make([]int64, n)
	case aNumber:
		y.totals = make([]int64, 4)
	default:
		return nil, t.family.unread()
	}
	return y, nil
}

var errTally = errors.New("mlext: a unit has more rows than it may have, or they do not stand together")

// place is an interval's number, of a number that may be none.
func place(v float64, n int) int {
	switch {
	case !(v > 0):
		return 0
	case v >= float64(n):
		return n - 1
	}
	return int(v)
}

// Add counts a row of a unit as it is read: a number of steps an element, and the target last. Units come by ascending number, 0 where each has one row.
//
// Proof: claim: a unit adds to the totals a vector of norm at most Rows longestRow tallyUnit. (1) It has at most Rows rows: the statement reads no more, and more are an error here. (2) A row adds tallyUnit to one count of each level, and at most lossPart tallyUnit to the sum of the log-loss, or four entries of at most tallyUnit, whatever its scores are: places and parts are cut to
// their ranges. So the triangle inequality gives the claim. The network's parameters were released, and nothing else is read.
func (y *Tally) Add(unit int64, steps []int64) error {
	t := y.plan
	if t.Rows > 1 { // (1) a unit has at most so many rows
		switch {
		case unit > y.last || y.rows == 0:
			y.last, y.rows = unit, 0
		case unit < y.last || y.rows >= t.Rows:
			return &Failure{errTally}
		}
		y.rows++
	}
	f := &t.Features[0]
	for i := range y.elements {
		y.elements[i] = 0
		if f.To > f.From {
			y.elements[i] = float32(float64(steps[i]-f.From) / float64(f.To-f.From))
		}
	}
	z, label := y.scores(y.elements), t.Of.label(steps[len(steps)-1], t.family.target.classes())
	part := func(v float64) int64 { // (2) at most tallyUnit
		if math.IsNaN(v) {
			return 0
		}
		return int64(tallyUnit * math.Max(-1, math.Min(1, v)))
	}
	switch t.family.target {
	case oneOfSeveral:
		k, best, sum := len(z), 0, 0.0
		for j, v := range z {
			if v > z[best] {
				best = j
			}
		}
		for _, v := range z {
			sum += math.Exp(math.Max(v-z[best], -700))
		}
		class, bins := place(label, k), max(1, y.scoring.bins)
		y.totals[(class*k+best)*bins+max(bins/k, place(float64(bins)/sum, bins))] += tallyUnit
		y.totals[len(y.totals)-1] += part(lossPart * math.Max(0, math.Min(1, (math.Log(sum)+z[best]-z[class])/plan.MostScoreLoss)))
	case oneOfTwo:
		fine := place((z[0]+plan.MostOdds)*plan.OddsBins/(2*plan.MostOdds), plan.OddsBins)
		at := 0
		for _, n := range oddsKeys {
			y.totals[at+place(label, 2)*n+fine*n/plan.OddsBins] += tallyUnit
			at += 2 * n
		}
	case aNumber:
		p, of := math.Max(-1, math.Min(1, z[0])), t.Of.centred(label)
		for i, v := range []float64{1, (of - p) * (of - p) / 4, of, of * of} {
			y.totals[i] += part(v)
		}
	default:
		return t.family.unread()
	}
	return nil
}

// Wipe overwrites what was counted.
func (y *Tally) Wipe() {
	clear(y.totals)
	clear(y.elements)
	y.wiped = true
}

// Release adds noise, once, and tells the metrics.
//
// Proof: the totals are whole numbers, to which normal noise of deviation Multiplier times a unit's norm is added (Add): one Gaussian mechanism of that multiplier, as Composed says. All else is computed of what it gave.
func (y *Tally) Release(src *noise.Source) ([]Fact, error) {
	if y.wiped {
		return nil, errTally
	}
	sigma := y.plan.tallyNoise(y.plan.Composed.Multiplier)
	n, err := src.Normal(uint64(sigma))
	if err == nil {
		err = n.Add(y.totals)
	}
	if err != nil {
		return nil, err
	}
	half := 1.96 * sigma / tallyUnit
	count := func(i int) float64 { return float64(y.totals[i]) / tallyUnit }
	var cells []Cell
	switch k, s := y.scoring.model.outputs(), y.scoring; s.of.target {
	case oneOfSeveral:
		bins := max(1, s.bins)
		for i := range len(y.totals) - 1 {
			if i%bins >= bins/k {
				cells = append(cells, Cell{Keys: []int{i / (k * bins), i % (k * bins)}, Count: count(i)})
			}
		}
		const by = plan.MostScoreLoss / lossPart
		cells[0].Loss = by * count(len(y.totals)-1)
		return s.Classes(cells, []float64{half, by * half / math.Sqrt(float64(len(cells)))}), nil
	case oneOfTwo:
		at := 0
		for level, n := range oddsKeys {
			for i := range 2 * n {
				cells = append(cells, Cell{Keys: []int{i / n, i % n}, Level: level, Count: count(at + i), Noise: half})
			}
			at += 2 * n
		}
		return s.Classes(cells, nil), nil
	}
	width := y.plan.Of.Hi - y.plan.Of.Lo
	v, errs := []float64{count(0)}, []float64{half}
	for i, by := range []float64{width * width, width / 2, width * width / 4} {
		mean := count(i+1) / v[0]
		v, errs = append(v, by*mean), append(errs, by*half*(1+math.Abs(mean))/v[0])
	}
	return y.scoring.Numbers(v, errs), nil
}

// Evaluates is what an evaluation takes of a statement in place of options.
func Evaluates(n *pgsyntax.Train, price, delta float64) *Spec {
	return &Spec{Name: n.Name.Text, Target: n.Target.Text, targetAt: n.Target.Pos, Model: n.Model.Text, Method: tallied, Price: price, Delta: delta, numbers: map[string]float64{}, words: map[string]string{}, at: map[string]pgsyntax.Pos{}}
}
