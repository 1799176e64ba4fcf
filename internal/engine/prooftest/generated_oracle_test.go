package prooftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/eval"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/internal/testkit/neighbour/generate"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// oracle compares the un-noised answer with PostgreSQL's own; it says what came of it.
func (tr *trials) oracle(ctx context.Context, p *enginetest.Prepared, s *generate.Statement) (string, error) {
	if s.Nodes[generate.Ties] > 0 {
		return "ties", nil
	}
	r, printed, why, err := tr.released(ctx, p)
	if err == nil && why != "" && len(p.Staged().Stages) == 1 && p.Analysis().NeedsOwnScan() { // it is answered all the same
		if _, err = nearly(p); refusedWell(err) == nil {
			err = nil // of released values
		}
	}
	if why != "" || err != nil {
		return why, err
	}
	got, raised := enginetest.FinishRun(r, ctx)
	if raised != nil && refusedWell(raised) != nil {
		return "", raised
	}
	var types []sqltype.Type
	for _, c := range p.Columns() {
		types = append(types, c.Type)
	}
	trimBlanks(got, types)
	var first error
	for _, text := range s.Oracles() {
		want, err := tr.text.Text(ctx, text, types)
		if err != nil {
			var e *pgconn.PgError
			if errors.As(err, &e) && (strings.HasPrefix(e.Code, "22") || e.Code == "57014") {
				return "raised by PostgreSQL", nil
			}
			if errors.As(err, &e) && e.Code == "42883" && strings.Contains(text, "median(") {
				return "median, which PostgreSQL has not", nil
			}
			return "", err
		}
		if raised != nil { // and not by PostgreSQL
			return "", raised
		}
		trimBlanks(want, types)
		if err = sameRows(got, want, types, tolerance(p)); err == nil {
			return "equal to PostgreSQL", nil
		}
		if first == nil {
			first = fmt.Errorf("%w\n%s", err, strings.Join(printed, "\n"))
		}
	}
	return "", first
}

// released is a statement whose stages are released with noise of scale nothing, and what was printed for them; or why their values are not PostgreSQL's.
func (tr *trials) released(ctx context.Context, p *enginetest.Prepared) (r *private.Run, printed []string, why string, err error) {
	r = &private.Run{Staged: p.Staged(), PublicRows: map[plan.Rel]*eval.Relation{}}
	if err := r.InOwnSnapshot(ctx); err != nil {
		return nil, nil, "", err
	}
	for _, st := range p.Staged().Stages {
		a := &private.StageRun{Stage: st}
		r.StageRuns = append(r.StageRuns, a)
		for _, before := range r.StageRuns[:len(r.StageRuns)-1] {
			if len(st.Inputs) > 0 && slices.ContainsFunc(before.An.Measures, func(m sensitivity.Measure) bool { return m.NeedsOwnScan() }) {
				return r, nil, "what a stage reads of measures apart", nil
			}
		}
		if err := r.Inputs(ctx, a); err != nil {
			return nil, nil, "", err
		}
		sql, err := tr.unnoised(ctx, p, a)
		if err != nil {
			return nil, nil, "", err
		}
		if why == "" {
			why = notComparable(st.An)
		}
		if why == "" && overNobody(st.An, a.Release, len(p.Staged().Stages) > 1) {
			why = "averages over nobody"
		}
		printed = append(printed, sql)
	}
	return r, printed, why, nil
}

// filled is a statement with what a stage reads of others.
func filled(a *private.StageRun, st *sqlgen.Statement, err error) (*sqlgen.Statement, error) {
	if err != nil {
		return nil, err
	}
	for i, arg := range st.Args {
		if arg.Param > 0 {
			st.Args[i] = sqlgen.Arg{Type: arg.Type, Value: a.Args[arg.Param-1]}
		}
	}
	return st, nil
}

// notComparable is why a stage's value is not PostgreSQL's.
func notComparable(a *sensitivity.Analysis) string {
	unfiltered := false
	for _, m := range a.Measures {
		if m.NeedsOwnScan() {
			return "order statistics and distinct values, read by statements of their own"
		}
		unfiltered = unfiltered || m.Filter == nil && m.Kind == sensitivity.CountRows
	}
	for _, f := range a.Formulas {
		if f.Moments != nil && slices.Contains([]plan.AggFunc{"corr", "regr_slope", "regr_r2", "regr_intercept"}, f.Moments.Stat) {
			return "quotients of moments, where rounding is not bounded"
		}
	}
	switch {
	case strings.Contains(a.MaxWhy, "rows beyond that are cut") && a.MaxRows < 1000 && a.MaxRows > 0:
		return "fan-out cut"
	case len(a.Choices) > 0 && len(a.Keys) > 0 && !unfiltered:
		return "groups of nothing but zeros, which histograms do not tell"
	}
	return ""
}

// unnoised releases a stage with noise of scale nothing, and gives what was printed for it.
func (tr *trials) unnoised(ctx context.Context, p *enginetest.Prepared, a *private.StageRun) (string, error) {
	an := enginetest.With(a)
	st, err := sqlgen.Private(an, p.Session.Engine.Dialect, 7)
	if st, err = filled(a, st, err); err != nil {
		return "", err
	}
	if tr.mangle != nil {
		st.SQL = tr.mangle(st.SQL)
	}
	rows, err := enginetest.Uncovered{Backend: p.Session.Engine.Backend}.Query(ctx, st)
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, st.SQL)
	}
	if a.Release = enginetest.ReleaseOf(an, st, rows); len(an.Choices) > 0 {
		a.Release, err = tr.chosen(ctx, p, an, st, rows)
	}
	return st.SQL, err
}

// trimBlanks takes the blanks off char(n) that has lost its n: a key's spelling does not show of which type a row's was.
func trimBlanks(rows [][]sqltype.Value, types []sqltype.Type) {
	for _, r := range rows {
		for i, v := range r {
			if s, ok := v.(string); ok && types[i].OID == sqltype.OIDBPChar && types[i].Typmod < 0 {
				r[i] = strings.TrimRight(s, " ")
			}
		}
	}
}

// chosen is the release of a statement with automatic bounds, at the largest edge of each.
func (tr *trials) chosen(ctx context.Context, p *enginetest.Prepared, a *sensitivity.Analysis, st *sqlgen.Statement, rows [][]sqltype.Value) (*release.Release, error) {
	h, err := neighbour.ReadHistogram(ctx, enginetest.Uncovered{Backend: p.Session.Engine.Backend}, a, st)
	if err != nil {
		return nil, err
	}
	groups := map[string]*release.Group{}
	group := func(keys []sqltype.Value) *release.Group {
		name := neighbour.Group(keys)
		if groups[name] == nil {
			groups[name] = &release.Group{Keys: make([]sqltype.Value, len(a.Keys)), Values: make([]*big.Int, len(a.Measures))}
			for i := range a.Measures {
				groups[name].Values[i] = new(big.Int)
			}
		}
		return groups[name]
	}
	if len(a.Keys) == 0 {
		group(nil)
	}
	for _, row := range rows {
		var keys []sqltype.Value
		choice := false
		for i, c := range st.Columns {
			switch c.Role {
			case sqlgen.RoleKey:
				keys = append(keys, row[i])
			case sqlgen.RolePart:
				choice = enginetest.Whole(row[i]).Sign() < 0
			}
		}
		if choice {
			continue
		}
		g, at := group(keys), 0
		for _, c := range st.Columns {
			if c.Role == sqlgen.RoleKey {
				g.Keys[c.Index] = keys[at]
				at++
			}
		}
	}
	caps := neighbour.Caps(a)
	most := caps[len(caps)-1]
	for name, v := range h.Fixed(most) {
		for i, m := range a.Measures {
			if m.Bound == nil && groups[name] != nil {
				groups[name].Values[i] = v[i]
			}
		}
	}
	for i, m := range a.Measures {
		if m.Bound == nil {
			continue
		}
		for name, v := range h.Clipped(i, most) {
			groups[name].Values[i] = v[len(v)-1]
		}
	}
	r := enginetest.ReleaseOf(a, st, nil)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		r.Groups = append(r.Groups, *groups[name])
	}
	return r, nil
}

// overNobody: an average of no rows, or a variance of one, is a number of its range here, and NULL there; so is what nobody decides, where it is read by other stages.
func overNobody(a *sensitivity.Analysis, r *release.Release, read bool) bool {
	for _, f := range a.Formulas {
		least := int64(1)
		switch f.Kind {
		case sensitivity.IsAvg, sensitivity.IsRatio:
		case sensitivity.IsSome, sensitivity.IsNone: // what nobody decides, which only an answer itself may show
			if !read {
				continue
			}
		case sensitivity.IsMoment:
			least = 2
		default:
			continue
		}
		for _, g := range r.Groups {
			if g.Values[f.Count].Cmp(big.NewInt(least)) < 0 {
				return true
			}
		}
	}
	return false
}

func tolerance(p *enginetest.Prepared) decimal.Decimal {
	out := decimal.Zero
	for _, m := range enginetest.MeasuresOf(p) {
		if m.Rounded {
			out = decimal.Max(out, m.Grid.Mul(decimal.NewFromInt(2000)))
		}
		if m.Product != nil { // of rounded rows, which add up and cancel out
			width := m.RangeHi.Sub(m.RangeLo)
			out = decimal.Max(out, width.Mul(decimal.New(1, -3)))
		}
	}
	return out
}

// sameRows compares two lists of rows, in any order.
func sameRows(got, want [][]sqltype.Value, types []sqltype.Type, tolerance decimal.Decimal) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, PostgreSQL has %d\n%v\n%v", len(got), len(want), got, want)
	}
	left := slices.Clone(got)
	for _, w := range want {
		at := slices.IndexFunc(left, func(g []sqltype.Value) bool {
			for i := range g {
				_, truth := g[i].(bool)
				if !enginetest.Near(g[i], w[i], types[i], tolerance) && (w[i] != nil || !truth) { // whether all of nobody are so is NULL there
					return false
				}
			}
			return true
		})
		if at < 0 {
			return fmt.Errorf("no row is PostgreSQL's %s; there are %s", enginetest.SpelledRow(w, types), spelledRows(left, types))
		}
		left = slices.Delete(left, at, at+1)
	}
	return nil
}

func spelledRows(rows [][]sqltype.Value, types []sqltype.Type) string {
	var out []string
	for _, r := range rows[:min(len(rows), 8)] {
		out = append(out, enginetest.SpelledRow(r, types))
	}
	return strings.Join(out, "; ")
}
