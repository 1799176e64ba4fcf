package mlext

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/loss"
	"github.com/dpsql/dpsql/noise"
)

// Training is what will be run, from public numbers alone.
type Training struct {
	Spec       *Spec
	Features   []Feature
	Of         Feature // the target
	Loss       *loss.Loss
	Rows       int // of one unit, at most
	Population float64
	Epsilon    float64
	Delta      float64
	Method     string
	why        string       // METHOD auto chose it
	Composed   *dp.Composed // what is run, where its Renyi loss is known; nil: it is not
	Facts      []Fact
	run        func(t *data.Table, src *noise.Source, each func(done, of int) error) (theta []float64, step float64, err error)
	family     *family
	width      int
	parts      [][]partition // of each feature: its bins
	scale      float64       // of encoded features
	most       int           // rows that it takes; 0: as many as there are
}

type run = func(t *data.Table, src *noise.Source, each func(done, of int) error) (theta []float64, step float64, err error)

func (t *Training) fact(name, format string, args ...any) {
	t.Facts = append(t.Facts, Fact{name, fmt.Sprintf(format, args...)})
}

// model turns parameters over encoded features into coefficients of the features: post-processing.
func (t *Training) model(theta []float64, step float64) *Model {
	if t.family.images {
		return t.imageModel(theta)
	}
	k, by := t.Loss.Outputs, t.scale*t.gain()
	if t.family.network {
		k = t.Spec.hidden[0]
	}
	m := &Model{Name: t.Spec.Name, Kind: t.Spec.Model, Method: t.Method, Target: t.Of, Features: slices.Clone(t.Features), Form: form, Fill: t.Spec.Fill}
	for c := range k {
		at := 0
		next := func() float64 { v := theta[at*k+c] * by; at++; return v }
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
				if list := t.parts[i]; list != nil {
					binned, each, last := f.withBins(list, next)
					m.Features[i], slopes, s.Intercept = binned, append(slopes, each...), s.Intercept+last
				}
				s.Coefficients = append(s.Coefficients, slopes)
			}
		}
		m.Scores = append(m.Scores, s)
	}
	if t.family.network {
		m.Layers = t.layers(theta)
	}
	m.Card = append(m.Card, t.Facts...)
	return m
}

// classes says that a score counts by which side of 0, or of another score, it is on: shortening a row, the 1 of the intercept too, changes no such side, so rows may be scaled as they mostly are and the few long ones be shortened.
// A number that is predicted would be another one for a shortened row: there all rows that the policy allows must fit.
func (t *Training) classes() bool { return t.family.target.classes() }

// isFromZero says that a number is coded from 0 to 2 and not from -1 to 1: where its range begins at 0, as that of amounts, counts and brightness, which are 0 or small in most rows and take nothing of a row's norm then. Elements of images are always coded so.
func (t *Training) isFromZero(f *Feature) bool {
	return t.family.images || t.classes() && f.Levels == nil && f.Lo == 0
}

// gain is what a network multiplies a row by, so that its features are about as long as they were before rowScale: a power of two, which moves no feature off its grid.
func (t *Training) gain() float64 {
	if !t.family.network {
		return 1
	}
	return math.Exp2(math.Round(-math.Log2(t.scale)))
}
