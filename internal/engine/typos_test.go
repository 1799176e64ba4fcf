package engine_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestTypos: the hint of a mistyped name is the nearest among those that this analyst may see.
func TestTypos(t *testing.T) {
	w := newSite(t)
	for _, c := range []struct{ user, sql, hint string }{
		{"ann", "SELECT count(*) FROM encouters", `Perhaps you meant "encounters".`},
		{"ann", "SELECT count(*) FROM public.vists", `Perhaps you meant "visits".`},
		{"ann", "SELECT avg(wieght) FROM patients", `Perhaps you meant to reference the column "patients.weight".`},
		{"ann", "SELECT avg(p.weigth) FROM patients p", `Perhaps you meant to reference the column "p.weight".`},
		{"ann", "SELECT count(*) FROM encounters WHERE kind = 1", `Perhaps you meant to reference the column "encounters.kind_id".`},
		{"ann", "SELECT abss(1)", "Perhaps you meant abs."},
		{"ann", "SELECT cuont(*) FROM patients", "Perhaps you meant count."},
		{"ann", "SELECT dp_eror(count(*)) FROM patients", "Perhaps you meant dp_error."},
		{"ann", "SELECT 1::bigin", "Perhaps you meant bigint."},
		{"ann", "SET datestile = 'ISO'", "Perhaps you meant datestyle."},
		{"ann", "SHOW timezon", "Perhaps you meant timezone."},
		{"ann", "SHOW dpsql.budgets", "Perhaps you meant dpsql.budget."},
		{"ann", "SELECT * FROM dpsql.budgets", `Perhaps you meant "dpsql"."budget".`},
		{"ann", "SET dpsql.prise = 1", "Perhaps you meant dpsql.price."},
		{"ann", "SET ROLE x", "Connect as another analyst, or write SET ROLE NONE."},
		{"ann", "SET dpsql.price = 100", "SET dpsql.price = 5 is the most. The owner can raise max_query_price in the policy."},
		{"ann", "SELECT gender, count(*) FROM encounters GROUP BY 1", "It is a column of patients: add JOIN patients USING (patient_id) to FROM."},
		{"ann", "SELECT e.gender FROM encounters e JOIN kinds k ON k.id = e.kind_id", "It is a column of patients: add JOIN patients ON patients.patient_id = e.patient_id to FROM."},
		{"ann", "SELECT sum(days) FROM patients", "It is a column of encounters: add JOIN encounters USING (patient_id) to FROM."},
		{"ann", "SET dpsql.epsilom = 1", "dpsql has: dpsql.bounding, dpsql.clip, dpsql.consistent, dpsql.expected_size, dpsql.fresh, dpsql.max_groups, dpsql.mechanism, dpsql.notices, dpsql.on_low_count, dpsql.price, dpsql.progress, dpsql.rounding, dpsql.simultaneous, dpsql.target_error, and SHOW dpsql.budget."},
		{"clerk", "SELECT count(*) FROM patient", `Perhaps you meant "patients".`},
		{"clerk", "SELECT count(*) FROM encouters", ""},
		{"clerk", "SELECT wieght FROM patients", "There are: patient_id, gender."},
		{"clerk", `SELECT wieght FROM (SELECT count(*) AS "In All" FROM patients) d`, `There are: "In All".`},
	} {
		pe, _ := w.refusal(t, Place{On: "clinic", As: c.user, Policy: [][]string{{"epsilon: 20", "epsilon: 21"}}}, []string{c.sql})
		if pe.Hint != c.hint {
			t.Errorf("%s, as %s: %s, hint %q, want %q", c.sql, c.user, pe.Message, pe.Hint, c.hint)
		}
	}
}

// TestHiddenNames: whatever is mistyped, no error tells a name that this analyst may not see, nor answers otherwise where one was
// hit than where none was.
func TestHiddenNames(t *testing.T) {
	var p struct {
		Tables map[string]struct {
			Columns map[string]any `yaml:"columns"`
		} `yaml:"tables"`
	}
	if err := yaml.Unmarshal([]byte(clinicTables()), &p); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"patients": true, "gender": true, "patient_id": true, "cities": true, "kinds": true, "rates": true, "kind_id": true} // public tables are everybody's
	hidden := map[string]bool{}
	for table, x := range p.Tables {
		hidden[table] = !seen[table]
		for c := range x.Columns {
			hidden[c] = !seen[c]
		}
	}
	w := newSite(t)
	place := Place{On: "clinic", As: "clerk"}
	s := w.serve(t, place)
	c, err := s.dial("clerk", "demo", s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	words, tried := regexp.MustCompile(`\w+`), 0
	for name, is := range hidden {
		if !is {
			continue
		}
		for _, typo := range []string{name, name[:len(name)-1], name + "s", name[1:2] + name[:1] + name[2:], strings.Replace(name, "e", "a", 1) + "x"} {
			for _, sql := range []string{"SELECT count(*) FROM " + typo, "SELECT count(*) FROM public." + typo, "SELECT " + typo + " FROM patients", "SELECT p." + typo + " FROM patients p",
				"SELECT count(*) FROM patients JOIN cities USING (" + typo + ")", "SELECT count(*) FROM patients ORDER BY " + typo, "SELECT " + typo + ".id FROM cities", "SELECT " + typo + "(1)",
				"SELECT 1::" + typo, "SET " + typo + " = 1"} {
				err := s.ask(c, sql)
				var pe *pgconn.PgError
				if !errors.As(err, &pe) {
					continue // the typo is another name that there is
				}
				tried++
				for _, word := range words.FindAllString(pe.Message+" "+pe.Detail+" "+pe.Hint, -1) {
					if hidden[word] && word != typo {
						t.Errorf("%s tells of %s: %s, hint %q", sql, word, pe.Message, pe.Hint)
					}
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d errors were looked at", tried)
	}
}
