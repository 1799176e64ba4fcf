package postgres_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

// disable turns off the triggers of a table's constraint.
func disable(table, constraint string) string {
	return fmt.Sprintf(`DO $$ DECLARE t record; BEGIN
		FOR t IN SELECT tgname, tgrelid::regclass AS rel FROM pg_trigger g JOIN pg_constraint k ON k.oid = g.tgconstraint
			WHERE k.conname = '%s' AND g.tgrelid = '%s'::regclass
		LOOP EXECUTE format('ALTER TABLE %%s DISABLE TRIGGER %%I', t.rel, t.tgname); END LOOP; END $$`, constraint, table)
}

func byName(t *testing.T, d *postgres.DB, names ...string) map[string]sqltype.Relation {
	t.Helper()
	var list []backend.RelationName
	for _, n := range names {
		list = append(list, backend.RelationName{Name: n})
	}
	all, err := d.Describe(t.Context(), list)
	if err != nil {
		t.Fatal(backendtest.Cause(err))
	}
	out := map[string]sqltype.Relation{}
	for _, r := range all {
		out[r.Name] = r
	}
	if len(out) != len(names) {
		t.Fatalf("%d of %d relations", len(out), len(names))
	}
	return out
}

// Partitions' constraints bind all rows of their table; one partition whose triggers are off is enough for none.
func TestDescribePartitions(t *testing.T) {
	database(t, "parts",
		`CREATE TABLE person (id integer PRIMARY KEY)`,
		`CREATE TABLE event (id integer NOT NULL, person integer REFERENCES person, PRIMARY KEY (id, person)) PARTITION BY HASH (person)`,
		`CREATE TABLE event0 PARTITION OF event FOR VALUES WITH (MODULUS 2, REMAINDER 0)`,
		`CREATE TABLE event1 PARTITION OF event FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH (id)`,
		`CREATE TABLE event10 PARTITION OF event1 FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
		`CREATE TABLE detail (event integer, person integer, FOREIGN KEY (event, person) REFERENCES event)`,
		`CREATE TABLE half (id integer NOT NULL) PARTITION BY HASH (id)`,
		`CREATE TABLE half0 PARTITION OF half FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
		`CREATE UNIQUE INDEX half_key ON ONLY half (id)`,
		`CREATE EXTENSION file_fdw`, `CREATE SERVER nothing FOREIGN DATA WRAPPER file_fdw`,
		`CREATE FOREIGN TABLE away (id integer NOT NULL) SERVER nothing OPTIONS (filename '/dev/null')`,
		`CREATE TABLE partly (id integer NOT NULL) PARTITION BY RANGE (id)`,
		`CREATE FOREIGN TABLE partly0 PARTITION OF partly FOR VALUES FROM (0) TO (9) SERVER nothing OPTIONS (filename '/dev/null')`)
	d := open(t, "parts", postgres.Options{})
	got := byName(t, d, "event", "event1", "event10", "detail", "half", "away", "partly")
	toPerson := sqltype.RelationForeignKey{Columns: []string{"person"}, RefSchema: "public", RefTable: "person", RefColumns: []string{"id"}}
	for _, name := range []string{"event", "event1", "event10"} {
		r := got[name]
		if r.Kind != sqltype.KindTable || r.Partitioned != (name != "event10") || !reflect.DeepEqual(r.Keys, [][]string{{"id", "person"}}) ||
			!reflect.DeepEqual(r.ForeignKeys, []sqltype.RelationForeignKey{toPerson}) || !r.Columns[0].NotNull || len(r.Unenforced) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if want := []sqltype.QualifiedName{{Schema: "public", Name: "event"}, {Schema: "public", Name: "event1"}}; !slices.Equal(got["event10"].PartOf, want) {
		t.Errorf("event10 is part of %v", got["event10"].PartOf)
	}
	for _, k := range got["detail"].ForeignKeys {
		if k.Partial != (k.RefTable != "event") {
			t.Errorf("detail: %+v", k)
		}
	}
	if r := got["half"]; len(r.Keys) > 0 || len(r.Unenforced) != 1 || r.Unenforced[0].Reason != "its index is not valid" {
		t.Errorf("a key that not each partition has: %+v", r)
	}
	for _, name := range []string{"away", "partly"} {
		if r := got[name]; r.Kind != sqltype.KindForeign || r.Columns[0].NotNull {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, s := range []string{disable("event10", "event_person_fkey"), disable("event0", "detail_event_person_fkey1")} {
		if err := server.Exec("parts", s); err != nil {
			t.Fatal(err)
		}
	}
	got = byName(t, d, "event", "event0", "event1", "detail")
	for name, want := range map[string]int{"event": 0, "event0": 1, "event1": 0} {
		if r := got[name]; len(r.ForeignKeys) != want || len(r.Unenforced) != 1-want {
			t.Errorf("with triggers off: %s: %+v", name, r)
		}
	}
	if slices.ContainsFunc(got["detail"].ForeignKeys, func(k sqltype.RelationForeignKey) bool { return k.RefTable == "event" }) {
		t.Errorf("with triggers off: detail: %+v", got["detail"])
	}
}

// Whatever is no key says why.
func TestDescribeUnenforced(t *testing.T) {
	database(t, "unenforced",
		`CREATE TABLE p (id integer PRIMARY KEY, a integer UNIQUE DEFERRABLE, b text, c integer)`,
		`CREATE UNIQUE INDEX part ON p (b) WHERE c > 0`, `CREATE UNIQUE INDEX expr ON p (c, lower(b))`, `CREATE UNIQUE INDEX pattern ON p (b text_pattern_ops)`,
		`CREATE OPERATOR CLASS mine FOR TYPE integer USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(integer, integer)`,
		`CREATE UNIQUE INDEX odd ON p (c mine)`,
		`CREATE TABLE k (x integer, y integer)`, `ALTER TABLE k ADD CONSTRAINT unchecked FOREIGN KEY (x) REFERENCES p NOT VALID`,
		`ALTER TABLE k ADD CONSTRAINT off_ FOREIGN KEY (y) REFERENCES p`, disable("p", "off_"),
		`CREATE TABLE ancestor (id integer PRIMARY KEY, x integer REFERENCES p)`, `CREATE TABLE heir () INHERITS (ancestor)`)
	got := byName(t, open(t, "unenforced", postgres.Options{}), "p", "k", "ancestor", "heir")
	if want := [][]string{{"id"}, {"b"}}; !reflect.DeepEqual(got["p"].Keys, want) {
		t.Errorf("keys %v, want %v", got["p"].Keys, want)
	}
	key := func(name, reason string, columns ...string) sqltype.Unenforced {
		return sqltype.Unenforced{Kind: sqltype.UnenforcedKey, Name: name, Columns: columns, Reason: reason}
	}
	toP := func(name, reason string, column string) sqltype.Unenforced {
		return sqltype.Unenforced{Kind: sqltype.UnenforcedForeignKey, Name: name, Columns: []string{column}, Reason: reason,
			RefSchema: "public", RefTable: "p", RefColumns: []string{"id"}}
	}
	const heirs = "it does not bind the rows of the tables that inherit from this one"
	for name, want := range map[string][]sqltype.Unenforced{
		"p": {key("p_a_key", "it is deferrable", "a"), key("part", "it is a partial index", "b"), key("expr", "it is over expressions", "c"),
			key("odd", "its index compares in a way of its own", "c")},
		"k":        {toP("unchecked", "it is NOT VALID", "x"), toP("off_", "its triggers are disabled", "y")},
		"ancestor": {key("ancestor_pkey", heirs, "id"), toP("ancestor_x_fkey", heirs, "x")},
		"heir":     nil,
	} {
		if !reflect.DeepEqual(got[name].Unenforced, want) {
			t.Errorf("%s: %+v, want %+v", name, got[name].Unenforced, want)
		}
	}
	if want := []sqltype.QualifiedName{{Schema: "public", Name: "ancestor"}}; got["ancestor"].Kind != sqltype.KindOther || !slices.Equal(got["heir"].PartOf, want) {
		t.Errorf("%+v", got)
	}
}

// A survey gives what the role may read, with the owner's comments, and nothing of the system's, extensions' or partitions.
func TestSurvey(t *testing.T) {
	database(t, "survey",
		`DROP ROLE IF EXISTS surveyor`, `CREATE ROLE surveyor LOGIN`, `CREATE SCHEMA zoo`, `CREATE SCHEMA closed`, `GRANT USAGE ON SCHEMA zoo TO surveyor`,
		`CREATE TABLE person (id integer PRIMARY KEY, secret text)`, `COMMENT ON TABLE person IS 'One row a person'`, `COMMENT ON COLUMN person.id IS 'Number'`,
		`GRANT SELECT (id) ON person TO surveyor`, `CREATE TABLE zoo.animal (id integer)`, `CREATE VIEW zoo.seen AS SELECT 1 AS one`,
		`CREATE TABLE closed.t (id integer)`, `CREATE TABLE hidden (id integer)`, `GRANT SELECT ON closed.t TO surveyor`,
		`CREATE TABLE parted (id integer) PARTITION BY LIST (id)`, `CREATE TABLE part1 PARTITION OF parted FOR VALUES IN (1)`,
		`GRANT SELECT ON parted, part1, zoo.animal, zoo.seen TO surveyor`)
	if err := server.Exec("survey", `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Exec("survey", `DROP OWNED BY surveyor; DROP ROLE surveyor`); err != nil {
			t.Error(err)
		}
	})
	got, err := openAs(t, "surveyor", "survey").Survey(t.Context())
	if err != nil {
		t.Fatal(backendtest.Cause(err))
	}
	var names []string
	for _, r := range got {
		names = append(names, r.Schema+"."+r.Name)
	}
	if want := []string{"public.parted", "public.person", "zoo.animal", "zoo.seen"}; !slices.Equal(names, want) {
		t.Fatalf("survey %v, want %v", names, want)
	}
	p := got[1]
	if p.Comment != "One row a person" || p.Columns[0].Comment != "Number" || p.Columns[0].Denied || !p.Columns[1].Denied {
		t.Errorf("person %+v", p)
	}
}
