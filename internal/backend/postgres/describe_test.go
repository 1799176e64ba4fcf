package postgres_test

import (
	"reflect"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

// Only what PostgreSQL enforces on every row is told.
func TestDescribeTellsWhatIsEnforced(t *testing.T) {
	database(t, "schema",
		`CREATE SCHEMA "Other"`,
		`CREATE DOMAIN small AS integer`,
		`CREATE TABLE "Other"."P q" (a integer PRIMARY KEY, b varchar(7), c char(3), d numeric(8,3), e numeric, f small, g timestamptz NOT NULL,
			h integer UNIQUE DEFERRABLE, i integer UNIQUE, j integer, k text, gone integer)`,
		`ALTER TABLE "Other"."P q" DROP COLUMN gone`,
		`CREATE UNIQUE INDEX ON "Other"."P q" (j, b) INCLUDE (k)`,
		`CREATE UNIQUE INDEX ON "Other"."P q" (k) WHERE k <> ''`,
		`CREATE UNIQUE INDEX ON "Other"."P q" (lower(k))`,
		`CREATE TABLE kid (p integer REFERENCES "Other"."P q", q integer REFERENCES "Other"."P q" (i), r integer, s integer REFERENCES "Other"."P q")`,
		`ALTER TABLE kid ADD FOREIGN KEY (r) REFERENCES "Other"."P q" NOT VALID`,
		`CREATE TABLE pair_parent (x integer, y integer, PRIMARY KEY (y, x))`,
		`CREATE TABLE pair_child (m integer, n integer, FOREIGN KEY (m, n) REFERENCES pair_parent (x, y))`,
		`CREATE TABLE ancestor (id integer PRIMARY KEY)`,
		`CREATE TABLE heir () INHERITS (ancestor)`,
		`CREATE TABLE parted (id integer PRIMARY KEY) PARTITION BY RANGE (id)`,
		`CREATE TABLE part1 PARTITION OF parted FOR VALUES FROM (0) TO (10)`,
		`CREATE VIEW v AS SELECT 1 AS one`, `CREATE MATERIALIZED VIEW mv AS SELECT 1 AS one`, `CREATE SEQUENCE seq`,
		`DO $$ DECLARE trig name; BEGIN
			FOR trig IN SELECT tgname FROM pg_trigger t JOIN pg_constraint k ON k.oid = t.tgconstraint
				WHERE k.conname = 'kid_s_fkey' AND t.tgrelid = 'kid'::regclass
			LOOP EXECUTE format('ALTER TABLE kid DISABLE TRIGGER %I', trig); END LOOP; END $$`)
	d := open(t, "schema", postgres.Options{})
	var names []backend.RelationName
	for _, n := range []string{"kid", "pair_child", "ancestor", "heir", "parted", "part1", "v", "mv", "seq", "P q"} {
		names = append(names, backend.RelationName{Name: n})
	}
	names = append(names, backend.RelationName{Schema: "Other", Name: "P q"}, backend.RelationName{Schema: "pg_catalog", Name: "pg_class"})
	got, err := d.Describe(t.Context(), names)
	if err != nil {
		t.Fatal(backendtest.Cause(err))
	}
	byName := map[string]sqltype.Relation{}
	for _, r := range got {
		byName[r.Schema+"."+r.Name] = r
	}
	if len(byName) != 10 {
		t.Errorf("%d relations: %v", len(byName), byName)
	}
	kinds := map[string]sqltype.RelationKind{"public.kid": sqltype.KindTable, "public.ancestor": sqltype.KindOther, "public.heir": sqltype.KindTable,
		"public.parted": sqltype.KindTable, "public.part1": sqltype.KindTable, "public.v": sqltype.KindView, "public.mv": sqltype.KindMatView}
	for name, want := range kinds {
		if byName[name].Kind != want {
			t.Errorf("%s is a %s, want %s", name, byName[name].Kind, want)
		}
	}
	if a := byName["public.ancestor"]; len(a.Keys) != 0 || a.Columns[0].NotNull {
		t.Errorf("a table with heirs: %+v", a)
	}
	p := byName["Other.P q"]
	if want := [][]string{{"a"}, {"i"}, {"j", "b"}}; !reflect.DeepEqual(p.Keys, want) {
		t.Errorf("keys %v, want %v", p.Keys, want)
	}
	types := map[string]sqltype.Type{"a": sqltype.Int4, "b": {OID: sqltype.OIDVarchar, Typmod: 11}, "c": {OID: sqltype.OIDBPChar, Typmod: 7},
		"d": sqltype.NumericOf(8, 3), "f": sqltype.Int4, "e": sqltype.Numeric, "g": {OID: sqltype.OIDTimestamptz, Typmod: -1}}
	if len(p.Columns) != 11 {
		t.Errorf("columns %+v", p.Columns)
	}
	for _, c := range p.Columns {
		if want, ok := types[c.Name]; ok && c.Type != want {
			t.Errorf("%s is %v, want %v", c.Name, c.Type, want)
		}
		if want := c.Name == "a" || c.Name == "g"; c.NotNull != want {
			t.Errorf("%s: NOT NULL %v, want %v", c.Name, c.NotNull, want)
		}
	}
	wantKid := []sqltype.RelationForeignKey{
		{Columns: []string{"p"}, RefSchema: "Other", RefTable: "P q", RefColumns: []string{"a"}},
		{Columns: []string{"q"}, RefSchema: "Other", RefTable: "P q", RefColumns: []string{"i"}},
	}
	if got := byName["public.kid"].ForeignKeys; !reflect.DeepEqual(got, wantKid) {
		t.Errorf("foreign keys %+v, want %+v", got, wantKid)
	}
	wantPair := []sqltype.RelationForeignKey{{Columns: []string{"m", "n"}, RefSchema: "public", RefTable: "pair_parent", RefColumns: []string{"x", "y"}}}
	if got := byName["public.pair_child"].ForeignKeys; !reflect.DeepEqual(got, wantPair) {
		t.Errorf("foreign keys %+v, want %+v", got, wantPair)
	}
}
