package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// looked says of a backend whether it was asked, and answers nothing once it is shut.
type looked struct {
	backend.Backend
	shut  bool
	asked int
}

// Begin implements backend.Backend.
func (l *looked) Begin(ctx context.Context) (backend.Tx, error) {
	if l.asked++; l.shut {
		return nil, errors.New("shut")
	}
	return l.Backend.Begin(ctx)
}

func previewed(t *testing.T, how string, d dialect.Dialect) (*session.Session, *looked) {
	t.Helper()
	b := &looked{Backend: enginetest.Tame.Open(t, d)}
	s := enginetest.NewSession(enginetest.EngineOn(t, enginetest.ClinicPolicyFor(t, d, "statement_timeout: 20s", "statement_timeout: 20s\npreview: "+how), b), t, "ann")
	b.shut, b.asked = true, 0
	return s, b
}

// rawRows are statements whose whole answer would be rows of people, and how many made-up ones they show.
var rawRows = []struct {
	sql  string
	rows int
}{
	{"SELECT * FROM patients", 10},
	{"SELECT * FROM patients LIMIT 3", 3},
	{"SELECT * FROM patients LIMIT 1000", 10},
	{"TABLE encounters", 10},
	{"SELECT patient_id, upper(gender), weight * 2 AS w FROM patients ORDER BY weight DESC LIMIT 5", 5},
	{"SELECT * FROM patients WHERE gender = 'Female' ORDER BY patient_id LIMIT 4", 4},
	{"SELECT p.gender, e.* FROM patients p JOIN encounters e USING (patient_id)", 10},
	{"SELECT * FROM patients p JOIN encounters e ON e.patient_id = p.patient_id JOIN kinds k ON k.id = e.kind_id LEFT JOIN cities c ON c.id = p.city_id", 10},
	{"WITH q AS (SELECT * FROM patients) SELECT q.patient_id + 0 FROM q LIMIT 2", 2},
	{"SELECT * FROM (SELECT days, cost FROM encounters WHERE days > 3) AS q LIMIT 10 OFFSET 2", 10},
	{"SELECT * FROM patients a, patients b, patients c, patients d, patients e, patients f LIMIT 1", 1},
	{"SELECT * FROM stays", 10},
	{"SELECT * FROM patients WHERE gender = 'nothing'", 0},
	{"SELECT 1 / (patient_id - patient_id) FROM patients", 0},
}

// notPreviewed would show what is made up beside, or inside, what is not.
var notPreviewed = []string{
	"SELECT *, (SELECT count(*) FROM encounters) FROM patients",
	"SELECT * FROM patients UNION ALL SELECT * FROM patients",
	"SELECT gender FROM patients UNION ALL SELECT region FROM cities",
	"SELECT * FROM patients, (SELECT count(*) AS n FROM encounters) AS c",
	"SELECT * FROM patients, (VALUES (1), (2)) AS v (x)",
	"SELECT patient_id, rank() OVER (ORDER BY weight) FROM patients",
	"SELECT DISTINCT ON (gender) * FROM patients",
	"SELECT * FROM patients WHERE patient_id IN (SELECT patient_id FROM encounters)",
	"SELECT * FROM patients p, LATERAL (SELECT * FROM encounters e WHERE e.patient_id = p.patient_id) AS q",
}

// TestPreview: rows of people are refused, or previewed as the owner says: the database is not asked, nothing is charged, and what is made up is said to be.
func TestPreview(t *testing.T) {
	for _, how := range []string{policy.PreviewNone, policy.PreviewSchema, policy.PreviewMock} {
		s, b := previewed(t, how, funcs.DuckDB)
		b.shut = how != policy.PreviewNone // a hint's statement may ask for a public table's values
		for _, c := range rawRows {
			if how == policy.PreviewNone {
				_, err := enginetest.Prepare(s, c.sql)
				var e *sqlerr.Error
				if !errors.As(err, &e) || sqlerr.ID(err) != sqlerr.RawRows.ID {
					t.Errorf("%s: %v", c.sql, err)
					continue
				}
				_, instead, _ := strings.Cut(e.Hint, "for example: ")
				if _, err := enginetest.Prepare(s, instead); err != nil || !strings.HasPrefix(instead, "SELECT ") {
					t.Errorf("%s: %s: %v", c.sql, e.Hint, err)
				}
				continue
			}
			_, a := enginetest.Ask(t, s, c.sql)
			_, again := enginetest.Ask(t, s, c.sql)
			want := c.rows
			if how == policy.PreviewSchema {
				want = 0
			}
			if len(a.Rows) != want || fmt.Sprint(a.Rows) != fmt.Sprint(again.Rows) || !a.MadeUp || want > 0 && a.Mark != catalog.NoticeMock || want == 0 && !strings.Contains(a.Mark, "rows of people are not") {
				t.Errorf("%s: %s: %d rows, then %v: %q", how, c.sql, len(a.Rows), again.Rows, a.Mark)
			}
			if told := enginetest.Explained(t, s, c.sql); !strings.Contains(told, "free; the database is not asked\nPreview: ") {
				t.Errorf("%s:\n%s", c.sql, told)
			}
		}
		for _, sql := range notPreviewed {
			if _, err := enginetest.Prepare(s, sql); err == nil {
				t.Errorf("%s: %s: previewed", how, sql)
			}
		}
		if b.shut && b.asked > 0 || enginetest.PaidFor(t, s) > 0 {
			t.Errorf("%s: the database was asked %d times, %d charges", how, b.asked, enginetest.PaidFor(t, s))
		}
		b.shut = true
		for _, sql := range []string{"SELECT count(*) FROM patients", "SELECT gender, avg(weight) FROM (SELECT * FROM patients LIMIT 10) AS q GROUP BY 1", "SELECT DISTINCT race FROM patients"} {
			if rows, err := enginetest.Try(s, sql); err == nil { // an aggregate is asked of the database, which is shut
				t.Errorf("%s: %s: %v", how, sql, rows)
			}
		}
	}
}

// TestMockRows: what is made up is of the declared domains and ranges, and joins by its keys.
func TestMockRows(t *testing.T) {
	for _, d := range enginetest.Dialects {
		s, _ := previewed(t, policy.PreviewMock, d)
		rows, err := enginetest.Try(s, "SELECT p.patient_id, e.patient_id, p.gender, e.days, e.readmitted, s.admitted, e.level FROM patients p, encounters e, stays s WHERE e.patient_id = p.patient_id AND s.patient_id = p.patient_id")
		if err != nil || len(rows) != 10 {
			t.Fatalf("%s: %v %v", d, rows, err)
		}
		genders := map[sqltype.Value]bool{}
		for i, r := range rows {
			genders[r[2]] = true
			days, level := r[3].(int64), fmt.Sprint(r[6])
			if r[0] != int64(i+1) || r[1] != r[0] || days < 1 || days > 14 || !slices.Contains([]any{"NO", "<30", ">30"}, r[4].(any)) ||
				r[5].(sqltype.Days) < 6634 || r[5].(sqltype.Days) > 7670 || strings.Contains(level, ".") && !strings.HasSuffix(level, ".25") && !strings.HasSuffix(level, ".5") && !strings.HasSuffix(level, ".75") {
				t.Errorf("%s: row %d: %v", d, i, r)
			}
		}
		if len(genders) != 2 || !genders["Female"] || !genders["Male"] {
			t.Errorf("%s: %v", d, genders)
		}
		p, err := enginetest.Prepare(s, "SELECT patient_id FROM patients WHERE patient_id > $1 LIMIT $2", sqltype.OIDInt8, sqltype.OIDInt8)
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Run(context.Background(), []sqltype.Value{int64(5), int64(2)})
		if err != nil || fmt.Sprint(a.Rows) != "[[6] [7]]" {
			t.Errorf("%s: %v %v", d, a, err)
		}
	}
}

// TestNothingIsExact: what needs no private row is answered exactly as PostgreSQL does, free, and without the database.
func TestNothingIsExact(t *testing.T) {
	s, b := previewed(t, policy.PreviewNone, funcs.DuckDB)
	for _, c := range []struct{ sql, want string }{
		{"SELECT count(*) FROM patients WHERE false", "[[0]]"},
		{"SELECT count(*), dp_error(count(*)), dp_high(sum(weight)) FROM patients WHERE false", "[[0 0 <nil>]]"},
		{"SELECT count(*), sum(weight), avg(weight), count(DISTINCT race), max(gender) FROM patients WHERE 0 = 1", "[[0 <nil> <nil> 0 <nil>]]"},
		{"SELECT count(*) + 1 FROM (SELECT * FROM patients LIMIT 0) AS q", "[[1]]"},
		{"SELECT gender, count(*) FROM patients WHERE weight > 3 AND 1 = 0 GROUP BY gender", "[]"},
		{"SELECT gender, count(*) FROM patients WHERE false GROUP BY ROLLUP (gender)", "[[<nil> 0]]"},
		{"SELECT count(*) FROM patients p JOIN encounters e USING (patient_id) WHERE NULL", "[[0]]"},
		{"SELECT (SELECT count(*) FROM patients WHERE false), EXISTS (SELECT 1 FROM encounters WHERE 1 > 2)", "[[0 false]]"},
		{"SELECT count(*) FROM patients WHERE false UNION ALL SELECT 5", "[[0] [5]]"},
		{"SELECT * FROM patients LIMIT 0", "[]"},
		{"SELECT * FROM patients WHERE false", "[]"},
		{"SELECT DISTINCT gender FROM patients", "[[Female] [Male]]"},
	} {
		rows, err := enginetest.Try(s, c.sql)
		if got := fmt.Sprint(rows); err != nil || got != c.want {
			t.Errorf("%s: %s %v", c.sql, got, err)
		}
	}
	if b.asked > 0 || enginetest.PaidFor(t, s) > 0 {
		t.Errorf("the database was asked %d times, %d charges", b.asked, enginetest.PaidFor(t, s))
	}
	for _, sql := range []string{ // these need some
		"SELECT count(*) FROM patients WHERE false UNION ALL SELECT count(*) FROM patients",
		"SELECT count(*), (SELECT count(*) FROM encounters) FROM patients WHERE false",
		"SELECT count(*) FROM patients WHERE weight > 3 OR false",
	} {
		if rows, err := enginetest.Try(s, sql); err == nil {
			t.Errorf("%s: %v of a database that is shut", sql, rows)
		}
	}
}
