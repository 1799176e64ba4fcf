package model

import (
	"context"
	"fmt"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/catalog"
	"github.com/dpsql/dpsql/internal/engine/explain"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/mlext"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// innerQuery prepares a query that a statement about models asks, and tells of what kind that is.
type innerQuery func(ctx context.Context, st *session.Statement, q *pgsyntax.Select) (whole, of session.Kind, err error)

// PrepareModel checks a statement about DP models.
func PrepareModel(ctx context.Context, s *session.Session, n pgsyntax.Node, statement *pgsyntax.Explain, ask innerQuery) (session.Kind, error) {
	switch n := n.(type) {
	case *pgsyntax.Train:
		t, err := prepareTrain(ctx, s, n, s.Values, statement != nil)
		if err != nil {
			return nil, err
		}
		if statement != nil {
			t.shown.together, t.shown.verbose = explain.IsOn(statement, "together"), explain.IsOn(statement, "verbose")
		}
		return t, nil
	case *pgsyntax.Evaluate:
		return prepareEvaluate(ctx, s, n, statement, ask)
	case *pgsyntax.Models:
		if _, ok := exports[strings.ToLower(n.To.Text)]; n.Verb == "EXPORT" && !ok {
			return nil, sqlerr.New(sqlerr.InvalidParam, "there is no export as %q", n.To.Text).At(int(n.To.Pos)).WithHint("EXPORT DP MODEL %s AS json, onnx, or onnx_base64.", pgsyntax.QuoteIdent(n.Name.Text))
		}
		return &models{s, n}, nil
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "this statement is not supported")
}

// models is a statement about stored models.
type models struct {
	session *session.Session
	node    *pgsyntax.Models
}

// Columns implements session.Kind.
func (m *models) Columns() []answer.Column {
	switch m.node.Verb {
	case "SHOW":
		return []answer.Column{{Name: "model", Type: sqltype.Text}, {Name: "kind", Type: sqltype.Text}, {Name: "method", Type: sqltype.Text}, {Name: "target", Type: sqltype.Text}, {Name: "owner", Type: sqltype.Text}}
	case "DESCRIBE":
		return facts
	case "EXPORT":
		form := exports[strings.ToLower(m.node.To.Text)]
		return []answer.Column{{Name: "model", Type: form.result}}
	}
	return nil
}

// Run implements session.Kind.
func (m *models) Run(ctx context.Context, _ []sqltype.Value) (*answer.Answer, error) {
	s, n, store := m.session, m.node, m.session.Engine.Models
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	if err := s.NotFrozen(ctx); err != nil {
		return nil, err
	}
	name := mlext.Name{Owner: n.Owner.Text, Text: n.Name.Text}
	ans, err := &answer.Answer{Tag: n.Verb + " DP MODEL"}, error(nil)
	switch n.Verb {
	case "SHOW":
		ans.Tag = "SHOW"
		var list []mlext.Stored
		if list, err = store.List(ctx, s.Analyst.Name); err == nil {
			for _, x := range list {
				row := []sqltype.Value{x.Name, x.Kind, x.Method, x.Target, x.Owner}
				if _, err := catalog.UsableModel(ctx, s, mlext.Name{Owner: x.Owner, Text: x.Name}); err != nil { // its target is a column's name
					row[3] = nil
				}
				ans.Rows = append(ans.Rows, row)
			}
		}
	case "DESCRIBE":
		var x *mlext.Stored
		if x, err = catalog.UsableModel(ctx, s, name); err == nil {
			for i, f := range x.Model.Describe() {
				if ans.Rows = append(ans.Rows, []sqltype.Value{f.Name, f.Value}); i == 0 && x.Owner != s.Analyst.Name {
					ans.Rows = append(ans.Rows, []sqltype.Value{"owner", x.Owner})
				}
			}
		}
	case "EXPORT":
		var x *mlext.Stored
		if x, err = catalog.UsableModel(ctx, s, name); err == nil {
			var v sqltype.Value
			v, err = exports[strings.ToLower(n.To.Text)].value(x.Model)
			ans.Rows = [][]sqltype.Value{{v}}
		}
	case "DROP":
		if err = store.Drop(ctx, name, s.Analyst.Name); n.IfExists && sqlerr.ID(err) == sqlerr.UndefinedObject.ID {
			err = nil
		}
	case "RENAME":
		ans.Tag = "ALTER DP MODEL"
		err = store.Rename(ctx, name, n.To.Text, s.Analyst.Name)
	case "GRANT", "REVOKE":
		err = store.Grant(ctx, name, s.Analyst.Name, n.To.Text, n.Verb == "REVOKE")
		if err == nil && n.Verb == "GRANT" && s.Now.Notices != "off" { // who else there is, nobody is told
			ans.Notice = fmt.Sprintf("%s may use the model, also as %s.%s, if the policy has an analyst of that name", n.To.Text, s.Analyst.Name, n.Name.Text)
		}
	}
	if err != nil {
		return nil, s.ModelsFailed(ctx, err)
	}
	return ans, nil
}
