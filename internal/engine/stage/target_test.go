package stage_test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTarget: a statement under dpsql.target_error costs the least price that gives it, which is known from an earlier release or from a stated size and
// told by EXPLAIN beforehand; the answer's dp_error is within the target, and would not be at a price 5% smaller. Each mechanism, declared bounds; TestTargetChoosesAnew has chosen ones.
func TestTarget(t *testing.T) {
	const count = "select count(*), dp_error(count(*)) from encounters"
	const groups = "select readmitted, count(*), dp_error(count(*)) from encounters group by 1 order by 1"
	const avg = "select avg(days), dp_error(avg(days)) from encounters"
	const distinct = "select count(distinct diag), dp_error(count(distinct diag)) from encounters"
	room := enginetest.AutoEdits[4:]
	people := append([]string{"unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 500\n"}, room...)
	for name, c := range map[string]struct {
		sql, mechanism, size, first, target string
		edits                               []string
		from                                string
	}{
		"size":                       {count, "laplace", "400", "", "5%", room, "dpsql.expected_size"},
		"size, Gaussian":             {groups, "gaussian", "100", "", "30%", room, "dpsql.expected_size"},
		"size, average":              {avg, "laplace", "400", "", "0.5", room, "dpsql.expected_size"},
		"size, distinct values":      {distinct, "laplace", "400", "", "20", room, "however large its groups are"},
		"no size":                    {count, "laplace", "unknown", "", "12", room, "however large its groups are"},
		"no size, a sum":             {"select sum(days), dp_error(sum(days)) from encounters where days > 2", "gaussian", "unknown", "", "200", room, "however large its groups are"},
		"policy":                     {groups, "auto", "unknown", "", "30%", people, "population"},
		"release":                    {count, "laplace", "unknown", "0.2", "half", room, "price 0.2"},
		"release before size":        {count, "gaussian", "7", "0.2", "half", room, "price 0.2"},
		"release, distinct values":   {distinct, "laplace", "unknown", "0.2", "half", room, "price 0.2"},
		"release, average of a part": {avg, "laplace", "unknown", "20", "half", append([]string{"max_query_price: 5", "max_query_price: 500"}, room...), "price 20"},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, c.edits...)
			enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
			enginetest.Set(t, s, "dpsql.expected_size", c.size)
			if c.first != "" {
				enginetest.Set(t, s, "dpsql.price", c.first)
				_, a := enginetest.Ask(t, s, c.sql)
				c.target = session.Target{Most: a.Rows[0][1].(float64) / 2}.String() // of the error that it has, whatever was drawn
			}
			want, err := session.ParseTarget("", c.target)
			if err != nil {
				t.Fatal(err)
			}
			enginetest.Set(t, s, "dpsql.price", fmt.Sprint(s.Analyst.MaxQueryEpsilon))
			rows, err := enginetest.Try(s, "explain (verbose, target_error '"+c.target+"') "+c.sql)
			if err != nil {
				t.Fatal(err)
			}
			told := ""
			for _, r := range rows {
				told += r[0].(string) + "\n"
			}
			enginetest.SetTarget(t, s, c.target)
			if !strings.Contains(told, "Target: a 95% error of at most "+c.target) || !strings.Contains(told, c.from) || told != enginetest.Explained(t, s, c.sql) {
				t.Errorf("told: %s", told)
			}
			p, err := enginetest.Prepare(s, c.sql)
			if err != nil {
				t.Fatal(err)
			}
			w, err := p.Staged().Widths(t.Context(), p.Staged().Stages[0], want, s.Now.Size, p.Staged().NamedOf(0), nil)
			if err != nil {
				t.Fatal(err)
			}
			aimed, _, err := p.Staged().SolveForTargetError(t.Context(), p.Staged().Stages, nil)
			if err != nil {
				t.Fatal(err)
			}
			price := aimed[0].Request.Epsilon
			if ok, err := w.Within(price); !ok || err != nil {
				t.Errorf("price %g does not give the target: %v", price, err)
			}
			if ok, err := w.Within(0.95 * price); ok || err != nil {
				t.Errorf("price %g is not the least: %v", price, err)
			}
			_, a := enginetest.Ask(t, s, c.sql)
			if all := enginetest.Charges(t, s.Engine); math.Abs(all[len(all)-1].Price-price) > 1e-12 {
				t.Errorf("charged at %g, not at %g", all[len(all)-1].Price, price)
			}
			if !want.Relative && c.size != "400" { // the clinic has fewer rows, of which an average errs more
				r := a.Rows[0]
				// An average errs by how many values it is of, too, which is drawn anew: one less in about 1 of 20 releases, some 3%; seven less, 25%, in fewer than 1 of 1e9.
				most := want.Most
				if c.sql == avg && c.first != "" {
					most *= 1.25
				}
				e := r[len(r)-1].(float64)
				if !(e <= most) {
					t.Errorf("its error is %g", e)
				}
				if e > want.Most {
					return
				}
			}
			if want.Relative || c.size == "400" { // the release says another size, so it has another price
				return
			}
			if n := enginetest.Charged(t, s.Engine, func() { enginetest.Ask(t, s, c.sql) }); n != 0 {
				t.Errorf("asked again it is charged %d times", n)
			}
		})
	}
}

// TestTargetRefused: what no price is known for is refused, whatever the tables hold, and costs nothing.
func TestTargetRefused(t *testing.T) {
	many := []string{"unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 500\n"}
	for name, c := range map[string]struct {
		sql, target, size, id string
		edits                 []string
	}{
		"nothing is known":        {"select count(*) from encounters", "5%", "unknown", "target_unknown", nil},
		"nothing, an average":     {"select count(*), avg(days) from encounters", "12", "unknown", "target_unknown", nil},
		"nothing, chosen bounds":  {"select count(*) from encounters", "12", "unknown", "target_unknown", enginetest.AutoEdits},
		"a filter":                {"select count(*) from encounters where days > 3", "5%", "unknown", "target_unknown", many},
		"FILTER":                  {"select count(*) filter (where days > 3) from encounters", "5%", "unknown", "target_unknown", many},
		"chosen bounds":           {"select count(*) from encounters", "5%", "1000", "target_unknown", enginetest.AutoEdits},
		"no aggregate":            {"select count(*) + 1 from encounters", "5%", "1000", "target_unknown", nil},
		"a release within":        {"select count(*) from encounters where days > (select avg(days) from encounters)", "5%", "1000", "target_unknown", nil},
		"distinct, a part":        {"select count(distinct diag) from encounters", "5%", "1000", "target_unknown", nil},
		"distinct, an average":    {"select avg(distinct days) from encounters", "2", "1000", "target_unknown", nil},
		"a statistic":             {"select median(days) from encounters", "5%", "1000", "target_unknown", nil},
		"a variance":              {"select variance(days) from encounters", "5%", "1000", "target_unknown", nil},
		"more than one may spend": {"select count(*) from encounters", "1%", "100", "price_too_large", nil},
		"never":                   {"select count(*) from encounters", "0.0000001", "100", "price_too_large", nil},
	} {
		s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, c.edits...)
		enginetest.Set(t, s, "dpsql.expected_size", c.size)
		enginetest.SetTarget(t, s, c.target)
		for _, sql := range []string{c.sql, "explain verbose " + c.sql} {
			_, err := enginetest.Try(s, sql)
			if sqlerr.ID(err) != c.id {
				t.Errorf("%s: %s: %v", name, sql, err)
			}
		}
		if n := len(enginetest.Charges(t, s.Engine)); n != 0 {
			t.Errorf("%s: %d charges", name, n)
		}
		enginetest.Set(t, s, "dpsql.target_error", "off")
		if _, err := enginetest.Try(s, "explain verbose "+c.sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	for _, bad := range []string{"target_error 0", "target_error '-1%'", "target_error 'x'", "expected_size 0"} {
		if _, err := enginetest.Try(s, "explain ("+bad+") select count(*) from encounters"); sqlerr.ID(err) != sqlerr.InvalidParam.ID {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestTargetPriceIsToldFirst: a target that costs more than dpsql.price is refused, and costs nothing. EXPLAIN tells one price and one error of each column, within the target. What the hint sets answers at that price.
func TestTargetPriceIsToldFirst(t *testing.T) {
	room := []string{"max_query_price: 5", "max_query_price: 500", "epsilon: 20,", "epsilon: 10000,"}
	for name, c := range map[string]struct {
		first, sql, target string
		errors             int
		edits              []string
	}{
		"declared":         {"", "select count(*) from encounters", "6", 1, room},
		"a chosen bound":   {"select readmitted, count(*) from encounters group by 1", "select count(*) from encounters where readmitted = 'NO'", "6", 1, append(room, enginetest.AutoEdits[:4]...)},
		"several releases": {"", "select readmitted, count(*) from encounters group by rollup(readmitted)", "30", 2, room},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.FixedNoise(enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, c.edits...), 22)
			if c.first != "" {
				enginetest.Set(t, s, "dpsql.price", "12")
				enginetest.Ask(t, s, c.first)
				enginetest.Set(t, s, "dpsql.price", "0.5")
			}
			enginetest.Set(t, s, "dpsql.target_error", c.target)
			told, err := enginetest.Try(s, "explain "+c.sql)
			if err != nil {
				t.Fatal(err)
			}
			text, price := fmt.Sprint(told), ""
			if m := regexp.MustCompile(`Price: ([0-9.]+)`).FindAllStringSubmatch(text, -1); len(m) == 1 {
				price = m[0][1]
			}
			set := "SET dpsql.price = " + price
			if !strings.Contains(text, "Refused: an error of ") || !strings.Contains(text, set) || strings.Contains(text, "times the bound") || strings.Count(text, "+- ") != c.errors {
				t.Errorf("told: %s", text)
			}
			var e *sqlerr.Error
			n := enginetest.Charged(t, s.Engine, func() { _, err = enginetest.Try(s, c.sql) })
			if !errors.As(err, &e) || e.ID != sqlerr.PriceTooLarge.ID || n != 0 || !strings.HasPrefix(e.Hint, set+" ") {
				t.Fatalf("%d charges, %v", n, err)
			}
			enginetest.Set(t, s, "dpsql.price", price)
			if told, err = enginetest.Try(s, "explain "+c.sql); err != nil || strings.Contains(fmt.Sprint(told), "Refused") {
				t.Errorf("told %v, %v", told, err)
			}
			before, sum := len(enginetest.Charges(t, s.Engine)), 0.0
			enginetest.Ask(t, s, c.sql)
			for _, one := range enginetest.Charges(t, s.Engine)[before:] {
				sum += one.Price
			}
			if want, err := strconv.ParseFloat(price, 64); err != nil || math.Abs(sum/want-1) > 0.005 {
				t.Errorf("charged at %g, told %s", sum, price)
			}
		})
	}
}

// TestTargetNeighbours: prices that follow from a stated size or the population are the same whether a person is there or not, and are known without a look at the rows; so are refusals.
func TestTargetNeighbours(t *testing.T) {
	edits := append([]string{"unit: patients.patient_id\n", "unit: patients.patient_id\npopulation: 500\n"}, enginetest.AutoEdits[4:]...)
	here, gone := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...), enginetest.ClinicSession(t, enginetest.Lacking(1), funcs.DuckDB, edits...)
	for _, sql := range []string{
		"explain (verbose, target_error '90%') select kind_id, count(*) from encounters group by 1", "explain (verbose, target_error '20%') select readmitted, count(*), avg(days) from encounters group by 1", "explain (verbose, target_error '5%', expected_size 1000) select sum(days) from encounters where days > 2",
		"explain (verbose, target_error '5%') select count(*) from encounters where days > 2", "explain (verbose, target_error 40, format json) select diag, count(*) from encounters group by 1",
		"explain (verbose, target_error 9, expected_size 1000) select count(distinct diag), sum(distinct days) from encounters",
	} {
		told := func(s *session.Session) string {
			rows, err := enginetest.Try(s, sql)
			return fmt.Sprint(rows, err)
		}
		if regexp.MustCompile(`for [0-9]+\.[0-9]+ rows a group`).MatchString(told(here)) {
			t.Errorf("%s: a part of a row: %s", sql, told(here))
		}
		if one, other := told(here), told(gone); one != other {
			t.Errorf("%s: with a person %s, without %s", sql, one, other)
		}
	}
}

// TestTargetHintsLead: where bounds are chosen, each thing that the hint of a target says leads to an answer.
func TestTargetHintsLead(t *testing.T) {
	edits := append([]string{"max_query_price: 5", "max_query_price: 500"}, enginetest.AutoEdits...)
	for _, c := range []struct {
		sql, target string
	}{
		{"select sum(cost) from encounters", "3000"}, {"select kind_id, sum(cost) from encounters group by 1", "3000"}, // free from the average
		{"select count(*) from encounters", "50%"}, {"select count(*) from encounters", "500"}, {"select count(*) from encounters where days > 2", "100"},
		{"select sum(days) from encounters", "50%"}, {"select avg(days) from encounters", "5"}, {"select sum(free) from encounters", "3000"}, {"select sum(free) from encounters", "50%"},
		{"select avg(free) from encounters", "30"}, {"select kind_id, sum(days) from encounters group by 1", "500"},
	} {
		refused := func() (*session.Session, string) {
			s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, edits...)
			if strings.Contains(c.sql, "sum(cost)") {
				enginetest.Set(t, s, "dpsql.price", "40")
				enginetest.Ask(t, s, strings.ReplaceAll(c.sql, "sum", "avg"))
			}
			enginetest.SetTarget(t, s, c.target)
			_, err := enginetest.Try(s, c.sql)
			var e *sqlerr.Error
			if !errors.As(err, &e) || e.ID != sqlerr.TargetUnknown.ID || strings.Contains(e.Hint, "SET dpsql.clip") {
				t.Fatalf("%s, %s: %v", c.sql, c.target, err)
			}
			return s, e.Hint
		}
		s, hint := refused()
		enginetest.Set(t, s, "dpsql.target_error", "off")
		if strings.Contains(hint, "SET dpsql.fresh = on") {
			enginetest.Set(t, s, "dpsql.fresh", "on")
		}
		enginetest.Set(t, s, "dpsql.price", "40")
		if _, err := enginetest.Try(s, c.sql); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(hint, "with SET dpsql.fresh = off") {
			enginetest.Set(t, s, "dpsql.fresh", "off")
		}
		enginetest.SetTarget(t, s, c.target)
		if _, err := enginetest.Try(s, c.sql); err != nil {
			t.Errorf("%s, %s, asked once: %v; the hint was %s", c.sql, c.target, err, hint)
		}
	}
}
