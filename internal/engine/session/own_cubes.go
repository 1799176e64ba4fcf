package session

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// cubesTable has the analyst's own cubes.
var cubesTable = ownTable(16390, "cubes", sqltype.Text, "cube", "statement", sqltype.Timestamp, "made_at", sqltype.Float8, "price", sqltype.Int8, "levels", "groups", sqltype.Text, "state")

func (s *Session) cubesRows(ctx context.Context) ([][]sqltype.Value, error) {
	list, err := s.Engine.Models.Cubes().Recent(ctx)
	if err != nil {
		return nil, s.ModelsFailed(ctx, err)
	}
	var rows [][]sqltype.Value
	for _, x := range list {
		switch {
		case x.Owner != s.Analyst.Name:
		case x.Cube == nil:
			rows = append(rows, []sqltype.Value{x.Name, nil, nil, nil, nil, nil, "kept under a key that is not here"})
		default:
			state, groups := "answers", 0
			if x.Cube.Epoch != s.World.Catalogs.Epoch() {
				state = "answers nothing: the policy has changed"
			}
			for _, l := range x.Cube.Levels {
				groups += l.Groups
			}
			rows = append(rows, []sqltype.Value{x.Name, textOrNull(x.Cube.Statement), sqltype.InstantOf(x.Cube.Made), x.Cube.Price, int64(len(x.Cube.Levels)), int64(groups), state})
		}
	}
	return rows, nil
}
