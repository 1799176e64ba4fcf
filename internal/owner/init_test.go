package owner

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
)

var verifier = "SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA="

// TestInit runs the scripts of testdata/init. Commands: schema (what the database has), uncomment (a table), candidates, init, old (an older policy), merge
// (prints the lines that it added with + and took away with -) and check (the last policy read and bound).
func TestInit(t *testing.T) {
	t.Setenv("ANALYST_VERIFIER", verifier)
	t.Setenv(urlVariable, "postgres://reader:secret@db/x")
	datadriven.Walk(t, "testdata/init", func(t *testing.T, path string) {
		var rels []sqltype.Relation
		backend, last := "postgres", []byte(nil)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			opt := InitOptions{Dataset: "shop", Backend: backend, URL: "postgres://reader@db/shop"}
			if backend != "postgres" {
				opt.URL = "shop." + backend
			}
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "backend":
					backend = a.Vals[0]
				case "unit":
					opt.Unit = a.Vals[0]
				case "url":
					opt.URL = a.Vals[0]
				case "table":
				case "dataset":
					opt.Dataset = strings.Join(a.Vals, "")
				default:
					d.Fatalf(t, "argument %s", a.Key)
				}
			}
			switch d.Cmd {
			case "schema":
				rels = readSchema(t, map[bool]string{true: "public", false: "main"}[backend == "postgres"], d.Input)
				return ""
			case "candidates":
				list, err := Candidates(rels, backend)
				if err != nil {
					return err.Error()
				}
				var b strings.Builder
				for _, c := range list {
					fmt.Fprintf(&b, "%s reach %d people %t score %d\n", c.Name, c.Reach, c.People, c.Score)
				}
				return b.String()
			case "init":
				out, err := Init(rels, opt)
				if err != nil {
					return "error: " + err.Error()
				}
				mergeAgain(t, rels, opt, out)
				last = out
				return string(out)
			case "old":
				last = []byte(d.Input + "\n")
				return ""
			case "merge":
				opt.Merge = last
				out, err := Init(rels, opt)
				if err != nil {
					return "error: " + err.Error()
				}
				mergeAgain(t, rels, opt, out)
				diff := difference(string(last), string(out))
				last = out
				return diff
			case "check":
				return check(rels, string(last))
			case "uncomment": // the lines of one table that is offered
				lines := strings.Split(string(last), "\n")
				for i, l := range lines {
					if !strings.HasPrefix(l, "  # "+d.CmdArgs[0].Vals[0]+":") {
						continue
					}
					for ; strings.HasPrefix(lines[i], "  # ") && (lines[i] == l || strings.HasPrefix(lines[i], "  #   ")); i++ {
						lines[i] = "  " + lines[i][4:]
					}
					break
				}
				last = []byte(strings.Join(lines, "\n"))
				return ""
			case "show":
				return string(last)
			}
			d.Fatalf(t, "command %s", d.Cmd)
			return ""
		})
	})
}

// mergeAgain demands that a merge with the same schema changes no byte.
func mergeAgain(t *testing.T, rels []sqltype.Relation, opt InitOptions, text []byte) {
	t.Helper()
	opt.Merge, opt.Unit = text, ""
	again, err := Init(rels, opt)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(text) {
		t.Errorf("a second merge changes the file:\n%s", difference(string(text), string(again)))
	}
}

func check(rels []sqltype.Relation, text string) string {
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err == nil {
		_, err = p.Bind(rels)
	}
	var pe *policy.Error
	if errors.As(err, &pe) {
		lines := strings.Split(text, "\n")
		var b strings.Builder
		for _, x := range pe.Problems {
			fmt.Fprintf(&b, "%d: %s\n    %s\n", x.Line, x.Message, strings.TrimSpace(lines[x.Line-1]))
		}
		return b.String()
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

// difference is what was added and taken away, in order; lines do not move.
func difference(a, b string) string {
	x, y := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	var out strings.Builder
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case i < len(x) && strings.Contains(x[i], proseGone) && (j >= len(y) || !strings.Contains(y[j], proseGone)):
			out.WriteString("-" + x[i])
			i++
		case j < len(y):
			out.WriteString("+" + y[j])
			j++
		default:
			out.WriteString("-" + x[i])
			i++
		}
	}
	return out.String()
}

// TestPasswordStaysOut: a URL with a password, or one that might hide it, is not written.
func TestPasswordStaysOut(t *testing.T) {
	for url, kept := range map[string]bool{
		"postgres://reader@db/shop": true, "env:SHOP_URL": true, "postgresql://db/shop?sslmode=verify-full": true,
		"postgres://reader:hunter2@db/shop": false, "postgres://reader:@db/shop": false, "postgres://db/shop?user=u&password=hunter2": false,
		"postgres://reader:hun%ter2@db/shop": false, "host=db password=hunter2": false, "postgres:reader:hunter2@db": false,
		"postgres://db/shop?sslpassword=hunter2": false, "postgres://db/shop?x=1;password=hunter2": false,
	} {
		out, err := Init(nil, InitOptions{Dataset: "d", Backend: "postgres", URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), url) != kept || strings.Contains(string(out), "hunter2") || strings.Contains(string(out), "env:"+urlVariable) == kept {
			t.Errorf("%s:\n%s", url, out)
		}
	}
}

// TestNoPeople: where no table looks like people the unit is a guess that hides rows of something else: the policy says so at the top, and names the columns that look as if they name people.
func TestNoPeople(t *testing.T) {
	for schema, want := range map[string][]string{
		"table orders\n  order_id int key\n  customer_id int\n  email text\n  total int\ntable items\n  item_id int key\n  order_id int\n  fk order_id -> orders order_id\n": {
			"orders.order_id is a guess: nothing says that rows of orders are people. What is hidden is one row of it, not a person who has several.",
			"These columns look as if they name people: orders.customer_id, orders.email. To protect them, run dpsql init --backend postgres://reader@db/shop --unit orders.customer_id"},
		"table orders\n  order_id int key\n  total int\n": {"orders.order_id is a guess: nothing says that rows of orders are people. What is hidden is one row of it, not a person who has several.", "If a column says whose the rows are, run dpsql init --backend postgres://reader@db/shop --unit table.column"},
		"table customers\n  id int key\n":                 nil,
	} {
		rels := readSchema(t, "public", schema)
		opt := InitOptions{Dataset: "shop", Backend: "postgres", URL: "postgres://reader@db/shop"}
		out, err := Init(rels, opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := CandidateWarnings(rels, opt); !slices.Equal(got, want) || strings.Count(string(out), "# WARNING: ") != len(want) {
			t.Errorf("%q\n%s", got, out)
		}
		for _, l := range want {
			if !strings.Contains(string(out), "\n# WARNING: "+l+"\n") {
				t.Errorf("no %q in\n%s", l, out)
			}
		}
	}
}

// TestSuggestedUnit: the file and the terminal suggest one command, a shell takes it as it stands, and its unit works.
func TestSuggestedUnit(t *testing.T) {
	column := func(name string) sqltype.RelationColumn {
		return sqltype.RelationColumn{Name: name, Type: sqltype.Type{OID: sqltype.OIDInt8}}
	}
	rels := []sqltype.Relation{
		{Schema: "main", Name: "Patients List", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("Patient No")}},
		{Schema: "main", Name: "visits 2025", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{column("id"), column("Patient No")}},
	}
	for url, want := range map[string]string{"my 'data'": "my 'data'", "data": "data", "env:PLACE": "of the environment"} {
		opt := InitOptions{Dataset: "d", Backend: backendFiles, URL: url}
		text, err := Init(rels, opt)
		if err != nil {
			t.Fatal(err)
		}
		list := CandidateWarnings(rels, opt)
		if len(list) != 2 || !strings.Contains(string(text), "\n# WARNING: "+list[1]+"\n") {
			t.Fatalf("%q and\n%s", list, text)
		}
		_, command, _ := strings.Cut(list[1], ", run ")
		shell := exec.Command("sh", "-c", `dpsql() { printf '%s\n' "$@"; }; `+command)
		shell.Env = []string{"PLACE=of the environment"}
		out, err := shell.Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		words := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if len(words) != 5 || !slices.Equal(words[:4], []string{"init", "--backend", want, "--unit"}) {
			t.Fatalf("%s: %q", command, words)
		}
		opt.Unit = words[4]
		if _, err := Init(rels, opt); err != nil {
			t.Error(err)
		}
	}
	if got := (InitOptions{Backend: backendPostgres, URL: "postgres://reader:hunter2@db/shop"}).command(anyUnit); got != `dpsql init --backend "$DPSQL_DATABASE_URL" --unit table.column` {
		t.Error(got)
	}
}

// TestServedName: where the data set has another name than the database, the file says so.
func TestServedName(t *testing.T) {
	out, err := Init(nil, InitOptions{Dataset: "My_Shop", Source: "My Shop", Backend: backendPostgres, URL: "postgres://db/My%20Shop"})
	if want := "\ndataset: My_Shop  # also the database name that clients connect to, in place of My Shop\n"; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUnitWithSpaces: a unit whose names have spaces is told the quotes that it needs, and works with them.
func TestUnitWithSpaces(t *testing.T) {
	rels := []sqltype.Relation{{Schema: "main", Name: "Employees List", Kind: sqltype.KindTable, Columns: []sqltype.RelationColumn{{Name: "Employee ID", Type: sqltype.Type{OID: sqltype.OIDInt8}}}}}
	opt := InitOptions{Dataset: "d", Backend: backendFiles, URL: "data", Unit: "Employees List.Employee ID"}
	if _, err := Init(rels, opt); err == nil || !strings.Contains(err.Error(), `--unit '"Employees List"."Employee ID"'`) {
		t.Error(err)
	}
	opt.Unit = `"Employees List"."Employee ID"`
	if _, err := Init(rels, opt); err != nil {
		t.Error(err)
	}
}

// TestUnitOfOtherSchemas: a unit without its column, or without its schema, is told what to write; a view is never proposed.
func TestUnitOfOtherSchemas(t *testing.T) {
	rel := func(schema, name string, kind sqltype.RelationKind, columns ...string) sqltype.Relation {
		r := sqltype.Relation{Schema: schema, Name: name, Kind: kind, Keys: [][]string{{columns[len(columns)-1]}}}
		for _, c := range columns {
			r.Columns = append(r.Columns, sqltype.RelationColumn{Name: c, Type: sqltype.Type{OID: sqltype.OIDInt8}})
		}
		return r
	}
	rels := []sqltype.Relation{rel("crm", "people", sqltype.KindTable, "age", "id"), rel("Web Shop", "Orders", sqltype.KindTable, "OrderID"), rel("public", "v_orders", sqltype.KindView, "OrderID"),
		rel("public", "stays", sqltype.KindTable, "stay")}
	for unit, want := range map[string]string{
		"crm.people":     "crm.people is a table. Add its column that stands for one person, as in --unit crm.people.id",
		"stays":          "stays is a table. Add its column that stands for one person, as in --unit stays.stay",
		"people.id":      "has no table people: did you mean crm.people?",
		"Orders.OrderID": `has no table Orders: did you mean "Web Shop".Orders?`,
		"v_order.x":      "has no table v_order",
		"crm.peopel.id":  "has no table crm.peopel: did you mean crm.people?",
	} {
		_, err := Init(rels, InitOptions{Dataset: "d", Backend: backendPostgres, URL: "postgres://x", Unit: unit})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", unit, err, want)
		}
	}
}
