package plan_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
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

// TestEnumsOfSchemas: an enum is named as a type whatever schema the table has that shows it: by its schema, or alone, where one of schema public comes before others.
func TestEnumsOfSchemas(t *testing.T) {
	enum := func(oid sqltype.OID, schema, name string) sqltype.Type {
		return sqltype.EnumType(sqltype.Enum{OID: oid, Array: oid + 1, Schema: schema, Name: name, Labels: []string{"red", "green"}})
	}
	cat := seen{{Schema: "s", Name: "p2", Columns: []plan.TableColumn{{Name: "of_s", Type: enum(90000, "s", "colour"), Visible: true}, {Name: "of_public", Type: enum(90002, "public", "colour"), Visible: true},
		{Name: "only_s", Type: enum(90004, "s", "shade"), Visible: true}, {Name: "hidden", Type: enum(90006, "public", "secret")}}}}
	for name, want := range map[string]sqltype.OID{"colour": 90002, "public.colour": 90002, "s.colour": 90000, "shade": 90004, "s.shade": 90004, "public.shade": 0, "secret": 0} {
		q, err := bind(t, cat, "select 'red'::"+name+" from s.p2")
		switch {
		case want == 0:
			if err == nil {
				t.Errorf("%s is known", name)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case q.Outputs[0].Type.OID != want:
			t.Errorf("%s: %v", name, q.Outputs[0].Type)
		}
	}
}

// TestNearestFunction: the hint names a function that takes the arguments, and none that has little in common with the name.
func TestNearestFunction(t *testing.T) {
	cat := demoCatalog(t)
	for sql, want := range map[string]string{
		"select len(gender) from patients":                       "No function matches the given name and argument types. You might need to add explicit type casts.",
		"select cout(*) from patients":                           "Perhaps you meant count.",
		"select cout(gender) from patients":                      "Perhaps you meant count.",
		"select avg(patient_id) as a, dp_error(a) from patients": "An output name cannot be used there. Repeat the aggregate: dp_error(avg(patient_id)).",
		"select lenght(gender) from patients":                    "Perhaps you meant length.",
		"select lenght(patient_id) from patients":                "No function matches the given name and argument types. You might need to add explicit type casts.",
		"select patient_id as x from patients where x = 1":       `An output name cannot be used in WHERE: write the expression of "x" there, or put the query in FROM.`,
		"select patient_id as x from patients where gendr = ''":  `Perhaps you meant to reference the column "patients.gender".`,
	} {
		_, err := bind(t, cat, sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Hint != want {
			t.Errorf("%s: %+v, want the hint %q", sql, e, want)
		}
	}
}

// seen are tables of several schemas.
type seen []*plan.Table

func (s seen) Table(schema, name string) (*plan.Table, bool) {
	i := slices.IndexFunc(s, func(t *plan.Table) bool { return t.Schema == cmp.Or(schema, "public") && t.Name == name })
	if i < 0 {
		return nil, false
	}
	return s[i], true
}

func (s seen) VisibleTables() []*plan.Table { return s }

// TestNearestTable: the hint at a missing table can be pasted, whatever its schema and signs.
func TestNearestTable(t *testing.T) {
	cat := seen{{Schema: "Web Shop", Name: "Customers"}, {Schema: "Web Shop", Name: "orders"}, {Schema: "public", Name: "orders"}, {Schema: "public", Name: "Employees List"}}
	for from, want := range map[string]string{
		`"Customers"`:          `"Web Shop"."Customers"`,
		`Customers`:            `"Web Shop"."Customers"`,
		`CUSTOMER`:             `"Web Shop"."Customers"`,
		`"CUSTOMERS"`:          `"Web Shop"."Customers"`,
		`"Web Shop.Customers"`: `"Web Shop"."Customers"`,
		`"Web Shop".customers`: `"Web Shop"."Customers"`,
		`shop.orders`:          `"orders"`,
		`"employees list"`:     `"Employees List"`,
		`nothing`:              "",
	} {
		_, err := bind(t, cat, "select count(*) from "+from)
		if want != "" {
			want = "Perhaps you meant " + want + "."
		}
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Hint != want {
			t.Errorf("%s: %v, want the hint %q", from, e, want)
		}
	}
}
