package divide_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/describe"
	"github.com/dpsql/dpsql/sensitivity/divide"
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

// stops are tables whose keys have declared frequencies.
const stops = `stops unit=patient_id path=patient_id->patients.patient_id m=2 often=place:5 often=place,day:3
  patient_id int4
  place text
  day date
  minutes int4 notnull range=0..9
lines public often=place:4
  place text
  line text
homes unit=patient_id path=patient_id->patients.patient_id key=patient_id often=place:6 often=rooms:8
  patient_id int4 notnull
  place text
  rooms int4 range=1..5
`

func options() sensitivity.Options {
	return sensitivity.Options{MaxGroups: 4, MaxPublicGroups: 1000, Public: public, OffUnit: sensitivity.OwnerMayOffUnit}
}

// images reach the unit by two columns, of which one may be NULL.
const images = `images unit=patient_id path=patient_id,encounter_id->encounters.patient_id,encounter_id m=3
  patient_id int4
  encounter_id int4
`

// bills is a table of the clinic whose columns have no range.
const bills = `bills unit=patient_id path=patient_id->patients.patient_id m=2
  patient_id int4
  amount numeric(10,2)
  exact numeric(14,6)
  price numeric
  rounded numeric step=0.05
  weight float8
  coarse float8 step=0.5
`

func analyze(sql string, opts sensitivity.Options) (*sensitivity.Analysis, error) {
	q, err := bound(sql)
	if err != nil {
		return nil, err
	}
	return neighbour.AnalyzeQuery(context.Background(), q, opts)
}

func bound(sql string) (*plan.Query, error) { return boundIn(neighbour.Clinic+bills+stops+images, sql) }

func boundIn(catalog, sql string) (*plan.Query, error) {
	cat, err := neighbour.ParseCatalog(catalog)
	if err != nil {
		return nil, err
	}
	return bind(sql, cat)
}

// dividedIn is a statement's program, its stages analysed.
func dividedIn(catalog, sql string, opts sensitivity.Options) (*divide.Program, []*sensitivity.Analysis, error) {
	q, err := boundIn(catalog, sql)
	if err != nil {
		return nil, nil, err
	}
	p, err := divide.Divide(context.Background(), q, opts)
	if err != nil {
		return nil, nil, err
	}
	if p.Class == sensitivity.Public {
		return p, []*sensitivity.Analysis{{Query: q}}, nil
	}
	var out []*sensitivity.Analysis
	for i := range p.Stages {
		a, err := p.Analyze(context.Background(), i, opts)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, a)
	}
	return p, out, nil
}

// describeProgram tells of each stage, and of what the answer is computed from where that is more than one release.
func describeProgram(p *divide.Program, list []*sensitivity.Analysis) string {
	if len(list) == 1 && len(p.Answer.Leaves) <= 1 {
		return described(list[0])
	}
	var b strings.Builder
	given := func(of divide.Computed) {
		for _, l := range of.Leaves {
			fmt.Fprintf(&b, "given %v:", l.Cols)
			if l.Parts == nil {
				fmt.Fprintf(&b, " %s", plan.Canonical(l.At))
			}
			for _, part := range l.Parts {
				fmt.Fprintf(&b, " stage %d %v", part.Stage, part.Values)
			}
			b.WriteByte('\n')
		}
	}
	for i, a := range list {
		fmt.Fprintf(&b, "stage %d\n%s", i, described(a))
		for _, in := range p.Stages[i].Inputs {
			if in.Rows == nil {
				fmt.Fprintf(&b, "input $%d is column %d of %s\n", in.Param, in.Col, plan.Canonical(in.Root))
			} else {
				fmt.Fprintf(&b, "input of keys %v: %s\n", in.Rows.Keys, plan.Canonical(in.Root))
			}
			given(in.Computed)
		}
	}
	given(p.Answer)
	return b.String()
}

// TestAnalyze: what is measured, and what is refused, of each statement. Options stand in the command: groups= (a number or auto), clip=, kept= (percent), l2,
// public-groups=, delta-zero. That it is accepted or refused, that clip= raises no declared bound, rows= (of a unit, that count) and inner= (stages that an aggregate reads) are checked whatever the golden says.
func TestAnalyze(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			opts, catalog, rows, inner := options(), neighbour.Clinic+bills+stops+images, -1, -1
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "shop":
					catalog = neighbour.Shop
				case "people":
					opts.MinPeople = 20
				case "groups":
					if opts.ChooseGroups = a.Vals[0] == "auto"; !opts.ChooseGroups {
						d.ScanArgs(t, a.Key, &opts.MaxGroups)
					}
				case "clip":
					d.ScanArgs(t, a.Key, &opts.MaxRows)
				case "rows":
					d.ScanArgs(t, a.Key, &rows)
				case "inner":
					d.ScanArgs(t, a.Key, &inner)
				case "kept":
					var percent int
					d.ScanArgs(t, a.Key, &percent)
					opts.LeastKept = float64(percent) / 100
				case "l2":
					opts.Norm = sensitivity.L2
				case "public-groups":
					d.ScanArgs(t, a.Key, &opts.MaxPublicGroups)
				case "any":
					opts.OffUnit = sensitivity.AnyOffUnit
				case "weighted":
					opts.OffUnit, opts.Weighted = sensitivity.AnyOffUnit, true
				case "truncate":
					opts.OffUnit, opts.Truncate = sensitivity.AnyOffUnit, true
				case "min-people":
					opts.MinPeople = 20
				case "delta-zero":
					opts.DeltaZero = true
				default:
					t.Fatalf("%s: no option is called %s", d.Pos, a.Key)
				}
			}
			p, list, err := dividedIn(catalog, d.Input, opts)
			if want := d.Cmd == "refused"; (err != nil) != want {
				t.Errorf("%s: %s: %v", d.Pos, d.Cmd, err)
			}
			if err != nil {
				return refusal(err)
			}
			if n := len(p.InnerStages()); inner >= 0 && n != inner {
				t.Errorf("%s: %d stages inside", d.Pos, n)
			}
			if rows >= 0 && int(list[0].MaxRows) != rows { //nolint:gosec // a small number
				t.Errorf("%s: %d rows of a unit count", d.Pos, list[0].MaxRows)
			}
			if opts.MaxRows > 0 && list[0].Joined == nil {
				checkClip(t, d, list[0], opts)
			}
			return describeProgram(p, list)
		})
	})
}

// checkClip holds a statement with a clip against the same without: what was declared is not exceeded, nor what the clip says.
func checkClip(t *testing.T, d *datadriven.TestData, an *sensitivity.Analysis, opts sensitivity.Options) {
	t.Helper()
	clip := opts.MaxRows
	opts.MaxRows = 0
	declared, err := analyze(d.Input, opts)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	if an.MaxRows == 0 || an.MaxRows > clip || declared.MaxRows > 0 && an.MaxRows > declared.MaxRows {
		t.Errorf("%s: %d rows of a unit count; the policy says %d, dpsql.clip %d", d.Pos, an.MaxRows, declared.MaxRows, clip)
	}
	for i, m := range an.Measures {
		if m.PerGroup > declared.Measures[i].PerGroup {
			t.Errorf("%s: dpsql.clip raises measure %d from %d to %d", d.Pos, i, declared.Measures[i].PerGroup, m.PerGroup)
		}
	}
}

func refusal(err error) string {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return "internal: " + err.Error() + "\n"
	}
	return fmt.Sprintf("%s %s at %d: %s\nhint: %s\n", e.Code, e.ID, e.Pos, e.Message, e.Hint)
}

func described(a *sensitivity.Analysis) string {
	var b strings.Builder
	if a.Agg == nil {
		return "public\n"
	}
	for _, l := range describe.Analysis(a, describe.Bounds{}) {
		fmt.Fprintln(&b, l)
	}
	for _, w := range a.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for i, m := range a.Measures {
		fmt.Fprintf(&b, "m%d %s grid %s rounded %t rows [%d, %d] part [%d, %d] per group %d single %t", i, m.Kind, m.Grid, m.Rounded, m.RowLo, m.RowHi, m.Lo, m.Hi, m.PerGroup, m.Single)
		if m.Narrow {
			b.WriteString(" narrow")
		}
		b.WriteByte('\n')
		if m.Bound != nil {
			fmt.Fprintf(&b, "m%d clip choice %d factor %d fine %d\n", i, m.Bound.Index, m.Factor, m.Subdivision)
		}
	}
	for _, c := range a.Choices {
		fmt.Fprintf(&b, "choice %d of measure %d: %s\n", c.Index, c.Measure, edges(c.Edges))
	}
	for _, f := range a.Formulas {
		fmt.Fprintf(&b, "formula %s count %d sum %d\n", f.Kind, f.Count, f.Sum)
		if m := f.Moments; m != nil {
			fmt.Fprintf(&b, "  %s x %d y %d squares %d %d products %d\n", m.Stat, m.X, m.Y, m.XX, m.YY, m.XY)
		}
	}
	for i, k := range a.Keys {
		fmt.Fprintf(&b, "key %d of unit %t public %t\n", i, k.OfUnit, k.Public)
	}
	for _, s := range a.Groups.Sources {
		fmt.Fprintf(&b, "source keys %v fixed %t counts %t joined %t: %s\n", s.Keys, s.Fixed, s.Counts, s.Joined, tuples(s.Tuples))
	}
	if a.Joined != nil {
		for i, q := range a.Joined.Frequencies {
			fmt.Fprintf(&b, "frequency %d of columns %v\n", i, q.Columns)
		}
	}
	for _, s := range bodyLines(a) {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// edges shows a ladder's ends.
func edges(e []uint64) string {
	if len(e) <= 8 {
		return fmt.Sprint(e)
	}
	return fmt.Sprintf("%d edges %v ... %v", len(e), e[:3], e[len(e)-2:])
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
		if l = strings.TrimSpace(l); strings.Contains(l, "join") || a.Joined != nil {
			out = append(out, "body "+l)
		}
	}
	return out
}
