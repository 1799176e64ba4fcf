package stage

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// UsualCounts are the numbers of rows for which averages' errors are told where nobody says how many there are.
var UsualCounts = []float64{1000, 100_000}

// DifferentValues is the largest number of rows of an average of DISTINCT values: of those that policy and conditions leave; 0: not known, or of all rows.
func DifferentValues(a *sensitivity.Analysis, f sensitivity.Formula) float64 {
	if f.Kind != sensitivity.IsAvg || f.Count < 0 {
		return 0
	}
	return float64(a.Measures[f.Count].Possible)
}

// ExpectedErrors tells for each of ToldAggregates its 95% half width, averages for given numbers of rows. What depends on a
// chosen bound is told in multiples of it. They are intervals that hold in so many rows together.
func ExpectedErrors(pr *divide.Program, a *sensitivity.Analysis, mp *price.Quote, together int, counts ...float64) ([]Expected, error) {
	run, chosen, err := mp.Reference(a)
	if err != nil {
		return nil, err
	}
	e, err := finish.NewErrors(a, run)
	if err != nil {
		return nil, err
	}
	e = e.Simultaneous(together)
	var out []Expected
	list, _ := ToldAggregates(pr, a)
	for _, n := range list {
		times, unit, ok := inBounds(a, mp, chosen, a.Formulas[n.Formula])
		switch f := a.Formulas[n.Formula]; {
		case f.Kind == sensitivity.IsSome || f.Kind == sensitivity.IsNone:
			out = append(out, Expected{Column: n.Column, Words: fmt.Sprintf("is decided by more than %s people", server.Number(e.Measure(f.Count)))})
		case !f.IsPick() && (!ok || f.Kind == sensitivity.IsRatio || f.Kind == sensitivity.IsMoment && unit != "" && !f.Moments.Stat.Facts().IsProportional):
			out = append(out, Expected{Column: n.Column, Words: DependsOnChoice})
		case f.IsPick():
		case f.IsOrderStatistic():
			words := RankText(a, e, n.Formula)
			if words == "" {
				rank, _ := e.Rank(n.Formula)
				words = server.Number(rank/times) + " rows in rank" + unit
			}
			out = append(out, Expected{Column: n.Column, Words: words})
		case f.Kind == sensitivity.IsAvg || f.Kind == sensitivity.IsMoment:
			var of []string
			rows := counts
			if n := DifferentValues(a, f); n > 0 {
				rows = []float64{n}
			}
			for _, count := range rows {
				width := e.Expected(n.Formula, count*times) // as of a bound of 1 among count
				if f.Kind == sensitivity.IsMoment && f.Moments.Stat.Facts().GrowsWithRows {
					width /= times
				}
				text := ErrorText(a, n.Formula, width) + unit
				if len(counts) > 1 {
					text += fmt.Sprintf(" among %v", count)
				}
				of = append(of, text)
			}
			out = append(out, Expected{Column: n.Column, Words: strings.Join(of, ", ")})
		default:
			width := e.Expected(n.Formula, math.NaN()) / times
			col := Expected{Column: n.Column, Words: ErrorText(a, n.Formula, width) + unit}
			if unit == "" {
				col.Error = Finite(width)
			}
			out = append(out, col)
		}
	}
	return out, nil
}

// DependsOnChoice are the words for an error that no one bound decides.
const DependsOnChoice = "depends on what is chosen"

// RankText says how many people are beyond what is shown for a MIN or MAX; "" of other aggregates.
func RankText(a *sensitivity.Analysis, e *finish.Errors, i int) string {
	f := a.Formulas[i]
	if !f.IsEnd() {
		return ""
	}
	if m := a.Measures[f.Sum]; !m.IsOwnExtreme() && !m.Single { // its tree counts rows
		return ""
	}
	rank, _ := e.Rank(i)
	side := "below"
	if f.IsGreatest() {
		side = "above"
	}
	words := fmt.Sprintf("has at most %s people %s it", server.Number(rank), side)
	if spread := a.Measures[f.Sum].Tree.Spread(); spread != "" {
		words += " by more than " + spread
	}
	return words
}

// inBounds is the reference bound that a formula's noise is proportional to, and how it is called; ok is false where there are several.
func inBounds(a *sensitivity.Analysis, mp *price.Quote, chosen price.Chosen, f sensitivity.Formula) (times float64, unit string, ok bool) {
	if a.Limit.Cap != nil {
		return 0, "", false
	}
	var clip *sensitivity.Choice
	for i, at := range f.Uses() {
		if at < 0 {
			continue
		}
		if i > 0 && f.Count >= 0 && a.Measures[at].Bound != clip {
			return 0, "", false
		}
		clip = a.Measures[at].Bound
	}
	if clip == nil {
		return 1, "", true
	}
	_, edge := mp.Edge(clip, chosen)
	if clip.By == sensitivity.BySmooth {
		return float64(edge), fmt.Sprintf(" x choice %d", clip.Index+1), true
	}
	times = float64(edge) / math.Max(1, float64(a.Measures[clip.Measure].Subdivision))
	if m := a.Measures[clip.Measure]; m.Kind == sensitivity.SumValues {
		times *= m.Grid.InexactFloat64()
	}
	return times, fmt.Sprintf(" x choice %d", clip.Index+1), true
}

// NamedAggregate is an aggregate that is an output column itself.
type NamedAggregate struct {
	Column  string
	Formula int
}

// ToldAggregates are those of an analysis whose errors are told: those that are the statement's output columns. Where none is, computed is true, and they are all that the columns are computed from, whose errors are not the columns'.
func ToldAggregates(pr *divide.Program, a *sensitivity.Analysis) (list []NamedAggregate, computed bool) {
	if list = NamedAggregates(pr, a); len(list) > 0 {
		return list, false
	}
	for i, f := range a.Formulas {
		if at := slices.IndexFunc(a.Agg.Aggs, func(g plan.AggItem) bool { return g.ID == f.Agg }); at >= 0 {
			list = append(list, NamedAggregate{aggregateName(a, at), i})
		}
	}
	return list, true
}

// OfComputed says that ToldAggregates are no columns themselves, behind a word that joins it; "" where they are.
func OfComputed(before string, pr *divide.Program, a *sensitivity.Analysis) string {
	if _, computed := ToldAggregates(pr, a); computed {
		return before + "what the columns are computed from"
	}
	return ""
}

// NamedAggregates are those of an analysis that are the statement's output columns.
func NamedAggregates(pr *divide.Program, a *sensitivity.Analysis) []NamedAggregate {
	alias := map[plan.ColID][]plan.ColID{}
	for _, l := range pr.Answer.Leaves { // a CTE's second reader has other columns
		for _, p := range l.Parts {
			cols := pr.Stages[p.Stage].Agg.Cols()
			for i, v := range p.Values {
				if v.From >= 0 && l.Cols[i] != cols[v.From] {
					alias[l.Cols[i]] = append(alias[l.Cols[i]], cols[v.From])
				}
			}
		}
	}
	plan.VisitRels(pr.Answer.Root, func(r plan.Rel) bool {
		if p, ok := r.(*plan.Project); ok {
			for _, it := range p.Items {
				switch x := it.Expr.(type) {
				case *plan.Col:
					if x.ID != it.ID {
						alias[it.ID] = append(alias[it.ID], x.ID)
					}
				case *plan.Subquery:
					if x.Kind == plan.ScalarQuery && len(x.Cols) == 1 {
						alias[it.ID] = append(alias[it.ID], x.Cols[0])
					}
				}
			}
		}
		return true
	})
	var out []NamedAggregate
	for _, o := range pr.Query.Outputs {
		is := []plan.ColID{o.Col} // of grouping sets one column is that of several releases
		for at := 0; at < len(is); at++ {
			for _, next := range alias[is[at]] {
				if !slices.Contains(is, next) {
					is = append(is, next)
				}
			}
		}
		for i, f := range a.Formulas {
			if slices.Contains(is, f.Agg) {
				out = append(out, NamedAggregate{o.Name, i})
			}
		}
	}
	return toldApart(a, out)
}

// toldApart writes out the aggregates whose name several have, where that tells them apart.
func toldApart(a *sensitivity.Analysis, list []NamedAggregate) []NamedAggregate {
	texts, all := map[string]map[string]bool{}, make([]string, len(list))
	often := map[string]int{}
	for i, n := range list {
		if at := slices.IndexFunc(a.Agg.Aggs, func(g plan.AggItem) bool { return g.ID == a.Formulas[n.Formula].Agg }); at >= 0 {
			all[i] = plan.ReadableAggregate(a.Query, a.Agg.Aggs[at])
		}
		if often[n.Column]++; texts[n.Column] == nil {
			texts[n.Column] = map[string]bool{}
		}
		texts[n.Column][all[i]] = true
	}
	for i, n := range slices.Clone(list) {
		if often[n.Column] > 1 && len(texts[n.Column]) == often[n.Column] && all[i] != "" {
			list[i].Column = all[i]
		}
	}
	return list
}

// GroupOfErrors names the group whose errors LargestErrors are.
func (p *Staged) GroupOfErrors() string {
	if p.Program.HasNoisyRowChoice() {
		return "widest of all groups"
	}
	return "largest group"
}

// LargestErrors are the 95% errors in the largest group that is shown, as dp_error gives them in so many rows together. They are NULL where the value is. Where rows are chosen by noisy numbers that group may not be among them, so they are the widest of any group that is not NULL.
func (p *Staged) LargestErrors(ctx context.Context, a *sensitivity.Analysis, r *release.Release, together int) (out []Expected) {
	e, err := finish.Of(ctx, a, r)
	if err != nil {
		return nil
	}
	return p.LargestErrorsBy(e, a, r, together)
}

// LargestErrorsBy are those by errors that are known.
func (p *Staged) LargestErrorsBy(e *finish.Errors, a *sensitivity.Analysis, r *release.Release, together int) (out []Expected) {
	s, pr, chosen := p.Session, p.Program, p.Program.HasNoisyRowChoice()
	if r.Len() == 0 {
		return nil
	}
	e = e.Simultaneous(together)
	names, _ := ToldAggregates(pr, a)
	for _, n := range names {
		if e.HasTooFewPeople(n.Formula) {
			out = append(out, Expected{n.Column, isNull, nil})
			continue
		}
		if words := RankText(a, e, n.Formula); words != "" {
			out = append(out, Expected{n.Column, words, nil})
			continue
		}
		width := e.For(r, nil).Expected(n.Formula, math.NaN())
		switch f := a.Formulas[n.Formula]; {
		case f.IsOrderStatistic():
			rows := math.Inf(-1)
			var of []*release.Group // the largest, or all
			if eachShown(s, a, r, func(g *release.Group) {
				if in := g.TreeRows(f.Sum); chosen {
					of = append(of, g)
				} else if in > rows {
					of, rows = []*release.Group{g}, in
				}
			}) != nil || len(of) == 0 {
				return nil
			}
			for _, g := range of {
				x, err := e.For(r, g).OrderError(n.Formula, g)
				if err != nil {
					return nil
				}
				if !(x <= width) && !math.IsNaN(x) {
					width = x
				}
			}
		case !math.IsNaN(width) && (e.CanBeClipped(n.Formula) || e.CanBeCut(n.Formula)) || chosen: // the more a group has, the more may be lost
			var err error
			if width, err = WidestShown(s, a, r, e, n.Formula); err != nil {
				return nil
			}
		case math.IsNaN(width):
			g, err := largestShown(s, a, r, a.Formulas[n.Formula])
			switch {
			case g == nil || err != nil:
			case e.For(r, g).IsUnbounded(n.Formula, g.Values):
				out = append(out, Expected{n.Column, isNull, nil})
			default:
				width = e.For(r, g).Group(n.Formula, g.Values)
			}
		}
		if !math.IsNaN(width) {
			out = append(out, Expected{n.Column, RoundedErrorText(a, n.Formula, width), Finite(width)})
		}
	}
	return out
}

// ErrorText writes an aggregate's error. That of an interval is in days, hours, minutes or seconds.
func ErrorText(a *sensitivity.Analysis, formula int, x float64) string {
	unit, name := errorUnit(a, formula, x)
	return server.Number(x/unit) + name
}

// RoundedErrorText is ErrorText with three digits, rounded up.
func RoundedErrorText(a *sensitivity.Analysis, formula int, x float64) string {
	unit, name := errorUnit(a, formula, x)
	return server.Number(server.RoundError(x/unit)) + name
}

// errorUnit is the unit in which an aggregate's error is written: of an interval the largest time that the error has two of, in seconds.
func errorUnit(a *sensitivity.Analysis, formula int, x float64) (unit float64, name string) {
	if !slices.ContainsFunc(a.Agg.Aggs, func(g plan.AggItem) bool {
		return g.ID == a.Formulas[formula].Agg && g.Type.OID == sqltype.OIDInterval
	}) {
		return 1, ""
	}
	switch {
	case x >= 2*86400:
		return 86400, " days"
	case x >= 2*3600:
		return 3600, " hours"
	case x >= 2*60:
		return 60, " minutes"
	}
	return 1, " seconds"
}

// WidestShown is the widest half interval that an aggregate has by e in a group of a release that is shown, or in a group without rows: where there is no other, or an interval is as wide there at least.
func WidestShown(s *session.Session, a *sensitivity.Analysis, r *release.Release, e *finish.Errors, formula int) (width float64, err error) {
	none := e.For(r, nil).Expected(formula, math.NaN())
	if width = none; e.CanBeCut(formula) {
		width = math.NaN()
	}
	err = eachShown(s, a, r, func(g *release.Group) {
		if of := e.For(r, g).Group(formula, g.Values); !(of <= width) && !math.IsNaN(of) {
			width = of
		}
	})
	if math.IsNaN(width) {
		width = none
	}
	return width, err
}

// largestShown is the group in which an average counts most; nil where all are too small to be shown.
func largestShown(s *session.Session, a *sensitivity.Analysis, r *release.Release, f sensitivity.Formula) (most *release.Group, err error) {
	if f.Count < 0 {
		return nil, nil
	}
	err = eachShown(s, a, r, func(g *release.Group) {
		if most == nil || g.Values[f.Count].Cmp(most.Values[f.Count]) > 0 {
			most = g
		}
	})
	return most, err
}

// AverageError is the error that an average has by e in the group of a release where it counts most; NaN where none tells it.
func AverageError(s *session.Session, a *sensitivity.Analysis, r *release.Release, e *finish.Errors, formula int) (float64, error) {
	g, err := largestShown(s, a, r, a.Formulas[formula])
	if g == nil || err != nil {
		return math.NaN(), err
	}
	return e.Group(formula, g.Values), nil
}

// eachShown are the groups that are not too small to be shown.
func eachShown(s *session.Session, a *sensitivity.Analysis, r *release.Release, f func(g *release.Group)) error {
	least := big.NewInt(s.World.Policy.Query.MinPeople)
	return r.Each(func(g *release.Group) error {
		if a.People < 0 || g.Values[a.People].Cmp(least) >= 0 {
			f(g)
		}
		return nil
	})
}

// Expected is the 95% error that one output column is expected to have.
type Expected struct {
	Column string   `json:"Column"`
	Words  string   `json:"Words"`
	Error  *float64 `json:"Error95"` // absent where it depends on what is chosen, or has no one number
}

// isNull are the words for the error of a value that is NULL.
const isNull = "NULL"

// AnyKnown reports an error of a value that is not NULL.
func AnyKnown(list []Expected) bool {
	return slices.ContainsFunc(list, func(e Expected) bool { return e.Words != isNull })
}

// Texts are the columns with their expected errors, in words.
func Texts(list []Expected) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Column+" "+e.Words)
	}
	return out
}

// Finite is x for JSON to nine digits, where infinity is null.
func Finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	if y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64); err == nil {
		x = y
	}
	return &x
}
