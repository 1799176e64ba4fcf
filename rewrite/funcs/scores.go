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

// Scores says what is computed of the K linear scores z of a model: each is a number b, an argument, plus the sums of arrays' elements times coefficients, where there are arrays.
type Scores struct {
	Of     string       `json:"of"`
	K      int          `json:"k"`
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
	arrays []linear
}

// NewScores is the row for a text of Scores and the types of the other arguments: a float8 for each score, an int4 for ScoreLoss, the arrays. A score that is NULL, and an array that is NULL, has NULL in it, another length or
// several dimensions, makes the result NULL.
//
// Proof: claim: it does not raise and takes as long, whatever the row, but for the length of a text of bytes that is read once, and the result is in Range. An element becomes a whole number of steps from 0 to N, NaN as N: least and greatest do not raise, elements are compared before
// they are converted (a numeric of 400 digits is no float8, nor is one of 400 places, which is rounded first), the difference is at most the range, and what is divided by the step is half a step at least, so the quotient is no underflow. Coefficients are whole numbers c with sum(|c|) N <= 2^51 + rounding of half of 1 each, which is at most 2^16 2^20 / 2 = 2^35 more
// (the policy declares at most 2^16 elements): each product and each partial sum is a whole number below 2^53, which float8 holds exactly, so there is neither underflow nor overflow, and the sum is the same in any order, on every backend and in Go. unit is a power of two from 2^-900 on, and unit 2^51 and the other
// parts are below 1e290 (NewScores refuses others before any row is read), b is brought to +-1e290: scores are below 1e300. exp takes arguments from -700 to 700, ln those from 1 on. Range is that of clamps, or of the places that there are.
func NewScores(text string, args []sqltype.OID) (*Func, error) {
	s := &scores{}
	if err := gojson.Unmarshal([]byte(text), &s.Scores); err != nil {
		return nil, badScores()
	}
	n := s.K
	if s.lost() {
		n++
	}
	if s.K <= 0 || s.Of == ScoreOdds && (s.K > 1 || s.Bins < 1 || OddsBins%s.Bins != 0) || s.K > MostScores || len(args) != n+len(s.Arrays) || slices.ContainsFunc(args[:s.K], func(t sqltype.OID) bool { return t != f8 }) || s.lost() && args[s.K] != i4 {
		return nil, badScores()
	}
	for i, a := range s.Arrays {
		l, err := onGrid(a, args[n+i], s.K)
		if err != nil {
			return nil, err
		}
		s.arrays = append(s.arrays, l)
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
	f.TotalForm = Forms{
		Postgres: func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return s.postgres(x[1:]) },
		DuckDB:   func(x []string, _ []sqltype.Type, _ sqltype.Type) string { return s.duck(x[1:]) },
	}
	f.RaisingForm = f.TotalForm
	return f, nil
}

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

func (s *scores) eval(args []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
	z, rest := make([]float64, s.K), args[1:]
	for j := range z {
		b, ok := rest[j].(float64)
		if !ok {
			return nil, badScores()
		}
		if z[j] = math.Max(-mostScore, math.Min(mostScore, b)); math.IsNaN(b) {
			z[j] = mostScore
		}
	}
	rest = rest[s.K:]
	y := int64(0)
	if s.lost() {
		y, rest = rest[0].(int64), rest[1:]
	}
	for i := range s.arrays {
		if !s.arrays[i].add(rest[i], z) {
			return nil, nil
		}
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
