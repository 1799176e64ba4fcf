package synthetic

import (
	"context"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// tables is a statement about stored synthetic tables.
type tables struct {
	session *session.Session
	node    *pgsyntax.SyntheticTables
}

// Columns implements session.Kind.
func (t *tables) Columns() []answer.Column {
	if t.node.Verb != "SHOW" {
		return nil
	}
	return []answer.Column{{Name: "table", Type: sqltype.Text}, {Name: "rows", Type: sqltype.Int8}, {Name: "columns", Type: sqltype.Int8}, {Name: "owner", Type: sqltype.Text}}
}

// Run implements session.Kind.
func (t *tables) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s, n, store := t.session, t.node, t.session.Engine.Models.Tables()
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	if err := s.NotFrozen(ctx); err != nil {
		return nil, err
	}
	if n.Verb == "DROP" {
		err := store.Drop(ctx, n.Name.Text, s.Analyst.Name)
		if err != nil && !(n.IfExists && sqlerr.ID(err) == sqlerr.UndefinedObject.ID) {
			return nil, s.ModelsFailed(ctx, err)
		}
		return &answer.Answer{Tag: "DROP DP SYNTHETIC TABLE"}, nil
	}
	list, err := store.List(ctx)
	if err != nil {
		return nil, s.ModelsFailed(ctx, err)
	}
	ans := &answer.Answer{Tag: "SHOW"}
	for _, x := range list {
		switch {
		case x.Table != nil && s.MayReadSources(x.Table.Sources):
			ans.Rows = append(ans.Rows, []sqltype.Value{x.Name, int64(x.Table.Rows), int64(len(x.Table.Columns)), x.Owner})
		case x.Owner == s.Analyst.Name: // its columns' names are not shown
			ans.Rows = append(ans.Rows, []sqltype.Value{x.Name, nil, nil, x.Owner})
		}
	}
	return ans, nil
}
