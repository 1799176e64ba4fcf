package postgres_test

import (
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestCollationsAreRefused: where equality is not of bytes, a column has no type that anything computes with.
func TestCollationsAreRefused(t *testing.T) {
	database(t, "collations",
		`CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
		`CREATE TABLE people (id text COLLATE ignore_case PRIMARY KEY, n integer, name text)`)
	db := open(t, "collations", postgres.Options{})
	rels, err := db.Describe(t.Context(), []backend.RelationName{{Name: "people"}})
	if err != nil || len(rels) != 1 {
		t.Fatal(rels, err)
	}
	if c := rels[0].Columns; c[0].Type.OID != 0 || c[1].Type != sqltype.Int4 || c[2].Type != sqltype.Text {
		t.Errorf("%+v", c)
	}
}
