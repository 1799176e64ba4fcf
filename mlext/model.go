package mlext

import (
	"encoding/json"
	"fmt"
	"math"
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
	// Scores has one entry a linear score: of a class where there are several.
	Scores  []Score  `json:"scores"`
	Card    []Fact   `json:"card"`
	Split   *Split   `json:"split,omitempty"`
	Form    int      `json:"form"`              // in which it is stored
	Sources []Source `json:"sources,omitempty"` // what its query read; none of one stored before models had them
	Fill    bool     `json:"fill,omitempty"`    // a NULL number is read as the middle of its range, as it was in training
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

// model turns parameters over encoded features into coefficients of the features: post-processing.
func (t *Training) model(theta []float64, step float64) *Model {
	k := t.Loss.Outputs
	m := &Model{Name: t.Spec.Name, Kind: t.Spec.Model, Method: t.Method, Target: t.Of, Features: t.Features, Form: form, Fill: t.Spec.Fill}
	for c := range k {
		at := 0
		next := func() float64 { v := theta[at*k+c] * t.scale; at++; return v }
		s := Score{Intercept: next()}
		for i := range t.Features {
			f := &t.Features[i]
			switch {
			case f.Boolean:
				v := next()
				s.Coefficients = append(s.Coefficients, []float64{-v, v})
			case f.Levels != nil:
				list := make([]float64, len(f.Levels))
				for l := range list {
					list[l] = next()
				}
				s.Coefficients = append(s.Coefficients, list)
			default:
				slopes := make([]float64, f.cells())
				for j := range slopes {
					v := next()
					if f.Hi > f.Lo { // v (2x - Lo - Hi)/(Hi - Lo)
						slopes[j] = 2 * v / (f.Hi - f.Lo)
						if !t.isFromZero(f) {
							s.Intercept -= v * (f.Lo + f.Hi) / (f.Hi - f.Lo)
						}
					}
				}
				s.Coefficients = append(s.Coefficients, slopes)
			}
		}
		m.Scores = append(m.Scores, s)
	}
	m.Card = append(m.Card, t.Facts...)
	return m
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
	args = m.typed(args)
	length := 0
	for _, a := range args {
		length += len(a)
	}
	if m.hasArrays() || len(m.Scores) > 1 {
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

// unread is of a kind that what is computed has no case for.
func (f *family) unread() error {
	return sqlerr.New(sqlerr.Internal, "nothing is known of a %s", f.name)
}

func (f *family) noProbability() error {
	if f.target.classes() {
		return sqlerr.New(sqlerr.Unsupported, "a support vector machine has no probabilities").WithHint("Train a logistic_regression, or use dp_predict.")
	}
	return sqlerr.New(sqlerr.Unsupported, "a %s predicts a number, which has no probability", f.name).WithHint("Use dp_predict.")
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
			fmt.Fprintf(&b, " + %s * (CASE WHEN %s IS NOT NULL THEN greatest(%s, least(%s, CAST(%s AS double precision)))%s END)", number(c[0]), x, number(f.Lo), number(f.Hi), f.since(x), missing)
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
