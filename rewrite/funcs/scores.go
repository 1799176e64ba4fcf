package funcs

import (
	gojson "encoding/json"
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// ScoresName is the function that dp_predict of arrays, or of several scores, stands for. It is no row of All: no statement can call it by itself.
const ScoresName = "dp_scores"

// Scores says what is computed of the K scores z of a model.
//
// Those of a linear model are a number b, an argument, plus the sums of arrays' elements times coefficients, where there are arrays. Those of a network are computed from layer to layer: Inputs arguments are the elements of the first array, each from 0 to 1, in place of the numbers b.
// What they and the other arrays give passes the Layers.
type Scores struct {
	Of     string       `json:"of"`
	K      int          `json:"k"`
	Inputs int          `json:"inputs,omitempty"`
	Biases []float64    `json:"biases,omitempty"` // of the first layer of a network
	Layers []ScoreLayer `json:"layers,omitempty"`
	Arrays []ScoreArray `json:"arrays"`
	Lo     float64      `json:"lo"` // of a value or a count: its range
	Hi     float64      `json:"hi"`
	Bins   int          `json:"bins,omitempty"` // of ScoreSure and ScoreOdds, and of ScoreBin where it is not ScoreBins
}

// What is computed: of one score its class (positive: 1), the logistic function, the interval of [0, 1] that it is in, a number of a range, a count; of several the place of the largest, its
// softmax, of both the log-loss of the class whose place is given, and the place of the largest times Bins plus the interval of its softmax.
const (
	ScoreClass = "class"
	ScoreShare = "share"
	ScoreBin   = "bin"
	ScoreValue = "value"
	ScoreCount = "count"
	ScoreLoss  = "loss"
	ScoreSure  = "sure"
	// ScoreOdds is of one score the interval that it is in, of Bins equal ones of [-MostOdds, MostOdds], which each join OddsBins/Bins of the finest ones; beyond them it is in the first or the last.
	ScoreOdds = "odds"
)

// ScoreBins is into how many intervals ScoreBin cuts where it is not told, MostScoreBins into how many at most; MostScoreLoss is the most that ScoreLoss says.
const (
	ScoreBins     = 20
	MostScoreBins = 1 << 10
	MostScoreLoss = 7
	MostOdds      = 8
	OddsBins      = 1000
	perOdds       = float64(OddsBins) / (2 * MostOdds)
)

// MostScores is how many scores there may be: PostgreSQL's rows have 1,600 columns, and plans of 800 scores take a second on DuckDB.
const MostScores = 500

// ScoreArray is an array of Length elements, each brought to [Lo, Hi], and their coefficients in each score.
type ScoreArray struct {
	Length       int         `json:"length"`
	Lo           float64     `json:"lo"`
	Hi           float64     `json:"hi"`
	Coefficients [][]float64 `json:"c"`
}

// ScoreLayer is a layer of a network over the scores of the layer before it: they pass Activation, whose values are the elements of an array with coefficients, and Biases are added.
type ScoreLayer struct {
	Activation string      `json:"activation"`
	Lo         float64     `json:"lo"` // of the activation's values
	Hi         float64     `json:"hi"`
	Biases     []float64   `json:"biases"`
	C          [][]float64 `json:"c"` // for each score one of each value
}

// The activations of layers.
const (
	ActivationTanh = "tanh"
	ActivationRelu = "relu"
	ActivationElu  = "elu"
)

// elementSteps is into how many steps the range of elements is cut that are no whole numbers of so few.
const elementSteps = 1 << 20

// sumBits bounds the sums of products: they and all their parts are whole numbers below 2^53.
const sumBits = 51

// linear is an array's part of the scores on a grid.
type linear struct {
	ScoreArray
	type_ sqltype.OID // of elements
	whole bool        // steps are 1
	grid  float64
	digit int32       // numerics are rounded to so many places first
	c     [][]float64 // whole numbers
	unit  []float64   // z = from + unit * sum(c * steps)
	from  []float64
	least []float64 // of the sum
	most  []float64
}

// scores is the row of one call.
type scores struct {
	Scores
	arrays []linear // of a network with Inputs the first is of these
	layers []linear
}

// numbers is how many arguments come first: the numbers b, or the elements of a network's first array.
func (s *scores) numbers() int {
	if len(s.Layers) > 0 {
		return s.Inputs
	}
	return s.K
}

// width is how many scores the first layer has.
func (s *scores) width() int {
	if len(s.Layers) > 0 {
		return len(s.Biases)
	}
	return s.K
}

// NewScores is the row for a text of Scores and the types of the other arguments: a float8 for each score, an int4 for ScoreLoss, the arrays. A score that is NULL, and an array that is NULL, has NULL in it, another length or
// several dimensions, makes the result NULL.
//
// Proof: claim: it does not raise and takes as long, whatever the row, but for the length of a text of bytes that is read once, and the result is in Range, and one of Results where it is a whole number. An element becomes a whole number of steps from 0 to N, NaN as N: least and greatest do not raise, elements are compared before
// they are converted (a numeric of 400 digits is no float8, nor is one of 400 places, which is rounded first), the difference is at most the range, and what is divided by the step is half a step at least, so the quotient is no underflow. Coefficients are whole numbers c with sum(|c|) N <= 2^51 + rounding of half of 1 each, which is at most 2^16 2^20 / 2 = 2^35 more
// (the policy declares at most 2^16 elements): each product and each partial sum is a whole number below 2^53, which float8 holds exactly, so there is neither underflow nor overflow, and the sum is the same in any order, on every backend and in Go. unit is a power of two from 2^-900 on, and unit 2^51 and the other
// parts are below 1e290 (NewScores refuses others before any row is read), b is brought to +-1e290: scores are below 1e300. exp takes arguments from -700 to 700, ln those from 1 on. Range is that of clamps, or of the places that there are.
func NewScores(text string, args []sqltype.OID) (*Func, error) {
	s := &scores{}
	if err := gojson.Unmarshal([]byte(text), &s.Scores); err != nil {
		return nil, badScores()
	}
	numbers := s.numbers()
	rest := numbers
	if s.lost() {
		rest++
	}
	types := args[min(rest, len(args)):]
	if s.Inputs > 0 {
		types = append([]sqltype.OID{f8Array}, types...)
	}
	if s.K <= 0 || s.Of == ScoreOdds && (s.K > 1 || s.Bins < 1 || OddsBins%s.Bins != 0) || s.K > MostScores || s.Inputs < 0 || len(args) < rest || len(types) != len(s.Arrays) || slices.ContainsFunc(args[:numbers], func(t sqltype.OID) bool { return t != f8 }) || s.lost() && args[numbers] != i4 {
		return nil, badScores()
	}
	for i, a := range s.Arrays {
		l, err := onGrid(a, types[i], s.width())
		if err != nil {
			return nil, err
		}
		s.arrays = append(s.arrays, l)
	}
	if err := s.readLayers(); err != nil {
		return nil, err
	}
	f := &Func{Name: ScoresName, Kind: Function, Args: append(oids(sqltype.OIDText), args...), MayBeNull: true, Const: []int{0}, Eval: s.eval}
	hi := decimal.NewFromInt(1)
	lo := decimal.Zero
	f.Result = f8
	switch s.Of {
	case ScoreClass:
		f.Result, hi = i4, decimal.NewFromInt(int64(max(1, s.K-1)))
	case ScoreBin:
		if s.Bins == 0 {
			s.Bins = ScoreBins
		}
		if s.Bins < 0 || s.Bins > MostScoreBins {
			return nil, badScores()
		}
		f.Result, hi = i4, decimal.NewFromInt(int64(s.Bins-1))
	case ScoreSure:
		if s.Bins < 1 || s.Bins > ScoreBins || s.K < 2 || s.K > 1<<20 {
			return nil, badScores()
		}
		f.Result, hi = i4, decimal.NewFromInt(int64(s.K*s.Bins-1))
	case ScoreOdds:
		f.Result, hi = i4, decimal.NewFromInt(int64(s.Bins-1))
	case ScoreLoss:
		hi = decimal.NewFromInt(MostScoreLoss)
	case ScoreValue, ScoreCount:
		lo, hi = decimal.NewFromFloat(s.Lo), decimal.NewFromFloat(s.Hi)
	case ScoreShare:
	default:
		return nil, badScores()
	}
	f.Range = func([]*num.Interval, []sqltype.Type) *num.Interval { return &num.Interval{Lo: lo, Hi: hi} }
	if f.Result == i4 {
		for n := range hi.IntPart() + 1 {
			if s.Of != ScoreSure || n%int64(s.Bins) >= int64(s.least()) {
				f.Results = append(f.Results, n)
			}
		}
	}
	f.TotalForm = Forms{
		Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return s.postgres(x[1:]) },
		DuckDB:   func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return s.duck(x[1:]) },
	}
	f.RaisingForm = f.TotalForm
	return f, nil
}

// readLayers brings the layers of a network to whole numbers.
func (s *scores) readLayers() error {
	if len(s.Layers) == 0 {
		if s.Inputs > 0 || len(s.Biases) > 0 {
			return badScores()
		}
		return nil
	}
	if s.Inputs > 0 && s.Arrays[0].Length != s.Inputs || len(s.Arrays) == 0 || !areBiases(s.Biases) {
		return badScores()
	}
	in := len(s.Biases)
	for _, l := range s.Layers {
		if !slices.Contains([]string{ActivationTanh, ActivationRelu, ActivationElu}, l.Activation) || !areBiases(l.Biases) {
			return badScores()
		}
		layer, err := onGrid(ScoreArray{Length: in, Lo: l.Lo, Hi: l.Hi, Coefficients: l.C}, f8Array, len(l.Biases))
		if err != nil {
			return err
		}
		s.layers, in = append(s.layers, layer), len(l.Biases)
	}
	if in != s.K {
		return badScores()
	}
	return nil
}

func areBiases(list []float64) bool {
	return len(list) > 0 && len(list) <= MostScores && !slices.ContainsFunc(list, func(b float64) bool { return !(math.Abs(b) < mostScore) })
}

// activate is a layer's value of a score, by what the printed forms do.
func activate(activation string, z float64) float64 {
	switch {
	case activation == ActivationTanh:
		return 1 - 2/(math.Exp(math.Max(-mostTanh, math.Min(mostTanh, 2*z)))+1)
	case z >= 0:
		return z
	case activation == ActivationElu:
		return math.Exp(math.Max(z, -700)) - 1
	}
	return 0
}

// f8Array is the type of the elements that a network has in place of an array.
var f8Array = func() sqltype.OID { t, _ := sqltype.ArrayOf(sqltype.Float8); return t.OID }()

// mostTanh is twice the score from which on tanh is 1.
const mostTanh = 40

func badScores() error { return sqlerr.New(sqlerr.Internal, "the scores of a model cannot be read") }

// onGrid brings elements and coefficients to whole numbers.
func onGrid(a ScoreArray, t sqltype.OID, k int) (linear, error) {
	l := linear{ScoreArray: a, type_: t, grid: 1}
	if t != blob {
		elem, ok := (sqltype.Type{OID: t, Typmod: -1}).Elem()
		if !ok || !elem.IsNumber() {
			return l, sqlerr.New(sqlerr.UndefinedFunction, "an array of numbers, or a bytea, was expected")
		}
		l.type_ = elem.OID
	}
	width := a.Hi - a.Lo
	if !(width > 0) || !(math.Abs(a.Lo) < 1e290) || !(math.Abs(a.Hi) < 1e290) || len(a.Coefficients) != k {
		return l, badScores()
	}
	isWhole := l.type_ == blob || l.type_ == sqltype.OIDInt2 || l.type_ == i4
	if l.whole = isWhole && width <= elementSteps && a.Lo == math.Trunc(a.Lo) && a.Hi == math.Trunc(a.Hi) && math.Abs(a.Lo) < 1<<31 && math.Abs(a.Hi) < 1<<31; !l.whole {
		l.grid = width / elementSteps
	}
	if l.digit = int32(max(0, 3-math.Floor(math.Log10(l.grid)))); l.digit > 290 {
		return l, badScores()
	}
	steps := math.Round(width / l.grid)
	for _, list := range a.Coefficients {
		if len(list) != a.Length {
			return l, badScores()
		}
		total := 0.0
		for _, v := range list {
			total += math.Abs(v) * width
		}
		unit := 1.0
		if total > 0 {
			unit = math.Ldexp(1, max(-900, int(math.Ceil(math.Log2(total)))-sumBits))
		}
		c, least, most, all := make([]float64, len(list)), 0.0, 0.0, 0.0
		for i, v := range list {
			c[i] = math.RoundToEven(v * l.grid / unit)
			all += c[i]
			if c[i] < 0 {
				least += c[i] * steps
			} else {
				most += c[i] * steps
			}
		}
		from := a.Lo / l.grid * (all * unit)
		if !(total < 1e290) || !(math.Abs(from) < 1e290) {
			return l, sqlerr.New(sqlerr.NumericRange, "the coefficients of the model are too large to predict by")
		}
		l.c, l.unit, l.from = append(l.c, c), append(l.unit, unit), append(l.from, from)
		l.least, l.most = append(l.least, least), append(l.most, most)
	}
	return l, nil
}

// step is an element as a whole number of steps.
func (l *linear) step(v float64) float64 {
	if !(v < l.Hi) { // NaN, too
		v = l.Hi
	}
	v = math.Max(v, l.Lo) - l.Lo
	if l.whole {
		return v
	}
	return math.RoundToEven(math.Max(v, l.grid/2) / l.grid)
}

// add adds the part of an array to the scores; false where it has none.
func (l *linear) add(x sqltype.Value, z []float64) bool {
	steps := make([]float64, 0, l.Length)
	switch x := x.(type) {
	case sqltype.Bytes:
		for i := range len(x) {
			steps = append(steps, l.step(float64(x[i])))
		}
	case *sqltype.Array:
		if len(x.Dims) != 1 {
			return false
		}
		for _, v := range x.Values {
			switch v := v.(type) {
			case int64:
				steps = append(steps, l.step(float64(v)))
			case float64:
				steps = append(steps, l.step(v))
			case decimal.Decimal:
				if v.LessThan(decimal.NewFromFloat(l.Lo)) {
					v = decimal.NewFromFloat(l.Lo)
				} else if v.GreaterThan(decimal.NewFromFloat(l.Hi)) {
					v = decimal.NewFromFloat(l.Hi)
				}
				steps = append(steps, l.step(v.Round(l.digit).InexactFloat64()))
			default:
				return false
			}
		}
	}
	return l.addSteps(steps, z)
}

// addSteps adds the part of elements in steps.
func (l *linear) addSteps(steps, z []float64) bool {
	if len(steps) != l.Length {
		return false
	}
	for j := range z {
		sum := 0.0
		for i, n := range steps {
			sum += l.c[j][i] * n
		}
		z[j] += l.from[j] + l.unit[j]*sum
	}
	return true
}

// least is the first interval that the largest of K shares can be in: it is 1/K, but for rounding.
func (s *Scores) least() int { return s.Bins / s.K }

// mostScore bounds what the other features add to a score.
const mostScore = 1e290

// lost says that the class is an argument.
func (s *Scores) lost() bool { return s.Of == ScoreLoss }

// scored are the scores; nil where an array has none.
func (s *scores) scored(numbers []float64, rest []sqltype.Value) []float64 {
	z, arrays := slices.Clone(s.Biases), s.arrays
	if len(s.layers) == 0 {
		z = make([]float64, s.K)
		for j, b := range numbers {
			if z[j] = math.Max(-mostScore, math.Min(mostScore, b)); math.IsNaN(b) {
				z[j] = mostScore
			}
		}
	} else if s.Inputs > 0 {
		arrays[0].addSteps(arrays[0].allSteps(numbers), z)
		arrays = arrays[1:]
	}
	for i := range arrays {
		if !arrays[i].add(rest[i], z) {
			return nil
		}
	}
	for i := range s.layers {
		for j := range z {
			z[j] = activate(s.Layers[i].Activation, z[j])
		}
		next := slices.Clone(s.Layers[i].Biases)
		s.layers[i].addSteps(s.layers[i].allSteps(z), next)
		z = next
	}
	return z
}

// allSteps are numbers as whole numbers of steps.
func (l *linear) allSteps(list []float64) []float64 {
	steps := make([]float64, len(list))
	for i, v := range list {
		steps[i] = l.step(v)
	}
	return steps
}

func (s *scores) eval(args []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
	var numbers []float64
	for _, x := range args[1 : 1+s.numbers()] {
		v, ok := x.(float64)
		if !ok {
			return nil, badScores()
		}
		numbers = append(numbers, v)
	}
	rest := args[1+len(numbers):]
	y := int64(0)
	if s.lost() {
		y, rest = rest[0].(int64), rest[1:]
	}
	z := s.scored(numbers, rest)
	if z == nil {
		return nil, nil
	}
	best, sum := 0, 0.0
	for j, v := range z {
		if v > z[best] {
			best = j
		}
	}
	for _, v := range z {
		sum += math.Exp(math.Max(v-z[best], -700))
	}
	share := 1 / (1 + math.Exp(math.Max(-700, math.Min(700, -z[0]))))
	switch {
	case s.Of == ScoreClass && s.K == 1:
		if z[0] > 0 {
			return int64(1), nil
		}
		return int64(0), nil
	case s.Of == ScoreClass:
		return int64(best), nil
	case s.Of == ScoreShare && s.K == 1:
		return share, nil
	case s.Of == ScoreShare:
		return 1 / sum, nil
	case s.Of == ScoreSure:
		return int64(best*s.Bins) + int64(math.Max(float64(s.least()), math.Min(float64(s.Bins-1), math.Floor(float64(s.Bins)*(1/sum))))), nil
	case s.Of == ScoreBin:
		return int64(math.Min(float64(s.Bins-1), math.Floor(float64(s.Bins)*share))), nil
	case s.Of == ScoreOdds:
		fine := math.Max(0, math.Min(OddsBins-1, math.Floor((z[0]+MostOdds)*perOdds)))
		return int64(fine) / int64(OddsBins/s.Bins), nil
	case s.lost():
		if y < 0 || y >= int64(max(2, s.K)) {
			return nil, nil
		}
		if s.K == 1 {
			if y == 1 {
				z[0] = -z[0]
			}
			return math.Max(0, math.Min(MostScoreLoss, math.Log(1+math.Exp(math.Max(-700, math.Min(700, z[0])))))), nil
		}
		return math.Max(0, math.Min(MostScoreLoss, math.Log(sum)+z[best]-z[y])), nil
	case s.Of == ScoreValue:
		z0 := math.Max(-1, math.Min(1, z[0]))
		return math.Max(s.Lo, math.Min(s.Hi, (s.Lo+s.Hi)/2+(s.Hi-s.Lo)/2*z0)), nil
	}
	return math.Min(s.Hi, math.Max(s.Lo, math.Exp(math.Max(-700, math.Min(700, z[0]))))), nil
}
