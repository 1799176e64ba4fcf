package sensitivity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/neighbour"
	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

var public = neighbour.Fixed{
	"kinds.id": {int64(1), int64(2), int64(3)}, "kinds.label": {"Emergency", "Urgent", nil}, "cities.id": {int64(1), int64(2)},
	"cities.name": {"Delft", "Leiden"}, "cities.region": {"west", nil}, "rates.kind_id": {int64(1)}, "rates.rate": {},
}

func bind(sql string, cat plan.Catalog) (*plan.Query, error) {
	st, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	sel, ok := st[0].Node.(*pgsyntax.Select)
	if !ok {
		return nil, fmt.Errorf("%s is no SELECT", sql)
	}
	return plan.Bind(sel, cat, plan.BindOptions{})
}

func options() sensitivity.Options {
	return sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000, Public: public}
}

func analyze(sql string, opts sensitivity.Options) (*sensitivity.Analysis, error) {
	q, err := bind(sql, neighbour.ClinicCatalog())
	if err != nil {
		return nil, err
	}
	return sensitivity.Analyze(context.Background(), q, opts)
}

// TestAnalyze: what is measured, and what is refused, of each statement. Options stand in the command: groups=, public-groups=,
// delta-zero; expect=accepted or refused is checked whatever the golden says.
func TestAnalyze(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			opts := options()
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "groups":
					d.ScanArgs(t, a.Key, &opts.MaxGroups)
				case "public-groups":
					d.ScanArgs(t, a.Key, &opts.MaxPublicGroups)
				case "delta-zero":
					opts.DeltaZero = true
				}
			}
			an, err := analyze(d.Input, opts)
			if want := d.Cmd == "refused"; (err != nil) != want {
				t.Errorf("%s: %s: %v", d.Pos, d.Cmd, err)
			}
			if err != nil {
				return refusal(err)
			}
			return describe(an)
		})
	})
}

func refusal(err error) string {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return "internal: " + err.Error() + "\n"
	}
	return fmt.Sprintf("%s %s at %d: %s\nhint: %s\n", e.Code, e.ID, e.Pos, e.Message, e.Hint)
}

func describe(a *sensitivity.Analysis) string {
	var b strings.Builder
	for _, l := range sensitivity.Explain(a) {
		fmt.Fprintln(&b, l)
	}
	if a.Class == sensitivity.Public {
		return b.String()
	}
	for i, m := range a.Measures {
		fmt.Fprintf(&b, "m%d %s grid %s rounded %t rows [%d, %d] part [%d, %d] per group %d single %t\n", i, m.Kind, m.Grid, m.Rounded, m.RowLo, m.RowHi, m.Lo, m.Hi, m.PerGroup, m.Single)
	}
	for _, f := range a.Formulas {
		fmt.Fprintf(&b, "formula %s count %d sum %d\n", f.Kind, f.Count, f.Sum)
	}
	for i, k := range a.Keys {
		fmt.Fprintf(&b, "key %d of unit %t public %t\n", i, k.OfUnit, k.Public)
	}
	for _, s := range a.Groups.Sources {
		fmt.Fprintf(&b, "source keys %v fixed %t counts %t joined %t: %s\n", s.Keys, s.Fixed, s.Counts, s.Joined, tuples(s.Tuples))
	}
	for _, s := range bodyLines(a) {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

func tuples(ts [][]sqltype.Value) string {
	var out []string
	for _, t := range ts {
		var vals []string
		for _, v := range t {
			if v == nil {
				v = "NULL"
			}
			vals = append(vals, fmt.Sprint(v))
		}
		out = append(out, "("+strings.Join(vals, ",")+")")
	}
	return strings.Join(out, " ")
}

// bodyLines prints the body's joins: what the analysis added stands there.
func bodyLines(a *sensitivity.Analysis) []string {
	text := plan.Format(&plan.Query{Root: a.Body.Rel, Columns: a.Query.Columns})
	var out []string
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		if l = strings.TrimSpace(l); strings.Contains(l, "join") {
			out = append(out, "body "+l)
		}
	}
	return out
}
