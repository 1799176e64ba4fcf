package prooftest

import (
	"slices"
	"testing"

	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestShapeNeighbours: what TestNeighbours asks, of shapes within each person's rows on DuckDB; sensitivity/prooftest has PostgreSQL's.
func TestShapeNeighbours(t *testing.T) {
	keepClaims(t, []dialect.Dialect{funcs.DuckDB}, slices.Concat(neighbour.Shapes, neighbour.Ties)...)
}

// TestShapeOracle: what TestOracle asks, of shapes within each person's rows.
func TestShapeOracle(t *testing.T) {
	enginetest.SameAsTexts(t, []dialect.Dialect{funcs.Postgres}, neighbour.Shapes...)
}

// TestQuantified: IN, ANY and ALL are what they are in PostgreSQL, with NULLs on either side, on both backends; and nobody changes more by them than is claimed.
func TestQuantified(t *testing.T) {
	enginetest.SameAsTexts(t, enginetest.Dialects, neighbour.Quantified...)
	keepClaims(t, enginetest.Dialects, neighbour.Quantified...)
}

// TestFrames: frames of a person's rows by distance and by peers are PostgreSQL's on both backends, and keep their claims.
func TestFrames(t *testing.T) {
	enginetest.SameAsTexts(t, enginetest.Dialects, neighbour.Frames...)
	keepClaims(t, enginetest.Dialects, neighbour.Frames...)
}
