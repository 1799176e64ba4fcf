package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

func TestSurvey(t *testing.T) {
	d := memory(t, func(ctx context.Context, conn *sql.Conn) error {
		for _, s := range []string{
			`CREATE SCHEMA other`, `CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR)`,
			`CREATE TABLE visit (id INTEGER, person INTEGER REFERENCES person (id))`, `CREATE VIEW v AS SELECT id FROM person`,
			`CREATE TABLE other.place (town VARCHAR UNIQUE)`, `CREATE TEMPORARY TABLE scratch (x INTEGER)`,
			`COMMENT ON TABLE person IS 'One row a person'`, `COMMENT ON COLUMN person.name IS 'As ''spelt'''`, `COMMENT ON VIEW v IS 'Ids'`,
		} {
			if _, err := conn.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}, Options{})
	got, err := d.Survey(t.Context())
	if err != nil {
		t.Fatal(backendtest.Cause(err))
	}
	var names []string
	for _, r := range got {
		names = append(names, fmt.Sprintf("%s.%s %s %q", r.Schema, r.Name, r.Kind, r.Comment))
	}
	want := []string{`main.person table "One row a person"`, `main.v view "Ids"`, `main.visit table ""`, `other.place table ""`}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("survey %v, want %v", names, want)
	}
	if c := got[0].Columns[1]; c.Comment != "As 'spelt'" || c.Name != "name" {
		t.Errorf("column %+v", c)
	}
	if !reflect.DeepEqual(got[0].Keys, [][]string{{"id"}}) || len(got[2].ForeignKeys) != 1 || got[1].Kind != sqltype.KindView {
		t.Errorf("constraints %+v", got)
	}
}
