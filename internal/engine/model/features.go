package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// BindRows binds the query for its rows: each of its columns is brought to a whole number of steps within bounds that the policy declares.
//
// Proof: claim: of each unit at most rows rows are read, and each value is within its feature's bounds. The statement is analysed as one that asks for the median of each column's values, in one group, which counts every row: the analysis (divide.Analyze, claims.Measurer.tree)
// finds the unit, how many of its rows count and the ranges, or refuses it; sqlgen.UnitRows prints the rows that it has bounded.
func (t *Training) BindRows(ctx context.Context, n *pgsyntax.Train, spec *mlext.Spec) (features []mlext.Feature, target mlext.Feature, rows int, err error) {
	s := t.Session
	opts := s.Binding(&t.literals)
	opts.Models = catalog.Unpredicted{}
	inner, err := plan.Bind(n.Query, s.Along(s.Catalog), opts)
	if err != nil {
		return nil, target, 0, err
	}
	if len(inner.Params) > 0 {
		return nil, target, 0, sqlerr.New(sqlerr.Unsupported, "parameters in TRAIN are not supported").WithHint("Write the values.")
	}
	for _, r := range inner.TablesRead() {
		src := mlext.Source{Schema: r.Table.Schema, Table: r.Table.Name, Columns: []string{}}
		for _, c := range r.Columns {
			src.Columns = append(src.Columns, r.Table.Columns[c].Name)
		}
		t.sources = append(t.sources, src)
	}
	place := -1
	var list []mlext.Feature
	var asks []string
	for i, o := range inner.Outputs {
		if err := pgsyntax.CheckNewName(o.Name); err != nil {
			return nil, target, 0, err.At(int(n.Query.Pos))
		}
		if o.Name == n.Target.Text {
			if place >= 0 {
				return nil, target, 0, sqlerr.New(sqlerr.AmbiguousColumn, "column reference %q is ambiguous", o.Name).At(int(n.Target.Pos))
			}
			place = i
		}
		f, ask, err := FeatureOf(ctx, s, inner, o, fmt.Sprintf("c%d", i+1))
		if err != nil {
			return nil, target, 0, err
		}
		list, asks = append(list, f), append(asks, "percentile_disc(0.5) WITHIN GROUP (ORDER BY "+ask+")")
	}
	if place < 0 {
		names := []string{}
		for _, o := range inner.Outputs {
			names = append(names, o.Name)
		}
		return nil, target, 0, sqlerr.New(sqlerr.UndefinedColumn, "the query has no column %q for the target", n.Target.Text).At(int(n.Target.Pos)).WithHint("It has %s.", strings.Join(names, ", "))
	}
	if len(list) < 2 {
		return nil, target, 0, sqlerr.New(sqlerr.InvalidParam, "a model needs a feature beside its target").At(int(n.Query.Pos))
	}
	if t.Analysis, err = t.analyze(ctx, n.Query, asks, len(list), spec.MostRows); err != nil {
		return nil, target, 0, t.unranged(ctx, n.Query, list, asks, spec.MostRows, err)
	}
	a := t.Analysis
	if a.MaxRows == 0 {
		keeps := "WITH (max_rows_per_unit = 4)"
		if t.shown.purpose == forEvaluation {
			keeps = "SET dpsql.clip = 4"
		}
		return nil, target, 0, sqlerr.New(sqlerr.InvalidParam, "it is not known how many rows of one person there are").At(int(n.Pos)).WithHint("%s keeps four of each person's rows, or ask the owner for max_rows_per_unit.", keeps)
	}
	for i := range list {
		m := a.Measures[a.Formulas[i].Sum]
		f, tree := &list[i], m.Tree
		if f.Length > 0 && i != place {
			features, t.Features = append(features, *f), append(t.Features, sqlgen.Feature{Measure: a.Formulas[i].Sum, Array: session.ReadingOf(f)})
			continue
		}
		f.From, f.To = tree.Lo, tree.Hi
		if f.Levels == nil {
			f.Lo, f.Hi = tree.Grid.InexactFloat64()*float64(tree.Lo), tree.Grid.InexactFloat64()*float64(tree.Hi)
		}
		feature := sqlgen.Feature{Measure: a.Formulas[i].Sum, Fill: spec.Fill && i != place && f.Levels == nil}
		if i != place {
			features, t.Features = append(features, *f), append(t.Features, feature)
		}
	}
	target = list[place]
	t.Features = append(t.Features, sqlgen.Feature{Measure: a.Formulas[place].Sum})
	st, err := sqlgen.UnitRows(a, s.Engine.Dialect, t.Features, a.MaxRows, 0)
	if err != nil {
		return nil, target, 0, err
	}
	t.gaps = st.Gaps
	return features, target, int(min(a.MaxRows, 1<<20)), nil
}

func (t *Training) analyze(ctx context.Context, q *pgsyntax.Select, asks []string, columns int, most uint64) (*sensitivity.Analysis, error) {
	a, err := AnalyzeRows(ctx, t.Session, RowsQuery{Query: q, Asks: asks, Columns: columns, Most: most, Split: t.Split, For: t.shown.purpose, Literals: &t.literals})
	if err == nil && len(a.Formulas) < columns {
		return nil, sqlerr.New(sqlerr.InvalidParam, "two columns of the query are the same").At(int(q.Pos)).WithHint("Name each once: a model learns nothing from a copy.")
	}
	if err == nil && len(a.Formulas) != columns {
		return nil, sqlerr.New(sqlerr.Internal, "a training's query is analysed as something else")
	}
	return a, err
}

// Purpose is what a person's rows are read for, as errors say it.
type Purpose struct{ Noun, Verb string }

// ForTraining is TRAIN.
var ForTraining = Purpose{"training", "trained on"}

// forEvaluation is EVALUATE of a model whose rows are read.
var forEvaluation = Purpose{"evaluation", "evaluated"}

// RowsQuery is a query whose bounded rows are read: Asks are texts over its columns c1, c2 ..., each percentile_disc of a number.
type RowsQuery struct {
	Query   *pgsyntax.Select
	Asks    []string
	Columns int // of the query
	Most    uint64
	Split   sensitivity.Split
	For     Purpose
	// Literals are the settings by which the query's literals are read.
	Literals *sqltype.Settings
}

// AnalyzeRows analyses the statement that asks for the median of each of the query's values: not for the least, of which DISTINCT and UNION would make no other.
func AnalyzeRows(ctx context.Context, s *session.Session, of RowsQuery) (*sensitivity.Analysis, error) {
	q, asks, columns, most := of.Query, of.Asks, of.Columns, of.Most
	names := make([]string, columns)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i+1)
	}
	sts, err := pgsyntax.Parse("SELECT " + strings.Join(asks, ", ") + " FROM (SELECT 1) AS r(" + strings.Join(names, ", ") + ")")
	if err != nil {
		return nil, err
	}
	outer, ok := sts[0].Node.(*pgsyntax.Select)
	if !ok || !graft(outer, q) {
		return nil, sqlerr.New(sqlerr.Internal, "a %s's query cannot be read", of.For.Noun)
	}
	opts := s.Binding(of.Literals)
	opts.Models = catalog.Unpredicted{}
	bound, err := plan.Bind(outer, s.Along(s.Catalog), opts)
	if err != nil {
		return nil, err
	}
	if unit.HasSeveralUnitKinds(bound.Root) {
		return nil, sqlerr.New(sqlerr.PrivateShape, "rows that belong to units of two kinds cannot be %s", of.For.Verb).At(int(q.Pos)).WithHint("Read tables of one kind of units: a unit's rows are taken together, and here each row is two units'.")
	}
	with := s.Options()
	with.MinPeople, with.Norm, with.Split, with.OffUnit = 0, sensitivity.NoNorm, of.Split, sensitivity.NeverOffUnit
	if with.MaxRows == 0 || most > 0 {
		with.MaxRows = most
	}
	program, err := divide.Divide(ctx, bound, with)
	switch {
	case err != nil:
		return nil, distinctBelow(ctx, s, of, err)
	case program.Class != sensitivity.Private && len(program.Warnings) > 0: // limits that no value meets
		return nil, sqlerr.New(sqlerr.Unsupported, "the query keeps no row: %s", strings.Join(program.Warnings, "; ")).At(int(q.Pos)).WithHint("Correct the conditions: a %s needs rows of people.", of.For.Noun)
	case program.Class != sensitivity.Private:
		return nil, sqlerr.New(sqlerr.Unsupported, "the query reads no private table").At(int(q.Pos)).WithHint("Public rows can be %s anywhere: dpsql's %s is of private ones.", of.For.Verb, of.For.Noun)
	case len(program.Stages) != 1:
		return nil, errReleased(q, of.For)
	}
	a, err := program.Analyze(ctx, 0, with)
	if err != nil {
		return nil, distinctBelow(ctx, s, of, err)
	}
	for _, f := range a.Formulas {
		if f.Sum < 0 || a.Measures[f.Sum].Tree == nil { // a number of many people
			return nil, errReleased(q, of.For)
		}
	}
	if len(a.Keys) > 0 || len(a.Formulas) == 0 {
		return nil, errReleased(q, of.For)
	}
	if a.Limit.Norm > 0 || a.Pairs != nil {
		return nil, sqlerr.New(sqlerr.Internal, "a %s's query is analysed as something else", of.For.Noun)
	}
	return a, nil
}

// distinctBelow is the error of rows that are distinct over all persons, with the query that keeps those of each person: as a column of the rows the unit would need a range.
func distinctBelow(ctx context.Context, s *session.Session, of RowsQuery, err error) error {
	var e *sqlerr.Error
	var groups *unit.NotOfUnit
	if !of.Query.Distinct || !errors.As(err, &e) || !errors.As(err, &groups) {
		return err
	}
	bound, bindErr := plan.Bind(of.Query, s.Along(s.Catalog), s.Binding(of.Literals))
	if bindErr != nil {
		return err
	}
	names, key := make([]string, len(bound.Outputs)), pgsyntax.Target{Expr: &pgsyntax.ColumnRef{Path: []string{groups.Unit()}}}
	for i, o := range bound.Outputs {
		if names[i] = pgsyntax.QuoteIdent(o.Name); o.Name == groups.Unit() {
			key.Alias = o.Name + "_of_unit"
		}
	}
	inner := *of.Query
	inner.Targets = append(slices.Clone(inner.Targets), key)
	text := "SELECT " + strings.Join(names, ", ") + " FROM (" + pgsyntax.Print(&inner) + ") AS t"
	sts, parseErr := pgsyntax.Parse(text)
	if parseErr != nil {
		return err
	}
	outer, ok := sts[0].Node.(*pgsyntax.Select)
	if !ok || len(text) > mostHinted {
		return err
	}
	of.Query = outer
	if _, still := AnalyzeRows(ctx, s, of); still != nil && sqlerr.ID(still) != sqlerr.NoRange.ID { // which has a cure of its own
		return err
	}
	return e.WithHint("Keep each person's rows apart below: %s.", text)
}

// mostHinted is the length of a statement in a hint.
const mostHinted = 500

// graft puts the analyst's query in the place of the one in FROM.
func graft(outer, q *pgsyntax.Select) bool {
	if len(outer.From) != 1 {
		return false
	}
	d, ok := outer.From[0].(*pgsyntax.Derived)
	if ok {
		d.Query = q
	}
	return ok
}

// FeatureOf says what a column of the query is, and how it is asked for as a number.
func FeatureOf(ctx context.Context, s *session.Session, q *plan.Query, o plan.Output, name string) (f mlext.Feature, ask string, err error) {
	f.Name, f.Type = o.Name, o.Type.String()
	switch {
	case o.Type.IsArray(), o.Type.OID == sqltype.OIDBytea:
		return s.Array(q, o, f, name)
	case o.Type.OID == sqltype.OIDBool:
		f.Boolean, f.Levels = true, []string{"false", "true"}
		return f, fmt.Sprintf("CASE WHEN %s THEN 1 WHEN NOT %s THEN 0 END", name, name), nil
	case o.Type.OID == sqltype.OIDDate, o.Type.OID == sqltype.OIDTimestamp, o.Type.IsNumber() && (!o.Type.IsInteger() || levelsOf(ctx, s, q, o) == nil):
		return f, name, nil
	}
	levels := levelsOf(ctx, s, q, o)
	if levels == nil {
		return f, "", sqlerr.New(sqlerr.NoRange, "feature %s of type %s has no domain of values in the policy", o.Name, o.Type).
			WithHint("Ask the owner for its domain, or make a number or a boolean of it: CASE WHEN ... THEN 1 ELSE 0 END.")
	}
	var b strings.Builder
	b.WriteString("CASE " + name)
	for i, v := range levels {
		f.Levels = append(f.Levels, v)
		fmt.Fprintf(&b, " WHEN '%s' THEN %d", strings.ReplaceAll(v, "'", "''"), i)
	}
	return f, b.String() + " END", nil
}

// levelsOf are the texts of a column's domain, nil where it has none, or a range too.
func levelsOf(ctx context.Context, s *session.Session, q *plan.Query, o plan.Output) []string {
	info := q.Columns[o.Col]
	if info.Table == nil {
		return nil
	}
	d := info.Table.Columns[info.Attr].Domain
	if d == nil || info.Table.Columns[info.Attr].Range != nil {
		return nil
	}
	values := slices.Clone(d.Values) // the policy belongs to all sessions
	if d.From != nil {
		rows, err := s.World.Public.Distinct(ctx, d.From, []int{d.FromColumn}, mostLevels)
		if err != nil || len(rows) > mostLevels {
			return nil
		}
		for _, r := range rows {
			values = append(values, r[0])
		}
	}
	var out []string
	for _, v := range values {
		if v != nil {
			out = append(out, sqltype.FormatText(v, o.Type))
		}
	}
	return out
}

// mostLevels is the largest number of values of one feature.
const mostLevels = 2000
