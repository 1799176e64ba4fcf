package model_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/mlext"
)

// TestMetrics: of public rows each metric is what a loop over the exported coefficients gives.
func TestMetrics(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, "epsilon: 20,", "epsilon: 1000,")
		classes := []string{"NO", "<30", ">30"}
		type row struct {
			days, cost, much float64
			class            string
		}
		var rows []row
		var values []string
		for i := range 60 {
			r := row{float64(1 + i%13), float64(i*i%700) + 0.5, float64(i * 7 % 40), classes[i*i%7%3]}
			rows, values = append(rows, r), append(values, fmt.Sprintf("(%g, %g, %g, '%s', %t)", r.days, r.cost, r.much, r.class, r.class == "<30"))
		}
		values = append(values, "(NULL, 1.5, 39, '<30', true)", "(5, NULL, 39, '<30', true)", "(5, 1.5, NULL, NULL, NULL)") // of these there is no prediction, or no truth
		from := " ON SELECT * FROM (VALUES " + strings.Join(values, ", ") + ") AS v(days, cost, medications, readmitted, back)"
		model := func(name string) (m *mlext.Model) {
			list, err := enginetest.Try(s, "EXPORT DP MODEL "+name+" AS json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(list[0][0].(string)), &m); err != nil {
				t.Fatal(err)
			}
			return m
		}
		scores := func(m *mlext.Model, r row) []float64 {
			var out []float64
			for _, sc := range m.Scores {
				z := sc.Intercept
				for i, x := range []float64{r.days, r.cost} {
					z += sc.Coefficients[i][0] * math.Max(m.Features[i].Lo, math.Min(m.Features[i].Hi, x))
				}
				out = append(out, z)
			}
			return out
		}
		told := func(name string) map[string]float64 {
			out := map[string]float64{}
			list, err := enginetest.Try(s, "EVALUATE DP MODEL "+name+from)
			if err != nil {
				t.Fatalf("%s: %s: %v", d, name, err)
			}
			for _, r := range list {
				var v, part float64
				if n, _ := fmt.Sscanf(r[1].(string), "%g rows, observed %g", &v, &part); n == 1 {
					_, _ = fmt.Sscanf(r[1].(string), "%g rows, right %g", &v, &part)
				}
				if _, err := fmt.Sscan(r[1].(string), &v); err != nil {
					t.Fatalf("%s: %v", d, r)
				}
				if strings.Contains(r[0].(string), "error") {
					t.Errorf("%s: %s has an error of public rows: %v", d, name, r)
				}
				out[r[0].(string)], out[r[0].(string)+", part"] = v, part
			}
			return out
		}
		near := func(name, metric string, got map[string]float64, want float64) {
			if v, ok := got[metric]; !ok || math.Abs(v-want) > 1e-3*math.Max(1, math.Abs(want)) {
				t.Errorf("%s: %s: %s is %v, want %g", d, name, metric, got, want)
			}
		}
		for _, kind := range []string{"softmax", "poisson", "linear", "logistic"} {
			target := map[string]string{"softmax": "readmitted", "logistic": "back"}[kind]
			if target == "" {
				target = "medications"
			}
			if _, err := enginetest.Try(s, fmt.Sprintf("TRAIN DP MODEL %s USING %s TARGET %s WITH (epsilon = 2, delta = 1e-9) AS SELECT days, cost, %s FROM encounters", kind, kind, target, strings.Replace(target, "back", "readmitted = '<30' AS back", 1))); err != nil {
				t.Fatal(err)
			}
			m, got := model(kind), told(kind)
			n := float64(len(rows))
			near(kind, "rows", got, n)
			var right, loss, square, deviance, mean, variance float64
			var shares []float64
			var truths []bool
			var counts, rights [20]float64 // by the probability of the second of two classes, or of the said one of three
			bin := func(p float64, right bool) {
				b := min(19, int(20*p))
				counts[b]++
				if right {
					rights[b]++
				}
			}
			for _, r := range rows {
				mean += r.much / n
			}
			for _, r := range rows {
				z := scores(m, r)
				switch kind {
				case "softmax":
					sum, best, y := 0.0, 0, 0
					for i, v := range z {
						if sum += math.Exp(v); v > z[best] {
							best = i
						}
						if m.Target.Levels[i] == r.class {
							y = i
						}
					}
					loss += math.Min(7, math.Log(sum)-z[y]) / n
					bin(math.Exp(z[best])/sum, best == y)
					if best == y {
						right += 1 / n
					}
					continue
				case "logistic":
					p, back := 1/(1+math.Exp(-z[0])), r.class == "<30"
					bin(p, back)
					shares, truths = append(shares, p), append(truths, back)
					if back {
						loss += math.Min(7, -math.Log(p)) / n
					} else {
						loss += math.Min(7, -math.Log(1-p)) / n
					}
					if (z[0] > 0) == (r.class == "<30") {
						right += 1 / n
					}
					continue
				}
				p := (m.Target.Lo+m.Target.Hi)/2 + (m.Target.Hi-m.Target.Lo)/2*z[0]
				if kind == "poisson" {
					p = math.Exp(z[0])
					dev := p - r.much
					if r.much > 0 {
						dev += r.much * math.Log(r.much/math.Max(1e-6, math.Min(p, m.Target.Hi)))
					}
					deviance += math.Min(4*m.Target.Hi, 2*dev) / n
				}
				p = math.Max(m.Target.Lo, math.Min(m.Target.Hi, p))
				square += (r.much - p) * (r.much - p) / n
				variance += (r.much - mean) * (r.much - mean) / n
			}
			calibration := map[string]string{"softmax": "probability", "logistic": "predicted"}[kind]
			for b := range counts {
				if metric := fmt.Sprintf("%s %.2f to %.2f", calibration, float64(b)/20, float64(b+1)/20); counts[b] > 0 && calibration != "" {
					near(kind, metric, got, counts[b])
					near(kind, metric+", part", got, rights[b]/counts[b])
				} else if v, ok := got[metric]; ok {
					t.Errorf("%s: %s: %s is %g", d, kind, metric, v)
				}
			}
			switch kind {
			case "softmax":
				near(kind, "log-loss", got, loss)
				near(kind, "accuracy", got, right)
			case "logistic":
				near(kind, "accuracy", got, right)
				pairs, wins := 0.0, 0.0
				cut := func(p float64) float64 { return math.Min(1019, math.Floor(1020*p)) } // rows of one interval count as a half
				for i, p := range shares {
					for j, q := range shares {
						if !truths[i] || truths[j] {
							continue
						}
						if pairs++; cut(p) > cut(q) {
							wins++
						} else if cut(p) == cut(q) {
							wins += 0.5
						}
					}
				}
				near(kind, "AUC", got, wins/pairs)
				near(kind, "log-loss", got, loss)
			default:
				near(kind, "MSE", got, square)
				near(kind, "R2", got, 1-square/variance)
			}
			if kind == "poisson" {
				near(kind, "deviance", got, deviance)
			}
		}
	}
}
