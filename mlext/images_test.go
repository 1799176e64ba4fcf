package mlext

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/audit"
	"github.com/dpsql/dpsql/mlext/convex"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// imageTargets are a target of each kind that a cnn predicts.
var imageTargets = map[string]Feature{
	"two classes": {Name: "y", Boolean: true, Levels: []string{"false", "true"}, To: 1}, "classes": {Name: "y", Levels: []string{"a", "b", "c"}, To: 2}, "number": {Name: "y", Lo: -2, Hi: 7, From: -4, To: 14},
}

// drawnImages are a training of a cnn at a temperature, parameters that nothing trained, so many times as large, and the model of them.
func drawnImages(t *testing.T, draw *rand.Rand, target Feature, times float64) (*Training, []float64, *Model) {
	t.Helper()
	spec, err := Read(parsed(t, "TRAIN DP MODEL m USING cnn METHOD dp_gd TARGET y WITH (epsilon = 1, delta = 1e-6, steps = 5, filters = (3, 5), hidden = (6, 4), temperature = 3) AS SELECT 1"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Plan(spec, over(t, "cnn").Features, target, 1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	theta := make([]float64, p.size())
	for i := range theta {
		theta[i] = times * draw.NormFloat64()
	}
	return p, theta, p.model(theta, 0)
}

func parsed(t *testing.T, sql string) *pgsyntax.Train {
	t.Helper()
	sts, err := pgsyntax.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	return sts[0].Node.(*pgsyntax.Train)
}

// drawnRow is an image as it is read, and a target.
func drawnRow(draw *rand.Rand, p *Training) (row []int64) {
	for range p.Features[0].Length {
		row = append(row, draw.Int64N(p.Features[0].To+1))
	}
	return append(row, p.Of.From+draw.Int64N(p.Of.To-p.Of.From+1))
}

// TestImagesAreTrained: a stored cnn's scores of images are those that the parameters had of them as they were encoded.
func TestImagesAreTrained(t *testing.T) {
	draw := rand.New(rand.NewPCG(8, 9))
	for name, target := range imageTargets {
		p, theta, m := drawnImages(t, draw, target, 0.3)
		text, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if m, err = Decode(text); err != nil {
			t.Fatal(err)
		}
		stored, trained := m.ScoresOfImages(), p.images().Scores(theta)
		elements := make([]float32, p.Features[0].Length)
		for range 50 {
			row := drawnRow(draw, p)
			x, _ := p.encode(row, nil)
			single := make([]float32, len(x)-1)
			for i := range single {
				single[i], elements[i] = float32(x[1+i]), float32(row[i])/255
			}
			for k, want := range trained(single) {
				if got := stored(elements)[k]; !(math.Abs(got-want) <= 1e-4*(1+math.Abs(want))) {
					t.Fatalf("%s: score %d is %g, the parameters' %g", name, k, got, want)
				}
			}
		}
	}
}

// tallyOf is an evaluation at a large epsilon, of units of so many rows each, and its counts.
func tallyOf(t *testing.T, m *Model, p *Training, rows int) (*Training, *Tally) {
	t.Helper()
	spec := Evaluates(parsed(t, "TRAIN DP MODEL m USING cnn TARGET y AS SELECT 1"), 1, 1e-6)
	spec.Epsilon = 100
	e, err := m.Evaluating(spec, p.Features, p.Of, rows)
	if err != nil {
		t.Fatal(err)
	}
	y, err := e.Tally(m)
	if err != nil {
		t.Fatal(err)
	}
	return e, y
}

// norm is that of what was counted, in counts.
func (y *Tally) norm() float64 {
	square := 0.0
	for _, v := range y.totals {
		square += float64(v) / tallyUnit * float64(v) / tallyUnit
	}
	return math.Sqrt(square)
}

// TestTallyNeighbours: a unit, whatever its rows and the scores, changes the counts by at most the norm that the noise is for, and some units by nearly that. Rows that are taken for units of their own, and noise for one row of units of several, are found.
func TestTallyNeighbours(t *testing.T) {
	draw := rand.New(rand.NewPCG(10, 11))
	for name, target := range imageTargets {
		for _, rows := range []int{1, 3} {
			most, bug := 0.0, 0.0
			for try := range 60 {
				p, _, m := drawnImages(t, draw, target, []float64{0.1, 1, 30}[try%3])
				e, y := tallyOf(t, m, p, rows)
				_, apart := tallyOf(t, m, p, rows)
				row := drawnRow(draw, p)
				if try%2 == 1 {
					row[len(row)-1] = p.Of.To // the end of a number
				}
				for i := range rows {
					if err := y.Add(7, row); err != nil {
						t.Fatal(err)
					}
					for j := range rows { // planted: rows are numbered apart
						if err := apart.Add(int64(1+rows*i+j), row); err != nil {
							t.Fatal(err)
						}
					}
				}
				claim := e.tallyNoise(1) / tallyUnit
				if by := y.norm(); by > claim {
					t.Fatalf("%s, %d rows: a unit changes the counts by %g, the noise is for %g", name, rows, by, claim)
				}
				most, bug = max(most, y.norm()/claim), max(bug, apart.norm()/claim)
				if rows > 1 {
					if one, _ := tallyOf(t, m, p, 1); y.norm() <= one.tallyNoise(1)/tallyUnit && target.Levels != nil {
						t.Fatalf("%s: noise for one row hides %d", name, rows)
					}
					if y.Add(7, row) == nil || y.Add(8, row) != nil || y.Add(7, row) == nil {
						t.Fatalf("%s: a row too many, or of a unit that returns, is counted", name)
					}
				}
			}
			if most < 0.9 || rows > 1 && bug <= 1 {
				t.Errorf("%s, %d rows: at most %g of the claim, rows apart %g: this proves nothing", name, rows, most, bug)
			}
		}
	}
}

// TestTallyNoise: what is released has the noise that was planned, which is that of the Gaussian mechanism at its epsilon and delta.
func TestTallyNoise(t *testing.T) {
	p, _, m := drawnImages(t, rand.New(rand.NewPCG(12, 13)), imageTargets["two classes"], 1)
	e, y := tallyOf(t, m, p, 2)
	if z := e.Composed.Multiplier; z < convex.Multiplier(100, 1e-6) || e.Composed.Rate != 1 || e.Composed.Steps != 1 {
		t.Errorf("composed of %+v", e.Composed)
	}
	if _, err := y.Release(audit.Source(14)); err != nil {
		t.Fatal(err)
	}
	sigma := e.tallyNoise(e.Composed.Multiplier) / tallyUnit // the source is fixed, so that this passes always or never
	if got := y.norm() / math.Sqrt(float64(len(y.totals))); math.Abs(got/sigma-1) > 0.1 {
		t.Errorf("the deviation of %d counts is %g, not %g", len(y.totals), got, sigma)
	}
	y.Wipe()
	if _, err := y.Release(audit.Source(14)); err == nil || y.norm() != 0 {
		t.Error("counts that were wiped are released")
	}
}

// TestTallyCounts: without much noise the metrics are those of a plain count.
func TestTallyCounts(t *testing.T) {
	const rows = 3000
	draw := rand.New(rand.NewPCG(15, 16))
	for name, target := range imageTargets {
		p, _, m := drawnImages(t, draw, target, 0.2)
		_, y := tallyOf(t, m, p, 1)
		right, off, scores := 0.0, 0.0, m.ScoresOfImages()
		elements := make([]float32, p.Features[0].Length)
		for range rows {
			row := drawnRow(draw, p)
			for i := range elements {
				elements[i] = float32(row[i]) / 255
			}
			z, of := scores(elements), row[len(row)-1]
			best := int64(0)
			for k := range z {
				if z[k] > z[best] {
					best = int64(k)
				}
			}
			if len(z) == 1 && z[0] > 0 {
				best = 1
			}
			if best == of {
				right++
			}
			d := (math.Max(-1, math.Min(1, z[0])) - target.centred(target.label(of, false))) * (target.Hi - target.Lo) / 2
			off += d * d
			if err := y.Add(0, row); err != nil {
				t.Fatal(err)
			}
		}
		facts, err := y.Release(audit.Source(17))
		if err != nil {
			t.Fatal(err)
		}
		metric, want := "accuracy", right/rows
		if name == "number" {
			metric, want = "MSE", off/rows
		}
		got := math.NaN()
		for _, f := range facts {
			if f.Name == metric {
				if _, err := fmt.Sscan(fmt.Sprint(f.Value), &got); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !(math.Abs(got-want) < 0.01*math.Max(1, want)) {
			t.Errorf("%s: %s is %g, counted %g: %v", name, metric, got, want, facts)
		}
	}
}
