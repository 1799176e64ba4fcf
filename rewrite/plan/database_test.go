package plan_test

import (
	"errors"
	"testing"

	"github.com/dpsql/dpsql/internal/sqlerr"
	"github.com/dpsql/dpsql/internal/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestDatabase: a name may begin with the session's database and no other; the errors are PostgreSQL's own.
func TestDatabase(t *testing.T) {
	cat := demoCatalog(t)
	opts := plan.BindOptions{Session: map[string]plan.SessionValue{"current_catalog": {Value: "mine", Type: sqltype.Name}}}
	for sql, want := range map[string]string{
		"select 1 from mine.public.patients":                                     "",
		"select mine.public.patients.patient_id from public.patients":            "",
		"select mine.public.patients.* from patients":                            "",
		"select public.patients.* from patients":                                 "",
		"select 1 from other.public.patients":                                    `cross-database references are not implemented: "other.public.patients"`,
		"select other.public.patients.patient_id from patients":                  `cross-database references are not implemented: other.public.patients.patient_id`,
		"select other.public.patients.* from patients":                           `cross-database references are not implemented: other.public.patients.*`,
		"select a.mine.public.patients.patient_id from patients":                 `improper qualified name (too many dotted names): a.mine.public.patients.patient_id`,
		"select other.patients.* from public.patients":                           `missing FROM-clause entry for table "patients"`,
		"select mine.other.patients.patient_id from mine.public.patients":        `missing FROM-clause entry for table "patients"`,
		"select mine.public.p.patient_id from mine.public.patients p":            `missing FROM-clause entry for table "p"`,
		"select 1 where exists (select 1 from other.public.nothing where 1 = 1)": `cross-database references are not implemented: "other.public.nothing"`,
	} {
		st, err := pgsyntax.Parse(sql)
		if err == nil {
			_, err = plan.Bind(st[0].Node.(*pgsyntax.Select), cat, opts)
		}
		got := ""
		var e *sqlerr.Error
		if errors.As(err, &e) {
			got = e.Message
		} else if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}
