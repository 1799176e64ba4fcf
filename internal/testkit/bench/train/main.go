// Train makes the tables of docs/training.md: the accuracy of each method on public data, medians of several trainings with nothing but defaults.
//
//	go run ./internal/testkit/bench/train [-data ../shared/data] [-only adult] [-runs 5] [-update] [-synthetic]
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// row is a row of the table: what is trained, by which methods and options, and the accuracy that is asked for.
type row struct {
	data, model, method string
	with                string // options beside epsilon and delta
	delta               float64
	at                  map[float64]float64 // accuracy in percent, by epsilon; 0: none is asked for
}

const logistic, objective = "logistic_regression", "objective_perturbation"

// tutorial is the recipe of TensorFlow Privacy's MNIST tutorial (batches of 256, 15 epochs, clip 1.5, learning rate 0.15, noise 1.3): rows are 0.123 times as long here, so clips too, and learning rates 1/0.123^2 times.
const tutorial = ", noise_multiplier = 1.3, clip = 0.185, learning_rate = 9.9, average = 0"

var rows = []row{
	{"adult", logistic, objective, "", 1e-6, map[float64]float64{0.1: 82.0, 0.5: 83.6, 1: 84.0, 2: 84.2}},
	{"adult", logistic, "dp_gd", "", 1e-6, map[float64]float64{0.1: 82.0, 0.5: 83.5, 1: 84.0, 2: 84.1}},
	{"adult", logistic, "amp", "", 1e-6, map[float64]float64{0.1: 77.2, 0.5: 82.3, 1: 82.9, 2: 83.3}},
	{"adult", logistic, "kifer_2012", "", 1e-6, map[float64]float64{1: 83.4}},
	{"adult", logistic, "output_perturbation", "", 1e-6, map[float64]float64{1: 81.5}},
	{"adult", logistic, "sufficient_statistics", "", 1e-6, map[float64]float64{1: 83.0}},
	{"adult", logistic, objective, "", 0, map[float64]float64{0.1: 0, 1: 0}},
	{"adult", logistic, "output_perturbation", "", 0, map[float64]float64{1: 0}},
	{"adult", logistic, "sufficient_statistics", "", 0, map[float64]float64{1: 0}},
	{"adult", logistic, "auto", "", 1e-6, map[float64]float64{0.1: 83.6, 0.5: 84.6, 1: 85.1, 2: 85.5}},
	{"adult", "mlp", "auto", "", 1e-6, map[float64]float64{0.1: 83.6, 0.5: 84.6, 1: 85.1, 2: 85.5}},
	{"kdd", logistic, objective, "", 1e-6, map[float64]float64{0.1: 98.8, 1: 99.1}},
	{"kdd", logistic, "auto", "", 1e-6, map[float64]float64{0.1: 98.8, 1: 99.1}},
	{"bank", logistic, objective, "", 1e-6, map[float64]float64{0.1: 89.2, 1: 89.7}},
	{"bank", logistic, "auto", "", 1e-6, map[float64]float64{0.1: 89.2, 1: 89.7}},
	{"mnist 3, 8", logistic, objective, "", 1e-4, map[float64]float64{0.1: 0, 0.5: 0, 2.4: 0}},
	{"mnist 3, 8", logistic, "dp_gd", "", 1e-4, map[float64]float64{0.1: 94.5, 0.5: 96.2, 2.4: 96.4}},
	{"mnist", "softmax_regression", "dp_sgd", "noise_multiplier = 11.85, sampling_rate = 0.14", 1e-5, map[float64]float64{0: 90.0}},
	{"mnist 3, 8", logistic, "dp_sgd", "sampling_rate = 0.0214, steps = 703" + tutorial, 1e-4, map[float64]float64{0: 0}},
	{"mnist", "softmax_regression", "dp_sgd", "sampling_rate = 0.00427, steps = 3515" + tutorial, 1e-5, map[float64]float64{0: 0}},
	{"mnist images", "cnn", "auto", "steps = 120", 1e-5, map[float64]float64{0.98: 97.0, 1.95: 97.6, 2.93: 98.1}},
	{"diabetes130, 1 encounter", logistic, objective, "", 1e-6, map[float64]float64{1: 0}},
	{"diabetes130, 1 encounter", logistic, "auto", "", 1e-6, map[float64]float64{1: 0}},
	{"diabetes130, 2 encounters", logistic, objective, "", 1e-6, map[float64]float64{1: 0}},
	{"diabetes130, 2 encounters", logistic, "auto", "", 1e-6, map[float64]float64{1: 0}},
	{"diabetes130, 2 encounters", logistic, "dp_gd", "learning_rate = 40", 1e-6, map[float64]float64{1: 0}},
}

var loaders = map[string]func(folder string) (*set, error){
	"adult": adult, "bank": bank, "kdd": kdd,
	"diabetes130, 1 encounter":  func(f string) (*set, error) { return diabetes(f, 1) },
	"diabetes130, 2 encounters": func(f string) (*set, error) { return diabetes(f, 2) },
	"mnist 3, 8":                func(f string) (*set, error) { return digits(f, 3, 8) },
	"mnist images":              images,
	"mnist":                     func(f string) (*set, error) { return digits(f, 0, 0) },
}

func main() {
	folder := flag.String("data", "../shared/data", "the shared data")
	only := flag.String("only", "", "data or methods that contain this")
	onlySynthetic := flag.Bool("synthetic", false, "print how near synthetic rows are")
	onlyFigures := flag.Bool("figures", false, "draw the figures alone")
	runs := flag.Int("runs", 5, "trainings of each")
	update := flag.Bool("update", false, "write the table into docs/training.md, and its figures")
	flag.Parse()
	do := func() error { return run(*folder, *only, *runs, *update) }
	if *onlySynthetic {
		do = func() error { return synthetic(*folder, *runs) }
	}
	if *onlyFigures {
		do = func() error { return figures(*folder, *runs) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(folder, only string, runs int, update bool) error {
	var page bytes.Buffer
	page.WriteString("| data, model | method | epsilon | delta | accuracy, median | least, most | asked for | AUC, median | log-loss, median | seconds |\n|---|---|---|---|---|---|---|---|---|---|\n")
	say := func(line string) {
		fmt.Print(line)
		page.WriteString(line)
	}
	sets := map[string]*set{}
	for _, r := range rows {
		if !strings.Contains(r.data+" "+r.method, only) {
			continue
		}
		s := sets[r.data]
		if s == nil {
			var err error
			if s, err = loaders[r.data](folder); err != nil {
				return err
			}
			sets[r.data] = s
			m, err := r.withoutPrivacy(s)
			if err != nil {
				return err
			}
			say(fmt.Sprintf("| %s | without privacy | | | %.2f | | | %s | %s | %.2f |\n", r.name(), m.accuracies[0], thousandths(m.areas), thousandths(m.losses), m.seconds[0]))
		}
		for _, e := range slices.Sorted(maps.Keys(r.at)) {
			m, err := r.train(s, e, runs)
			if err != nil {
				return err
			}
			say(r.line(m, r.at[e]))
		}
	}
	if !update {
		return nil
	}
	if err := write(page.Bytes()); err != nil {
		return err
	}
	return figures(folder, runs)
}

// measured are several trainings' results, each in ascending order.
type measured struct {
	method                             string
	epsilon                            float64
	accuracies, areas, losses, seconds []float64
}

func (r *row) name() string { return r.data + ", " + strings.TrimSuffix(r.model, "_regression") }

func (r *row) line(m *measured, want float64) string {
	asked := ""
	if want > 0 {
		asked = fmt.Sprintf("%.1f", want)
		if middle(m.accuracies) < want {
			asked += " (missed)"
		}
	}
	how := "`" + m.method + "`"
	if r.method == "auto" {
		how += " (auto)"
	}
	if r.with != "" {
		how += ", " + r.with
	}
	return fmt.Sprintf("| %s | %s | %.3g | %g | %.2f | %.2f, %.2f | %s | %s | %s | %.2f |\n", r.name(), how, m.epsilon, r.delta, middle(m.accuracies), m.accuracies[0], m.accuracies[len(m.accuracies)-1], asked, thousandths(m.areas), thousandths(m.losses), middle(m.seconds))
}

func thousandths(list []float64) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", middle(list))
}

func middle(sorted []float64) float64 { return sorted[len(sorted)/2] }

// withoutPrivacy trains on all rows, each a unit of its own, at an epsilon of 50, which is next to no noise and no regularisation (lambda is about the smoothness of one row).
func (r *row) withoutPrivacy(s *set) (*measured, error) {
	b := row{data: r.data, model: r.model, method: objective, delta: 0.1}
	if r.model != logistic { // a minimum of many scores takes long to find exactly
		b.method, b.with = r.method, "sampling_rate = 0.14"
	}
	all := *s
	all.units, all.most = nil, 1
	if s.all != nil {
		all.train = s.all
	}
	return b.train(&all, 50, 1)
}

// train is as a session would: the statement, its plan from public facts, the rows, the training.
func (r *row) train(s *set, epsilon float64, runs int) (*measured, error) {
	with := fmt.Sprintf("delta = %g", r.delta)
	if epsilon > 0 {
		with += fmt.Sprintf(", epsilon = %g", epsilon)
	}
	if r.with != "" {
		with += ", " + r.with
	}
	sts, err := pgsyntax.Parse(fmt.Sprintf("TRAIN DP MODEL m USING %s METHOD %s TARGET y WITH (%s) AS SELECT 1", r.model, r.method, with))
	if err != nil {
		return nil, err
	}
	spec, err := mlext.Read(sts[0].Node.(*pgsyntax.Train))
	if err != nil {
		return nil, err
	}
	out := &measured{}
	for range runs {
		t, err := mlext.Plan(spec, s.features, s.target, max(1, s.most), s.population())
		if err != nil {
			return nil, err
		}
		c, err := t.Collect()
		if err != nil {
			return nil, err
		}
		for i, x := range s.train {
			if err := c.Add(s.unit(i), x); err != nil {
				return nil, err
			}
		}
		started := time.Now()
		m, err := t.Train(c, noise.NewSource(), func(int, int) error { return nil })
		if err != nil {
			return nil, err
		}
		c.Wipe()
		out.seconds = append(out.seconds, time.Since(started).Seconds())
		out.method, out.epsilon = t.Method, t.Epsilon
		a, auc, loss := s.score(m)
		out.accuracies = append(out.accuracies, 100*a)
		if auc > 0 { // two classes
			out.areas, out.losses = append(out.areas, auc), append(out.losses, loss)
		}
	}
	slices.Sort(out.accuracies)
	slices.Sort(out.areas)
	slices.Sort(out.losses)
	slices.Sort(out.seconds)
	return out, nil
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
