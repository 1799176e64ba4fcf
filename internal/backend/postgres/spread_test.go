package postgres_test

import (
	"reflect"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

// Where tables lie is read from Citus's catalog: here a table with its name, columns and texts, since Citus itself is not at hand.
func TestSpread(t *testing.T) {
	const citus = `SET allow_system_table_mods = on;
		CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL, partkey text, colocationid integer NOT NULL DEFAULT 0, repmodel "char" NOT NULL DEFAULT 'c', autoconverted boolean NOT NULL DEFAULT false);
		GRANT SELECT ON pg_catalog.pg_dist_partition TO public;`
	tables := []string{`CREATE TABLE people (name text, id integer PRIMARY KEY)`, `CREATE TABLE stays (nr integer, gone integer, who integer)`, `ALTER TABLE stays DROP COLUMN gone`,
		`CREATE TABLE wards (id integer)`, `CREATE TABLE apart (id integer)`, `CREATE TABLE kept (id integer)`, `CREATE VIEW v AS SELECT 1 AS one`}
	names := []backend.RelationName{{Name: "people"}, {Name: "stays"}, {Name: "wards"}, {Name: "apart"}, {Name: "kept"}, {Name: "v"}, {Name: "none"}}
	spread := func(name string) []backend.Spread {
		t.Helper()
		got, err := open(t, name, postgres.Options{}).Spread(t.Context(), names)
		if err != nil {
			t.Fatal(backendtest.Cause(err))
		}
		return got
	}
	database(t, "one", tables...)
	if got := spread("one"); got != nil {
		t.Errorf("on one machine: %+v", got)
	}
	database(t, "several", append(tables, citus)...)
	if got := spread("several"); got != nil {
		t.Errorf("with Citus, and no table distributed: %+v", got)
	}
	if err := server.Exec("several", `INSERT INTO pg_dist_partition (logicalrelid, partmethod, partkey, colocationid, repmodel) VALUES
		('people', 'h', '{VAR :varno 1 :varattno 2 :vartype 23 :vartypmod -1 :varcollid 0 :varlevelsup 0 :varnosyn 1 :varattnosyn 2 :location -1}', 4, 's'),
		('stays', 'h', '{VAR :varno 1 :varattno 3 :vartype 23 :vartypmod -1 :varcollid 0 :varlevelsup 0 :varnosyn 1 :varattnosyn 3 :location -1}', 4, 's'),
		('wards', 'n', NULL, 5, 't'), ('apart', 'n', NULL, 6, 's')`); err != nil {
		t.Fatal(err)
	}
	at := func(name, how, column string, group int64) backend.Spread {
		return backend.Spread{Schema: "public", Name: name, How: how, Column: column, Group: group}
	}
	want := []backend.Spread{at("people", backend.Cut, "id", 4), at("stays", backend.Cut, "who", 4), at("wards", backend.Copied, "", 5), at("apart", backend.Whole, "", 6), at("kept", backend.Whole, "", 0)}
	if got := spread("several"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
