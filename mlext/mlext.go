package mlext

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext/data"
	"github.com/dpsql/dpsql/mlext/descent"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// wordsAllowed are the options that are words. The first is what there is without the option.
var wordsAllowed = map[string][]string{"missing": {"drop", "middle"}, "schedule": {"constant", "linear", "cosine"}, "clipping": {"fixed", "adaptive", "automatic"}, "activation": {"tanh", "relu", "elu"}}

// listsAllowed are the options that are lists.
var listsAllowed = map[string]func(*Spec, pgsyntax.Option) error{classWeights: (*Spec).readWeights, hiddenLayers: (*Spec).readHidden, filtersOption: (*Spec).readFilters}

var always = []string{"epsilon", "price", "delta", "max_rows_per_unit", "missing", "split"}

// Read checks a TRAIN statement: its names and its options, every one of them.
func Read(n *pgsyntax.Train) (*Spec, error) {
	if err := checkName(n.Name.Text); err != nil {
		return nil, err.At(int(n.Name.Pos))
	}
	s := &Spec{Name: n.Name.Text, Target: n.Target.Text, targetAt: n.Target.Pos, Replace: n.Replace, numbers: map[string]float64{}, words: map[string]string{}, at: map[string]pgsyntax.Pos{}}
	f := familyOf(n.Model.Text)
	if f == nil {
		names := []string{}
		for _, f := range families {
			names = append(names, f.name)
		}
		return nil, unknown("model", n.Model, names)
	}
	s.Model = f.name
	if len(n.Args) > 0 {
		return nil, sqlerr.New(sqlerr.InvalidParam, "%s takes no arguments", s.Model).At(int(n.Args[0].Name.Pos)).WithHint("Options stand in WITH (...).")
	}
	s.Method = n.Method.Text
	if s.Method == "" {
		s.Method = "auto"
	}
	if s.Method != "auto" {
		m := methodOf(s.Method)
		if err := refusedMethod(n.Method); err != nil {
			return nil, err
		}
		if m == nil {
			return nil, unknown("method", n.Method, append([]string{"auto"}, Methods()...))
		}
		if why := m.refuses(f); why != "" {
			return nil, sqlerr.New(sqlerr.InvalidParam, "method %s does not train a %s: %s", m.name, s.Model, why).At(int(n.Method.Pos)).WithHint("Leave METHOD out for the usual one.")
		}
	}
	if err := s.read(n.With, f); err != nil {
		return nil, err
	}
	if f.network && s.hidden == nil {
		s.hidden = usualHidden
	}
	if f.images && s.filters == nil {
		s.filters = usualFilters
	}
	return s, nil
}

func (s *Spec) read(with []pgsyntax.Option, f *family) error {
	known := append(append([]string(nil), always...), f.options...)
	if m := methodOf(s.Method); m != nil {
		known = append(known, m.options...)
	} else {
		for _, m := range methods {
			known = append(known, m.options...)
		}
	}
	sort.Strings(known)
	for _, o := range with {
		name := strings.ToLower(o.Name.Text)
		if !slices.Contains(known, name) {
			return s.unknownOption(o.Name, slices.Compact(known))
		}
		if read := listsAllowed[name]; read != nil && !s.Has(name) {
			s.at[name] = o.Name.Pos
			if err := read(s, o); err != nil {
				return err
			}
			continue
		}
		if _, twice := s.at[name]; twice || o.List {
			return sqlerr.New(sqlerr.InvalidParam, "option %s takes one value", name).At(int(o.Name.Pos))
		}
		s.at[name] = o.Name.Pos
		v := o.Values[0]
		if list := wordsAllowed[name]; list != nil {
			if !slices.Contains(list, v.Text) {
				return sqlerr.New(sqlerr.InvalidParam, "%s must be %s, not %q", name, strings.Join(list, " or "), v.Text).At(int(v.Pos))
			}
			s.words[name] = v.Text
			continue
		}
		x, err := strconv.ParseFloat(v.Text, 64)
		in := numbersAllowed[name]
		if name == "delta" && err == nil && x == 0 {
			s.Pure = true
			if err := s.canBePure(methodOf(s.Method)); err != nil {
				return err
			}
			continue
		}
		if err != nil || !in.has(x) {
			e := sqlerr.New(sqlerr.InvalidParam, "%s cannot be %s", name, v.Text).At(int(v.Pos))
			if in.below {
				return e.WithHint("It is a number from %v to below %v.", in.lo, in.hi)
			}
			return e.WithHint("It is a number from %v to %v.", in.lo, in.hi)
		}
		if (name == "steps" || name == "max_rows_per_unit" || name == binsOption) && x != math.Trunc(x) {
			return sqlerr.New(sqlerr.InvalidParam, "%s must be a whole number", name).At(int(v.Pos))
		}
		s.numbers[name] = x
	}
	s.Split = s.number("split", 0)
	s.Price, s.Epsilon, s.Delta, s.MostRows = s.number("price", 0), s.number("epsilon", 0), s.number("delta", 0), uint64(s.number("max_rows_per_unit", 0))
	s.Fill = s.words["missing"] == "middle"
	return s.together()
}

// unknownOption refuses an option that this method or this model has not; others may.
func (s *Spec) unknownOption(w pgsyntax.Word, known []string) error {
	name, have := strings.ToLower(w.Text), []string(nil)
	for _, m := range methods {
		if slices.Contains(m.options, name) && m.refuses(familyOf(s.Model)) == "" {
			have = append(have, m.name)
		}
	}
	e := sqlerr.New(sqlerr.InvalidParam, "method %s has no option %s", s.Method, name).At(int(w.Pos))
	if len(have) > 0 {
		return e.WithHint("It is of METHOD %s.", strings.Join(have, ", "))
	}
	for _, f := range families {
		if slices.Contains(f.options, name) {
			have = append(have, f.name)
		}
	}
	if len(have) > 0 {
		return sqlerr.New(sqlerr.InvalidParam, "%s has no option %s", s.Model, name).At(int(w.Pos)).WithHint("It is of models of %s.", strings.Join(have, ", "))
	}
	return unknown("option", w, known)
}

func unknown(what string, w pgsyntax.Word, names []string) error {
	e := sqlerr.New(sqlerr.UndefinedObject, "there is no %s %q", what, w.Text).At(int(w.Pos))
	if near := sqlerr.Nearest(w.Text, names); near != "" {
		return e.WithHint("Perhaps you mean %s.", near)
	}
	return e.WithHint("There are %s.", strings.Join(names, ", "))
}

// Plan calibrates a training. population 0: unknown.
func Plan(s *Spec, features []Feature, target Feature, rows int, population float64) (*Training, error) {
	f := familyOf(s.Model)
	t := &Training{Spec: s, Features: features, Of: target, Rows: rows, Population: population, Epsilon: s.Epsilon, Delta: s.Delta}
	if err := t.ranged(); err != nil {
		return nil, err
	}
	f = f.of(&target)
	t.family = f
	if err := target.suits(f.target); err != nil {
		return nil, err.At(int(s.targetAt))
	}
	var err error
	if t.Loss, err = f.loss(s, &target); err != nil {
		return nil, err
	}
	if err := t.weigh(); err != nil {
		return nil, err
	}
	t.Method = s.Method
	if t.Method == "auto" {
		if t.Method, t.why, err = choose(t); err != nil {
			return nil, err
		}
	}
	if err := t.oneImage(); err != nil {
		return nil, err
	}
	t.width = 1
	for i := range features {
		t.parts = append(t.parts, features[i].partitions(t.bins()))
		t.width += features[i].width() + binWidth(t.parts[i])
	}
	t.scale = t.rowScale()
	if err := t.fewClasses(); err != nil {
		return nil, err
	}
	if n := t.size(); n > mostParameters {
		err := sqlerr.New(sqlerr.TooComplex, "the model has %d parameters, the limit is %d", n, mostParameters)
		if f.images {
			return nil, err.WithHint("%s", t.fewerUnits())
		}
		return nil, err.WithHint("Use fewer features, or columns with fewer values.")
	}
	if t.hasBins() {
		t.fact("bins", "%d", t.bins())
	}
	m := methodOf(t.Method)
	plan := m.plan
	if s.Pure {
		plan = m.pure
	}
	if t.run, err = plan(t); err != nil {
		return nil, err
	}
	return t, nil
}

// Collector takes the rows of a training in. They are in memory, or sealed on disk, until Wipe.
type Collector struct {
	training *Training
	builder  *data.Builder
	row      []float64
	table    *data.Table
}

// Collect begins the taking in.
func (t *Training) Collect() (*Collector, error) {
	b, err := data.NewBuilder(t.width, t.Rows)
	if err == nil && t.Spec.Pure {
		b.Within(t.rowSum())
	}
	c := &Collector{training: t, builder: b}
	if err == nil {
		c.Within(Limits{})
	}
	return c, err
}

// Limits are what a training's rows may take.
type Limits = data.Limits

// Within sets limits, before the first row. More rows than the training takes are beyond them too.
func (c *Collector) Within(l Limits) {
	l.Rows = c.training.most
	c.builder.Spill(l)
}

// Add takes a row of a unit as it is read: a number of steps a feature, and the target last. Units come by ascending number.
func (c *Collector) Add(unit int64, steps []int64) error {
	var y float64
	c.row, y = c.training.encode(steps, c.row)
	if err := c.builder.Add(unit, c.row, y); err != nil {
		return &Failure{err}
	}
	return nil
}

// ErrDiverged is a training whose released parameters, and nothing else, are beyond all bounds: that may be told, as they might.
var ErrDiverged = descent.ErrDiverged

// Failure is how a training failed. Its words are fixed ones: they may stand in the owner's log.
type Failure struct{ error }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.error }

// Held is about how many bytes of rows are in memory: 0 after Wipe.
func (c *Collector) Held() int {
	held := c.builder.Bytes()
	if c.table != nil {
		held += c.table.Bytes()
	}
	return held
}

// Wipe overwrites the rows.
func (c *Collector) Wipe() {
	clear(c.row[:cap(c.row)])
	c.builder.Table().Wipe()
	if c.table != nil {
		c.table.Wipe()
	}
}

// encode turns a row as it is read into what is trained on: 1 for the intercept, then the features, scaled. Rows of a norm above 1 are shortened to 1 as they are stored (data.Builder).
func (t *Training) encode(steps []int64, into []float64) (features []float64, target float64) {
	into = append(into[:0], t.scale)
	at := 0
	for i := range t.Features {
		f := &t.Features[i]
		zero := t.isFromZero(f)
		for range f.cells() {
			into = f.encode(steps[at], t.scale, zero, into)
			at++
		}
		into = f.bins(t.parts[i], steps[at-1], t.scale, into)
	}
	if target = t.Of.label(steps[len(steps)-1], t.classes()); t.family.target == aNumber {
		target = t.Of.centred(target)
	}
	return into, target
}

// Train runs it, on all that was collected.
func (t *Training) Train(c *Collector, src *noise.Source, each func(done, of int) error) (*Model, error) {
	c.table = c.builder.Table()
	theta, step, err := t.safely(c.table, src, each)
	if err == nil {
		err = c.table.Err() // zeros were read for rows that could not be
	}
	if err != nil {
		return nil, &Failure{err}
	}
	return t.model(theta, step), nil
}
