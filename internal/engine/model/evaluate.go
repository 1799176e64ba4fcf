package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/engine/answer"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// Evaluation is EVALUATE DP MODEL: one statement over the query's rows, charged and stored as any, from whose answer the metrics are computed.
type Evaluation struct {
	Session *session.Session
	Node    *pgsyntax.Evaluate
	explain *pgsyntax.Explain // set for EXPLAIN
	asks    []answer.Column   // of EXPLAIN
	price   float64           // 0: the session's
	Ask     innerQuery
	part    pgsyntax.Word   // of the units, as SPLIT says; its text is empty for none
	groups  []answer.Column // of GROUP BY

	literals sqltype.Settings // by which its literals are read
}

// Columns implements session.Kind.
func (e *Evaluation) Columns() []answer.Column {
	if e.explain != nil {
		return e.asks
	}
	return append(slices.Clip(e.groups), answer.Column{Name: "metric", Type: sqltype.Text}, answer.Column{Name: "value", Type: sqltype.Text})
}

// prepareEvaluate checks it.
func prepareEvaluate(ctx context.Context, s *session.Session, n *pgsyntax.Evaluate, explain *pgsyntax.Explain, ask innerQuery) (session.Kind, error) {
	e := &Evaluation{Session: s, Node: n, explain: explain, Ask: ask, literals: s.Values}
	for _, o := range n.With {
		v, err := strconv.ParseFloat(o.Values[0].Text, 64)
		switch {
		case o.Name.Text != "price" && o.Name.Text != "epsilon" && o.Name.Text != "split": // epsilon is the older name of price
			return nil, sqlerr.New(sqlerr.UndefinedObject, "there is no option %q", o.Name.Text).At(int(o.Name.Pos)).WithHint("EVALUATE takes price and split.")
		case o.List, e.price > 0 && o.Name.Text != "split", e.part.Text != "" && o.Name.Text == "split":
			if !o.List && o.Name.Text != "split" && slices.ContainsFunc(n.With, func(of pgsyntax.Option) bool { return of.Name.Text != o.Name.Text && of.Name.Text != "split" }) {
				return nil, sqlerr.New(sqlerr.InvalidParam, "price and epsilon are one option").At(int(o.Name.Pos)).WithHint("Leave epsilon out, which is the older name of price.")
			}
			return nil, sqlerr.New(sqlerr.InvalidParam, "option %s takes one value", o.Name.Text).At(int(o.Name.Pos))
		case o.Name.Text == "split":
			e.part = pgsyntax.Word{Pos: o.Values[0].Pos, Text: strings.ToLower(o.Values[0].Text)}
			continue
		case err != nil || !(v >= s.LeastEpsilon()) || math.IsInf(v, 1):
			return nil, sqlerr.New(sqlerr.InvalidParam, "price cannot be %s", o.Values[0].Text).At(int(o.Values[0].Pos)).WithHint("The least is %g.", s.LeastEpsilon())
		}
		if err := s.MayAsk("price", v); err != nil {
			return nil, err.At(int(o.Values[0].Pos))
		}
		e.price = v
	}
	stored, err := catalog.UsableModel(ctx, s, mlext.Name{Owner: n.Owner.Text, Text: n.Name.Text})
	if err != nil {
		return nil, err
	}
	if stored.Model.IsOfImages() {
		return prepareImages(ctx, e, stored.Model)
	}
	return e, e.with(func() error {
		p, _, _, err := e.Prepare(ctx)
		if err == nil && explain != nil {
			e.asks = p.Columns()
		}
		return err
	})
}

// with does something at the statement's price, and gives the session its settings back.
func (e *Evaluation) with(do func() error) error {
	s := e.Session
	before := s.Now
	defer func() { s.Now = before }()
	if e.price > 0 {
		s.Now.Epsilon = e.price
	}
	s.Now.Low, s.Now.Rounding = session.LowKeep, session.RoundOff // metrics are computed from all digits
	return do()
}

// of is the part of the units that the model is evaluated on: those that it was not trained on, unless SPLIT says otherwise.
func (e *Evaluation) of(m *mlext.Model) (out sensitivity.Split, err error) {
	word, split := e.part, m.Split
	fraction, notNumber := strconv.ParseFloat(word.Text, 64)
	switch {
	case word.Text == "none":
		return out, nil
	case split == nil && word.Text == "train":
		return out, sqlerr.New(sqlerr.InvalidParam, "model %s was trained on everybody", m.Name).At(int(word.Pos)).WithHint("SPLIT none is everybody.")
	case split == nil && word.Text != "":
		return out, sqlerr.New(sqlerr.InvalidParam, "model %s was trained on everybody: no part of the people is left to test it on", m.Name).At(int(word.Pos)).WithHint("TRAIN ... SPLIT 0.8 leaves a part out.")
	case split == nil:
		return out, nil
	case word.Text == "train":
	case word.Text == "", word.Text == "test", notNumber == nil && fraction == split.Fraction:
		out.Rest = true
	case notNumber == nil:
		return out, sqlerr.New(sqlerr.InvalidParam, "model %s was trained on the part %g of the people", m.Name, split.Fraction).At(int(word.Pos)).WithHint("SPLIT test is those that it was not trained on, whatever their part.")
	default:
		return out, sqlerr.New(sqlerr.InvalidParam, "SPLIT cannot be %s", word.Text).At(int(word.Pos)).WithHint("SPLIT test is the people that the model was not trained on, SPLIT train the others, SPLIT none all.")
	}
	out.Salt, out.Fraction = split.Salt, split.Fraction
	return out, nil
}

// split is the part of the units that the statement is over.
//
// Proof: sensitivity.Split is the proof of its bounds; where the answer is computed from other releases than the levels', each of which is of that part, or the unit is another than the model's, a part would not be what it is called, and is refused.
func (e *Evaluation) split(of session.Kind, m *mlext.Model, sc *mlext.Scoring) (out sensitivity.Split, err error) {
	p, private := of.(*private.Statement)
	if !private || e.Session.Now.Split.Salt == "" {
		return out, nil
	}
	first := p.Stages[0].An
	switch {
	case len(p.Stages) != max(1, sc.Levels) || slices.ContainsFunc(p.Stages, func(st *stage.Stage) bool { return len(st.Inputs) > 0 || st.An.Split != first.Split }):
		return out, sqlerr.New(sqlerr.PrivateShape, "a part of the people cannot be told apart in a query that reads releases").At(int(e.Node.Query.Pos)).WithHint("SPLIT none evaluates the model on everybody, or leave out aggregates over many people.")
	case string(first.Unit) != m.Split.Unit:
		return out, sqlerr.New(sqlerr.InvalidParam, "model %s was trained on a part of other units", m.Name).At(int(e.Node.Pos)).WithHint("SPLIT none evaluates it on all.")
	}
	return first.Split, nil
}

// Prepare binds the statement that asks for what the metrics are computed from.
func (e *Evaluation) Prepare(ctx context.Context) (whole session.Kind, split sensitivity.Split, scoring *mlext.Scoring, err error) {
	s := e.Session
	stored, err := catalog.UsableModel(ctx, s, mlext.Name{Owner: e.Node.Owner.Text, Text: e.Node.Name.Text})
	if err != nil {
		return nil, split, nil, err
	}
	opts := s.Binding(&e.literals)
	opts.Models = catalog.Unpredicted{}
	inner, err := plan.Bind(e.Node.Query, s.Along(s.Catalog), opts)
	var told *sqlerr.Error
	switch {
	case errors.As(err, &told) && sqlerr.ID(err) == sqlerr.Grouping.ID && len(e.Node.Query.GroupBy) > 0:
		return nil, split, nil, told.WithHint("GROUP BY before ON evaluates each group: EVALUATE DP MODEL %s GROUP BY sex ON SELECT ...", pgsyntax.QuoteIdent(stored.Name))
	case err != nil:
		return nil, split, nil, err
	}
	if len(inner.Params) > 0 {
		return nil, split, nil, sqlerr.New(sqlerr.Unsupported, "parameters in EVALUATE are not supported").WithHint("Write the values.")
	}
	var features []string
	target, names := "", make([]string, len(inner.Outputs))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i+1)
	}
	find := func(name string) (string, error) {
		i := slices.IndexFunc(inner.Outputs, func(o plan.Output) bool { return o.Name == name })
		if i < 0 {
			return "", sqlerr.New(sqlerr.UndefinedColumn, "the query has no column %q, which model %s needs", name, stored.Name).At(int(e.Node.Query.Pos)).WithHint("Name its columns as those of the query that the model was trained on.")
		}
		return names[i], nil
	}
	for _, f := range stored.Model.Features {
		c, err := find(f.Name)
		if err != nil {
			return nil, split, nil, err
		}
		features = append(features, c)
	}
	if target, err = find(stored.Model.Target.Name); err != nil {
		return nil, split, nil, err
	}
	groups := make([]string, len(e.Node.By))
	e.groups = nil
	for i, w := range e.Node.By {
		at := slices.IndexFunc(inner.Outputs, func(o plan.Output) bool { return o.Name == w.Text })
		if at < 0 {
			return nil, split, nil, sqlerr.New(sqlerr.UndefinedColumn, "the query has no column %q", w.Text).At(int(w.Pos)).WithHint("GROUP BY before ON names columns of the query: add it to the query's SELECT list.")
		}
		groups[i] = names[at]
		e.groups = append(e.groups, answer.Column{Name: w.Text, Type: inner.Outputs[at].Type})
	}
	ask := func(public bool) (p, of session.Kind, sc *mlext.Scoring, err error) {
		if sc, err = stored.Model.Scoring(features, target, public); err != nil {
			return nil, nil, nil, err
		}
		for _, c := range sc.Columns {
			if len(c) > catalog.MostPredicted {
				return nil, nil, nil, catalog.TooLong(stored.Model, len(c), 0).At(int(e.Node.Name.Pos))
			}
		}
		p, of, err = e.bind(ctx, sc, names, groups, !public)
		return p, of, sc, err
	}
	if s.Now.Split, err = e.of(stored.Model); err != nil {
		return nil, split, nil, err
	}
	whole, of, scoring, err := ask(true)
	if _, private := of.(*private.Statement); err == nil && private {
		whole, of, scoring, err = ask(false)
	}
	if err == nil {
		err = e.publicGroups(of)
	}
	if err == nil {
		split, err = e.split(of, stored.Model, scoring)
	}
	return whole, split, scoring, err
}

// publicGroups refuses groups that noise would choose: a metric needs the rows of every class and interval of a group, and those of few people are left out.
func (e *Evaluation) publicGroups(of session.Kind) error {
	if p, ok := of.(*private.Statement); ok && len(e.groups) > 0 && slices.ContainsFunc(p.Stages, func(st *stage.Stage) bool { return !st.An.Groups.Public }) {
		return sqlerr.New(sqlerr.PrivateShape, "the values of %s are not public", e.groups[0].Name).At(int(e.Node.By[0].Pos)).
			WithHint("Keep the values that you name, as in WHERE %s IN (...), or ask the owner for its values in the policy.", pgsyntax.QuoteIdent(e.groups[0].Name))
	}
	return nil
}

// bind binds what the scoring asks of the query's columns, in the groups.
func (e *Evaluation) bind(ctx context.Context, scoring *mlext.Scoring, names, groups []string, errors bool) (whole, of session.Kind, err error) {
	columns := slices.Clone(scoring.Columns)
	for i := range columns {
		columns[i] += fmt.Sprintf(" AS v%d", i+1)
	}
	var list []string
	by := ""
	for i, c := range groups {
		columns = append(columns, fmt.Sprintf("%s AS g%d", c, i+1))
		list = append(list, fmt.Sprintf("g%d", i+1))
		by += fmt.Sprintf("%d, ", i+1)
	}
	key := len(groups) + 1 // the scoring's first
	list = append(list, scoring.Keys...)
	for i, v := range scoring.Values {
		list = append(list, v+` AS "`+scoring.Names[i]+`"`)
	}
	if errors {
		list = append(list, scoring.Errors...)
	}
	text := "SELECT " + strings.Join(list, ", ") + " FROM (SELECT 1) AS s"
	if scoring.Where != "" {
		text += " WHERE " + scoring.Where
	}
	switch {
	case scoring.Levels > 0:
		var sets []string
		for l := range scoring.Levels {
			sets = append(sets, fmt.Sprintf("(%s%d, %d)", by, key, key+l+1))
		}
		text += " GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	case len(scoring.Keys) > 0:
		text += fmt.Sprintf(" GROUP BY %s%d, %d", by, key, key+1)
	case by != "":
		text += " GROUP BY " + strings.TrimSuffix(by, ", ")
	}
	sts, err := pgsyntax.Parse(text + "; SELECT " + strings.Join(columns, ", ") + " FROM (SELECT 1) AS r(" + strings.Join(names, ", ") + ")")
	if err != nil {
		return nil, nil, err
	}
	outer, ok := sts[0].Node.(*pgsyntax.Select)
	rows, is := sts[len(sts)-1].Node.(*pgsyntax.Select)
	if is { // before the analyst's query is among them
		plan.OwnScores(rows)
	}
	if !ok || !is || !graft(rows, e.Node.Query) || !graft(outer, rows) {
		return nil, nil, sqlerr.New(sqlerr.Internal, "an evaluation's query cannot be read")
	}
	return e.Ask(ctx, &session.Statement{Session: e.Session, Text: pgsyntax.Condensed(pgsyntax.Print(e.Node), ledger.MaxText), Explain: e.explain, Nameless: true, Literals: e.literals}, outer)
}

// Run implements session.Kind.
func (e *Evaluation) Run(ctx context.Context, _ []sqltype.Value) (ans *answer.Answer, err error) {
	s := e.Session
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	err = e.with(func() error {
		p, split, scoring, err := e.Prepare(ctx)
		if err != nil {
			return err
		}
		if e.explain != nil {
			ans, err = p.Run(ctx, nil)
			return err
		}
		got, err := p.Run(ctx, nil)
		if err != nil {
			return err
		}
		rows, err := got.All(ctx)
		if err != nil {
			return err
		}
		ans = &answer.Answer{Tag: "EVALUATE DP MODEL", Notice: got.Notice, Warnings: got.Warnings}
		for _, g := range grouped(rows, len(e.groups)) {
			list := Metrics(scoring, g.rows)
			if len(e.groups) == 0 {
				ans.Notice = named(got.Notice, list)
			}
			if split.Salt != "" {
				list = slices.Insert(list, 0, mlext.Fact{Name: "people", Value: part(split)})
			}
			for _, f := range list {
				ans.Rows = append(ans.Rows, append(slices.Clone(g.keys), f.Name, f.Value))
			}
		}
		return nil
	})
	return ans, err
}

// group is the rows of one group, without its keys.
type group struct {
	keys []sqltype.Value
	rows [][]sqltype.Value
}

// grouped takes the rows of each group apart, in the order in which groups come; without keys all rows are one.
func grouped(rows [][]sqltype.Value, keys int) (out []*group) {
	if keys == 0 {
		return []*group{{rows: rows}}
	}
	at := map[string]*group{}
	for _, r := range rows {
		name := fmt.Sprintf("%#v", r[:keys])
		if at[name] == nil {
			at[name] = &group{keys: r[:keys]}
			out = append(out, at[name])
		}
		at[name].rows = append(at[name].rows, r[keys:])
	}
	return out
}

// named adds the errors to a notice's first line, by what they are of.
func named(notice string, list []mlext.Fact) string {
	var of []string
	for _, f := range mlext.Errs(list) {
		of = append(of, f.Name+" "+f.Value)
	}
	if notice == "" || len(of) == 0 {
		return notice
	}
	first, rest, more := strings.Cut(notice, "\n")
	first += "; 95% error: " + strings.Join(of, ", ")
	if more {
		first += "\n" + rest
	}
	return first
}

// part says which units were asked.
func part(s sensitivity.Split) string {
	if s.Rest {
		return fmt.Sprintf("the %.4g that the model was not trained on", 1-s.Fraction)
	}
	return fmt.Sprintf("the %.4g that the model was trained on", s.Fraction)
}

// Metrics reads the answer: the scoring's keys, values and, of private rows, errors.
func Metrics(scoring *mlext.Scoring, rows [][]sqltype.Value) []mlext.Fact {
	keys, n := len(scoring.Keys), len(scoring.Keys)+len(scoring.Values)
	var cells []mlext.Cell
	var values, errors []float64
	for _, row := range rows {
		if scoring.Levels > 0 {
			if c, ok := level(row, keys); ok {
				cells = append(cells, c)
			}
			continue
		}
		if slices.Contains(row[:keys], nil) {
			continue
		}
		values = nil
		for _, v := range row[keys:n] {
			values = append(values, Float(v))
		}
		if errors == nil && len(row) > n {
			errors = make([]float64, len(row)-n)
		}
		for i, v := range row[n:] { // the largest of all groups
			if half := Float(v); half > errors[i] {
				errors[i] = half
			}
		}
		if keys > 0 {
			c := mlext.Cell{Keys: []int{int(Float(row[0])), int(Float(row[1]))}, Count: values[0]}
			if len(values) > 1 {
				c.Loss = values[1]
			}
			cells = append(cells, c)
		}
	}
	if keys > 0 {
		return scoring.Classes(cells, errors)
	}
	return scoring.Numbers(values, errors)
}

// level reads a row of a scoring with levels: one of the keys after the first is there, and after the count come the ends of its interval. Noise reaches as far down as up; what is more above bounds may have taken.
func level(row []sqltype.Value, keys int) (c mlext.Cell, ok bool) {
	at := slices.IndexFunc(row[1:keys], func(v sqltype.Value) bool { return v != nil })
	if row[0] == nil || at < 0 {
		return c, false
	}
	n, low, high := Float(row[keys]), Float(row[keys+1]), Float(row[keys+2])
	return mlext.Cell{Keys: []int{int(Float(row[0])), int(Float(row[1+at]))}, Level: at, Count: n, Noise: math.Max(0, n-low), Lost: math.Max(0, high+low-2*n)}, true
}

// Float is a number as float64, NaN for NULL.
func Float(v sqltype.Value) float64 {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	case decimal.Decimal:
		return n.InexactFloat64()
	}
	return math.NaN()
}
