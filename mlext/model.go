package mlext

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// Model is a released model: coefficients by feature, and the card that says how it came to be.
type Model struct {
	Name     string    `json:"name"`
	Kind     string    `json:"model"`
	Method   string    `json:"method"`
	Target   Feature   `json:"target"`
	Features []Feature `json:"features"`
	// Scores has one entry a linear score: of a class where there are several, of a unit of the first hidden layer of a network.
	Scores []Score `json:"scores"`
	Layers []Layer `json:"layers,omitempty"` // of a network, over the Scores
	// Convolutions are those of a network over an image, in place of Scores: its first Layer is over the maxima of the last one.
	Convolutions []Convolution `json:"convolutions,omitempty"`
	Card         []Fact        `json:"card"`
	Split        *Split        `json:"split,omitempty"`
	Form         int           `json:"form"`              // in which it is stored
	Sources      []Source      `json:"sources,omitempty"` // what its query read; none of one stored before models had them
	Fill         bool          `json:"fill,omitempty"`    // a NULL number is read as the middle of its range, as it was in training
}

// Source is a table that a model's query read, and the columns of it that it read.
type Source struct {
	Schema  string   `json:"schema"`
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

// Split is the part of the units of Unit that a model was trained on: those whose hash, keyed by Salt, is below Fraction. Salt was drawn at its training, so nobody chose who is in.
type Split struct {
	Unit     string  `json:"unit"`
	Salt     string  `json:"salt,omitempty"` // not in what is exported
	Fraction float64 `json:"fraction"`
}

// Score is linear in the features as they are: Intercept + the sum of a number's Coefficients[0] times its value, or the coefficient of a category's level.
type Score struct {
	Intercept    float64     `json:"intercept"`
	Coefficients [][]float64 `json:"coefficients"`
}

// Layer is a layer of a network: each of its scores is linear in what Activation makes of the scores before it.
type Layer struct {
	Activation   string      `json:"activation"`
	Biases       []float64   `json:"biases"`
	Coefficients [][]float64 `json:"coefficients"` // for each score one of each score before it
}

// outputs is how many scores a prediction goes by.
func (m *Model) outputs() int {
	if n := len(m.Layers); n > 0 {
		return len(m.Layers[n-1].Biases)
	}
	return len(m.Scores)
}

// Fact is a line of a model card.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Encode is the model as it is stored.
func (m *Model) Encode() ([]byte, error) { return json.Marshal(m) }

// Export is the model as an analyst may have it, without what tells who it was trained on.
func (m *Model) Export() ([]byte, error) {
	out := *m
	out.Sources = nil // its card has the query
	if m.Split != nil {
		s := *m.Split
		s.Salt, out.Split = "", &s
	}
	return out.Encode()
}

// Decode reads a stored model.
func Decode(text []byte) (*Model, error) {
	m := new(Model)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("mlext: a stored model cannot be read: %w", err)
	}
	if err := m.renew(); err != nil {
		return nil, err
	}
	return m, m.whole()
}

// Repeats is about how often a prediction writes the argument of feature i, which is no array.
func (m *Model) Repeats(i int) int {
	if len(m.Layers) > 0 {
		return 2 * max(1, len(m.Features[i].Levels))
	}
	return (2 + len(m.Features[i].Bins)) * len(m.Scores)
}

// shortArgs is how long the arguments of a prediction may be together for each to be written where it is needed.
const shortArgs = 400

// Predict writes what a model says of arguments, as SQL over their texts: the class or the number, or with probability that of the second of two classes, or of the predicted one. Every value of it is within fixed bounds whatever the arguments, and NULL where one of them is.
// Of one score and short arguments it is one expression, of longer ones a subquery, so that they stand there once; several scores, and those of arrays, are computed once, by one function.
func (m *Model) Predict(args []string, probability bool) (string, error) {
	if len(args) != len(m.Features) {
		names := make([]string, len(m.Features))
		for i, f := range m.Features {
			names[i] = f.Name
		}
		return "", sqlerr.New(sqlerr.UndefinedFunction, "model %s takes %d features, %d are given", m.Name, len(m.Features), len(args)).WithHint("They are: %s.", strings.Join(names, ", "))
	}
	of, err := m.family()
	if err != nil {
		return "", err
	}
	if probability && !of.shares {
		return "", of.noProbability()
	}
	if of.images {
		return "", m.notInSQL()
	}
	args = m.typed(args)
	length := 0
	for _, a := range args {
		length += len(a)
	}
	if m.hasArrays() || len(m.Scores) > 1 || len(m.Layers) > 0 {
		return m.predictScores(of, args, probability)
	}
	if length <= shortArgs {
		return m.says(of, m.score(&m.Scores[0], args), probability)
	}
	from := m.scored(args)
	switch { // what is computed inside has its bounds and its classes outside again
	case !probability && of.target.classes():
		return m.Target.of("(SELECT CASE WHEN z1 > 0 THEN 1 WHEN z1 <= 0 THEN 0 END" + from), nil
	default:
		text, err := m.says(of, "z1", probability)
		if err != nil {
			return "", err
		}
		lo, hi := m.Target.Lo, m.Target.Hi
		if probability {
			lo, hi = 0, 1
		}
		x := "(SELECT " + text + from
		return fmt.Sprintf("(CASE WHEN %s IS NOT NULL THEN greatest(%s, least(%s, %s)) END)", x, number(lo), number(hi), x), nil
	}
}

// scored is the end of a subquery that computes one score, z1, of arguments that are written once.
func (m *Model) scored(args []string) string {
	var xs, names []string
	for i, a := range args {
		xs, names = append(xs, fmt.Sprintf("%s AS x%d", a, i+1)), append(names, fmt.Sprintf("x%d", i+1))
	}
	return fmt.Sprintf(" FROM (SELECT %s AS z1 FROM (SELECT %s) AS a) AS b)", m.score(&m.Scores[0], names), strings.Join(xs, ", "))
}

// of writes the level whose index an expression gives.
func (f *Feature) of(index string) string {
	var b strings.Builder
	b.WriteString("(CASE " + index)
	for i := range max(2, len(f.Levels)) {
		fmt.Fprintf(&b, " WHEN %d THEN %s", i, f.level(i))
	}
	return b.String() + " END)"
}

// says is the prediction of one score.
func (m *Model) says(of *family, z string, probability bool) (string, error) {
	switch lo, hi := number(m.Target.Lo), number(m.Target.Hi); of.target {
	case oneOfTwo:
		if probability {
			return "(1 / (1 + exp(-(" + z + "))))", nil
		}
		return fmt.Sprintf("(CASE WHEN %s > 0 THEN %s WHEN %s <= 0 THEN %s END)", z, m.Target.level(1), z, m.Target.level(0)), nil
	case aNumber:
		mid, half := number((m.Target.Lo+m.Target.Hi)/2), number((m.Target.Hi-m.Target.Lo)/2)
		y := fmt.Sprintf("%s + %s * (%s)", mid, half, z)
		return fmt.Sprintf("(CASE WHEN %s > %s THEN %s WHEN %s < %s THEN %s ELSE %s END)", y, hi, hi, y, lo, lo, y), nil
	case aCount:
		return fmt.Sprintf("(CASE WHEN %s > %s THEN %s ELSE exp(%s) END)", z, number(math.Log(m.Target.Hi)), hi, z), nil
	}
	return "", of.unread()
}

// score writes a linear score, without arrays. Arguments stand twice in it: they may be long.
func (m *Model) score(s *Score, args []string) string {
	var b strings.Builder
	b.WriteString("(" + number(s.Intercept))
	for i := range m.Features {
		f, c, x := &m.Features[i], s.Coefficients[i], args[i]
		switch {
		case f.Length > 0:
		case f.Levels == nil:
			missing := ""
			if m.Fill {
				missing = " ELSE " + number(f.middle())
			}
			fmt.Fprintf(&b, " + %s * (CASE WHEN %s IS NOT NULL THEN %s%s END)", number(c[0]), x, f.clamped(x), missing)
			if f.Bins != nil {
				middle := math.NaN()
				if m.Fill {
					middle = f.middle()
				}
				b.WriteString(" + " + f.step(x, c[1:], middle))
			}
		default:
			b.WriteString(" + (CASE " + x)
			for l := range f.Levels {
				fmt.Fprintf(&b, " WHEN %s THEN %s", f.level(l), number(c[l]))
			}
			b.WriteString(" ELSE CASE WHEN " + x + " IS NOT NULL THEN 0 END END)")
		}
	}
	return b.String() + ")"
}

// since writes a number as it is, and of a date or a timestamp how long since 2000 it is, as the range's ends: of infinite ones, which have no difference, of the ends.
func (f *Feature) since(x string) string {
	switch {
	case f.Type == "date":
		return f.within(x, 86400, time.DateOnly) + " - DATE '2000-01-01'"
	case f.isTime(): // microseconds
		return "(extract(epoch FROM " + f.within(x, 1e-6, "2006-01-02 15:04:05.999999") + ") - 946684800) * 1000000"
	}
	return x
}

// within writes a date or timestamp, or the end of the range that it is beyond. The range's ends are in units of so many seconds since 2000.
func (f *Feature) within(x string, seconds float64, format string) string {
	end := func(v float64) string {
		return "CAST('" + time.Unix(946684800, 0).UTC().Add(time.Duration(v*seconds*1e6)*time.Microsecond).Format(format) + "' AS " + f.Type + ")"
	}
	if most := 250 * 365.25 * 86400 / seconds; math.Abs(f.Lo) > most || math.Abs(f.Hi) > most { // beyond what time.Duration holds
		return x
	}
	return "greatest(" + end(f.Lo) + ", least(" + end(f.Hi) + ", " + x + "))"
}

// number writes a float8 constant.
func number(v float64) string {
	return "CAST('" + strconv.FormatFloat(v, 'g', -1, 64) + "' AS double precision)"
}

// level writes a level as a constant.
func (f *Feature) level(i int) string {
	switch {
	case f.Boolean:
		return []string{"false", "true"}[i]
	case f.Levels == nil:
		return strconv.Itoa(i)
	}
	return "CAST('" + strings.ReplaceAll(f.Levels[i], "'", "''") + "' AS " + f.Type + ")"
}

// Describe tells the model: its card, then its coefficients by feature.
func (m *Model) Describe() []Fact {
	out := append([]Fact(nil), m.Card...)
	if len(m.Layers) > 0 { // its coefficients say nothing one by one: EXPORT has them
		return out
	}
	for i := range m.Scores {
		s, of := &m.Scores[i], ""
		if len(m.Scores) > 1 {
			of = " for " + m.Target.Levels[i]
		}
		out = append(out, Fact{"intercept" + of, coefficient(s.Intercept)})
		for j := range m.Features {
			f := &m.Features[j]
			if f.Length > 0 {
				for l, c := range s.Coefficients[j] {
					out = append(out, Fact{fmt.Sprintf("%s[%d]%s", f.Name, l+1, of), coefficient(c)})
				}
				continue
			}
			if f.Levels == nil {
				out = append(out, Fact{f.Name + of, coefficient(s.Coefficients[j][0])})
				for l := range f.Bins {
					out = append(out, Fact{f.binName(l) + of, coefficient(s.Coefficients[j][l+1])})
				}
				continue
			}
			for l, name := range f.Levels {
				out = append(out, Fact{f.Name + " = " + name + of, coefficient(s.Coefficients[j][l])})
			}
		}
	}
	return out
}

func coefficient(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// family is the model's kind; a stored one may be of a kind that is not known here.
func (m *Model) family() (*family, error) {
	if f := familyOf(m.Kind); f != nil && f.name == m.Kind {
		return f.of(&m.Target), nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "model %s is a %s, which this dpsql does not know", m.Name, m.Kind).WithHint("A newer dpsql trained it: use that, or train it anew.")
}

// form is how models are stored now: 0 had no Fill, 1 no Sources, 2 no Bins.
const form = 3

// MissingMiddle is what a card says of a model that reads NULL numbers as the middle of their range.
const MissingMiddle = "missing numbers are read as the middle of their range, rows with another missing value are left out"

// renew brings a stored model of an older form to the present one, or refuses it.
func (m *Model) renew() error {
	if m.Form > form {
		return sqlerr.New(sqlerr.Unsupported, "model %s is stored in a form that this dpsql does not know", m.Name).WithHint("A newer dpsql trained it: use that, or train it anew.")
	}
	if m.Form == 0 {
		m.Fill = m.Fill || slices.Contains(m.Card, Fact{"missing", MissingMiddle})
	}
	m.Form = form
	return nil
}

// whole refuses a stored model that is not what training makes: everything that is computed of one relies on it.
func (m *Model) whole() error {
	of, err := m.family()
	if err != nil {
		return err
	}
	if err := m.Target.suits(of.target); err != nil {
		return fmt.Errorf("mlext: a stored model's target is none: %s", err.Error())
	}
	scores := 1
	if of.target == oneOfSeveral {
		scores = len(m.Target.Levels)
	}
	if m.outputs() != scores || len(m.Features) == 0 || of.network != (len(m.Layers) > 0) || of.images != m.IsOfImages() {
		return fmt.Errorf("mlext: a stored model has %d scores of %d, %d features", m.outputs(), scores, len(m.Features))
	}
	in := len(m.Scores)
	if m.IsOfImages() {
		if in, err = m.wholeImages(); err != nil {
			return err
		}
	}
	for _, l := range m.Layers {
		if len(l.Coefficients) != len(l.Biases) || slices.ContainsFunc(l.Coefficients, func(c []float64) bool { return len(c) != in }) {
			return fmt.Errorf("mlext: a layer of a stored model is not whole")
		}
		in = len(l.Biases)
	}
	for i := range m.Scores {
		list := m.Scores[i].Coefficients
		if len(list) != len(m.Features) {
			return fmt.Errorf("mlext: a stored model is not whole")
		}
		for j := range m.Features {
			if n := max(len(m.Features[j].Levels), m.Features[j].cells()) + len(m.Features[j].Bins); len(list[j]) != n {
				return fmt.Errorf("mlext: a stored model has %d coefficients of %d for a feature", len(list[j]), n)
			}
		}
	}
	return nil
}
