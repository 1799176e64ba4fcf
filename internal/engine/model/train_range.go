package model

import (
	"context"
	"errors"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// errReleased refuses rows that are computed from many persons' rows.
func errReleased(q *pgsyntax.Select, of Purpose) error {
	return sqlerr.New(sqlerr.PrivateShape, "the rows of a %s cannot be computed from releases", of.Noun).At(int(q.Pos)).WithHint("Leave out aggregates over many people.")
}

// unranged says which feature has no range, where that is why the analysis failed.
func (t *Training) unranged(ctx context.Context, q *pgsyntax.Select, list []mlext.Feature, asks []string, most uint64, err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID != sqlerr.NoRange.ID {
		return err
	}
	for i := range list {
		if _, alone := t.analyze(ctx, q, asks[i:i+1], len(list), most); sqlerr.ID(alone) == sqlerr.NoRange.ID {
			return sqlerr.New(sqlerr.NoRange, "the values of feature %s have no declared range, so one person's part is not bounded", list[i].Name).At(int(q.Pos)).WithHint("%s", e.Hint).WithCause(err)
		}
	}
	return err
}
