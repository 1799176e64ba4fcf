package policy

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/goccy/go-yaml/parser"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/testdata/demo"
)

const testVerifier = "SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA="

// base is the policy whose sections the command "with" replaces (or adds to).
var base = []string{
	"dataset: d", // line 1
	"backend: {postgres: 'postgres://reader@db/d'}",
	"unit: people.id",
	"tables: {people: {columns: {id: {}, age: {range: [0, 120]}}}}",
	"budget: {epsilon: 10, delta: 1e-6}",
	"analysts: {ann: {password: env:VERIFIER, may: [people]}}", // line 6
}

func testEnv(name string) (string, bool) {
	v, ok := map[string]string{"VERIFIER": testVerifier, "EMPTY": "", "URL": "postgres://u:secretword@h/d", "PLAIN": "secretword"}[name]
	return v, ok
}

// with replaces the base's sections by the input's; a line "-key" removes one.
func with(input string) string {
	sections := append([]string(nil), base...)
	key := func(s string) string { k, _, _ := strings.Cut(s, ":"); return k }
	var current []string
	flush := func() {
		if len(current) == 0 {
			return
		}
		text := strings.Join(current, "\n")
		current = nil
		for i, s := range sections {
			if removed, ok := strings.CutPrefix(text, "-"); ok && key(s) == removed {
				sections = append(sections[:i], sections[i+1:]...)
				return
			} else if key(s) == key(text) && !strings.HasPrefix(text, "+") {
				sections[i] = text
				return
			}
		}
		sections = append(sections, strings.TrimPrefix(text, "+"))
	}
	for _, line := range strings.Split(input, "\n") {
		if line != "" && line[0] != ' ' {
			flush()
		}
		current = append(current, line)
	}
	flush()
	return strings.Join(sections, "\n") + "\n"
}

// TestPolicies runs the golden files: what a policy means, or all that is wrong with it.
func TestPolicies(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		var rels []sqltype.Relation
		var p *Policy
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var err error
			switch d.Cmd {
			case "schema":
				rels = parseSchema(t, d.Input)
				return fmt.Sprintf("%d tables\n", len(rels))
			case "policy", "with":
				text := d.Input
				if d.Cmd == "with" {
					text = with(text)
				}
				if p, err = parse("p.yaml", []byte(text), testEnv); err != nil {
					return report(t, err)
				}
				return describe(p)
			case "bind":
				if p, err = parse("p.yaml", []byte(with(d.Input)), testEnv); err != nil {
					return report(t, err)
				}
				c, err := p.Bind(rels)
				if err != nil {
					return report(t, err)
				}
				return describeCatalog(t, c, "ann")
			case "for":
				c, err := p.Bind(rels)
				if err != nil {
					return report(t, err)
				}
				return describeCatalog(t, c, d.CmdArgs[0].Key)
			}
			t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			return ""
		})
	})
}

func report(t *testing.T, err error) string {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || len(e.Problems) == 0 {
		t.Fatalf("not a policy's error: %v", err)
	}
	if strings.Contains(err.Error(), "secretword") {
		t.Errorf("a secret is in a message: %v", err)
	}
	return err.Error() + "\n"
}

func describe(p *Policy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s, unit %s, backend %+v\n", p.Dataset, p.People, p.Unit, p.Backend)
	fmt.Fprintf(&b, "budget %+v\nquery %+v\n", p.Budget, p.Query)
	if p.Population.each != nil {
		fmt.Fprintf(&b, "population %v\n", p.Population.each)
	}
	fmt.Fprintf(&b, "ledger %+v cache %+v listen %s timeout %s\n", p.Ledger, p.Cache, p.Listen, p.Limits.StatementTime)
	if p.TLS != nil && p.TLS.ClientCA != "" {
		fmt.Fprintf(&b, "clients' certificates %+v, by password %t, TLS only %t\n", *p.TLS, p.TLS.HasPasswords(), p.IsTLSRequired())
	}
	for _, t := range p.tables {
		fmt.Fprintf(&b, "table %s public %t max %d", t, t.public, t.maxRows)
		if t.path != nil {
			fmt.Fprintf(&b, " %v -> %s.%v", t.path.columns, t.path.parent, t.path.parentColumns)
		}
		b.WriteByte('\n')
		for _, c := range t.columns {
			if c.hasValues {
				fmt.Fprintf(&b, "  %s:", c.name.text)
				for _, v := range c.values {
					fmt.Fprintf(&b, " %q null=%t", v.text, v.null)
				}
				b.WriteByte('\n')
			}
		}
	}
	for _, a := range p.Analysts {
		fmt.Fprintf(&b, "analyst %s epsilon %g max %g", a.Name, a.Epsilon, a.MaxQueryEpsilon)
		for _, r := range a.Roles {
			fmt.Fprintf(&b, " %s epsilon %g", r.Name, r.Epsilon)
		}
		b.WriteString(" may")
		for _, g := range a.may {
			fmt.Fprintf(&b, " %s", qualified(g.table.schema, g.table.name, g.column))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func describeCatalog(t *testing.T, c *Catalogs, analyst string) string {
	t.Helper()
	cat, err := c.For(analyst)
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, tab := range cat.VisibleTables() {
		if found, _ := cat.Table(tab.Schema, tab.Name); found != tab {
			t.Fatalf("%s is listed but not found", tab.Name)
		}
		fmt.Fprintf(&b, "%s.%s", tab.Schema, tab.Name)
		if tab.Public {
			b.WriteString(" public")
		} else {
			fmt.Fprintf(&b, " units %v col %d max %d", tab.Units, tab.UnitCol, tab.MaxRows)
		}
		for _, m := range tab.MaxFrequency {
			fmt.Fprintf(&b, " max %d by %v", m.Most, m.Columns)
		}
		for p := tab.Path; p != nil; p = p.Parent.Path {
			fmt.Fprintf(&b, " %v -> %s%v", p.Columns, p.Parent.Name, p.ParentColumns)
		}
		if tab.UnitElse != nil {
			fmt.Fprintf(&b, " else %v", tab.UnitElse)
		}
		if tab.OwnKey != nil {
			fmt.Fprintf(&b, " own %v", tab.OwnKey)
		}
		fmt.Fprintf(&b, " keys %v\n", tab.Keys)
		for _, of := range tab.Of {
			fmt.Fprintf(&b, "  of %s col %d max %d", of.Units[0], of.UnitCol, of.MaxRows)
			for p := of.Path; p != nil; p = p.Parent.Path {
				fmt.Fprintf(&b, " %v -> %s%v", p.Columns, p.Parent.Name, p.ParentColumns)
			}
			if of.Whole != tab || &of.Columns[0] != &tab.Columns[0] || tab.UnitCol != -1 || tab.Path != nil {
				t.Errorf("%s as rows of %s is another table", tab.Name, of.Units[0])
			}
			b.WriteByte('\n')
		}
		for i, col := range tab.Columns {
			fmt.Fprintf(&b, "  %d %s\n", i, describeColumn(col))
		}
	}
	return b.String()
}

func describeColumn(col plan.TableColumn) string {
	s := col.Name + " " + col.Type.String()
	if col.NotNull {
		s += " not null"
	}
	if !col.Visible {
		s += " (unseen)"
	}
	if col.Range != nil {
		s += fmt.Sprintf(" range [%s, %s]", col.Range.Lo, col.Range.Hi)
	}
	if col.Step != nil {
		s += " step " + col.Step.String()
	}
	if d := col.Domain; d != nil && d.From != nil {
		s += fmt.Sprintf(" values from %s.%s", d.From.Name, d.From.Columns[d.FromColumn].Name)
		if d.OrNull {
			s += " or null"
		}
	} else if d != nil {
		for _, v := range d.Values {
			s += fmt.Sprintf(" %T(%v)", v, v)
		}
	}
	return s
}

var (
	schemaLine = regexp.MustCompile(`^(view |other )?([\w.]+)\(([^)]*)\)(.*)$`)
	schemaKey  = regexp.MustCompile(`key\(([^)]*)\)`)
	schemaFK   = regexp.MustCompile(`fk\(([^)]*)\) -> ([\w.]+)\(([^)]*)\)`)
	typeByName = map[string]sqltype.Type{"int": sqltype.Int4, "int2": sqltype.Int2, "int8": sqltype.Int8, "text": sqltype.Text, "bytea": sqltype.Bytea,
		"float": sqltype.Float8, "real": sqltype.Float4, "bool": sqltype.Bool, "date": sqltype.Date, "ts": sqltype.Timestamp, "numeric": sqltype.Numeric,
		"numeric52": sqltype.NumericOf(5, 2), "varchar3": {OID: sqltype.OIDVarchar, Typmod: 7}, "char3": {OID: sqltype.OIDBPChar, Typmod: 7},
		"point": {OID: 600, Typmod: -1}}
)

// parseSchema reads "orders(id int!, buyer int) key(id) fk(buyer) -> people(id)", one table a line; ! is NOT NULL.
func parseSchema(t *testing.T, text string) (out []sqltype.Relation) {
	t.Helper()
	split := func(s string) (list []string) {
		for _, x := range strings.Split(s, ",") {
			list = append(list, strings.TrimSpace(x))
		}
		return list
	}
	name := func(s string) (schema, bare string) {
		if schema, bare, ok := strings.Cut(s, "."); ok {
			return schema, bare
		}
		return "public", s
	}
	for _, line := range strings.Split(text, "\n") {
		m := schemaLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("schema: %s", line)
		}
		r := sqltype.Relation{Kind: sqltype.KindTable}
		if m[1] != "" {
			r.Kind = sqltype.RelationKind(strings.TrimSpace(m[1]))
		}
		r.Schema, r.Name = name(m[2])
		for _, c := range split(m[3]) {
			n, typ, _ := strings.Cut(c, " ")
			typ, notNull := strings.CutSuffix(typ, "!")
			known, ok := typeByName[typ]
			if !ok {
				t.Fatalf("schema: type %q", typ)
			}
			r.Columns = append(r.Columns, sqltype.RelationColumn{Name: n, Type: known, NotNull: notNull})
		}
		for _, k := range schemaKey.FindAllStringSubmatch(m[4], -1) {
			r.Keys = append(r.Keys, split(k[1]))
		}
		for _, k := range schemaFK.FindAllStringSubmatch(m[4], -1) {
			fk := sqltype.RelationForeignKey{Columns: split(k[1]), RefColumns: split(k[3])}
			fk.RefSchema, fk.RefTable = name(k[2])
			r.ForeignKeys = append(r.ForeignKeys, fk)
		}
		out = append(out, r)
	}
	return out
}

// demoRelations is the demo's schema as DuckDB tells it.
func demoRelations() (rels []sqltype.Relation) {
	for _, d := range demo.Tables {
		r := sqltype.Relation{Schema: "main", Name: d.Name, Kind: sqltype.KindTable}
		for _, c := range d.Columns {
			r.Columns = append(r.Columns, sqltype.RelationColumn{Name: c.Name, Type: c.Type, NotNull: c.NotNull})
		}
		if d.PrimaryKey != "" {
			r.Keys = [][]string{{d.PrimaryKey}}
		}
		for _, k := range d.ForeignKeys {
			r.ForeignKeys = append(r.ForeignKeys, sqltype.RelationForeignKey{Columns: []string{k.Column}, RefSchema: "main", RefTable: k.Ref,
				RefColumns: []string{k.RefColumn}})
		}
		rels = append(rels, r)
	}
	return rels
}

func demoPolicy(t testing.TB) *Policy {
	t.Helper()
	text, err := demo.FS.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDemoPolicyBinds(t *testing.T) {
	p := demoPolicy(t)
	c, err := p.Bind(demoRelations())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Analysts {
		cat, err := c.For(a.Name)
		if err != nil {
			t.Fatal(err)
		}
		enc, ok := cat.Table("", "encounters")
		if !ok || enc.UnitCol < 0 || enc.Path.Parent.MaxRows != 1 {
			t.Errorf("%s: encounters: %+v", a.Name, enc)
		}
		if people, _ := cat.Table("", "patients"); enc.Path.Parent != people {
			t.Errorf("%s: the path of encounters leaves the analyst's catalog", a.Name)
		}
		types, _ := cat.Table("", "admission_types")
		for _, col := range enc.Columns {
			if col.Name == "admission_type_id" && (col.Domain == nil || col.Domain.From != types) {
				t.Errorf("%s: the domain of %s leaves the analyst's catalog", a.Name, col.Name)
			}
		}
		if i := len(cat.VisibleTables()); i != 6 {
			t.Errorf("%s sees %d tables", a.Name, i)
		}
	}
}

// TestDuckDBNames: DuckDB's names know no case, so neither does the search for a second way.
func TestDuckDBNames(t *testing.T) {
	rels := demoRelations()
	for i := range rels {
		if rels[i].Name == "encounters" {
			rels[i].ForeignKeys[0] = sqltype.RelationForeignKey{Columns: []string{"PATIENT_ID"}, RefSchema: "main", RefTable: "Patients", RefColumns: []string{"Patient_Id"}}
		}
	}
	if _, err := demoPolicy(t).Bind(rels); err != nil {
		t.Errorf("the declared way in another case: %v", err)
	}
	for i := range rels {
		if rels[i].Name == "prescriptions" {
			rels[i].ForeignKeys = append(rels[i].ForeignKeys,
				sqltype.RelationForeignKey{Columns: []string{"patient_id"}, RefSchema: "main", RefTable: "PATIENTS", RefColumns: []string{"patient_id"}})
		}
	}
	if _, err := demoPolicy(t).Bind(rels); err == nil || !strings.Contains(err.Error(), "second way") {
		t.Errorf("a second way in another case: %v", err)
	}
}

// TestEpoch: what changes a release's meaning changes the epoch; rights, budgets and the order of tables do not.
func TestEpoch(t *testing.T) {
	rels := parseSchema(t, "people(id int!, age int, sex text) key(id)\nextra(k int) key(k)\nraws(id int!, raw bytea) key(id)")
	epoch := func(input string) string {
		t.Helper()
		p, err := parse("p.yaml", []byte(with(input)), testEnv)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Bind(rels)
		if err != nil {
			t.Fatal(err)
		}
		return c.Epoch()
	}
	plain := epoch("")
	same := []string{"budget: {epsilon: 3, delta: 0}", "analysts: {ann: {password: env:VERIFIER, may: []}}",
		"cache: {ttl: 1h}", "query: {max_groups: auto}", "query: {bounding: auto}", "tables: {people: {columns: {id: {}, age: {range: [0, 120], description: years}}}}"}
	for _, s := range same {
		if epoch(s) != plain {
			t.Errorf("another epoch: %s", s)
		}
	}
	seen := map[string]string{plain: "the base"}
	for _, s := range []string{
		"tables: {people: {columns: {id: {}, age: {range: [0, 121]}}}}",
		"tables: {people: {columns: {id: {}, age: {}}}}",
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}, sex: {}}}}",
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}, sex: {values: [f, m]}}}}",
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}, sex: {values: [f, m, null]}}}}",
		`tables: {people: {columns: {id: {}, age: {range: [0, 120]}, sex: {values: [f, m, "null"]}}}}`,
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}}}, extra: {public: true}}",
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}}}, extra: {unit: k -> people.id, columns: {k: {}}}}",
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}}}, extra: {unit: k -> people.id, max_rows_per_unit: 2, columns: {k: {}}}}",
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}}}, extra: {unit: k -> people.id, columns: {k: {}}, max_frequency: {k: 2}}}",
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}}}, extra: {unit: k -> people.id, columns: {k: {}}, max_frequency: {k: 3}}}",
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}}}, extra: {unit: k -> people.id, columns: {k: {}}, max_frequency: {k: 3}, max_rows_per_unit: 2}}",
		"tables: {people: {columns: {id: {}, age: {range: [0, 120]}}, max_frequency: {age: 3}}}", "tables: {people: {columns: {id: {}, age: {range: [0, 120]}}, max_frequency: {age: 3, \"(id, age)\": 3}}}",
		"tables: {people: {columns: {id: {}}}, raws: {unit: id -> people.id, columns: {id: {}, raw: {shape: [2]}}}}", "tables: {people: {columns: {id: {}}}, raws: {unit: id -> people.id, columns: {id: {}, raw: {shape: [3]}}}}",
		"tables: {people: {columns: {id: {}}}, raws: {unit: id -> people.id, columns: {id: {}, raw: {shape: [3], range: [0, 9]}}}}",
		"query: {max_groups: 5}", "query: {max_groups: 4}", "query: {bounding: l2}", "query: {bounding: linf}", "query: {max_public_groups: 5}", "dataset: other",
	} {
		e := epoch(s)
		if first, ok := seen[e]; ok {
			t.Errorf("the same epoch: %s and %s", s, first)
		}
		seen[e] = s
	}
	left := epoch("tables: {people: {columns: {id: {}, age: {}}}, extra: {unit: k -> people.id, columns: {k: {}}}}")
	auto := epoch("tables: {people: {columns: {id: {}, age: {range: auto}}}, extra: {unit: k -> people.id, max_rows_per_unit: auto, columns: {k: {}}}}")
	if left != auto {
		t.Error("auto is another epoch than what is left out")
	}
	a := epoch("tables: {people: {columns: {id: {}}}, extra: {public: true}}")
	b := epoch("tables: {extra: {public: true}, people: {columns: {id: {}}}}")
	if a != b {
		t.Error("the order of tables changes the epoch")
	}
}

// TestOIDs: stable, above all of PostgreSQL's and dpsql's own, distinct.
func TestOIDs(t *testing.T) {
	oids := func() map[string]uint32 {
		c, err := demoPolicy(t).Bind(demoRelations())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]uint32{}
		for _, tab := range c.tables {
			out[tab.Name] = tab.OID
		}
		return out
	}
	first, second := oids(), oids()
	seen := map[uint32]bool{}
	for name, oid := range first {
		if oid != second[name] || oid < ourOIDs || oid >= endOIDs || seen[oid] {
			t.Errorf("%s: %d, then %d", name, oid, second[name])
		}
		seen[oid] = true
	}
}

func TestVerifier(t *testing.T) {
	v, err := MakeVerifier("demo", DefaultIterations)
	if err != nil {
		t.Fatal(err)
	}
	w, err := MakeVerifier("demo", DefaultIterations)
	if err != nil || v == w {
		t.Errorf("two verifiers of one password must differ in their salt: %v", err)
	}
	for _, good := range []string{v, w, testVerifier} {
		if err := checkVerifier(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "demo", "md5" + strings.Repeat("0", 32), strings.Replace(v, "$4096", "$1", 1), strings.Replace(v, "$4096", "$999999999", 1),
		v[:len(v)-5], v + "=", strings.Replace(v, "SHA-256", "SHA-1", 1), strings.Replace(v, ":", "", 1)} {
		if checkVerifier(bad) == nil {
			t.Errorf("taken: %s", bad)
		}
	}
	if _, err := MakeVerifier("", DefaultIterations); err == nil {
		t.Error("an empty password was taken")
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/p.yaml", []byte(strings.Replace(with("backend: {duckdb: d.duckdb}"), "env:VERIFIER", `"`+testVerifier+`"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Load(dir + "/p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if p.Backend.DuckDB != dir+"/d.duckdb" || p.Ledger.SQLite != dir+"/d.ledger" {
		t.Errorf("paths are not beside the file: %+v %+v", p.Backend, p.Ledger)
	}
	if _, err := Load(dir + "/none.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestTooMuch: a file that is nested too deeply, or has too many keys, is refused before the parser takes minutes over it.
func TestTooMuch(t *testing.T) {
	const n = 100_000
	for text, want := range map[string]string{
		strings.Repeat("[", n): "p.yaml:1:101: brackets and lists are nested more than 100 deep", strings.Repeat("a: {", n): "nested more than 100 deep", strings.Repeat("- ", n): "p.yaml:1:201: brackets and lists are nested",
		strings.Repeat("? ", n): "nested more than 100 deep", strings.Repeat("abc: d\n", n): "a policy has at most 20000 keys", "a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100): "", "a: '" + strings.Repeat("[", n) + "'": "",
		strings.Repeat("- '['\n", 200): "",
	} {
		_, err := parse("p.yaml", []byte(text), testEnv)
		if err == nil || want == "" && (strings.Contains(err.Error(), "deep") || strings.Contains(err.Error(), "at most")) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %.200v", text, err)
		}
	}
}

// TestOtherRoles: an analyst's roles without a budget are kept beside those with one.
func TestOtherRoles(t *testing.T) {
	f := &file{p: &Policy{}}
	f.p.Roles = []Role{{Name: "lab", Epsilon: 1}}
	var a Analyst
	doc, err := parser.ParseBytes([]byte("[ward, lab, clinic]"), 0)
	if err != nil {
		t.Fatal(err)
	}
	f.memberships(doc.Docs[0].Body, &a, "analysts.ann.roles", []role{{name: word{text: "clinic"}}, {name: word{text: "lab"}, epsilon: 1}, {name: word{text: "ward"}}})
	if len(f.p.Roles) != 1 || len(a.Roles) != 1 || a.Roles[0].Name != "lab" || !slices.Equal(a.OtherRoles, []string{"clinic", "ward"}) {
		t.Errorf("%+v", a)
	}
}
