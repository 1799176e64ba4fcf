package prooftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/private"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// trials are what random statements are tried before.
type trials struct {
	t      *testing.T
	text   *neighbour.Postgres                  // the tame clinic, asked with the analyst's text
	roomy  *session.Session                     // before it, with bounds that cut nothing
	before map[dialect.Dialect]*session.Session // before the clinic whose data breaks every declaration
	clinic map[dialect.Dialect][]generatedTrial // and the clinics whose totals are compared
	mangle func(string) string                  // a planted bug in what is printed; nil: none
	count  map[string]int
	nodes  map[string]int
	why    map[string]int
}

// generatedTrial is a clinic, and those that lack one unit's rows, or are the same for every statement.
type generatedTrial struct {
	of            backend.Backend
	lacking, same map[string]backend.Backend
}

// some is a trial before one neighbour beside the heaviest unit's.
func (c generatedTrial) some(turn int) generatedTrial {
	heavy := enginetest.Lacking(neighbour.Heavy).Name
	out := generatedTrial{of: c.of, lacking: map[string]backend.Backend{heavy: c.lacking[heavy]}, same: map[string]backend.Backend{}}
	others := []enginetest.Clinic{enginetest.Without[1], enginetest.Without[2], enginetest.Owned, enginetest.Mixed}
	if name := others[turn%4].Name; c.lacking[name] != nil {
		out.lacking[name] = c.lacking[name]
	} else {
		out.same[name] = c.same[name]
	}
	return out
}

// statementTables are the clinic's.
func statementTables() []*plan.Table { return neighbour.ClinicCatalog().Tables }

func newTrials(t *testing.T) *trials {
	t.Helper()
	tr := &trials{t: t, before: map[dialect.Dialect]*session.Session{}, clinic: map[dialect.Dialect][]generatedTrial{}, count: map[string]int{}, nodes: map[string]int{}, why: map[string]int{}}
	tr.roomy = enginetest.ClinicSession(t, enginetest.Tame, funcs.Postgres, enginetest.Roomy...)
	enginetest.Set(t, tr.roomy, "dpsql.max_groups", "1000")
	tr.text = enginetest.ClinicText(t)
	if err := tr.text.Exec(context.Background(), "SET statement_timeout = '5s'"); err != nil {
		t.Fatal(err)
	}
	for _, d := range enginetest.Dialects {
		tr.before[d] = enginetest.ClinicSession(t, enginetest.Wild, d)
		declared := generatedTrial{of: enginetest.Wild.Open(t, d), lacking: map[string]backend.Backend{}, same: map[string]backend.Backend{enginetest.Owned.Name: enginetest.Owned.Open(t, d), enginetest.Mixed.Name: enginetest.Mixed.Open(t, d)}}
		for _, c := range enginetest.Without {
			declared.lacking[c.Name] = c.Open(t, d)
		}
		bad, gone, nobody := nasty(d, "nasty"), nasty(d, "nasty_without", neighbour.ClinicCatalog().DeleteUnit(neighbour.Heavy)...), nasty(d, "nobody", noRowsAtAll()...)
		odd := generatedTrial{of: bad.Open(t, d), lacking: map[string]backend.Backend{gone.Name: gone.Open(t, d)}, same: map[string]backend.Backend{}}
		tr.clinic[d] = []generatedTrial{declared, odd, {of: nobody.Open(t, d)}}
	}
	return tr
}

// oddValues are what a column of a type may hold and nobody expects.
var oddValues = map[sqltype.OID][]string{
	sqltype.OIDInt2:      {"-32768", "32767", "NULL", "0"},
	sqltype.OIDInt4:      {"-2147483648", "2147483647", "NULL", "0"},
	sqltype.OIDInt8:      {"-9223372036854775808", "9223372036854775807", "NULL", "0"},
	sqltype.OIDFloat4:    {"'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "'3.4028235e38'", "'1e-45'", "NULL"},
	sqltype.OIDFloat8:    {"'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "'1.7976931348623157e308'", "'5e-324'", "NULL"},
	sqltype.OIDText:      {"''", "' '", "'%_'", `'\'`, "'1e999'", "'  a  '", "'2020-02-30'", "'é' || chr(769)", "NULL", "'12'"},
	sqltype.OIDBPChar:    {"''", "'a  '", "NULL"},
	sqltype.OIDDate:      {"'infinity'", "'-infinity'", "'1900-01-01'", "'5000-02-28'", "NULL"},
	sqltype.OIDTimestamp: {"'infinity'", "'-infinity'", "'1900-01-01 00:00:00'", "'5000-02-28 23:59:59.999999'", "NULL"},
	sqltype.OIDBool:      {"NULL"},
}

// nasty is the clinic with odd values in every column of private tables that takes part in no key, and with columns that are called as prints call tables.
func nasty(d dialect.Dialect, name string, more ...string) enginetest.Clinic {
	c := enginetest.Clinic{Name: name, Data: neighbour.Outside}
	for _, t := range neighbour.ClinicCatalog().Tables {
		if t.Public {
			continue
		}
		row := t.Columns[0].Name // some number that rows have
		for i, col := range t.Columns {
			values := oddValues[col.Type.OID]
			if col.Type.OID == sqltype.OIDNumeric {
				values = []string{"0", "-0.01", "NULL", "-99"}
				if digits, scale, fixed := col.Type.NumericMod(); fixed {
					values[3] = strings.Repeat("9", digits-scale) + "." + strings.Repeat("9", scale)
				} else if d == funcs.Postgres {
					values = []string{"'NaN'", "'Infinity'", "'-Infinity'", "'1e130000'", "'1e-16000'", "NULL", "1.50000"}
				}
			}
			if strings.HasSuffix(col.Name, "_id") && col.Name != "kind_id" && col.Name != "city_id" {
				continue
			}
			for k, v := range values {
				if v == "NULL" && col.NotNull {
					continue
				}
				c.Change = append(c.Change, fmt.Sprintf(`UPDATE "public".%q SET %q = %s WHERE (%q + %d) %% %d = %d`, t.Name, col.Name, v, row, i, 2*len(values)+1, k))
			}
		}
	}
	c.Change = append(c.Change, neighbour.Captures(neighbour.ClinicCatalog().Tables, d == funcs.DuckDB, ofHeavy)...)
	c.Change = append(c.Change, more...)
	return c
}

// ofHeavy are the rows of the heaviest unit, where a table says whose rows are whose.
func ofHeavy(t *plan.Table) string {
	if t.Public || !slices.ContainsFunc(t.Columns, func(c plan.TableColumn) bool { return c.Name == "patient_id" }) {
		return ""
	}
	return fmt.Sprintf(`"patient_id" = %d`, neighbour.Heavy)
}

// noRowsAtAll leaves nobody.
func noRowsAtAll() []string {
	var out []string
	for _, t := range neighbour.ClinicCatalog().Tables {
		if !t.Public {
			out = append(out, fmt.Sprintf(`DELETE FROM "public".%q`, t.Name))
		}
	}
	return out
}

// neighbours compares a statement's totals with and without one unit, whatever rows hold; nothing fails there.
func (tr *trials) neighbours(p *enginetest.Prepared, d dialect.Dialect, turn int) error {
	var list []*private.StageRun
	for _, st := range p.Staged().Stages {
		list = append(list, &private.StageRun{Stage: st})
	}
	if slices.ContainsFunc(p.Staged().Stages, func(st *stage.Stage) bool { return len(st.Inputs) > 0 }) { // given what was released before
		r, printed, _, err := tr.released(context.Background(), p)
		if err != nil {
			return err
		}
		if len(printed) < len(p.Staged().Stages) {
			return nil
		}
		list = r.StageRuns
	}
	for _, a := range list {
		if err := tr.stageHolds(p, a, d, turn); err != nil {
			return err
		}
	}
	return nil
}

func (tr *trials) stageHolds(p *enginetest.Prepared, of *private.StageRun, d dialect.Dialect, turn int) error {
	a := enginetest.With(of)
	st, err := sqlgen.Private(a, p.Session.Engine.Dialect, 42)
	if st, err = filled(of, st, err); err != nil {
		return err
	}
	if tr.mangle != nil {
		st.SQL = tr.mangle(st.SQL)
	}
	check := enginetest.Holds
	if len(a.Choices) > 0 {
		check = histogramHolds
	}
	turn /= 2
	for i, c := range tr.clinic[d] {
		if i == 1+turn%2 {
			continue
		}
		if i == 0 {
			c = c.some(turn / 2)
		}
		if _, err := check(a, st, c.of, c.lacking, c.same); err != nil {
			return fmt.Errorf("%w\n%s", err, st.SQL)
		}
		if err := treesHold(p, of, c, turn); err != nil {
			return err
		}
	}
	return nil
}

// treesHold compares the leaves of a statement's trees, if it has order statistics.
func treesHold(p *enginetest.Prepared, of *private.StageRun, c generatedTrial, turn int) error {
	a := enginetest.With(of)
	ctx := context.Background()
	for i, m := range a.Measures {
		if !m.IsTree() {
			continue
		}
		list := keptOf(a, m)
		kept := list[turn%len(list)]
		st, err := sqlgen.TreeLeaves(a, p.Session.Engine.Dialect, i, kept, 42)
		if st, err = filled(of, st, err); err != nil {
			return err
		}
		before, err := neighbour.ReadLeaves(ctx, enginetest.Uncovered{Backend: c.of}, st)
		for _, list := range []map[string]backend.Backend{c.lacking, c.same} {
			for name, b := range list {
				after, e := neighbour.ReadLeaves(ctx, enginetest.Uncovered{Backend: b}, st)
				if err = errors.Join(err, e); err != nil {
					break
				}
				if _, err = neighbour.CompareLeaves(m, kept, before, after); err == nil && c.same[name] != nil {
					err = neighbour.SameLeaves(before, after)
				}
			}
		}
		if err != nil {
			return fmt.Errorf("leaves: %w\n%s", err, st.SQL)
		}
	}
	return nil
}

// failsAlike: a statement fails in every clinic, with people and without any.
func (tr *trials) failsAlike(p *enginetest.Prepared, d dialect.Dialect) bool {
	for _, c := range tr.clinic[d] {
		failed := false
		for _, one := range p.Staged().Stages {
			st, err := sqlgen.Private(one.An, p.Session.Engine.Dialect, 42)
			if err != nil || len(one.Inputs) > 0 {
				return false
			}
			_, err = enginetest.Uncovered{Backend: c.of}.Query(context.Background(), st)
			failed = failed || err != nil && strings.Contains(err.Error(), "INTERNAL Error")
		}
		if !failed {
			return false
		}
	}
	return true
}

// histogramHolds is holds for a statement with automatic bounds.
func histogramHolds(a *sensitivity.Analysis, st *sqlgen.Statement, db backend.Backend, changed, same map[string]backend.Backend) (share float64, err error) {
	ctx := context.Background()
	before, err := neighbour.ReadHistogram(ctx, enginetest.Uncovered{Backend: db}, a, st)
	if err != nil {
		return 0, err
	}
	for _, list := range []map[string]backend.Backend{changed, same} {
		for name, b := range list {
			after, err := neighbour.ReadHistogram(ctx, enginetest.Uncovered{Backend: b}, a, st)
			if err != nil {
				return share, err
			}
			one, err := neighbour.CompareHistograms(before, after)
			if err == nil && same[name] != nil && before.Text() != after.Text() {
				err = fmt.Errorf("another histogram")
			}
			if err != nil {
				return share, fmt.Errorf("%s: %w", name, err)
			}
			share = max(share, one)
		}
	}
	return share, nil
}
