package mlext

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// outcome is what a kind of model predicts.
type outcome string

const (
	oneOfTwo     outcome = "two"     // on which side of 0 one score is
	oneOfSeveral outcome = "classes" // the largest of a score each
	aNumber      outcome = "number"  // of the target's range, which a score from -1 to 1 is brought to
	aCount       outcome = "count"   // the exponential of a score
)

func (o outcome) classes() bool { return o == oneOfTwo || o == oneOfSeveral }

// Feature is a column of a training as the policy declares it. A number is read as a whole number n of steps, From <= n <= To, and is Lo at From and Hi at
// To; a category as the index of one of Levels.
type Feature struct {
	Name    string   `json:"name"`
	Levels  []string `json:"levels,omitempty"`  // nil: a number
	Boolean bool     `json:"boolean,omitempty"` // Levels are false and true
	Lo      float64  `json:"lo"`
	Hi      float64  `json:"hi"`
	From    int64    `json:"from"`
	To      int64    `json:"to"`
	Type    string   `json:"type"`             // PostgreSQL's, for predictions
	Length  int      `json:"length,omitempty"` // of an array of numbers, each as above; 0: no array
	Shape   []int    `json:"shape,omitempty"`  // of an array: its dimensions, whose product is Length
	// Bins are the ends of a number's bins, but the last one's, in a model that has them.
	Bins []float64 `json:"bins,omitempty"`
}

// suits refuses targets that a model has no loss for.
func (f *Feature) suits(what outcome) *sqlerr.Error {
	if f.Length > 0 {
		return sqlerr.New(sqlerr.DatatypeMismatch, "the target %s is an array", f.Name).WithHint("Arrays are features; the target is one value of a row.")
	}
	switch {
	case what == oneOfTwo && len(f.Levels) == 2, what == oneOfTwo && f.isZeroOrOne(), what == oneOfSeveral && len(f.Levels) >= 2, what == aNumber && f.Levels == nil && f.Hi > f.Lo,
		what == aCount && f.Levels == nil && f.Lo >= 0 && f.Hi > f.Lo:
		return nil
	}
	is := fmt.Sprintf("a number from %v to %v", f.Lo, f.Hi)
	if f.Levels != nil {
		is = fmt.Sprintf("one of %d values", len(f.Levels))
	}
	must := map[outcome]string{oneOfTwo: "be a boolean, have two values, or be 0 or 1", oneOfSeveral: "have a domain of values", aNumber: "be a number with a range", aCount: "be a number from 0 on"}[what]
	return sqlerr.New(sqlerr.DatatypeMismatch, "the target %s is %s; of this model it must %s", f.Name, is, must).WithHint("%s", f.cure(what))
}

// isZeroOrOne says that a number is 0 or 1, which is how a class of it is told. Of two other numbers (0 and 0.1, as the policy's step has them) a class would be neither.
func (f *Feature) isZeroOrOne() bool {
	return f.Levels == nil && f.From == 0 && f.To == 1 && f.Lo == 0 && f.Hi == 1
}

// cure is what to do with a target that a model has no loss for.
func (f *Feature) cure(what outcome) string {
	numbers, middle := f.Levels == nil, math.Floor((f.Lo+f.Hi)/2)
	if middle < f.Lo {
		middle = (f.Lo + f.Hi) / 2
	}
	switch {
	case what == oneOfTwo && numbers:
		return fmt.Sprintf("Compare it in the query, as in %[1]s > %[2]v AS %[1]s; linear_regression predicts numbers.", plan.QuoteIdent(f.Name), middle)
	case what == oneOfTwo:
		return fmt.Sprintf("Compare it in the query, as in %[1]s = '...' AS %[1]s; softmax_regression predicts one of several values.", plan.QuoteIdent(f.Name))
	case what == oneOfSeveral && numbers:
		return fmt.Sprintf("The owner can declare values: [...] for it in the policy. logistic_regression predicts a boolean, as %[1]s > %[2]v AS %[1]s, linear_regression numbers.", plan.QuoteIdent(f.Name), middle)
	case !numbers:
		return "logistic_regression predicts one of two values, softmax_regression one of several."
	case f.Hi > f.Lo:
		return "linear_regression predicts numbers below 0, too."
	}
	return "Its range is one number, so there is nothing to predict."
}

// value is how one of a target's values is told.
func (f *Feature) value(i int) string {
	if f.Levels == nil {
		return strconv.Itoa(i)
	}
	return f.Levels[i]
}

// width is how many numbers it is encoded as.
func (f *Feature) width() int {
	switch {
	case f.Boolean:
		return 1
	case f.Levels != nil:
		return len(f.Levels)
	}
	return f.cells()
}

// cells is as how many numbers it is read.
func (f *Feature) cells() int { return max(1, f.Length) }

// encode appends what a feature becomes: a number in [-1, 1] or, from zero, in [0, 2], or 0 and 1 for each level, times scale.
func (f *Feature) encode(n int64, scale float64, zero bool, into []float64) []float64 {
	switch {
	case f.Boolean:
		return append(into, scale*float64(2*n-1))
	case f.Levels != nil:
		for i := range f.Levels {
			v := 0.0
			if int64(i) == n {
				v = scale
			}
			into = append(into, v)
		}
		return into
	case f.To == f.From:
		return append(into, 0)
	}
	x := 2 * float64(n-f.From) / float64(f.To-f.From)
	if !zero {
		x--
	}
	return append(into, scale*x)
}

// middle is what a NULL number is read as where NULL is the middle of the range: a whole number of steps, in training (sqlgen.Reading) as where a model predicts.
func (f *Feature) middle() float64 {
	if f.To == f.From {
		return f.Lo
	}
	return f.Lo + float64((f.To-f.From)/2)/float64(f.To-f.From)*(f.Hi-f.Lo)
}

// label is the target as the loss takes it: of classes the value's index, of others the number itself, within its range.
func (f *Feature) label(n int64, classes bool) float64 {
	switch {
	case f.Levels != nil:
		return float64(max(0, min(int64(len(f.Levels))-1, n)))
	case classes: // a number of two values
		return float64(max(0, min(1, n)))
	}
	y := f.Lo + float64(n-f.From)/float64(f.To-f.From)*(f.Hi-f.Lo)
	return math.Max(f.Lo, math.Min(f.Hi, y))
}

// centred brings a number's label to [-1, 1].
func (f *Feature) centred(y float64) float64 {
	return math.Max(-1, math.Min(1, (2*y-f.Lo-f.Hi)/(f.Hi-f.Lo)))
}
