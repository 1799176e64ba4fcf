package prooftest

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// generous is a policy under which noise is nothing.
var generous = []string{"query:  {price: 0.5}", "query:  {price: 900, joins: any}", "budget: {epsilon: 20, delta: 1e-6}", "budget: {epsilon: 10000, delta: 1e-6}", "max_query_price: 5", "max_query_price: 5000"}

// joinedStatements are joins off the unit over the clinic.
var joinedStatements = []string{
	"select count(*) from encounters a join encounters b on a.days = b.days",
	"select count(*) from patients a join patients b on a.active = b.active",
	"select count(*) from (select a.kind_id = b.kind_id and a.days < b.days as c from encounters a join encounters b on a.diag = b.diag) t where c",
	"select count(*) from encounters a join encounters b on a.diag = b.diag and a.kind_id = b.kind_id where a.days > 2",
	"select a.readmitted, count(*), sum(b.days), avg(a.medications), count(b.score) filter (where b.days > 2), count(distinct a.diag) from encounters a join encounters b on a.days = b.days group by 1",
	"select p.gender, count(*) from patients p join cities c on c.id = p.city_id join encounters e on e.kind_id = c.id group by 1",
	"select count(*), sum(p.dose) from prescriptions p join prescriptions q on p.drug = q.drug",
	"select count(*) from encounters e join prescriptions p on p.encounter_id = e.encounter_id join stays s on s.patient_id = e.patient_id join encounters f on f.free = e.free",
	"select count(*) from labs l join encounters e on e.encounter_id = l.encounter_id and e.patient_id <> l.patient_id join patients p on p.city_id = e.kind_id",
	"select count(*) from encounters a join rates r on r.kind_id = a.kind_id join encounters b on b.kind_id = r.kind_id",
	"select count(*), avg(a.n) from (select patient_id, diag, least(count(*), 9) as n from encounters group by patient_id, diag) a join encounters b on a.diag = b.diag",
}

// joinedTotals are the totals of a printed statement: a group and measure each.
func joinedTotals(t testing.TB, b backend.Backend, st *sqlgen.Statement) map[string]*big.Int {
	t.Helper()
	out := map[string]*big.Int{}
	for _, row := range enginetest.PrintedRows(t, b, st) {
		var key strings.Builder
		for i, c := range st.Columns {
			if c.Role == sqlgen.RoleKey {
				fmt.Fprintf(&key, "%v|", row[i])
			}
		}
		for i, c := range st.Columns {
			if c.Role == sqlgen.RoleMeasure {
				n, ok := new(big.Int).SetString(fmt.Sprint(row[i]), 10)
				if row[i] == nil {
					n, ok = new(big.Int), true
				}
				if !ok {
					t.Fatalf("%v is no total", row[i])
				}
				out[fmt.Sprintf("%s %d", key.String(), c.Index)] = n
			}
		}
	}
	return out
}

// measured are the frequencies of a statement's leaves.
func measured(t testing.TB, b backend.Backend, st *sqlgen.Statement) (out []uint64) {
	t.Helper()
	rows := enginetest.PrintedRows(t, b, st)
	for _, v := range rows[0] {
		out = append(out, uint64(v.(int64)))
	}
	return out
}

// carelessJoins are claims of the rows that one unit changes which planted bugs would make of two leaves: frequencies f and g of leaves with m and n rows of a unit.
var carelessJoins = map[string]func(m, n, f, g uint64) uint64{
	"the largest for the sum": func(m, n, f, g uint64) uint64 { return max(m*f, n*g, m*n) },
	"one row of a unit":       func(_, _, f, g uint64) uint64 { return f + g + 1 },
	"one side alone":          func(m, _, f, _ uint64) uint64 { return m * f },
}

// joinedScans prints both scans of a statement.
func joinedScans(t testing.TB, s *session.Session, sql string) (p *enginetest.Prepared, totals, often *sqlgen.Statement) {
	t.Helper()
	p, err := enginetest.Prepare(s, sql)
	if err == nil {
		totals, err = sqlgen.Private(p.Analysis(), s.Engine.Dialect, 42)
	}
	if err == nil {
		often, err = sqlgen.Frequencies(p.Analysis(), s.Engine.Dialect, 42)
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return p, totals, often
}

// joinedRows prints a count of joined rows as other totals are printed: by making the rows, where it would do with how many there are of each key.
func joinedRows(t testing.TB, s *session.Session, p *enginetest.Prepared) *sqlgen.Statement {
	t.Helper()
	if p.Analysis().Joined.Counted == nil {
		t.Fatal("its rows are not only counted")
	}
	a, j := *p.Analysis(), *p.Analysis().Joined
	j.Counted, a.Joined = nil, &j
	st, err := sqlgen.Private(&a, s.Engine.Dialect, 42)
	if err != nil || strings.Contains(st.SQL, `"s1"`) {
		t.Fatalf("%v\n%s", err, st.SQL)
	}
	return st
}

// TestJoinedOnClinic: for every statement and each unit, what the totals of a measure change without the unit, in sum over groups, is at most the formula at the frequencies that are measured, with it and without it, times the largest integer of a row. Careless formulas are found.
func TestJoinedOnClinic(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s, found := enginetest.ClinicSession(t, enginetest.Wild, d, enginetest.AnyJoins...), map[string]bool{}
		for _, sql := range joinedStatements {
			p, totals, often := joinedScans(t, s, sql)
			j := p.Analysis().Joined
			before, values := joinedTotals(t, enginetest.Wild.Open(t, d), totals), measured(t, enginetest.Wild.Open(t, d), often)
			for _, c := range enginetest.Without {
				after, less := joinedTotals(t, c.Open(t, d), totals), measured(t, c.Open(t, d), often)
				most := min(j.Formula.At(values, 0), j.Formula.At(less, 0))
				for i, m := range p.Analysis().Measures {
					by := changedTotals(before, after, i)
					if by.Cmp(new(big.Int).Mul(new(big.Int).SetUint64(most), new(big.Int).SetUint64(m.Factor))) > 0 {
						t.Errorf("%s: %s: measure %d changes by %s, claimed are %d times %d", c.Name, sql, i, by, most, m.Factor)
					}
					for name, bug := range carelessJoins {
						if len(j.Sides) == 2 && m.Factor == 1 && by.Uint64() > bug(j.Sides[0].Rows, j.Sides[1].Rows, values[0], values[1]) {
							found[name] = true
						}
					}
				}
			}
		}
		for name := range carelessJoins {
			if !found[name] {
				t.Errorf("%s: no statement finds %s", d, name)
			}
		}
	}
}

// plainly is a statement as an analyst's own connection to PostgreSQL would say it.
func plainly(t testing.TB, s *session.Session, sql string) *sqlgen.Statement {
	t.Helper()
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		t.Fatal(err)
	}
	st := &sqlgen.Statement{}
	for i, o := range p.Query.Outputs {
		st.Columns = append(st.Columns, sqlgen.Column{Role: sqlgen.RoleOutput, Index: i, Type: o.Type})
	}
	for _, t := range []string{"encounters", "patients", "prescriptions", "labs", "stays", "cities", "kinds", "rates"} {
		sql = strings.ReplaceAll(strings.ReplaceAll(sql, "from "+t, `from "public".`+t), "join "+t, `join "public".`+t)
	}
	st.SQL = sql
	return st
}

// asNumber is a value as a number.
func asNumber(t testing.TB, v sqltype.Value) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestJoinedOracle: where units have no more rows than the policy says, the totals are PostgreSQL's answers, exactly; and answers with hardly any noise are near to these, in every column (noise is at most a part of 1e-9 as often that large).
func TestJoinedOracle(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, generous...)
		for _, sql := range joinedStatements {
			p, st, _ := joinedScans(t, s, sql)
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			keys, totals := len(p.Analysis().Keys), joinedTotals(t, enginetest.Tame.Open(t, d), st)
			want := map[string][]sqltype.Value{}
			for _, r := range enginetest.PrintedRows(t, enginetest.Tame.Open(t, funcs.Postgres), plainly(t, s, sql)) {
				want[fmt.Sprint(r[:keys])] = r
			}
			if len(rows) != len(want) {
				t.Fatalf("%s: %d groups, PostgreSQL has %d", sql, len(rows), len(want))
			}
			for _, r := range rows {
				is := want[fmt.Sprint(r[:keys])]
				key := ""
				for _, v := range r[:keys] {
					key += fmt.Sprintf("%v|", v)
				}
				for i, f := range p.Analysis().Formulas {
					of := func(m int) float64 {
						x, _ := new(big.Float).SetInt(totals[fmt.Sprintf("%s %d", key, m)]).Float64()
						return x * p.Analysis().Measures[m].Grid.InexactFloat64()
					}
					exact, got, truth := 0.0, asNumber(t, r[keys+i]), asNumber(t, is[keys+i])
					switch f.Kind {
					case sensitivity.IsCount:
						exact = of(f.Count)
					case sensitivity.IsSum:
						exact = of(f.Sum)
					default:
						m := p.Analysis().Measures[f.Sum]
						exact = float64(m.RowLo+m.RowHi)/2*m.Grid.InexactFloat64() + of(f.Sum)/2/of(f.Count)
					}
					if math.Abs(exact-truth) > 1e-9*math.Abs(truth) {
						t.Errorf("%s: %s: column %d is %v, PostgreSQL's %v", d, sql, keys+i, exact, truth)
					}
					if math.Abs(got-truth) > 60+0.25*math.Abs(truth) {
						t.Errorf("%s: %s: column %d answers %v, PostgreSQL %v", d, sql, keys+i, got, truth)
					}
				}
			}
		}
	}
}

// TestFrequenciesOnce: of a self-join whose sides are the same rows PostgreSQL reads the table once, for both frequencies; where one side has a condition of its own it reads each, and they differ.
func TestFrequenciesOnce(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Wild, funcs.Postgres, enginetest.AnyJoins...)
	for sql, want := range map[string]int{
		"select count(*) from encounters a join encounters b on a.days = b.days":                                                           1,
		"select count(*) from encounters a join encounters b on a.days = b.days join encounters c on c.days = b.days where a.diag is null": 2,
		"select count(*) from encounters a join encounters b on a.days = b.kind_id":                                                        2,
	} {
		_, _, often := joinedScans(t, s, sql)
		b := enginetest.Wild.Open(t, funcs.Postgres)
		values := slices.Sorted(slices.Values(measured(t, b, often)))
		plan := *often
		plan.SQL, plan.Columns = "EXPLAIN "+often.SQL, []sqlgen.Column{{Role: sqlgen.RoleKey, Type: sqltype.Text}}
		scans := 0
		for _, row := range enginetest.PrintedRows(t, b, &plan) {
			if strings.Contains(row[0].(string), " on encounters") {
				scans++
			}
		}
		if scans != want || values[0] == 0 || len(slices.Compact(values)) != want {
			t.Errorf("%s: %d scans, frequencies %v", sql, scans, values)
		}
	}
}

// TestJoinedReleasesOracle: what is computed of counts of joined rows, or asked of others with them, is what PostgreSQL computes, where there is hardly any noise (a part of 1e-9 is further off).
func TestJoinedReleasesOracle(t *testing.T) {
	const joined = "from encounters a join encounters b on a.days = b.days"
	for _, d := range enginetest.Dialects {
		s := enginetest.ClinicSession(t, enginetest.Tame, d, generous...)
		for _, sql := range []string{
			"select distinct count(*) " + joined,
			"select sum(n), avg(n), max(n) from (select a.kind_id, count(*) as n " + joined + " group by 1) t",
			"select count(*) from (select a.kind_id, b.readmitted, count(*) as n " + joined + " group by 1, 2) t where n > -100000",
			"select count(*) from patients where weight > (select count(*) / 100000.0 " + joined + ")",
			"select r.kind_id, t.n from cities c join rates r on r.kind_id = c.id join (select a.kind_id, count(*) as n " + joined + " group by 1) t on t.kind_id = r.kind_id order by 1, 2",
		} {
			rows, err := enginetest.Try(s, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
				continue
			}
			for i, want := range enginetest.PrintedRows(t, enginetest.Tame.Open(t, funcs.Postgres), plainly(t, s, sql)) {
				for c := range want {
					if got, truth := asNumber(t, rows[i][c]), asNumber(t, want[c]); math.Abs(got-truth) > 60+0.25*math.Abs(truth) {
						t.Errorf("%s: %s: %v, PostgreSQL has %v", d, sql, rows[i], want)
					}
				}
			}
		}
		if _, err := enginetest.Try(s, "select sum(n) from (select a.patient_id, count(*) as n "+joined+" group by 1) t"); sqlerr.ID(err) != sqlerr.UnknownGroups.ID {
			t.Errorf("%s: groups of people: %v", d, err)
		}
	}
}
