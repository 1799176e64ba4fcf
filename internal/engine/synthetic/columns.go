package synthetic

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/model"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/mlext/synth"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// mostBins is into how many bins a number's range is cut.
const mostBins = 16

// forTable is what rows are read for, as errors say it.
var forTable = model.Purpose{Noun: "synthetic table", Verb: "made synthetic"}

// column is a column of the query, and how its values become bins.
type column struct {
	mlext.Feature
	typ      sqltype.Type
	nullable bool
	cuts     []int64 // of a number: the first step of each bin, and the step behind the last
	grid     string  // of a number: how wide a step is
	ask      int     // its place among what is asked
	null     int     // of a number that may be NULL: the place of whether it is
}

// bins is how many there are, that of NULL included.
func (c *column) bins() int {
	n := len(c.Levels)
	if c.Levels == nil {
		n = len(c.cuts) - 1
	}
	if c.nullable {
		n++
	}
	return n
}

// bin is that of a row as it is read.
func (c *column) bin(steps []int64) int {
	n := steps[c.ask]
	switch {
	case c.Levels != nil:
		return int(n)
	case c.nullable && steps[c.null] == 1:
		return len(c.cuts) - 1
	}
	return sort.Search(len(c.cuts), func(i int) bool { return c.cuts[i] > n }) - 1
}

// cell is a value of a bin, as it is stored: a number's is any of the bin's steps.
func (c *column) cell(bin int, draw *synth.Draw) int64 {
	switch {
	case c.nullable && bin == c.bins()-1:
		return mlext.NoCell
	case c.Levels != nil:
		return int64(bin)
	}
	return c.cuts[bin] + draw.Below(c.cuts[bin+1]-c.cuts[bin])
}

// source is what is read: the columns, the analysis of the query's rows, and how they are printed.
type source struct {
	columns  []column
	analysis *sensitivity.Analysis
	features []sqlgen.Feature
	gaps     []sqlgen.Gap
	tables   []mlext.Source
	rows     int // of a unit, at most
}

// bind binds the query for its rows, as TRAIN does.
//
// Proof: claim: of each unit at most rows rows are read, each as a bin of each column. The statement is analysed as one that asks for the median of each column's values (model.AnalyzeRows), which bounds the unit's rows and each value, and sqlgen.UnitRows prints the rows that it has bounded. (1) A category's value is its place in
// the policy's domain, and NULL is the place behind the last where the column may be NULL: a row with another value is left out by its own value. (2) A number is clamped to its declared range, and whether it is NULL is a number of its own, 0 or 1. (3) Bins are cut from the range alone.
func bind(ctx context.Context, s *session.Session, n *pgsyntax.Synthesize, most uint64, literals *sqltype.Settings) (*source, error) {
	opts := s.Binding(literals)
	opts.Models = catalog.Unpredicted{}
	inner, err := plan.Bind(n.Query, s.Along(s.Catalog), opts)
	if err != nil {
		return nil, err
	}
	if len(inner.Params) > 0 {
		return nil, sqlerr.New(sqlerr.Unsupported, "parameters in CREATE DP SYNTHETIC TABLE are not supported").WithHint("Write the values.")
	}
	out := &source{}
	for _, r := range inner.TablesRead() {
		src := mlext.Source{Schema: r.Table.Schema, Table: r.Table.Name, Columns: []string{}}
		for _, c := range r.Columns {
			src.Columns = append(src.Columns, r.Table.Columns[c].Name)
		}
		out.tables = append(out.tables, src)
	}
	never, seen := plan.NotNull(inner.Root), map[string]bool{}
	var asks []string
	for i, o := range inner.Outputs {
		if seen[o.Name] {
			return nil, sqlerr.New(sqlerr.InvalidParam, "column %q is named twice", o.Name).At(int(n.Query.Pos)).WithHint("Give it another name, as in x AS %s.", plan.QuoteIdent(o.Name+"_2"))
		}
		if err := pgsyntax.CheckNewName(o.Name); err != nil {
			return nil, err.At(int(n.Query.Pos))
		}
		seen[o.Name] = true
		name := fmt.Sprintf("c%d", i+1)
		c := column{typ: o.Type, nullable: !never[o.Col], ask: len(asks)}
		if o.Type.IsArray() || o.Type.OID == sqltype.OIDBytea {
			return nil, sqlerr.New(sqlerr.Unsupported, "column %s is of type %s, which no synthetic table has", o.Name, o.Type).At(int(n.Query.Pos)).WithHint("Leave it out.")
		}
		var ask string
		if c.Feature, ask, err = model.FeatureOf(ctx, s, inner, o, name); err != nil {
			return nil, noDomain(err, n.Query, o)
		}
		switch { // (1) NULL has a place of its own
		case c.Levels != nil && c.nullable:
			ask = fmt.Sprintf("CASE WHEN %s IS NULL THEN %d ELSE %s END", name, len(c.Levels), ask)
		case c.Levels == nil && c.nullable: // (2) whether it is NULL is a number of its own
			c.null = c.ask + 1
			asks = append(asks, median(ask))
			ask = fmt.Sprintf("CASE WHEN %s IS NULL THEN 1 ELSE 0 END", name)
		}
		asks = append(asks, median(ask))
		out.columns = append(out.columns, c)
	}
	of := model.RowsQuery{Query: n.Query, Asks: asks, Columns: len(inner.Outputs), Most: most, For: forTable, Literals: literals}
	if out.analysis, err = model.AnalyzeRows(ctx, s, of); err != nil {
		return nil, out.unranged(ctx, s, of, err)
	}
	if len(out.analysis.Formulas) != len(asks) {
		return nil, sqlerr.New(sqlerr.InvalidParam, "two columns of the query are the same").At(int(n.Query.Pos)).WithHint("Name each once.")
	}
	if out.analysis.MaxRows == 0 {
		return nil, sqlerr.New(sqlerr.InvalidParam, "it is not known how many rows of one person there are").At(int(n.Pos)).WithHint("WITH (max_rows_per_unit = 1) keeps one of each person's rows, or ask the owner for max_rows_per_unit.")
	}
	out.rows = int(min(out.analysis.MaxRows, 1<<20)) //nolint:gosec // it is at most that
	return out, out.cut(s, n)
}

func median(ask string) string { return "percentile_disc(0.5) WITHIN GROUP (ORDER BY " + ask + ")" }

// cut makes the bins of numbers, and prints the rows once: what cannot be printed is refused now.
func (src *source) cut(s *session.Session, n *pgsyntax.Synthesize) error {
	a := src.analysis
	measure := func(ask int) int { return a.Formulas[ask].Sum }
	fill := map[int]bool{}
	for i := range src.columns {
		c := &src.columns[i]
		tree := a.Measures[measure(c.ask)].Tree
		if c.From, c.To = tree.Lo, tree.Hi; c.Levels == nil {
			if tree.Open {
				return noRange(n.Query, c.Name, nil)
			}
			c.Lo, c.Hi, c.grid = tree.Grid.InexactFloat64()*float64(tree.Lo), tree.Grid.InexactFloat64()*float64(tree.Hi), tree.Grid.String()
			c.cuts = c.Cut(mostBins) // (3) of the range alone
			fill[c.ask] = c.nullable
		}
	}
	for i := range a.Formulas {
		src.features = append(src.features, sqlgen.Feature{Measure: measure(i), Fill: fill[i]})
	}
	if why := synth.TooLarge(src.sizes()); why != "" {
		return sqlerr.New(sqlerr.TooComplex, "the synthetic table is too large: %s", why).At(int(n.Query.Pos)).WithHint("Name fewer columns, or columns with fewer values.")
	}
	st, err := sqlgen.UnitRows(a, s.Engine.Dialect, src.features, a.MaxRows, 0)
	if err == nil {
		src.gaps = st.Gaps
	}
	return err
}

func (src *source) sizes() (out []int) {
	for i := range src.columns {
		out = append(out, src.columns[i].bins())
	}
	return out
}

// unlisted says which rows are left out by their own values.
func (src *source) unlisted() (out []string) {
	for i := range src.columns {
		if c := &src.columns[i]; c.Levels != nil && !c.Boolean {
			out = append(out, fmt.Sprintf("rows in which %s is a value that the policy does not list are left out", c.Name))
		}
	}
	return out
}

// unranged says which column has no range, where that is why the analysis failed.
func (src *source) unranged(ctx context.Context, s *session.Session, of model.RowsQuery, err error) error {
	if sqlerr.ID(err) != sqlerr.NoRange.ID {
		return err
	}
	all := of.Asks
	for i := range src.columns {
		of.Asks = all[src.columns[i].ask : src.columns[i].ask+1]
		if _, alone := model.AnalyzeRows(ctx, s, of); sqlerr.ID(alone) == sqlerr.NoRange.ID {
			return noRange(of.Query, src.columns[i].Name, err)
		}
	}
	return err
}

func noRange(q *pgsyntax.Select, name string, cause error) error {
	return sqlerr.New(sqlerr.NoRange, "the values of column %s have no declared range, so they have no bins", name).At(int(q.Pos)).
		WithHint("Ask the owner for its range in the policy, leave the column out, or give bounds yourself: greatest(0, least(%[1]s, 100)) AS %[1]s.", plan.QuoteIdent(name)).WithCause(cause)
}

// noDomain refuses a column whose values are not declared.
func noDomain(err error, q *pgsyntax.Select, o plan.Output) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID != sqlerr.NoRange.ID {
		return err
	}
	return sqlerr.New(sqlerr.NoRange, "column %s of type %s has no domain of values in the policy", o.Name, o.Type).At(int(q.Pos)).
		WithHint("Ask the owner for its values in the policy, leave the column out, or make a number or a boolean of it: %[1]s = '...' AS %[1]s.", plan.QuoteIdent(o.Name)).WithCause(err)
}

// Empty is the table without rows, as a rehearsal binds statements to it.
func (c *Creation) Empty() *mlext.Table {
	out := c.source.empty(0)
	out.Name = c.Node.Name.Text
	return out
}

// empty is the table with cells that are not drawn yet.
func (src *source) empty(rows int) *mlext.Table {
	out := &mlext.Table{Rows: rows, Sources: src.tables}
	for i := range src.columns {
		c := &src.columns[i]
		col := mlext.TableColumn{Name: c.Name, OID: c.typ.OID, Typmod: c.typ.Typmod, Levels: c.Levels, Grid: c.grid, Cells: make([]int64, rows)}
		if c.typ.IsEnum() { // its labels
			col.OID, col.Typmod = sqltype.OIDText, -1
		}
		out.Columns = append(out.Columns, col)
	}
	return out
}

// table makes rows of the fitted model, as they are stored.
func (src *source) table(m *synth.Model, rows int, draw *synth.Draw) *mlext.Table {
	out := src.empty(rows)
	for i, bins := range m.Sample(rows, draw) {
		for r, b := range bins {
			out.Columns[i].Cells[r] = src.columns[i].cell(int(b), draw)
		}
	}
	return out
}
