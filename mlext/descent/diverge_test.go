package descent

import (
	"errors"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/mlext/loss"
)

// TestDiverges: a training whose parameters grow without bound ends as soon as they are too large, before a row is looked at with them: beside an infinite parameter a row's 0 would be no number, and end it for that row's sake.
func TestDiverges(t *testing.T) {
	for _, l := range []*loss.Loss{loss.Logistic(), loss.Softmax(3), loss.Squared(1)} {
		p := &Plan{Learner: NewLinear(l, 3), Rows: 1, Clip: 1, Rate: 1, Steps: 400, Noise: 3, Population: 10, LearningRate: 1e6, Decay: -0.9, Average: 0.3}
		var ended []int
		for _, rows := range [][]rowOf{nil, {{x: []float64{0, 0, 1}, y: 1}}, {{x: []float64{0.5, 0, 0}, y: 1}, {unit: 1, x: []float64{0, 0.5, 0}}}} {
			last := 0
			_, err := p.Train(tableOf(t, 3, 1, rows), audit.Source(3), func(step int) error { last = step; return nil })
			if !errors.Is(err, ErrDiverged) {
				t.Errorf("%s, %d rows: %v", l.Name, len(rows), err)
			}
			ended = append(ended, last)
		}
		if ended[0] > 5 || ended[1] != ended[0] || ended[2] != ended[0] {
			t.Errorf("%s: ended at steps %v", l.Name, ended)
		}
	}
}
