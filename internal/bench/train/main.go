// Train makes the tables of docs/training.md: the accuracy of each method on public data, medians of several trainings with nothing but defaults.
//
//	go run ./internal/bench/train [-data ../shared/data] [-only adult] [-runs 5] [-update]
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// row is a row of the table: what is trained, by which methods, and the accuracy that is asked for.
type row struct {
	data, model, method string
	delta               float64
	at                  map[float64]float64 // accuracy in percent, by epsilon; 0: none is asked for
}

var rows = []row{
	{"adult", "logistic_regression", "objective_perturbation", 1e-6, map[float64]float64{0.1: 82.0, 0.5: 83.6, 1: 84.0, 2: 84.2}},
	{"adult", "logistic_regression", "dp_gd", 1e-6, map[float64]float64{0.1: 82.0, 0.5: 83.5, 1: 84.0, 2: 84.1}},
	{"adult", "logistic_regression", "amp", 1e-6, map[float64]float64{0.1: 77.2, 0.5: 82.3, 1: 82.9, 2: 83.3}},
	{"adult", "logistic_regression", "kifer_2012", 1e-6, map[float64]float64{1: 83.4}},
	{"adult", "logistic_regression", "output_perturbation", 1e-6, map[float64]float64{1: 81.5}},
	{"adult", "logistic_regression", "sufficient_statistics", 1e-6, map[float64]float64{1: 83.0}},
	{"adult", "logistic_regression", "objective_perturbation", 0, map[float64]float64{0.1: 0, 1: 0}},
	{"adult", "logistic_regression", "output_perturbation", 0, map[float64]float64{1: 0}},
	{"adult", "logistic_regression", "sufficient_statistics", 0, map[float64]float64{1: 0}},
	{"kdd", "logistic_regression", "objective_perturbation", 1e-6, map[float64]float64{0.1: 98.8, 1: 99.1}},
	{"bank", "logistic_regression", "objective_perturbation", 1e-6, map[float64]float64{0.1: 89.2, 1: 89.7}},
	{"mnist 3, 8", "logistic_regression", "objective_perturbation", 1e-4, map[float64]float64{0.1: 94.5, 0.5: 96.2, 2.4: 96.4}},
	{"mnist 3, 8", "logistic_regression", "dp_gd", 1e-4, map[float64]float64{0.1: 94.5, 0.5: 96.2, 2.4: 96.4}},
	{"mnist", "softmax_regression", "dp_sgd", 1e-5, map[float64]float64{0.98: 90.0}},
}

var loaders = map[string]func(folder string) (*set, error){
	"adult": adult, "bank": bank, "kdd": kdd,
	"mnist 3, 8": func(f string) (*set, error) { return digits(f, 3, 8) },
	"mnist":      func(f string) (*set, error) { return digits(f, 0, 0) },
}

func main() {
	folder := flag.String("data", "../shared/data", "the shared data")
	only := flag.String("only", "", "data or methods that contain this")
	runs := flag.Int("runs", 5, "trainings of each")
	update := flag.Bool("update", false, "write the table into docs/training.md")
	flag.Parse()
	if err := run(*folder, *only, *runs, *update); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(folder, only string, runs int, update bool) error {
	var page bytes.Buffer
	page.WriteString("| data, model | method | epsilon | delta | accuracy, median | least, most | asked for | seconds |\n|---|---|---|---|---|---|---|---|\n")
	sets := map[string]*set{}
	for _, r := range rows {
		if !strings.Contains(r.data+" "+r.method, only) {
			continue
		}
		if sets[r.data] == nil {
			var err error
			if sets[r.data], err = loaders[r.data](folder); err != nil {
				return err
			}
		}
		var all []float64
		for e := range r.at {
			all = append(all, e)
		}
		slices.Sort(all)
		for _, e := range all {
			line, err := r.measure(sets[r.data], e, runs)
			if err != nil {
				return err
			}
			fmt.Print(line)
			page.WriteString(line)
		}
	}
	if !update {
		return nil
	}
	return write(page.Bytes())
}

func (r *row) measure(s *set, epsilon float64, runs int) (string, error) {
	text := fmt.Sprintf("TRAIN DP MODEL m USING %s METHOD %s TARGET y WITH (epsilon = %g, delta = %g) AS SELECT 1", r.model, r.method, epsilon, r.delta)
	sts, err := pgsyntax.Parse(text)
	if err != nil {
		return "", err
	}
	spec, err := mlext.Read(sts[0].Node.(*pgsyntax.Train))
	if err != nil {
		return "", err
	}
	var scores []float64
	var times []float64
	for range runs {
		t, err := mlext.Plan(spec, s.features, s.target, 1, float64(len(s.train)))
		if err != nil {
			return "", err
		}
		c, err := t.Collect()
		if err != nil {
			return "", err
		}
		for _, x := range s.train {
			if err := c.Add(0, x); err != nil {
				return "", err
			}
		}
		started := time.Now()
		m, err := t.Train(c, noise.NewSource(), func(int, int) error { return nil })
		if err != nil {
			return "", err
		}
		times = append(times, time.Since(started).Seconds())
		scores = append(scores, accuracy(m, s))
	}
	slices.Sort(scores)
	slices.Sort(times)
	asked := ""
	if want := r.at[epsilon]; want > 0 {
		asked = fmt.Sprintf("%.1f", want)
		if scores[len(scores)/2] < want {
			asked += " (missed)"
		}
	}
	return fmt.Sprintf("| %s, %s | `%s` | %g | %g | %.2f | %.2f, %.2f | %s | %.2f |\n", r.data, strings.TrimSuffix(r.model, "_regression"), r.method, epsilon, r.delta, scores[len(scores)/2], scores[0], scores[len(scores)-1], asked, times[len(times)/2]), nil
}

// accuracy is the share of the test rows that the model is right about, in percent.
func accuracy(m *mlext.Model, s *set) float64 {
	right := 0
	for _, row := range s.test {
		best, most := 0, 0.0
		for k := range m.Scores {
			z := m.Scores[k].Intercept
			for i := range s.features {
				f := &s.features[i]
				if f.Levels == nil {
					z += m.Scores[k].Coefficients[i][0] * (f.Lo + float64(row[i]-f.From)/float64(f.To-f.From)*(f.Hi-f.Lo))
				} else {
					z += m.Scores[k].Coefficients[i][row[i]]
				}
			}
			if k == 0 || z > most {
				best, most = k, z
			}
		}
		if len(m.Scores) == 1 {
			if best = 0; most > 0 {
				best = 1
			}
		}
		if int64(best) == row[len(row)-1] {
			right++
		}
	}
	return 100 * float64(right) / float64(len(s.test))
}

const page = "docs/training.md"

// write puts the table between the page's marks.
func write(table []byte) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := []byte("<!-- bench: begin -->\n"), []byte("<!-- bench: end -->")
	a, b := bytes.Index(text, begin), bytes.Index(text, end)
	if a < 0 || b < a {
		return errors.New(page + " has no marks for the table")
	}
	return os.WriteFile(page, slices.Concat(text[:a+len(begin)], table, text[b:]), 0o644) //nolint:gosec // a page of the repository
}
